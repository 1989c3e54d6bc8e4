"""The processes of a command that is watched, and what was said of them."""

import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from lifespec.diagnosis import guard
from lifespec.diagnosis.author import own_failure
from lifespec.diagnosis.course import SHUTDOWN_COMPLETE, STARTUP_COMPLETE
from lifespec.diagnosis.fact import Fact, fact
from lifespec.watch.group import below, catches, is_alive, parent_of, program_of
from lifespec.watch.seen import Blocked
from lifespec.watch.signals import Signal, key_that_ends, kill_command, waits_for
from lifespec.watch.waiting import (
    BLOCKED_FROM,
    Cause,
    at,
    blocked,
    causes,
    events,
    handler,
    server_of,
)
from lifespec.watch.watched import STARTS, WatchedProcess

LONG_PART = 1.0  # seconds of a part of the shutdown that are worth a word
SIGNAL_GRACE = 0.5  # seconds in which a server may act on a signal
SUSPENDED = 1.0  # seconds without a look from which on this process was stopped meanwhile
# kinds of causes that say where something waits, and are told if it stays there
PHASES = ("unserved", "startup", "shutdown", "requests")
CUT_OFF = ("clean-up-cut-off", "without-shutdown")  # what a second signal may have done
MOST_NAMED = 5  # processes that are named
UNSAID = object()  # the identity of no cause: that of some is None

# a function that prints a sentence, its rows, its advice, and the number of the process that it is
# about, 0 if there is one alone
Tell = Callable[[Fact, Sequence[Fact], Fact | None, int], object]


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
                new = events(process)
            else:
                new = causes(process, self.lasted, self.after)
            for cause in new:
                self.say(process, cause)

    def alive(self) -> list[WatchedProcess]:
        """Return the processes that have not been seen to have ended."""
        return [process for pid, process in self.processes.items() if pid not in self.gone]

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
            is_told = self._count_failure(process, cause)
            if not is_told:
                return
            cause = self._with_count(cause)
        if cause.kind in CUT_OFF and self._ended_by_a_second_signal():
            again = fact("second-signal", signal=self.signals[-1].name, what=cause.fact)
            cause = cause._replace(fact=again)
        key = process.pid, cause.kind
        if cause.kind in PHASES and not self._stays(key, cause):
            return
        if self.causes_said.get(key, UNSAID) == cause.identity:
            return
        self.causes_said[key] = cause.identity
        self.said_at = time.time()
        self.tell(cause.fact, cause.rows, cause.advice, self._number_of(process))

    def _count_failure(self, process: WatchedProcess, cause: Cause) -> bool:
        """Count a worker that fails so; return whether that is told: seldom, if many do."""
        pids = self.failures.setdefault(cause.identity, [])
        if process.pid in pids:
            return False
        pids.append(process.pid)
        return _is_power_of_two(len(pids))

    def _with_count(self, cause: Cause) -> Cause:
        """Return a failure with how many workers have failed so, if it is not the first."""
        count = len(self.failures[cause.identity])
        if count == 1:
            return cause
        return cause._replace(fact=fact("failed-again", count=count, **cause.fact.parts))

    def _ended_by_a_second_signal(self) -> bool:
        """Tell whether a second signal may have ended the command, and no other one has."""
        if self.process is None or not self.signals[1:]:
            return False
        status = self.process.poll()
        if status is None or status >= 0:
            return True
        return -status == self.signals[-1].number

    def _stays(self, key: object, cause: Cause) -> bool:
        """Tell whether a phase waits for the first thing that is said of it, or for long.

        A startup with much to do is somewhere else at each look: each place would be told.
        """
        before, began = self.since.get(key, (UNSAID, self.looked))
        if before != cause.identity:
            began = self.looked
        self.since[key] = cause.identity, began
        if key not in self.causes_said:
            return True
        return self.lasted(began) >= self.after

    def _number_of(self, process: WatchedProcess) -> int:
        """Return the number of a process, 0 where no other one serves."""
        servers = [other for other in self.processes.values() if other.has_server]
        if len(servers) > 1:
            return process.pid
        return 0

    def _say_once(self, key: object, sentence: Fact) -> None:
        """Say something of the command as a whole."""
        if key not in self.causes_said:
            self.causes_said[key] = ""
            self.said_at = time.time()
            self.tell(sentence, (), None, 0)

    # ---- signals ----

    def say_signals(self) -> None:
        """Say what became of the signals so far: of those that ended nothing, what ends it."""
        command = self.process
        if command is None or not self.signals:
            for process in self.alive():
                self._say_signal_of_others(process)
            return
        is_over = command.returncode is not None
        if self.lasted(self.signals[-1].time) >= SIGNAL_GRACE:
            for process in self.alive():
                self._say_way_out(process, command.pid)
            if not is_over:
                self._say_restart()
        if is_over or self.lasted(self.signals[0].time) > self.after:
            self.say_signal(command)
        if not is_over:
            self._say_goes_on(command.pid)

    def _say_signal_of_others(self, process: WatchedProcess) -> None:
        """Say what ends a server that starts, and that somebody else has told to end.

        Its supervisor may have done so, to load it anew, and waits for it.
        """
        if process.state not in STARTS or not process.signals:
            return
        last = process.signals[-1]
        key = key_that_ends(process, "startup", ())
        if key and self.lasted(last.time) >= SIGNAL_GRACE:
            name = Signal(last.signal, last.time).key_or_name
            keeps = fact("way-out-startup", server=server_of(process), signal=name)
            way = fact("way-worker", command=kill_command(key, [process.pid]))
            self._say_once((process.pid, last), fact("way-out", what=keeps, way=way))

    def _say_way_out(self, process: WatchedProcess, command: int) -> None:
        """Say what ends a server that does not act on the signals so far."""
        if not process.has_server:
            return
        last = self.signals[-1]
        loop = self._blocked_at(process, last)
        if loop:
            key = self._key_for_blocked()
            keeps = fact("way-out-blocked", signal=last.key_or_name, place=_place_of(loop))
        else:
            thing = waits_for(process, self.signals)
            key = key_that_ends(process, thing, self.signals)
            keeps = fact(f"way-out-{thing}", server=server_of(process), signal=last.key_or_name)
        if key:
            self._say_once(last, fact("way-out", what=keeps, way=self._way(key, command)))

    def _blocked_at(self, process: WatchedProcess, last: Signal) -> Blocked | None:
        """Return where the event loop of a process was blocked when a signal came, if it was."""
        look = process.look
        if look is None or last.time - look.time >= BLOCKED_FROM:  # nobody knows what it is at
            return None
        return blocked(look)

    def _key_for_blocked(self) -> str:
        """Return the key that ends a process whose event loop is blocked."""
        for process in self.alive():
            if catches(process.pid, signal.SIGQUIT):  # a handler needs the loop, too
                return "kill -9"
        return "Ctrl-\\"

    def _way(self, key: str, command: int) -> Fact:
        """Return how a server is ended that a key ends."""
        if key == "Ctrl-C twice":
            return Fact("way-again")
        kind = "way-kill"
        if key == "Ctrl-\\":
            kind = "way-quit"
        return fact(kind, command=kill_command(key, self._pids(command)))

    def _pids(self, command: int) -> set[int]:
        """Return the processes that are seen to run, with that of the command."""
        pids = {process.pid for process in self.alive()}
        pids.add(command)
        return pids

    def _say_goes_on(self, command: int) -> None:
        """Say at least that the command goes on, if nothing was said since the last signal."""
        last = self.signals[-1]
        seconds = self.lasted(last.time)
        if self.said_at > last.time:
            return
        if seconds < self.after + 1:  # what is seen is said before
            return
        kind, pids = "way-out-goes-on", self._pids(command)
        if not any(process.has_server for process in self.alive()):
            kind = "way-out-unseen"
            pids.update(below(command))  # the server may be one of those that no agent is in
        goes_on = fact(kind, signal=last.key_or_name, seconds=int(seconds))
        way = fact("way-kill", command=kill_command("kill -9", pids))
        self._say_once((command, last), fact("way-out", what=goes_on, way=way))

    def _say_restart(self) -> None:
        """Say that SIGQUIT has ended workers, and that their parent has started others."""
        if [came.name for came in self.signals] != ["SIGQUIT"]:
            return
        came_at = self.signals[0].time
        begun = []
        for process in self.alive():
            if process.lines and process.lines[0].time > came_at:
                begun.append(process)
        if begun and max(self.gone.values(), default=0.0) >= came_at:
            servers = [server_of(process) for process in self.processes.values() if process.server]
            servers.append(Fact("the-server"))  # whose new workers have not come so far
            self._say_once("restarted", fact("way-out-restarted", server=servers[0]))

    def say_signal(self, command: "subprocess.Popen[bytes]") -> None:
        """Say that a signal did not reach the server, or that a handler of the author's took it."""
        is_over = command.returncode is not None
        for process in self.alive():
            if _goes_on(process, is_over=is_over):
                self._say_signal_of(process, command, is_over=is_over)

    def _say_signal_of(
        self, process: WatchedProcess, command: "subprocess.Popen[bytes]", *, is_over: bool
    ) -> None:
        """Say what became of the first signal in a process that goes on as if none had come."""
        first = self.signals[0]
        if STARTUP_COMPLETE in process.times or process.takes_no_part:  # so it serves
            taken = handler(process, first.name)
            if taken:
                by_author = fact("signal-taken", signal=first.name, handler=taken)
                self.say(process, Cause("taken", "", by_author))
                return
        elif not is_over:  # a server that starts may act on it later
            return
        if first.to_all or command.pid in self.processes:
            return
        self.say(process, Cause("lost", "", self._lost(first, command, process)))

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
        command = 0
        if self.process:
            command = self.process.pid
        pid = parent_of(pid)
        while pid not in (0, 1, command):
            if pid in self.processes:
                top = pid
            pid = parent_of(pid)
        return top

    # ---- the end ----

    def end(self, status: int) -> None:
        """Say how it went."""
        # who goes on although the command has ended: each once, in order
        left = {self.top_of(process.pid): "" for process in self.alive() if is_alive(process.pid)}
        parts = self._went(is_stopped=not left)
        if left:
            names = [f"{program_of(pid)} ({pid})" for pid in left]
            parts.append(fact("end-left", names=tuple(names[:MOST_NAMED])))
        self.tell(fact("last-line", parts=tuple(parts), status=status), (), None, 0)

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
            if first.takes_no_part:
                return [Fact("end-took-no-part")]
            return [Fact("end-not-started")]
        parts = [_lasting("end-started", started - first.times["called"])]
        if is_stopped:
            parts += self._stopped(served)
        return parts

    def _stopped(self, served: Sequence[WatchedProcess]) -> list[Fact]:
        """Return how long it took until all had stopped, and what of it was long."""
        if self.signals:
            stopped = self.signals[0].time
        else:
            stopped = _last(process.stopped for process in served)
        if not stopped:
            return [Fact("end-by-itself")]
        parts = [_lasting("end-stopped", self.lasted(stopped))]
        sent = _last(process.times.get("shutdown") for process in served)
        if sent - stopped > LONG_PART:
            parts.append(_lasting("end-before", sent - stopped))
        answered = _last(process.times.get(SHUTDOWN_COMPLETE) for process in served)
        if answered and self.lasted(answered) > LONG_PART:
            parts.append(_lasting("end-after", self.lasted(answered)))
        return parts


def _lasting(kind: str, seconds: float) -> Fact:
    return fact(kind, seconds=f"{seconds:.1f}")


def _place_of(loop: Blocked) -> Fact | str:
    """Return the place where a loop is blocked, as a part of a sentence."""
    place = at(loop.lines)
    if place is None:  # pragma: no cover  `blocked` asks for a line of the author's
        return ""
    return place.fact()


def _last(moments: Iterable[float | None]) -> float:
    """Return the last of some moments, 0 if there is none."""
    return max(filter(None, moments), default=0.0)


def _goes_on(process: WatchedProcess, *, is_over: bool) -> bool:
    """Tell whether a server goes on as if no signal had come.

    While the command runs, it may act on one once its requests, or what blocks its loop, have
    ended.
    """
    if not process.has_server or process.began_to_stop:
        return False
    if is_over or process.look is None:
        return True
    return not process.look.open and not process.look.blocked


def _is_power_of_two(count: int) -> bool:
    return not count & (count - 1)
