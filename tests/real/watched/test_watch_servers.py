"""`lifespec watch` names what real servers wait for: the line that it names is the author's."""

import os
import re
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from serving import Program

from loopback import LIMIT, free_port, until

HERE = Path(__file__).parent
SOURCE = (HERE / "troubles.py").read_text("utf-8").splitlines()
WATCH = [sys.executable, "-m", "lifespec", "watch", "--after"]
BIN = Path(sys.executable).parent
SERVERS = {
    "uvicorn": "uvicorn {app} --port {port}",
    "uvicorn-h11": "uvicorn {app} --port {port} --http h11 --loop asyncio",
    "uvicorn-reload": "uvicorn {app} --port {port} --reload",
    "uvicorn-workers": "uvicorn {app} --port {port} --workers 2",
    "uvicorn-run": "python troubles.py {port}",
    "fastapi-run": "fastapi run on_fastapi.py --port {port}",
    "fastapi-dev": "fastapi dev on_fastapi.py --port {port}",
    "hypercorn": "hypercorn {app} --bind 127.0.0.1:{port}",
    "hypercorn-trio": "hypercorn {app} --worker-class trio --bind 127.0.0.1:{port}",
    "granian": "granian --interface asgi {app} --port {port}",
    "gunicorn-asgi": "gunicorn -k asgi {app} --bind 127.0.0.1:{port}",
    "gunicorn-uvicorn": "gunicorn -k uvicorn_worker.UvicornWorker {app} --bind 127.0.0.1:{port}",
    "daphne": "daphne {app} --port {port}",
}
MANY = ("uvicorn-h11", "uvicorn-reload", "uvicorn-workers", "uvicorn-run", "hypercorn", "granian")
GUNICORN = ("gunicorn-asgi", "gunicorn-uvicorn")
ALL = ("uvicorn", *MANY, *GUNICORN, "fastapi-run", "fastapi-dev")


def line(source: str) -> int:
    """Return the number of the line of troubles.py that begins so."""
    return next(n for n, each in enumerate(SOURCE, 1) if each.strip().startswith(source))


@contextmanager
def watched(
    server: str, trouble: str = "none", app: str = "troubles:app", after: float = 1
) -> Iterator[Program]:
    """Run a server with an application in trouble; yield what is printed."""
    port = free_port()
    command = SERVERS[server].format(app=app, port=port).split()
    program = [*WATCH, str(after), "--", str(BIN / command[0]), *command[1:]]
    with (
        TemporaryDirectory() as folder,  # those that are killed leave one
        Program(program, HERE, PYTHONUNBUFFERED="1", TROUBLE=trouble, TMPDIR=folder) as found,
    ):
        found.port = port  # type: ignore[attr-defined]
        yield found


def said(program: Program) -> str:
    """Return what `watch` has said, without what wraps it."""
    lines = [each for each in program.lines if each.startswith(("lifespec: ", "          "))]
    return " ".join(" ".join(lines).split())


def hears(program: Program, pattern: str) -> None:
    """Wait until `watch` says this."""
    end = time.monotonic() + LIMIT
    while not re.search(pattern, said(program)):
        assert time.monotonic() < end, (pattern, program.lines)
        assert program.reader.is_alive(), (pattern, program.lines)
        time.sleep(0.05)


def connected(program: Program, request: str) -> socket.socket:
    """Send a request once the server answers; return its connection, with the answer begun."""
    port: int = program.port  # type: ignore[attr-defined]
    while True:
        try:
            found = socket.create_connection(("127.0.0.1", port), LIMIT)
            break
        except ConnectionRefusedError:
            assert program.process.poll() is None, program.lines
            time.sleep(0.05)
    head = f"GET {request} HTTP/1.1\r\nHost: shop\r\n"
    if request == "/chat":
        key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13"
        head += f"Upgrade: websocket\r\nConnection: Upgrade\r\n{key}\r\n"
    found.sendall(f"{head}\r\n".encode())
    assert found.recv(4).startswith(b"HTTP")
    return found


@pytest.mark.parametrize("server", ALL)
def test_startup_waits_at_a_line(server: str) -> None:
    with watched(server, "startup-waits-in-a-group") as program:
        hears(program, "startup has lasted")
        hears(program, "Event...wait")
        where = f"it waits in `for_ever`, troubles.py:{line('await asyncio.Event().wait()')}"
        assert where in said(program)
        assert "in lifespan await startup()" in said(program)


@pytest.mark.parametrize("server", ALL)
def test_clean_up_waits_at_a_line(server: str) -> None:
    with watched(server, "clean-up-waits") as program:
        connected(program, "/").close()
        program.process.send_signal(signal.SIGTERM)
        hears(program, "clean-up has lasted")
        hears(program, "Event...wait")
        where = f"it waits in `for_ever`, troubles.py:{line('await asyncio.Event().wait()')}"
        assert where in said(program)


@pytest.mark.parametrize("server", ["uvicorn", "hypercorn", "granian", "gunicorn-asgi"])
def test_the_loop_is_blocked_at_a_line(server: str) -> None:
    with watched(server, "clean-up-blocks") as program:
        connected(program, "/").close()
        program.process.send_signal(signal.SIGTERM)
        hears(program, "clean-up has lasted")
        hears(program, "thread.join")
        where = f"it blocks the event loop in `joins`, troubles.py:{line('thread.join()')}"
        assert where in said(program)


@pytest.mark.parametrize("request_", ["/board", "/mail", "/chat"])
@pytest.mark.parametrize("server", ["uvicorn", "uvicorn-h11", "hypercorn", "gunicorn-asgi"])
def test_shutdown_waits_for_a_request(server: str, request_: str) -> None:
    with watched(server) as program:
        open_ = connected(program, request_)
        program.process.send_signal(signal.SIGTERM)
        hears(program, "has not sent lifespan.shutdown")
        hears(program, rf" {request_}, for \d+ s, in ")
        function = "events" if request_ == "/board" else "for_ever"
        assert f"`{function}`, troubles.py:" in said(program)
        open_.close()


def test_granian_waits_for_a_stream() -> None:
    with watched("granian") as program:
        open_ = connected(program, "/board")
        program.process.send_signal(signal.SIGTERM)
        hears(program, r"GET /board(, for \d+ s)?, in `events`")
        open_.close()


@pytest.mark.parametrize("server", ["uvicorn", "hypercorn", "granian", "gunicorn-asgi"])
def test_a_thread_keeps_the_process(server: str) -> None:
    with watched(server, "thread") as program:
        connected(program, "/").close()
        program.process.send_signal(signal.SIGINT)
        hears(program, "has ended, and its process stays: the thread `pump` is no")


@pytest.mark.parametrize("server", ALL)
def test_what_has_no_trouble_is_not_talked_about(server: str) -> None:
    with watched(server, after=10) as program:
        connected(program, "/").close()
        program.process.send_signal(signal.SIGTERM)
        assert program.process.wait(LIMIT) in (0, 143, 128 + signal.SIGINT)
        program.reader.join(LIMIT)
        own = [each for each in program.lines if each.startswith("lifespec: ")]
        assert len(own) == 1, program.lines
        assert own[0].startswith("lifespec: started in ")


def test_startup_on_trio() -> None:
    with watched("hypercorn-trio", "startup-waits", "on_trio:app") as program:
        hears(program, "startup has lasted .* it waits in `app`, on_trio.py:")


def test_a_stream_on_trio() -> None:
    with watched("hypercorn-trio", app="on_trio:app") as program:
        open_ = connected(program, "/board")
        program.process.send_signal(signal.SIGTERM)
        hears(program, r"GET /board, for \d+ s, in `app`, on_trio.py:")
        open_.close()


def test_daphne_sends_no_lifespan() -> None:
    with watched("daphne") as program:
        hears(program, "Daphne calls the application with no lifespan scope")


@pytest.mark.parametrize("server", ["uvicorn", "gunicorn-asgi"])
def test_a_worker_that_fails_at_startup(server: str) -> None:
    with watched(server, "startup-fails") as program:
        hears(program, "lifespec: .*startup failed: KeyError: 'DATABASE_URL', in `fails`")


@pytest.mark.parametrize(
    ("trouble", "app", "words"),
    [
        ("", "troubles:raises", r"startup raised KeyError: 'DATABASE_URL', in `fails`"),
        ("", "troubles:forgets", r"instead of answering it waits for another event"),
        ("startup-blocks", "troubles:app", r"it blocks the event loop in `blocks`"),
        ("startup-holds-the-lock", "troubles:app", r"no line of Python has run for \d s"),
        ("task-dies", "troubles:app", r"the task `\S*worker` has failed: ConnectionError: link"),
        ("import", "troubles:app", r"the import of `troubles` has lasted .* in `<module>`"),
    ],
)
def test_what_happens_at_startup(trouble: str, app: str, words: str) -> None:
    with watched("uvicorn", trouble, app) as program:
        hears(program, words)


def test_a_request_that_blocks_the_loop() -> None:
    with watched("uvicorn") as program:
        connected(program, "/").close()
        with socket.create_connection(("127.0.0.1", program.port)) as open_:  # type: ignore[attr-defined]
            open_.sendall(b"GET /busy HTTP/1.1\r\nHost: shop\r\n\r\n")
            until(program, "GET / HTTP")
            os.kill(program.process.pid, signal.SIGTERM)
            hears(program, "the event loop is blocked in `blocks`, troubles.py:")


def test_a_handler_in_the_servers_place() -> None:
    with watched("uvicorn", "handler") as program:
        connected(program, "/").close()
        program.process.send_signal(signal.SIGTERM)
        hears(program, r"`<lambda>`, troubles.py:\d+ takes SIGTERM from the server")


def test_a_child_process_that_is_left() -> None:
    with watched("uvicorn", "process") as program:
        connected(program, "/").close()
        program.process.send_signal(signal.SIGINT)
        hears(program, "its process stays: the child process SpawnProcess-1")


def test_a_second_signal_and_a_clean_up_that_is_left_out() -> None:
    with watched("uvicorn") as program:
        open_ = connected(program, "/board")
        program.process.send_signal(signal.SIGINT)
        until(program, "Waiting for connections")
        program.process.send_signal(signal.SIGINT)
        hears(program, "a second signal, SIGINT: Uvicorn has ended without lifespan.shutdown")
        open_.close()


def shown(page: str, name: str) -> tuple[str, str]:
    """Return a program of the page, and what `watch` says of it there, without its numbers."""
    _, _, rest = page.partition(f"{{#{name} ")
    _, program, _, output, *_ = re.split(r"^```.*\n", rest, flags=re.MULTILINE)
    said = " ".join(output[output.index("lifespec: ") :].split())
    return program, re.sub(r"\d+ s\b", "N s", said)


@pytest.mark.parametrize("name", ["watch-startup", "watch-stream"])
def test_the_page_shows_what_is_printed(name: str, tmp_path: Path) -> None:
    page = (HERE.parents[2] / "docs/watch.md").read_text("utf-8")
    program, output = shown(page, name)
    (tmp_path / "shop.py").write_text(program)
    port = free_port()
    command = [*WATCH, "1", "--", str(BIN / "uvicorn"), "shop:app", "--port", str(port)]
    with Program(command, tmp_path, PYTHONUNBUFFERED="1") as found:
        found.port = port  # type: ignore[attr-defined]
        if name == "watch-stream":
            open_ = connected(found, "/board")
            found.process.send_signal(signal.SIGTERM)
        hears(found, 'See "Startup or shutdown hangs".')
        assert re.sub(r"\d+ s\b", "N s", said(found)) == output
        if name == "watch-stream":
            open_.close()


def test_a_clean_up_that_the_server_cuts_off() -> None:
    with watched("gunicorn-asgi", "clean-up-waits") as program:
        connected(program, "/").close()
        program.process.send_signal(signal.SIGINT)
        hears(program, "Gunicorn has ended without lifespan.shutdown: no clean-up ran")
