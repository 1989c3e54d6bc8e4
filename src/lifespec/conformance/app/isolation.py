"""Runs each piece of work in a process of its own, and ends all of them for certain.

A host imports the target once, and forks a process for each piece.  Where that cannot be, because
the import started a thread, say, each piece has a new interpreter, which imports the target again.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from lifespec.conformance.cases import Unchecked
from lifespec.conformance.processes import MARK, Folder, kill, marked, until

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Self

__all__ = [
    "DELETED",
    "GONE",
    "ISOLATIONS",
    "Ended",
    "Isolation",
    "Pool",
    "host",
    "obstacle",
    "open_files",
]

Isolation = Literal["auto", "fork", "spawn"]
ISOLATIONS: tuple[Isolation, ...] = get_args(Isolation)
POLL = 0.004  # seconds between two looks of the host at its processes
ENDING, GRACE = 10.0, 2.0  # seconds until a process that was killed is gone; or was told to end
GONE = "with the process that had imported it"
DELETED = "after it had deleted the folder for what it finds"
TASKS, FILES = Path("/proc/self/task"), Path("/dev/fd")
_FLAGS = ["-O"] * sys.flags.optimize
_PROGRAM = """
import os, sys
from {module} import {function}
{function}(*sys.argv[1:])
os._exit(0)  # threads that the target left behind are not waited for
"""


class Ended(NamedTuple):
    """The lines that a process wrote, and how it ended: "with status 1", say."""

    lines: list[str]
    how: str


class Pool:
    """Runs pieces of work, from any thread; as a context manager it ends whatever was started.

    `module` has `main`, which does one piece of work, and `serve`, which is a host.  What is
    `shared` by all pieces is given to both, as JSON; `limit` is that of the import, in seconds.
    """

    def __init__(
        self, module: str, shared: Mapping[str, Any], isolation: Isolation, limit: float
    ) -> None:
        self.module, self.shared, self.isolation, self.limit = module, shared, isolation, limit
        self._lock = threading.Lock()
        self._broken_off = False
        self._running: set[subprocess.Popen[bytes]] = set()
        self._host: _Host | None = None
        self._count = 0

    def __enter__(self) -> Self:
        self._folder = Folder()
        self.folder = self._folder.path
        try:
            if self.isolation == "fork" or (self.isolation == "auto" and sys.platform == "linux"):
                self._begin_host()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.break_off()
        until(lambda: not kill(marked(str(self.folder))), ENDING)
        self._folder.remove()

    @property
    def way(self) -> Isolation:
        """How the processes are made."""
        return "fork" if self._host else "spawn"

    def run(self, work: Mapping[str, Any], limit: float) -> Ended:
        """Do a piece of work in a process of its own, which is ended whatever it does."""
        with self._lock:
            self._count += 1
            told = self.folder / str(self._count)
        given = json.dumps({**self.shared, **work})
        run = self._host.run if self._host else self._spawn
        try:
            told.touch()
            how = run(str(told), given, limit)
            written = told.read_text("utf-8")
        except FileNotFoundError:
            return Ended([], DELETED)
        return Ended(written.split("\n")[:-1], how)  # a line that was cut short is none

    def break_off(self) -> None:
        """End all that runs; nothing begins any more."""
        with self._lock:
            self._broken_off = True
            running = tuple(self._running)
        for process in running:
            _kill(process.pid)
        if self._host:
            self._host.end()

    def _start(self, function: str, *words: str, channel: tuple[int, ...] = ()) -> Any:
        program = _PROGRAM.format(module=self.module, function=function)
        return subprocess.Popen(
            [sys.executable, *_FLAGS, "-c", program, *words],
            env=os.environ | {MARK: str(self.folder)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            pass_fds=channel,
        )

    def _spawn(self, told: str, given: str, limit: float) -> str:
        with self._lock:
            if self._broken_off:
                return "before it began"
            process = self._start("main", told, given)
            self._running.add(process)
        try:
            return _how(process.wait(limit))
        except subprocess.TimeoutExpired:
            return ""
        finally:
            _kill(process.pid)
            process.wait()
            self._running.discard(process)

    def _begin_host(self) -> None:
        """Begin a host; where it cannot fork there is none, or a sentence if it was asked for."""
        ours, theirs = socket.socketpair()
        with theirs:
            number = theirs.fileno()
            words = str(number), json.dumps(dict(self.shared))
            self._host = _Host(self._start("serve", *words, channel=(number,)), ours)
        said = self._host.began(self.limit)
        if "ready" in said:
            return
        self._host.end()
        self._host = None
        if "unchecked" in said:
            raise Unchecked(said["unchecked"])
        if self.isolation == "fork":
            why = said.get("cannot", "its import did not finish")
            raise Unchecked(f"its process cannot be forked: {why}; give --isolation spawn")


class _Host:
    """The process of a host, as who gives it work sees it."""

    def __init__(self, process: subprocess.Popen[bytes], channel: socket.socket) -> None:
        self._process, self._channel = process, channel
        self._first: Future[dict[str, Any]] = Future()
        self._ends: dict[str, Future[str]] = {}
        self._lock = threading.Lock()
        self._gone = False
        self._reader = threading.Thread(target=self._listen, daemon=True)
        self._reader.start()

    def began(self, limit: float) -> dict[str, Any]:
        """Return what it says first; nothing where it says nothing."""
        try:
            return self._first.result(limit)
        except TimeoutError:
            return {}

    def run(self, told: str, given: str, limit: float) -> str:
        """Let it fork a process that does this; return how that ended, "" if it had to be."""
        end: Future[str] = Future()
        with self._lock:
            if self._gone:
                return GONE
            self._ends[told] = end
        self._say(told=told, given=given)
        try:
            return end.result(limit)
        except TimeoutError:
            self._say(kill=told)
            with contextlib.suppress(TimeoutError):
                end.result(ENDING)
            return ""

    def end(self) -> None:
        """End it, and with it whatever it forked."""
        with contextlib.suppress(OSError):
            self._channel.shutdown(socket.SHUT_WR)
        try:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(GRACE)
        finally:
            _kill(self._process.pid)
            self._process.wait()
        self._reader.join(ENDING)
        self._channel.close()

    def _say(self, **what: str) -> None:
        with contextlib.suppress(OSError), self._lock:
            self._channel.sendall(json.dumps(what).encode() + b"\n")

    def _listen(self) -> None:
        with contextlib.suppress(OSError), self._channel.makefile("rb") as lines:
            self._first.set_result(json.loads(lines.readline() or "{}"))
            for line in lines:
                said = json.loads(line)
                self._ends[said["told"]].set_result(said["how"])
        with self._lock:
            self._gone = True
        for end in self._ends.values():
            if not end.done():
                end.set_result(GONE)


def _how(status: int) -> str:
    return f"with status {status}" if status >= 0 else f"by signal {-status}"


def _kill(pid: int) -> None:
    """End the processes of a session."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


# ---- in the host -------------------------------------------------------------------------------


def host(channel: int, find: Callable[[], Any], work: Callable[[Any, str, str], None]) -> None:
    """Find the target, and fork a process for each piece of work until nobody gives any more.

    `find` raises Unchecked where there is none; `work` is called with the target in each process.
    """
    os.set_inheritable(channel, False)  # noqa: FBT003  it is the standard library's
    before = open_files()
    with socket.socket(fileno=channel) as talk:
        forking = _Forking(talk, work)
        try:
            forking.subject = find()
        except Unchecked as error:
            forking.say(unchecked=str(error))
            return
        if cannot := obstacle(before):
            forking.say(cannot=cannot)
            return
        forking.say(ready="")
        forking.go_on()


def open_files() -> set[int]:
    """Return the numbers of the files that this process has open."""
    numbers = [int(path.name) for path in FILES.iterdir()]
    return {number for number in numbers if _is_open(number)}


def _is_open(number: int) -> bool:
    """Whether a file is open still: the list of them was one itself."""
    with contextlib.suppress(OSError):
        os.fstat(number)
        return True
    return False


def obstacle(before: set[int]) -> str:
    """Say what a forked process would lack, or share with the others; "" where there is nothing."""
    if threading.active_count() > 1 or (TASKS.is_dir() and len([*TASKS.iterdir()]) > 1):
        return "its import started a thread"
    if open_files() - before:
        return "its import left a file or a socket open"
    with contextlib.suppress(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
        return "its import started a process"
    return ""


def _end(pid: int) -> None:
    """End a child, which may not have its session yet, and what it started there."""
    os.kill(pid, signal.SIGKILL)
    _kill(pid)


class _Forking:
    """Forks processes, and says how each ended."""

    subject: Any = None

    def __init__(self, talk: socket.socket, work: Callable[[Any, str, str], None]) -> None:
        self.talk, self.work = talk, work
        self.running: dict[int, str] = {}
        self.rest = b""

    def say(self, **what: str) -> None:
        self.talk.sendall(json.dumps(what).encode() + b"\n")

    def go_on(self) -> None:
        """Do what is asked for until nobody can ask any more, and end what runs by then."""
        while self.listen():
            self.reap()
        for pid in self.running:
            _end(pid)
        for pid in self.running:  # so that none is there any more when this process has ended
            os.waitpid(pid, 0)

    def listen(self) -> bool:
        """Wait for a line, or for a moment where processes run; return whether there is more."""
        waiting, _, _ = select.select([self.talk], [], [], POLL if self.running else None)
        if not waiting:
            return True
        heard = self.talk.recv(65536)
        *lines, self.rest = (self.rest + heard).split(b"\n")
        for line in lines:
            self.do(**json.loads(line))
        return bool(heard)

    def do(self, told: str = "", given: str = "", kill: str = "") -> None:
        if not kill:
            self.running[self.fork(told, given)] = told
        for pid in [pid for pid, its in self.running.items() if its == kill]:
            _end(pid)

    def fork(self, told: str, given: str) -> int:
        """Fork a process that does a piece of work, in a session of its own."""
        pid = os.fork()
        if not pid:
            status = 1
            try:
                os.setsid()
                self.talk.close()
                self.work(self.subject, told, given)
                status = 0
            finally:
                os._exit(status)
        return pid

    def reap(self) -> None:
        """Say of each process that has ended how it did, and end what it left in its session."""
        for pid, told in [*self.running.items()]:
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                _kill(pid)
                del self.running[pid]
                self.say(told=told, how=_how(os.waitstatus_to_exitcode(status)))
