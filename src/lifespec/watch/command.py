"""The processes of a command that is watched, and what was said of them."""

import math
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from lifespec.diagnosis import guard
from lifespec.diagnosis.course import SHUTDOWN_COMPLETE, STARTUP_COMPLETE
from lifespec.diagnosis.fact import Fact, fact
from lifespec.watch.ends import ends
from lifespec.watch.group import below, catches, is_alive, parent_of, program_of
from lifespec.watch.waiting import (
    BLOCKED_FROM,
    Cause,
    at,
    blocked,
    causes,
    events,
    handler,
    own_failure,
    server_of,
)
from lifespec.watch.watched import STARTS, WatchedProcess

LONG_PART = 1.0  # seconds of a part of the shutdown that are worth a word
SIGNAL_GRACE = 0.5  # seconds in which a server may act on a signal
SUSPENDED = 1.0  # seconds without a look from which on this process was stopped meanwhile
KEY_OF_SIGNAL = {"SIGINT": "Ctrl-C", "SIGQUIT": "Ctrl-\\"}  # of a terminal
# kinds of causes that say where something is
PHASES = ("unserved", "startup", "shutdown", "requests")
CUT_OFF = ("clean-up-cut-off", "without-shutdown")  # what a second signal may have done
MOST_NAMED = 5  # processes that are named

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
    def key_or_name(self) -> str:
        """The key that was pressed, or its name."""
        return KEY_OF_SIGNAL.get(self.name, self.name) if self.to_all else self.name


class WatchedCommand:
    """The processes of a command, and what was said of them."""

    def __init__(self, folder: Path, after: float, tell: Tell) -> None:
        self.folder, self.after, self.tell = folder, after, tell
        self.process: subprocess.Popen[bytes] | None = None
        self.processes: dict[int, WatchedProcess] = {}
        self.gone: dict[int, float] = {}  # when each was seen to have ended
        self.causes_said: dict[object, object] = {}
        self.since: dict[object, tuple[object, float]] = {}  # what a phase waits for, from when on
        self.failures: dict[object, list[int]] = {}
        self.signals: list[Signal] = []  # that tell it to end
        self.failed: set[object] = set()  # of lifespec itself
        self.looked = self.said_at = time.time()  # when the last look was, and the last word
        self.suspensions: list[tuple[float, float]] = []  # when this process was stopped, how long

    def look(self) -> None:
        """Read what the agents have written, and say what is new; whatever goes wrong, go on."""
        now = time.time()
        if now - self.looked > SUSPENDED:
            self.suspensions.append((now, now - self.looked))
        self.looked = now
        with guard.keeping():
            self._read()
            self.say_signals()
        for failure in guard.take():
            if failure not in self.failed:
                self.failed.add(failure)
                self.tell(own_failure(failure), (), None, 0)

    def _read(self) -> None:
        for path in self.folder.glob("*.seen"):
            pid = int(path.stem)
            if pid not in self.processes:
                self.processes[pid] = WatchedProcess(path)
        for process in self.alive():
            if self.signals:
                process.told_to_end = self.signals[0].time
            is_gone = not is_alive(process.pid)  # asked first: what it has written is whole then
            process.read()
            if is_gone:
                self.gone[process.pid] = self.looked
                process.ends()
                found = events(process)
            else:
                found = causes(process, self.lasted, self.after)
            for cause in found:
                self.say(process, cause)

    def alive(self) -> list[WatchedProcess]:
        """Return the processes that have not been seen to have ended."""
        return [each for pid, each in self.processes.items() if pid not in self.gone]

    def lasted(self, began: float) -> float:
        """Return the seconds since a moment, without those in which this process was stopped."""
        seconds = self.looked - began
        for ended, suspended in self.suspensions:
            if ended > began:
                seconds -= suspended
        return seconds

    def say(self, process: WatchedProcess, cause: Cause) -> None:
        """Say a cause, unless it was said."""
        if cause.kind == "failed":
            pids = self.failures.setdefault(cause.identity, [])
            if process.pid in pids:
                return
            pids.append(process.pid)
            count = len(pids)
            if not _is_power_of_two(count):
                return
            if count > 1:
                again = fact("failed-again", count=count, **cause.fact.parts)
                cause = cause._replace(fact=again)
        if cause.kind in CUT_OFF and self._ended_by_a_second_signal():
            again = fact("second-signal", signal=self.signals[-1].name, what=cause.fact)
            cause = cause._replace(fact=again)
        key = process.pid, cause.kind
        if cause.kind in PHASES and not self._stays(key, cause):
            return
        if key in self.causes_said and self.causes_said[key] == cause.identity:
            return
        self.causes_said[key] = cause.identity
        servers = [each for each in self.processes.values() if each.has_server]
        self.said_at = time.time()
        pid = process.pid if len(servers) > 1 else 0
        self.tell(cause.fact, cause.rows, cause.advice, pid)

    def _ended_by_a_second_signal(self) -> bool:
        """Tell whether a second signal may have ended the command, and no other one has."""
        if len(self.signals) < 2:  # noqa: PLR2004
            return False
        status = self.process.poll() if self.process else None
        if status is None or status >= 0:
            return True
        return -status == self.signals[-1].number

    def _stays(self, key: object, cause: Cause) -> bool:
        """Tell whether a phase waits for the first thing that is said of it, or for long.

        A startup with much to do is somewhere else at each look: each place would be told.
        """
        if key not in self.since or self.since[key][0] != cause.identity:
            self.since[key] = cause.identity, self.looked
        return key not in self.causes_said or self.lasted(self.since[key][1]) >= self.after

    def _say_once(self, key: object, what: Fact) -> None:
        """Say something of the command as a whole."""
        if key not in self.causes_said:
            self.causes_said[key] = ""
            self.said_at = time.time()
            self.tell(what, (), None, 0)

    # ---- signals ----

    def say_signals(self) -> None:
        """Say what became of the signals so far: of those that ended nothing, what ends it."""
        if not self.signals:
            for process in self.alive():
                self._say_signal_of_others(process)
        if not self.process or not self.signals:
            return
        if self.lasted(self.signals[-1].time) >= SIGNAL_GRACE:
            for process in self.alive():
                self._say_way_out(process, self.process.pid)
            self._say_restart(self.process)
        is_over = self.process.returncode is not None
        if is_over or self.lasted(self.signals[0].time) > self.after:
            self.say_signal(self.process)
        if not is_over:
            self._say_goes_on(self.process.pid)

    def _say_signal_of_others(self, process: WatchedProcess) -> None:
        """Say what ends a server that starts, and that somebody else has told to end.

        Its supervisor may have done so, to load it anew, and waits for it.
        """
        if process.state not in STARTS or not process.signals:
            return
        last = process.signals[-1]
        key = ends(process.recorded_as, process.python, "startup", ())
        if not key or self.lasted(last.time) < SIGNAL_GRACE:
            return
        name = Signal(last.signal, last.time).key_or_name
        what = fact("way-out-startup", server=server_of(process), signal=name)
        way = fact("way-worker", command=_kill(key, [process.pid]))
        self._say_once((process.pid, last), fact("way-out", what=what, way=way))

    def _say_way_out(self, process: WatchedProcess, command: int) -> None:
        """Say what ends a server that does not act on the signals so far."""
        last = self.signals[-1]
        if not process.has_server:
            return
        loop = blocked(process)
        if loop and process.look and last.time - process.look.time < BLOCKED_FROM:
            key = "Ctrl-\\"
            if any(catches(each.pid, signal.SIGQUIT) for each in self.alive()):
                key = "kill -9"
            place = at(loop.lines)
            what = fact(
                "way-out-blocked", signal=last.key_or_name, place=place.fact() if place else ""
            )
        else:
            waits_for = _waits_for(process, self.signals)
            key = ends(process.recorded_as, process.python, waits_for, [*_pressed(self.signals)])
            what = fact(f"way-out-{waits_for}", server=server_of(process), signal=last.key_or_name)
        if key:
            self._say_once(last, fact("way-out", what=what, way=self._way(key, command)))

    def _way(self, key: str, command: int) -> Fact:
        """Return how a server is ended that a key ends."""
        if key == "Ctrl-C twice":
            return Fact("way-again")
        kind = "way-quit" if key == "Ctrl-\\" else "way-kill"
        return fact(kind, command=_kill(key, self._pids(command)))

    def _pids(self, command: int) -> set[int]:
        """Return the processes that are seen to run, with that of the command."""
        return {command, *(process.pid for process in self.alive())}

    def _say_goes_on(self, command: int) -> None:
        """Say at least that the command goes on, if nothing was said since the last signal."""
        last = self.signals[-1]
        seconds = self.lasted(last.time)
        if self.said_at > last.time or seconds < self.after + 1:  # what is seen is said before
            return
        kind, pids = "way-out-goes-on", self._pids(command)
        if not any(process.has_server for process in self.alive()):
            kind = "way-out-unseen"
            pids.update(below(command))  # the server may be one of those that no agent is in
        what = fact(kind, signal=last.key_or_name, seconds=int(seconds))
        way = fact("way-kill", command=_kill("kill -9", pids))
        self._say_once((command, last), fact("way-out", what=what, way=way))

    def _say_restart(self, command: "subprocess.Popen[bytes]") -> None:
        """Say that SIGQUIT has ended workers, and that their parent has started others."""
        last = self.signals[-1]
        if last.name != "SIGQUIT" or len(self.signals) > 1 or command.returncode is not None:
            return
        ended = [moment for moment in self.gone.values() if moment >= last.time]
        for process in self.alive():
            if ended and process.lines and process.lines[0].time > last.time:
                served = [each for each in self.processes.values() if each.server]
                server = server_of(served[0]) if served else Fact("the-server")
                self._say_once("restarted", fact("way-out-restarted", server=server))
                return

    def say_signal(self, command: "subprocess.Popen[bytes]") -> None:
        """Say that a signal did not reach the server, or that a handler of the author's took it."""
        first = self.signals[0]
        is_over = command.returncode is not None
        for process in self.alive():
            look = process.look
            if not process.has_server or process.is_stopping:
                continue
            if look and not is_over and (look.open or look.blocked):
                continue
            may_serve = STARTUP_COMPLETE in process.times or process.takes_no_part
            taken = handler(process, first.name)
            if may_serve and taken:
                what = fact("signal-taken", signal=first.name, handler=taken)
                self.say(process, Cause("taken", "", what))
                continue
            if first.to_all or command.pid in self.processes:
                continue
            if may_serve or is_over:
                what = self._lost(first, command, process)
                self.say(process, Cause("lost", "", what))

    def _lost(
        self, signal: Signal, command: "subprocess.Popen[bytes]", process: WatchedProcess
    ) -> Fact:
        """Return that a signal has reached a command that does not pass it on to the server."""
        top = self.top_of(process.pid)
        return fact(
            "signal-lost",
            signal=signal.name,
            program=Path(str(command.args[0])).name,  # type: ignore[index]
            pid=command.pid,
            server=program_of(top) or process.server,
            server_pid=top,
        )

    def top_of(self, pid: int) -> int:
        """Return the outermost process of Python above a process that is watched and runs."""
        top = pid
        command = self.process.pid if self.process else 0
        pid = parent_of(pid)
        while pid > 1 and pid != command:
            if pid in self.processes:
                top = pid
            pid = parent_of(pid)
        return top

    # ---- the end ----

    def end(self, status: int) -> None:
        """Say how it went."""
        left = {self.top_of(process.pid): "" for process in self._left()}  # each once, in order
        parts = self._went(is_stopped=not left)
        if left:
            names = tuple(f"{program_of(pid)} ({pid})" for pid in [*left][:MOST_NAMED])
            parts.append(fact("end-left", names=names))
        self.tell(fact("last-line", parts=tuple(parts), status=status), (), None, 0)

    def _left(self) -> list[WatchedProcess]:
        """Return the processes that go on although the command has ended."""
        return [process for process in self.alive() if is_alive(process.pid)]

    def _went(self, *, is_stopped: bool) -> list[Fact]:
        """Return how the lifespans went."""
        if not self.processes:
            return [Fact("end-unseen")]
        served = [process for process in self.processes.values() if "called" in process.times]
        if not served:
            return [Fact("end-no-lifespan")]
        first = served[0]
        started = first.times.get(STARTUP_COMPLETE)
        if started is None:
            return [Fact("end-took-no-part" if first.takes_no_part else "end-not-started")]
        parts = [fact("end-started", seconds=_tenths(started - first.times["called"]))]
        if is_stopped:
            parts += self._stopped(served)
        return parts

    def _stopped(self, served: Sequence[WatchedProcess]) -> list[Fact]:
        """Return how long it took until all had stopped, and what of it was long."""
        if self.signals:
            stopped = self.signals[0].time
        else:
            stopped = max(process.stopped or 0 for process in served)
        if not stopped:
            return [Fact("end-by-itself")]
        parts = [fact("end-stopped", seconds=_tenths(self.lasted(stopped)))]
        sent = max(process.times.get("shutdown", 0) for process in served)
        if sent - stopped > LONG_PART:
            parts.append(fact("end-before", seconds=_tenths(sent - stopped)))
        answered = max(process.times.get(SHUTDOWN_COMPLETE, 0) for process in served)
        if answered and self.lasted(answered) > LONG_PART:
            parts.append(fact("end-after", seconds=_tenths(self.lasted(answered))))
        return parts


def _tenths(seconds: float) -> str:
    return f"{seconds:.1f}"


def _is_power_of_two(count: int) -> bool:
    return not count & (count - 1)


def _kill(key: str, pids: Iterable[int]) -> str:
    """Return the command that ends processes as a key does."""
    number = "QUIT" if key == "Ctrl-\\" else "KILL"
    return f"kill -{number} {' '.join(map(str, sorted(pids)))}"


def _pressed(signals: Sequence[Signal]) -> Iterator[str]:
    """Yield the keys that these signals stand for: SIGTERM asks as Ctrl-C does, and never twice."""
    yield "Ctrl-C"
    if sum(each.number == signal.SIGINT for each in signals) > 1:
        yield "Ctrl-C twice"
    if any(each.number == signal.SIGQUIT for each in signals):
        yield "Ctrl-\\"


def _waits_for(process: WatchedProcess, signals: Sequence[Signal]) -> str:
    """Return what a server waits for that keeps it from acting on the last signal, "" if nothing.

    The first signal begins a shutdown, unless startup lasts.
    """
    since, waits_for = math.inf, ""
    look = process.look
    if process.state in STARTS:
        since, waits_for = process.times["called"], "startup"
    elif len(signals) == 1 or look is None:
        return ""
    elif process.state in ("cleaning", "cut"):
        since, waits_for = process.times["shutdown"], "shutdown"
    elif look.threads:
        since, waits_for = look.time, "threads"
    elif look.requests and process.stopped:
        is_background = all(request.background for request in look.requests)
        since, waits_for = process.stopped, "tasks" if is_background else "requests"
    return waits_for if since < signals[-1].time else ""
