"""Check the application that a command would serve: the process that would serve it is the host.

The command has this process's folder, environment and arguments, and no input.  What it prints is
shown as it comes, until it would serve.  `watch.hold` waits in each of its Pythons.
"""

import contextlib
import json
import os
import select
import shlex
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Self

from lifespec.conformance.app.process import Host
from lifespec.conformance.app.target import Job
from lifespec.conformance.processes import HOME, KILL_LIMIT, until
from lifespec.conformance.started import Started
from lifespec.diagnosis.fact import Fact, fact
from lifespec.watch.hold import KNOWN, NEW
from lifespec.watch.parent import HIDDEN, put

MARK = "LIFESPEC_HELD"  # the variable that marks what the command starts
LOOK_AT_COMMAND_EVERY = 0.05  # seconds between two looks at the command
BLOCK = 65536  # bytes
SHORT = 60  # characters of the path of a folder for a socket
# what travels into the command's processes
HOLD_TRAVELS = {"diagnosis": ("guard", "stacks"), "watch": ("hold", "hooks", "seen")}
HOST = "lifespec.conformance.app.held"  # which has the application there
BEGIN = """\
import sys
sys.path.insert(0, {folder!r})
try:
    import lifespec_held.watch.hold
    lifespec_held.watch.hold.Hold({folder!r}, {home!r}, {host!r}).begin()
except Exception:
    pass
sys.path[:] = [entry for entry in sys.path if entry != {folder!r}]
"""


def show(text: str) -> None:
    """Show what the command has printed."""
    sys.stderr.write(text)
    sys.stderr.flush()


class CommandHost(Host):
    """A command that runs until it would serve, and is the host of a check then.

    As a context manager it ends all that the command has started.
    """

    def __init__(self, job: Job, words: Sequence[str]) -> None:
        self.job = job
        self.words = list(words)
        self.name = shlex.join(words)
        self.hello: dict[str, Any] = {}  # what it has told
        self.threads: tuple[str, ...] = ()
        self.is_found = False
        self.is_shown = True  # what it prints
        self.showing = threading.Lock()  # held from reading a part of that until it is shown
        self.last = ""  # the last line of that

    def __enter__(self) -> Self:
        self.cleanup = contextlib.ExitStack()
        with contextlib.ExitStack() as stack:
            place = tempfile.gettempdir()
            if len(place) > SHORT:
                place = "/tmp"  # noqa: S108  the path of a socket must be short
            folder = tempfile.TemporaryDirectory(
                prefix="lifespec-", dir=place, ignore_cleanup_errors=True
            )
            self.folder = Path(stack.enter_context(folder))
            self.listener = stack.enter_context(socket.socket(socket.AF_UNIX))
            self.listener.bind(str(self.folder / "socket"))
            self.listener.listen()
            self._prepare()
            self._start()
            stack.callback(self._end)
            self.cleanup = stack.pop_all()
        return self

    @property
    def is_off(self) -> bool:
        """Whether the server would run no lifespan."""
        return bool(self.hello.get("off"))

    def __exit__(self, *_: object) -> None:
        self.cleanup.close()

    def _prepare(self) -> None:
        """Write what begins in each Python of the command."""
        put(self.folder / "lifespec_held", HOLD_TRAVELS)
        begin = BEGIN.format(folder=str(self.folder), home=HOME, host=HOST)
        # each Python imports this module before any code of the command, in its children, too
        (self.folder / "sitecustomize.py").write_text(begin + HIDDEN, "utf-8")

    def _start(self) -> None:
        self.output, written = os.pipe()
        try:
            self.started = Started(self.words, MARK, self.folder, written, {})
        finally:
            os.close(written)
        self.process = self.started.process
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        """Read what the command prints, as long as a process of it is there."""
        rest = ""
        while True:
            select.select([self.output], [], [])
            with self.showing:
                block = os.read(self.output, BLOCK)
                if not block:
                    return
                if not self.is_shown:  # it is read all the same, or the command would wait for that
                    continue
                text = block.decode(errors="backslashreplace")
                show(text)
                lines = (rest + text).split("\n")
                for line in lines:
                    self.last = line.strip() or self.last
                rest = lines[-1]

    def _stop_showing(self) -> None:
        """Show what was printed until now, and nothing after it."""
        # what was printed before the process came to serving may still be in the pipe
        until(lambda: not select.select([self.output], [], [], 0)[0], 1.0)
        with self.showing:  # what was read last is shown
            self.is_shown = False

    # ---- until it would serve ----

    def printed(self) -> tuple[str, ...]:
        """Return nothing: what the command has printed was shown as it came."""
        return ()

    def obstacle(self) -> Fact | None:
        """Wait until the command would serve; return why that cannot be checked, or None."""
        deadline = time.monotonic() + self.job.limit
        caller = self._accept()
        while caller is None:
            # a command may start a daemon and end, and the daemon serve
            if self.process.poll() is not None and not self.started.processes():
                return self._ended()
            if time.monotonic() > deadline:
                return self._not_serving()
            caller = self._accept()
        self._stop_showing()
        self.listening = threading.Thread(target=self._refuse, daemon=True)
        self.listening.start()
        return self._unfit() or self._welcome(caller)

    def _accept(self) -> socket.socket | None:
        """Let a process that would serve say what it is; return the socket to it, if one came."""
        if not select.select([self.listener], [], [], LOOK_AT_COMMAND_EVERY)[0]:
            return None
        caller = self.cleanup.enter_context(self.listener.accept()[0])
        with caller.makefile("rb") as file:
            self.hello = json.loads(file.readline() or b"{}")
        return caller if self.hello else None

    def _refuse(self) -> None:
        """End the other processes that come to serving: they read that nobody wants them."""
        with contextlib.suppress(OSError):
            while True:
                self.listener.accept()[0].close()

    def _unfit(self) -> Fact | None:
        """Return why what the process would serve cannot be checked."""
        version = tuple(self.hello["python"])
        if version < NEW:
            return fact(
                "command-python",
                python=".".join(map(str, version)),
                path=self.hello["executable"],
                wanted=".".join(map(str, NEW)),
            )
        interface = self.hello.get("interface")
        if interface:
            return fact("command-interface", server=self.hello["server"], interface=interface)
        return None

    def _welcome(self, caller: socket.socket) -> Fact | None:
        """Let the process be the host; return why it cannot."""
        self._stop_supervisors()
        caller.sendall(b"1")
        # a copy, since a Connection closes its descriptor, and the socket closes its own
        self.connection = Connection(os.dup(caller.fileno()))
        self.cleanup.callback(self.connection.close)
        try:
            self.connection.send(self.job._replace(subject=None))
            held = self.connection.recv()
        except (EOFError, ConnectionError):
            return self._failed()
        self.name = f"{self.name}: {held.name}"
        self.threads = held.threads
        why: Fact | None = held.why
        return why

    def _stop_supervisors(self) -> None:
        """Stop the processes that would end or replace one that does not serve."""
        # not killed: a worker of gunicorn ends itself once it has another parent
        others = {self.process.pid, self.hello["parent"]}
        for pid in others - {self.hello["pid"], os.getpid()}:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                if os.getsid(pid) == self.process.pid:  # a parent may be somebody else's shell
                    os.kill(pid, signal.SIGSTOP)

    # ---- why it does not ----

    def _ended(self) -> Fact:
        """Return how the command ended before it would have served."""
        self.reader.join(KILL_LIMIT)
        status = self.process.returncode
        what = fact("ended-at-once", name=self.words[0], status=status)
        return self._with_last_words(what)

    def _not_serving(self) -> Fact:
        kind = "command-no-python"
        if (self.folder / "python").exists():  # a Python of the command has begun
            kind = "command-not-serving"
        why = fact(kind, name=self.words[0], limit=self.job.limit, servers=KNOWN)
        return self._with_last_words(why)

    def _failed(self) -> Fact:
        """Return why the process did not become a host: lifespec failed there."""
        path = self.folder / "failed"
        text = path.read_text("utf-8") if path.exists() else ""
        line = text.strip().rpartition("\n")[2]
        return fact("command-failed", error=line or "?")

    def _with_last_words(self, what: Fact) -> Fact:
        if self.last:
            return fact("last-words", what=what, line=self.last)
        return what

    def _end(self) -> None:
        """End all that the command has started."""
        self.is_shown = False
        self.started.end()
        self.listener.close()
        self.reader.join(KILL_LIMIT)
        os.close(self.output)
