"""The processes of a command that is watched, and what was said of them."""

import math
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from lifespec.diagnosis import guard
from lifespec.diagnosis.course import SHUTDOWN_COMPLETE, STARTUP_COMPLETE
from lifespec.diagnosis.fact import Fact, fact
from lifespec.watch.ends import ends
from lifespec.watch.group import catches, is_alive, parent_of, program_of
from lifespec.watch.waiting import (
    BLOCKED,
    Cause,
    at,
    blocked,
    causes,
    events,
    handler,
    own_failure,
    server_of,
)
from lifespec.watch.watched import Process

LONG = 1.0  # seconds of a part of the shutdown that are worth a word
GRACE = 0.5  # seconds in which a server may act on a signal
SUSPENDED = 1.0  # seconds without a look from which on this process was stopped meanwhile
KEYS = {"SIGINT": "Ctrl-C", "SIGQUIT": "Ctrl-\\"}  # of a terminal
PHASES = ("startup", "shutdown", "requests")  # kinds of causes that say where something is
CUT_OFF = ("clean-up-cut-off", "left-out")  # what a second signal may have done
NAMED = 5  # processes that are named

Tell = Callable[[Fact, Sequence[Fact], Fact | None, int], object]


class Signal(NamedTuple):
    """A signal that has come, when, and whether to all of this group."""

    number: int
    time: float
    to_all: bool = False

    @property
    def name(self) -> str:
        """Its name, such as SIGTERM."""
        return signal.Signals(self.number).name

    @property
    def shown(self) -> str:
        """The key that was pressed, or its name."""
        return KEYS.get(self.name, self.name) if self.to_all else self.name


class Command:
    """The processes of a command, and what was said of them."""

    def __init__(self, folder: Path, after: float, tell: Tell) -> None:
        self.folder, self.after, self.tell = folder, after, tell
        self.process: subprocess.Popen[bytes] | None = None
        self.processes: dict[int, Process] = {}
        self.gone: dict[int, float] = {}  # when each was seen to have ended
        self.told: dict[object, object] = {}
        self.since: dict[object, tuple[object, float]] = {}  # what a phase waits for, from when on
        self.failures: dict[object, list[int]] = {}
        self.signals: list[Signal] = []  # that tell it to end
        self.failed: set[object] = set()  # of lifespec itself
        self.looked = time.time()
        self.suspensions: list[tuple[float, float]] = []  # when this process was stopped, how long

    def look(self) -> None:
        """Read what the agents have written, and say what is new; whatever goes wrong, go on."""
        now = time.time()
        if now - self.looked > SUSPENDED:
            self.suspensions.append((now, now - self.looked))
        self.looked = now
        with guard.keeping():
            self._read()
            self._say_signals()
        for failure in guard.take():
            if failure not in self.failed:
                self.failed.add(failure)
                self.tell(own_failure(failure), (), None, 0)

    def _read(self) -> None:
        for path in self.folder.glob("*.seen"):
            self.processes.setdefault(int(path.stem), Process(path))
        for process in self.alive():
            process.told_to_end = self.signals[0].time if self.signals else None
            is_gone = not is_alive(process.pid)  # asked first: what it has written is whole then
            process.read()
            found = causes(process, self.lasted, self.after)
            if is_gone:
                self.gone[process.pid] = self.looked
                process.ends()
                found = events(process)
            for cause in found:
                self.say(process, cause)

    def alive(self) -> list[Process]:
        """Return the processes that have not been seen to have ended."""
        return [each for pid, each in self.processes.items() if pid not in self.gone]

    def lasted(self, began: float) -> float:
        """Return the seconds since a moment, without those in which this process was stopped."""
        return self.looked - began - sum(each for at, each in self.suspensions if at > began)

    def say(self, process: Process, cause: Cause) -> None:
        """Say a cause, unless it was said."""
        if cause.kind == "failed":
            pids = self.failures.setdefault(cause.same, [])
            if process.pid in pids:
                return
            pids.append(process.pid)
            count = len(pids)
            if count > 1:
                again = fact("watch-failed-again", count=count, **cause.fact.parts)
                cause = cause._replace(fact=again)
            if count & (count - 1):  # 1, 2, 4, 8 ...
                return
        if cause.kind in CUT_OFF and len(self.signals) > 1:
            last = self.signals[-1]
            ended = (self.process and self.process.poll()) or 0  # below 0: the signal that did it
            if ended >= 0 or ended == -last.number:
                cause = cause._replace(fact=fact("watch-second", signal=last.name, what=cause.fact))
        key = process.pid, cause.kind
        if cause.kind in PHASES and not self._stays(key, cause):
            return
        if key not in self.told or self.told[key] != cause.same:
            self.told[key] = cause.same
            several = sum(each.has_server for each in self.processes.values()) > 1
            self.tell(cause.fact, cause.rows, cause.advice, process.pid if several else 0)

    def _stays(self, key: object, cause: Cause) -> bool:
        """Tell whether a phase waits for the first thing that is said of it, or for long.

        A startup with much to do is somewhere else at each look: each place would be told.
        """
        if key not in self.since or self.since[key][0] != cause.same:
            self.since[key] = cause.same, self.looked
        return key not in self.told or self.lasted(self.since[key][1]) >= self.after

    def _say_once(self, key: object, what: Fact) -> None:
        """Say something of the command as a whole."""
        if key not in self.told:
            self.told[key] = ""
            self.tell(what, (), None, 0)

    # ---- signals ----

    def _say_signals(self) -> None:
        if not self.process or not self.signals:
            return
        if self.lasted(self.signals[-1].time) >= GRACE:
            for process in self.alive():
                self._say_way_out(process)
            self._say_restart(self.process)
        is_over = self.process.returncode is not None
        if is_over or self.lasted(self.signals[0].time) > self.after:
            self.say_signal(self.process)

    def _say_way_out(self, process: Process) -> None:
        """Say what ends a server that does not act on the signals so far."""
        last = self.signals[-1]
        if not process.has_server:
            return
        lines = blocked(process)
        waits_for = _waits_for(process, self.signals)
        if lines and process.look and last.time - process.look.time < BLOCKED:
            key = "Ctrl-\\"
            if any(catches(each.pid, signal.SIGQUIT) for each in self.alive()):
                key = "kill -9"
            place = at(lines)
            what = fact("way-out-blocked", signal=last.shown, place=place.fact() if place else "")
        elif waits_for:
            keys = [*_pressed(self.signals)]
            key = ends(process.server, process.python, waits_for, keys)
            if not key:
                return
            server = server_of(process)
            what = fact(f"way-out-{waits_for}", server=server, signal=last.shown)
        else:
            return
        self._say_once(last, fact("way-out", what=what, way=self._way(key)))

    def _way(self, key: str) -> Fact:
        """Return how a server is ended that a key ends."""
        if key == "Ctrl-C twice":
            return Fact("way-again")
        number = "QUIT" if key == "Ctrl-\\" else "KILL"
        pids = sorted({*([self.process.pid] if self.process else ()), *self._pids()})
        command = f"kill -{number} {' '.join(map(str, pids))}"
        if key == "Ctrl-\\":
            return fact("way-quit", command=command)
        return fact("way-kill", command=command)

    def _pids(self) -> Iterator[int]:
        for process in self.alive():
            yield process.pid

    def _say_restart(self, command: "subprocess.Popen[bytes]") -> None:
        """Say that SIGQUIT has ended workers, and that their parent has started others."""
        last = self.signals[-1]
        if last.name != "SIGQUIT" or command.returncode is not None or len(self.signals) > 1:
            return
        ended = [each for each in self.gone.values() if each >= last.time]
        for process in self.alive():
            if ended and process.lines and process.lines[0].time > last.time:
                servers = [each.server for each in self.processes.values() if each.server]
                server = servers[0].capitalize() if servers else Fact("the-server")
                self._say_once("restarted", fact("way-out-restarted", server=server))
                return

    def say_signal(self, command: "subprocess.Popen[bytes]") -> None:
        """Say that a signal did not reach the server, or that a handler of the author's took it."""
        first = self.signals[0]
        is_over = command.returncode is not None
        for process in self.alive():
            look = process.look
            waits = not is_over and look and (look.open or look.blocked)
            if not process.has_server or process.is_stopping or waits:
                continue
            has_started = STARTUP_COMPLETE in process.times
            taken = handler(process, first.name)
            if has_started and taken:
                what = fact("signal-taken", signal=first.name, handler=taken)
                self.say(process, Cause("taken", "", what))
            elif (
                not first.to_all and command.pid not in self.processes and (has_started or is_over)
            ):
                top = self.top_of(process.pid)
                what = fact(
                    "watch-signal-lost",
                    signal=first.name,
                    program=Path(str(command.args[0])).name,  # type: ignore[index]
                    pid=command.pid,
                    server=program_of(top) or process.server,
                    server_pid=top,
                )
                self.say(process, Cause("lost", "", what))

    def top_of(self, pid: int) -> int:
        """Return the outermost process of Python above a process that is watched and runs."""
        top = pid
        while (parent := parent_of(pid)) > 1 and self.process and parent != self.process.pid:
            pid = parent
            if pid in self.processes:
                top = pid
        return top

    # ---- the end ----

    def end(self, status: int) -> None:
        """Say how it went."""
        left = tuple(dict.fromkeys(map(self.top_of, (each.pid for each in self._left()))))
        parts = [*self._went(is_stopped=not left)]
        if left:
            names = tuple(f"{program_of(pid)} ({pid})" for pid in left[:NAMED])
            parts.append(fact("end-left", names=names))
        self.tell(fact("watch-end", parts=tuple(parts), status=status), (), None, 0)

    def _left(self) -> list[Process]:
        """Return the processes that go on although the command has ended."""
        return [process for process in self.alive() if is_alive(process.pid)]

    def _went(self, *, is_stopped: bool) -> Iterator[Fact]:
        """Yield how the lifespans went."""
        if not self.processes:
            yield Fact("end-unseen")
            return
        served = [each for each in self.processes.values() if "called" in each.times]
        if not served:
            yield Fact("end-no-lifespan")
            return
        first = served[0]
        started = first.times.get(STARTUP_COMPLETE)
        if started is None:
            yield Fact("end-not-started")
            return
        yield fact("end-started", seconds=_tenths(started - first.times["called"]))
        if not is_stopped:
            return
        begun = [each.stopped for each in served if each.stopped]
        if self.signals:
            stopped = self.signals[0].time
        elif begun:
            stopped = max(begun)
        else:
            yield Fact("end-by-itself")
            return
        yield fact("end-stopped", seconds=_tenths(self.lasted(stopped)))
        before = max(each.times.get("shutdown", 0) for each in served) - stopped
        if before > LONG:
            yield fact("end-before", seconds=_tenths(before))
        answered = max(each.times.get(SHUTDOWN_COMPLETE, 0) for each in served)
        if answered and self.lasted(answered) > LONG:
            yield fact("end-after", seconds=_tenths(self.lasted(answered)))


def _tenths(seconds: float) -> str:
    return f"{seconds:.1f}"


def _pressed(signals: Sequence[Signal]) -> Iterator[str]:
    """Yield the keys that these signals stand for: SIGTERM asks as Ctrl-C does, and never twice."""
    yield "Ctrl-C"
    if sum(each.number == signal.SIGINT for each in signals) > 1:
        yield "Ctrl-C twice"
    if any(each.number == signal.SIGQUIT for each in signals):
        yield "Ctrl-\\"


def _waits_for(process: Process, signals: Sequence[Signal]) -> str:
    """Return what a server waits for that keeps it from acting on the last signal, "" if nothing.

    The first signal begins a shutdown, unless startup lasts.
    """
    last = signals[-1].time
    since, waits_for = math.inf, ""
    if process.state in ("called", "starting"):
        since, waits_for = process.times["called"], "startup"
    elif len(signals) == 1 or process.look is None:
        pass
    elif process.state in ("cleaning", "cut"):
        since, waits_for = process.times["shutdown"], "shutdown"
    elif process.look.threads:
        since, waits_for = process.look.time, "threads"
    elif process.look.requests and process.stopped:
        is_background = all(request.background for request in process.look.requests)
        since, waits_for = process.stopped, "tasks" if is_background else "requests"
    return waits_for if since < last else ""
