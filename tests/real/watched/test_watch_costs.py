"""What `lifespec watch` costs a server: processor, and memory with a thousand open WebSockets."""

import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from lifespec.watch.agent import SOON
from loopback import LIMIT, until
from serving import Program, free_port

BIN = Path(sys.executable).parent
WATCH = [sys.executable, "-m", "lifespec", "watch", "--"]
SERVERS = {
    "uvicorn": ("uvicorn troubles:app --no-access-log --port {port}", "Uvicorn running"),
    "granian": ("granian --interface asgi --no-access-log troubles:app --port {port}", "Started w"),
}
OPEN = 1_000  # WebSockets
IDLE = 3  # seconds
CHAT = b"\r\n".join(
    [
        b"GET /chat HTTP/1.1\r\nHost: shop\r\nUpgrade: websocket\r\nConnection: Upgrade",
        b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
    ]
)


@contextmanager
def serving(server: str, *, watched: bool) -> Iterator[tuple[int, int]]:
    """Run a server; yield the process that was started, and its port once it answers."""
    command, begun = SERVERS[server]
    port = free_port()
    first, *words = command.format(port=port).split()
    program = [*(WATCH if watched else ()), str(BIN / first), *words]
    with (
        TemporaryDirectory() as folder,  # those that are killed leave one
        Program(program, Path(__file__).parent, PYTHONUNBUFFERED="1", TMPDIR=folder) as found,
    ):
        until(found, begun)
        while True:
            with suppress(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", port), LIMIT).close()
                break
            time.sleep(0.05)
        yield found.process.pid, port


def processes(pid: int) -> list[int]:
    """Return a process and all that it began."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text("utf-8").split()
    return [pid, *(below for child in children for below in processes(int(child)))]


def used(pid: int) -> float:
    """Return the processor that the threads of these processes have used, in milliseconds."""
    tasks = [each for process in processes(pid) for each in Path(f"/proc/{process}/task").iterdir()]
    texts = [(each / "schedstat").read_text("utf-8") for each in tasks]
    return sum(int(text.split()[0]) for text in texts) / 1e6


def memory(pid: int) -> int:
    """Return the memory that only this process uses, in kilobytes."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text("utf-8").splitlines()
    return sum(int(each.split()[1]) for each in lines if each.startswith("Private_"))


@pytest.mark.parametrize("server", SERVERS)
def test_a_thousand_websockets_cost_no_memory_and_little_processor(server: str) -> None:
    """Looking costs by the second, so a request costs what it did."""
    kilobytes, milliseconds = {}, {}
    for watched in (False, True):
        with serving(server, watched=watched) as (pid, port), ExitStack() as stack:
            for _ in range(OPEN):
                chat = socket.create_connection(("127.0.0.1", port), LIMIT)
                stack.enter_context(chat).sendall(CHAT)
                assert chat.recv(12) == b"HTTP/1.1 101"
            time.sleep(SOON)  # in which it looks more often
            before = used(pid)
            time.sleep(IDLE)
            milliseconds[watched] = used(pid) - before
            kilobytes[watched] = memory(processes(pid)[-1])
    assert kilobytes[True] < 1.2 * kilobytes[False], kilobytes
    assert milliseconds[True] - milliseconds[False] < 30 * IDLE, milliseconds
