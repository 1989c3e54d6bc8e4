"""A watched process, as its agent has written it down: what it is at, and what has happened."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from lifespec.diagnosis.course import (
    SHUTDOWN_COMPLETE,
    SHUTDOWN_FAILED,
    STARTUP_COMPLETE,
    TAKES_NO_PART,
    Course,
)
from lifespec.diagnosis.stacks import CANCELLATIONS
from lifespec.watch import seen
from lifespec.watch.seen import At, CallState, Look, Signalled

# servers that cancel no call of an application while they serve: something else has done it
NEVER_CANCEL = ("uvicorn",)
NOTICED = 2.0  # seconds until an agent notes a task that has failed while its server served
STARTS = ("called", "starting")  # states of `course`
INTERRUPTS = {"builtins.KeyboardInterrupt", "builtins.SystemExit"}  # what asyncio lets end a loop
# what a line means in `course`, if its class alone says that
HAPPENED: Mapping[type, str] = {
    seen.Called: "called",
    seen.Received: "received",
    seen.Stop: "stop",
    seen.Shutdown: "shutdown",
    seen.NoLifespan: "uncalled",
    seen.Left: "exited",
}


class Ended(NamedTuple):
    """What is to be told of a lifespan: its kind, in `course`, and the line that has shown it."""

    kind: str
    line: seen.Happening | None


class WatchedProcess:
    """A process with an agent: the file that this writes, and what it has said so far.

    `lines` are what has happened, in order, and `look` is what it did when it was seen last.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.pid = int(path.stem)
        self.server = ""
        self.host = ""  # the server whose worker it is, perhaps another one
        self.python = "3.9"  # or a newer one
        self.lines: list[seen.Happening] = []
        self.look: Look | None = None
        self.calls: Sequence[CallState] = ()  # where those with the lifespan scope are
        self.course = Course()
        self.endings: list[Ended] = []
        self.is_hooked = False  # its server tells what it does, from the call on
        self.phase_lines: Sequence[At] = ()  # the author's lines in the phase that has not ended
        self.told_to_end: float | None = None  # when a signal for the command came
        self.handlers: Mapping[str, tuple[str, int, str]] = {}  # the author's own, of signals
        self.has_looked_since = False  # since it was told to end
        self.times: dict[str, float] = {}  # when what has happened, in `course`, did so first
        self.size = 0  # of what was read of the file

    # ---- taking in ----

    def read(self) -> None:
        """Take in the lines that are new."""
        with suppress(OSError), self.path.open("rb") as file:
            file.seek(self.size)
            whole, newline, _ = file.read().rpartition(b"\n")
            self.size += len(whole + newline)
            for line in whole.splitlines():
                self.take(seen.parsed(line.decode()))

    def take(self, line: seen.Happening | Look) -> None:
        """Take in a line."""
        if isinstance(line, Look):
            self._take_look(line)
            return
        self.lines.append(line)
        if isinstance(line, seen.Began):
            self.python = line.python
        elif isinstance(line, seen.Hosted):
            self.host = line.by
        elif isinstance(line, seen.Died):
            self.endings.append(Ended(self._kind_of_death(line), line))
        elif isinstance(line, seen.Shutdown) and line.error:
            self.endings.append(Ended("stops-on-error", line))
        elif isinstance(line, seen.Called):
            self.course = Course()  # perhaps anew: in the same process, after another one
            self.is_hooked = True
        if isinstance(line, seen.Called | seen.Stop | seen.Shutdown | seen.NoLifespan):
            if line.server:  # lifespec's own class is no server: another one runs it
                self.server = line.server
        what = self._happened(line)
        if what:
            self._happens(what, line.time, line)

    def _take_look(self, look: Look) -> None:
        self.look = look
        self._keep_handlers(look)
        self.calls = look.known
        if not look.known:
            self.calls = look.others
        self._infer(look)
        self._keep_lines()

    def _kind_of_death(self, line: seen.Died) -> str:
        """Return the kind of the end of a task: it may have failed before the server stopped."""
        began = self.began_to_stop
        if began is None or line.time - began <= NOTICED:
            return "died"
        return "died-stopping"

    def _happened(self, line: seen.Happening) -> str:
        """Return what a line means for the lifespan, "" if nothing."""
        if isinstance(line, seen.Sent | seen.Raised):
            return self._ended(line)
        return HAPPENED.get(type(line), "")

    def _ended(self, line: seen.Sent | seen.Raised) -> str:
        """Return what an answer means, or an exception that the call has ended with."""
        is_running = self.course.state == "running"
        interrupt = interrupt_of(line.error)
        if is_running and interrupt and interrupt.lines:
            return "interrupted"
        if isinstance(line, seen.Sent):
            if line.type == SHUTDOWN_FAILED and was_cancelled(line.error):
                return "cancelled"
            return line.type
        if not was_cancelled(line.error):
            return "raised"
        # a task group of the application's own cancels its task, too
        if is_running and self.server in NEVER_CANCEL and not line.error.loop_ends:
            return "raised"
        return "cancelled"

    def ends(self) -> None:
        """Take in that the process has ended."""
        if self.is_hooked:  # else an answer between two looks was not seen
            self._happens("gone", time.time(), None)

    def _happens(self, what: str, at: float, line: seen.Happening | None) -> None:
        state = self.course.state
        kind = self.course.happens(what)
        if kind:
            self.endings.append(Ended(kind, line))
        self.times.setdefault(what, at)
        if self.course.state not in (state, "cut", "over"):
            self.phase_lines = ()

    def _infer(self, look: Look) -> None:
        """Take in what no hook has told, from where the lifespan is."""
        if self.is_hooked:
            return
        if not look.others:
            if self.state == "cleaning":
                self._happens(SHUTDOWN_COMPLETE, look.time, None)
            return
        if self.state == "new":
            self._happens("called", look.time, None)
            self._happens("received", look.time, None)
        if any(call.asks for call in look.others):
            if self.state == "starting":
                self._happens(STARTUP_COMPLETE, look.time, None)
        elif self.told_to_end and self.state == "running":
            # only then: while it serves the same call may do something beside its requests
            self._happens("shutdown", look.time, None)

    def _keep_lines(self) -> None:
        """Keep where the lifespan is, if its author's lines there belong to this phase."""
        for call in self.calls:
            if call.asks:  # the place of `receive` belongs to no phase
                continue
            if seen.is_own(call.lines):
                self.phase_lines = call.lines

    def _keep_handlers(self, look: Look) -> None:
        """Keep the handlers of signals; once a signal has come, only those that stay.

        One may come back later, because the server puts its own away, which has taken the signal.
        """
        if not self.has_looked_since:
            self.handlers = look.handlers
            if self.told_to_end is not None:
                self.has_looked_since = look.time > self.told_to_end
            return
        same = self.handlers.items() & look.handlers.items()
        self.handlers = dict(same)

    @property
    def takes_no_part(self) -> bool:
        """Whether the application took no part in lifespan: it may be served all the same."""
        return any(end.kind in TAKES_NO_PART for end in self.endings)

    # ---- what it is at ----

    def looked_at(self) -> float:
        """Return when its agent looked last, as the clock has it; now, if nobody can know."""
        if not self.path.exists():  # somebody has removed it
            return time.time()
        written = self.path.stat()
        with suppress(OSError):  # it has ended, or this system has no /proc
            if Path(f"/proc/{self.pid}").stat().st_uid != written.st_uid:
                return time.time()  # it has become another user, and cannot write
        return written.st_mtime

    @property
    def state(self) -> str:
        """The state that its lifespan has come to."""
        return self.course.state

    @property
    def call(self) -> CallState | None:
        """Where the one is that is not over, if there is one."""
        for call in self.calls:
            if not call.over:
                return call
        return None

    @property
    def began_to_stop(self) -> float | None:
        """When the server was seen to begin to stop."""
        moments = [self.times[what] for what in ("stop", "shutdown") if what in self.times]
        return min(moments, default=None)

    @property
    def stopped(self) -> float | None:
        """When the server began to stop, or was told to."""
        if self.began_to_stop is None:
            return self.told_to_end
        return self.began_to_stop

    @property
    def ending(self) -> float | None:
        """When its interpreter began to end."""
        for line in self.lines:
            if isinstance(line, seen.Ending):
                return line.time
        return None

    @property
    def recorded_as(self) -> str:
        """The name of its server in records of what servers do."""
        if self.host == "gunicorn" and self.server == "uvicorn":
            return "gunicorn, uvicorn-worker"
        return self.server

    @property
    def signals(self) -> list[Signalled]:
        """Those that a handler of its server has got."""
        return [line for line in self.lines if isinstance(line, Signalled)]

    @property
    def has_server(self) -> bool:
        """Whether it is one that serves an application."""
        if self.times:
            return True
        if self.look is None:
            return False
        return bool(self.look.others or self.look.open)


def was_cancelled(error: seen.WrittenError | None) -> bool:
    """Tell whether the server, or whoever else, has cancelled the call."""
    if error is None or not error.outside:
        return False
    classes, _text, _errno = error.chain[0]  # of a group the first counts
    return not set(CANCELLATIONS).isdisjoint(classes)


def interrupt_of(error: seen.WrittenError | None) -> seen.WrittenError | None:
    """Return the KeyboardInterrupt or SystemExit after which the loop has cancelled the call."""
    if error is None or not was_cancelled(error):
        return None
    for number, (classes, text, _errno) in enumerate(error.chain):
        if not INTERRUPTS.isdisjoint(classes):
            name = classes[0].rpartition(".")[2]
            return error._replace(type=name, text=text, chain=error.chain[number:])
    return None
