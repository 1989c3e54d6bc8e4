"""The server under test, as a process: started with a probe, asked, told to stop, and ended.

What it says is read as it comes and kept up to a limit.  Whatever it started is found again by
a mark in its environment, and by what the probe wrote, and ended by process id; its folder goes.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import os
import random
import re
import signal
import socket
import subprocess
import time
from http.client import HTTPConnection, HTTPException
from importlib import resources
from pathlib import Path
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any

from lifespec.conformance import processes
from lifespec.conformance.cases import Unchecked
from lifespec.conformance.processes import MARK, content, until
from lifespec.conformance.server.observation import Answer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Self

    from _typeshed import WriteableBuffer

__all__ = ["ENDING", "FLOOD", "PLACES", "OfPerl", "Subject"]

PLACES = {  # what a command can leave open
    "app": "the application to serve, as module:attribute; for PAGI a file",
    "port": "the port of 127.0.0.1 to listen on",
    "workers": "the number of worker processes",
    "topic": "the topic or channel of the messages",
    "log": "a file for what an application that is not in Python observes",
}
KEPT, FLOOD = 200_000, 8_000_000  # bytes of output that are kept; and that no server writes
ENDING = 10.0  # seconds until a process that was killed is gone
CONNECTING = 2.0  # seconds in which a system connects to a port of its own
LOOK = 0.1  # seconds between two looks whether an answer is awaited still
PORTS = range(10240, 32768)  # below those that a system gives to connections
PROC, LISTENING = Path("/proc"), "0A"

_given: set[int] = set()


class Subject:
    """A server's process, and all that it started.

    `command` has places for `app` and `port`, and perhaps others of PLACES; `script` is what the
    probe's lifespan plays.  As a context manager it starts the server, and ends it for certain.
    Once `broken_off` is set, no answer is awaited.
    """

    process: subprocess.Popen[bytes]
    probe, app = "probe.py", "{0.stem}:app"

    def __init__(self, command: Sequence[str], script: list[Any], workers: int = 1) -> None:
        self.command, self.script = command, script
        self.port = _free_port()
        self.places: dict[str, Any] = {"port": self.port, "workers": workers}
        self.kept, self.said = bytearray(), 0
        self.pauses = itertools.count(1)
        self.broken_off = Event()
        self._read, self._lines = 0, list[dict[str, Any]]()
        self._reading = Lock()

    def __enter__(self) -> Self:
        self._folder, self.began = processes.Folder(), time.monotonic()
        self.folder = self._folder.path
        self.log = self.folder / "log.jsonl"
        try:
            self._start()
        except BaseException:
            self._clean()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def _start(self) -> None:
        probe = resources.files("lifespec.conformance.server").joinpath(self.probe).read_bytes()
        application = self.folder / f"lifespec_{self.probe}"
        application.write_bytes(probe)
        (self.folder / "script.json").write_text(json.dumps(self.script), "utf-8")
        (self.folder / "temporary").mkdir()
        path = os.pathsep.join(filter(None, [str(self.folder), os.environ.get("PYTHONPATH")]))
        own = {"PYTHONPATH": path, "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        own |= {MARK: str(self.folder), "TMPDIR": str(self.folder / "temporary")}
        places = {**self.places, "log": self.log, "app": self.app.format(application)}
        command = [_fill(word, places) for word in self.command]
        try:
            self.process = subprocess.Popen(
                command,
                env=os.environ | own,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except FileNotFoundError:
            raise Unchecked(
                f"there is no program {command[0]!r}: activate the environment that has it,"
                " or give its path"
            ) from None
        except OSError as error:
            raise Unchecked(f"{command[0]!r} cannot be run: {error.strerror}") from None
        self._reader = Thread(target=self._listen, daemon=True)
        self._reader.start()

    def _listen(self) -> None:
        """Read what the server says, and keep of it what has room; stop at a flood."""
        stream: Any = self.process.stdout
        with stream:
            while self.said < FLOOD and (heard := os.read(stream.fileno(), 65536)):
                self.said += len(heard)
                self.kept += heard[: KEPT - len(self.kept)]

    @property
    def output(self) -> str:
        """What the server said, without colours."""
        return re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", self.kept.decode("utf-8", "replace"))

    @property
    def flooded(self) -> bool:
        """Whether it said more than is read."""
        return self.said >= FLOOD

    @property
    def status(self) -> int | None:
        """The exit status; None while the process runs."""
        return self.process.poll()

    def lines(self) -> list[dict[str, Any]]:
        """Return the probe's lines so far."""
        missing = contextlib.suppress(FileNotFoundError)
        with self._reading, missing, self.log.open("rb") as file:
            file.seek(self._read)
            whole = file.read().rpartition(b"\n")
            self._lines += [_line(line) for line in whole[0].splitlines()]
            self._read += len(whole[0]) + len(whole[1])
        return self._lines

    def complete(self) -> list[dict[str, Any]]:
        """Return the probe's lines at the end; raise Unchecked where one is missing."""
        lines = self.lines()
        if self.log.exists() and self.log.stat().st_size > self._read:
            raise Unchecked("the probe's log is cut short: its last line has no end")
        for pid in {line["pid"] for line in lines}:
            numbers = sorted(line["n"] for line in lines if line["pid"] == pid)
            if numbers != list(range(1, len(numbers) + 1)):
                raise Unchecked(f"the probe's log is cut short: lines of process {pid} are missing")
        return lines

    def ask(self, path: str = "/", limit: float = 1.0) -> Answer:
        """Make a request; the answer is the probe's, or none if it is not whole after `limit`."""
        asked = time.monotonic()
        connection, body = _Connection(self.port, limit, self.broken_off), None
        with (
            contextlib.suppress(OSError, HTTPException, ValueError),
            contextlib.closing(connection),
        ):
            connection.request("GET", path, headers={"Connection": "close"})
            found = json.loads(connection.getresponse().read(KEPT))
            ours = isinstance(found, dict) and found.get("probe") == self.folder.name
            body = found if ours else None
        return Answer(path, asked, time.monotonic(), body)

    def go(self) -> None:
        """Let the probe go on from where it pauses."""
        (self.folder / f"go{next(self.pauses)}").touch()

    def release(self) -> None:
        """Let the probe answer what it holds."""
        (self.folder / "release").touch()

    def tell(self, what: signal.Signals) -> None:
        """Send a signal to the process that was started; where it has ended, nothing."""
        self.process.send_signal(what)

    def elsewhere(self) -> list[int]:
        """Return the ports on which its processes listen; on Linux alone."""
        sockets = {link for pid in self.pids() for link in _links(pid)}
        rows = (line.split() for file in ("tcp", "tcp6") for line in _text(PROC / "net" / file))
        listening = (row for row in rows if row[3] == LISTENING)
        ports = {int(row[1][-4:], 16) for row in listening if f"socket:[{row[9]}]" in sockets}
        return sorted(ports - {self.port})

    def pids(self) -> set[int]:
        """Find the processes that it started and that run still, itself among them.

        One that was started with another environment is known if it has imported the probe.
        """
        with contextlib.suppress(Unchecked):  # who reads the log hears of it, too
            self.lines()
        noted: dict[int, float] = {}
        for line in self._lines:
            noted.setdefault(line["pid"], line.get("time", math.inf))
        ours = {
            pid
            for pid, first in noted.items()
            if pid != os.getpid() and processes.began_within(pid, self.began, first)
        }
        if self.status is None:  # just started, its environment cannot be read yet
            ours.add(self.process.pid)
        return ours | processes.marked(str(self.folder))

    def end_processes(self) -> None:
        """End every process that runs still."""
        until(self._ended, ENDING)
        self.process.wait(ENDING)
        self._reader.join(ENDING)

    def end(self) -> None:
        """End every process, and remove the folder."""
        try:
            self.end_processes()
        finally:
            self._clean()

    def _ended(self) -> bool:
        """Kill what runs; return whether nothing did."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.poll()
        return not processes.kill(self.pids())

    def _clean(self) -> None:
        _given.discard(self.port)
        self._folder.remove()


class OfPerl(Subject):
    """The same with a probe in Perl, for servers of PAGI: what they serve is a file."""

    probe, app = "probe.pl", "{0}"


class _Connection(HTTPConnection):
    """A connection to a port that has `limit` seconds in all, or until `over` is set."""

    def __init__(self, port: int, limit: float, over: Event) -> None:
        super().__init__("127.0.0.1", port, timeout=min(limit, CONNECTING))
        self.until, self.over = time.monotonic() + limit, over

    def connect(self) -> None:
        """Connect, and let the socket know when to give up."""
        super().connect()
        self.sock = _Socket(fileno=self.sock.detach())
        self.sock.connection = self


class _Socket(socket.socket):
    """A socket that gives up when its connection has to.

    The timeout of a socket is for a part of the answer, and a server can send one byte at a time.
    """

    connection: _Connection

    def recv_into(self, buffer: WriteableBuffer, nbytes: int = 0, flags: int = 0) -> int:
        """Receive what comes in time; raise TimeoutError after that."""
        while (left := self.connection.until - time.monotonic()) > 0:
            if self.connection.over.is_set():
                break
            self.settimeout(min(left, LOOK))
            with contextlib.suppress(TimeoutError):
                return super().recv_into(buffer, nbytes, flags)
        raise TimeoutError("no whole answer in time")


def _fill(word: str, filled: dict[str, Any]) -> str:
    """Fill the places of one word of a command; other braces are the command's own."""
    return re.sub(r"\{(\w+)\}", lambda at: str(filled.get(at[1], at[0])), word)


def _free_port() -> int:
    """Find a port on which nobody listens, and which no other subject of ours was given."""
    first = random.randrange(len(PORTS))  # noqa: S311  no secret: two suites at once start apart
    for port in itertools.chain(PORTS[first:], PORTS[:first]):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            if port not in _given:
                _given.add(port)
                return port
    raise Unchecked("no port of 127.0.0.1 is free")


def _line(line: bytes) -> dict[str, Any]:
    with contextlib.suppress(ValueError):
        read = json.loads(line)
        if isinstance(read, dict):
            return read
    raise Unchecked(f"the probe's log is damaged: {line[:80]!r} is no line of it")


def _text(path: Path) -> list[str]:
    """Return the lines of a table, without its head."""
    return content(path).decode("ascii", "replace").splitlines()[1:]


def _links(pid: int) -> Iterator[str]:
    """Give what the files of a process are."""
    with contextlib.suppress(OSError):
        for link in (PROC / str(pid) / "fd").iterdir():
            with contextlib.suppress(OSError):
                yield str(link.readlink())
