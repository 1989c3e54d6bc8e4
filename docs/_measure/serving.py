"""A program that is measured, in a folder of its own: its output, its port, requests, its end."""

import contextlib
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self

BELOW = range(10240, 32768)  # below the ports that a system gives to connections
PORTS = iter(random.sample(BELOW, len(BELOW)))
ENDING = 20.0  # seconds in which a killed process is gone
TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:,\d+| [+-]\d{4})"
PREFIX = re.compile(rf"^(?:\[{TIME}\] \[\d+\] |{TIME} )")  # when, and in which process
NUMBER = re.compile(
    r"(?<=[\[(])\d+(?=[\])])|(?<=pid:)\d+|(?<=pid: )\d+|\d{4,}"
)  # of a process or a port
FOLDERS = re.compile(r"(?<![\w.:/])/(?:[\w.+-]+/){2,}")
FRAME = re.compile(
    r"\s|$|'$|Process |\w+: *Traceback|Traceback|During handling|The above exception|[\w.]+Error$"
)

CONDITIONS = """
import asyncio, json, sys

async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})
        return
    try:
        loop = type(asyncio.get_running_loop()).__module__.partition(".")[0]
    except RuntimeError:
        loop = "trio"
    parsers = [each for each in ("httptools", "h11", "gunicorn_h1c") if each in sys.modules]
    found = {"loop": loop, "http": (parsers or [""])[0]}
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": json.dumps(found).encode()})
"""

# in the environment of all that is started here, however it detaches itself: who ends it
STARTED_BY = "LIFESPEC_STARTED_BY"


def in_foreground() -> None:
    """Let programs start as in a terminal, and end all of them if this process is ended.

    A shell ignores SIGINT and SIGQUIT in what it starts in the background, and programs inherit
    that: no key would end them.
    """
    os.environ[STARTED_BY] = str(os.getpid())
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
        signal.signal(number, _end)


def _end(number: int, _frame: object) -> None:
    """End what was started here, and then this process, whose threads wait for much of it."""
    with contextlib.suppress(OSError):
        os.write(2, b"ended: so are the servers that were started\n")
    end_all(f"{STARTED_BY}={os.environ[STARTED_BY]}")
    os._exit(128 + number)


def end_all(sign: str) -> None:
    """Kill all processes that have a variable in their environment, NAME=value."""
    while pids := list(marked(sign)):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.1)


def marked(sign: str) -> Iterator[int]:
    """Yield the processes that have a variable in their environment, without this one."""
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            variables = (place / "environ").read_bytes().split(b"\0")
            if sign.encode() in variables and int(place.name) != os.getpid():
                yield int(place.name)


class Program:
    """A process with its output in `lines`; when this is left, all that it started is killed."""

    def __init__(self, command: Sequence[str | Path], place: Path, **environment: str) -> None:
        self.lines: list[str] = []
        self.process = subprocess.Popen(
            command,
            cwd=place,
            env={**os.environ, "NO_COLOR": "1", **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        for line in self.process.stdout or ():
            self.read(line.decode("utf-8", "replace").rstrip("\r\n"))

    def read(self, line: str) -> None:
        """Take a line of the output."""
        self.lines.append(line)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for pid in list(_descendants(self.process.pid)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(ENDING)
        self.reader.join(ENDING)
        if self.process.stdout and not self.reader.is_alive():
            self.process.stdout.close()

    @property
    def over(self) -> bool:
        """Whether the process has ended."""
        return self.process.poll() is not None

    def wait(self, seconds: float) -> int | None:
        """Wait for the end; return the exit status as a shell has it, or None without an end."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            status = self.process.wait(seconds)
            return status if status >= 0 else 128 - status
        return None

    def request(self, port: int, patience: float, opened: contextlib.ExitStack) -> int:
        """Send a request as soon as it listens; return the status, 0 without an answer.

        The response stays open for as long as `opened` is.
        """
        end, status = time.monotonic() + patience, 0
        while not status and time.monotonic() < end and not self.over:
            status = requested(port, "/", opened)
            time.sleep(0.2)  # also for the lines about the request
        return status


@contextlib.contextmanager
def running(command: Sequence[str | Path], source: str) -> Iterator[tuple[Program, Path]]:
    """Run a program in a folder of its own, which has an application, shop.py; yield both."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "shop.py").write_text(source, "utf-8")
        with Program(command, place, PYTHONUNBUFFERED="1") as program:
            yield program, place


def free_port() -> int:
    """Return a port on which nobody listens, each one once: servers start side by side."""
    for port in PORTS:
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise OSError("no port of 127.0.0.1 is free")


def conditions(
    command: Sequence[str | Path], port: int, files: Sequence[Path] = ()
) -> dict[str, str]:
    """Return which event loop and which parser of HTTP a server uses, which its command starts."""
    with contextlib.ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for file in files:
            shutil.copy(file, place)
        (place / "shop.py").write_text(CONDITIONS, "utf-8")
        program = stack.enter_context(Program(command, place))
        if not program.request(port, ENDING, contextlib.ExitStack()):
            raise RuntimeError("\n".join(program.lines))
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=10) as response:
            found: dict[str, str] = json.load(response)
    return found


def requested(port: int, path: str, opened: contextlib.ExitStack) -> int:
    """Send a request; return the status, 0 without an answer."""
    try:
        response = urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10)
        return int(opened.enter_context(response).status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code
    except OSError:
        return 0


def _descendants(pid: int) -> Iterator[int]:
    """Yield the processes that a process has started, and those that they have started."""
    with contextlib.suppress(OSError):
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii")
        for child in map(int, children.split()):
            yield child
            yield from _descendants(child)


def plain(lines: Sequence[str]) -> list[str]:
    """Return the lines of a log, each once; without times, processes, requests and frames."""
    rest = [PREFIX.sub("", line) for line in lines if not FRAME.match(line)]
    kept = [
        FOLDERS.sub("…/", NUMBER.sub("…", line)).rstrip() for line in rest if '"GET /' not in line
    ]
    return list(dict.fromkeys(kept))
