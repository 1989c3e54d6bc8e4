"""Start a server's own command, and say what its startup or its shutdown waits for.

The command has this process's terminal, environment, folder and input, and gets the signals that
come to it.  An agent in each process of Python writes down what that does (`agent`); this
process reads it, and prints a line once something has lasted.
"""

import contextlib
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from lifespec.diagnosis.fact import Fact, fact
from lifespec.watch.group import GroupListener, is_alive
from lifespec.watch.waiting import Cause, causes, cut_off, events, handler
from lifespec.watch.watched import STARTED, Process

AFTER = 3.0  # seconds that startup or shutdown may last before something is said
TICK = 0.1  # seconds between two looks
LONG = 1.0  # seconds between a signal and lifespan.shutdown that are worth a word
SUSPENDED = 1.0  # seconds without a tick from which on this process was stopped meanwhile
SIGNALLED = 128  # shells add it to the number of the signal that ended a process
ENDS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")  # signals that tell a server to end
PASSED = (*ENDS, "SIGUSR1", "SIGUSR2", "SIGTTIN", "SIGTTOU")
TARGET = re.compile(r"([A-Za-z_]\w*)[\w.]*:[A-Za-z_]")  # of a command: the application
# what the agent consists of, by its room
TRAVELS = {
    "diagnosis": ("alive", "guard", "stacks", "waits", "whose", "work"),
    "watch": ("agent", "hooks"),
}
BEGIN = """\
import sys
sys.path.insert(0, {folder!r})
try:
    import lifespec_agent.watch.agent
    lifespec_agent.diagnosis.stacks.OURS = {folder!r}  # with this file
    lifespec_agent.watch.agent.begin({folder!r}, {own!r})
except Exception:
    pass
sys.path[:] = [each for each in sys.path if each != {folder!r}]
"""
HIDDEN = """\
from importlib.machinery import PathFinder
spec = PathFinder.find_spec("sitecustomize")
if spec is not None and spec.loader is not None:  # which this one hides
    import importlib.util
    sys.modules["sitecustomize"] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
"""

Tell = Callable[[Fact, Sequence[Fact], Fact | None, int], object]


class Signal(NamedTuple):
    """A signal that has come, when, and whether to all of this group."""

    number: int
    time: float
    to_all: bool = False


class Watch:
    """The processes of a command, and what was said of them."""

    def __init__(self, folder: Path, after: float, tell: Tell) -> None:
        self.folder, self.after, self.tell = folder, after, tell
        self.command: subprocess.Popen[bytes] | None = None
        self.processes: dict[int, Process] = {}
        self.gone: set[int] = set()
        self.told: dict[object, object] = {}
        self.failures: dict[object, list[int]] = {}
        self.signals: list[Signal] = []
        self.ticked = time.time()
        self.suspensions: list[tuple[float, float]] = []  # when this process was stopped, how long

    def look(self) -> None:
        """Read what the agents have written, and say what is new; whatever goes wrong, go on."""
        now = time.time()
        if now - self.ticked > SUSPENDED:
            self.suspensions.append((now, now - self.ticked))
        self.ticked = now
        with contextlib.suppress(Exception):
            for path in self.folder.glob("*.seen"):
                self.processes.setdefault(int(path.stem), Process(path)).read()
            for each in [x for x in self.processes.values() if x.pid not in self.gone]:
                each.told_to_end = self.signals[0].time if self.signals else None
                found = causes(each, self.lasted, self.after)
                if not is_alive(each.pid):
                    self.gone.add(each.pid)
                    each.read()
                    found = chain(events(each), cut_off(each))
                for cause in found:
                    self.say(each, cause)
            if self.command and self.signals:
                is_over = self.command.returncode is not None
                if is_over or self.lasted(self.signals[0].time) > self.after:
                    self.say_signal(self.command)

    def lasted(self, began: float) -> float:
        """Return the seconds since a moment, without those in which this process was stopped."""
        return self.ticked - began - sum(each for at, each in self.suspensions if at > began)

    def say(self, process: Process, cause: Cause) -> None:
        """Say a cause, unless it was said."""
        if cause.kind == "failed":
            pids = self.failures.setdefault(cause.same, [])
            if process.pid in pids:
                return
            pids.append(process.pid)
            if (count := len(pids)) > 1:
                again = fact("watch-failed-again", count=count, **cause.fact.parts)
                cause = cause._replace(fact=again)
            if count & (count - 1):  # 1, 2, 4, 8 ...
                return
        if cause.kind in ("cut off", "left out") and len(self.signals) > 1:
            last = signal.Signals(self.signals[-1].number)
            ended = (self.command and self.command.poll()) or 0  # below 0: the signal that did it
            if ended >= 0 or ended == -last:
                cause = cause._replace(fact=fact("watch-second", signal=last.name, what=cause.fact))
        key = process.pid, cause.kind
        if key not in self.told or self.told[key] != cause.same:
            self.told[key] = cause.same
            several = sum(each.has_server for each in self.processes.values()) > 1
            self.tell(cause.fact, cause.rows, cause.advice, process.pid if several else 0)

    def say_signal(self, command: "subprocess.Popen[bytes]") -> None:
        """Say that a signal did not reach the server, or that a handler of the author's took it."""
        number, _, to_all = self.signals[0]
        name, is_over = signal.Signals(number).name, command.returncode is not None
        for each in self.processes.values():
            waits = not is_over and (each.look.get("open") or each.look.get("blocked"))
            if each.pid in self.gone or not each.has_server or each.is_stopping or waits:
                continue
            if each.has_started and (taken := handler(each, name)):
                what = fact("signal-taken", signal=name, handler=taken)
                self.say(each, Cause("taken", "", what))
            elif not to_all and command.pid not in self.processes and (each.has_started or is_over):
                program = Path(command.args[0]).name  # type: ignore[index,arg-type]
                parts = {"program": program, "pid": command.pid, "server": each.server}
                what = fact("watch-signal-lost", signal=name, server_pid=each.pid, **parts)
                self.say(each, Cause("lost", "", what))

    def end(self, status: int) -> None:
        """Say how it went."""
        served = [each for each in self.processes.values() if each.time("called")]
        times: dict[str, float] = {}
        kind = "watch-end-unseen" if self.processes else "watch-unseen"
        if served:
            first, kind = served[0], "watch-end-not-started"
            called, started = first.time("called"), first.time(STARTED)
            begun = first.time("stop", "shutdown")
            stopped = self.signals[0].time if self.signals else begun
            if started:
                kind, times["started"] = "watch-end-by-itself", started - (called or 0)
            if started and stopped:
                kind, times["stopped"] = "watch-end", self.lasted(stopped)
                before = max(each.time("shutdown") or 0 for each in served) - stopped
                if before > LONG:
                    kind, times["before"] = "watch-end-after", before
        parts: dict[str, Any] = {name: f"{seconds:.1f}" for name, seconds in times.items()}
        self.tell(fact(kind, status=status, **parts), (), None, 0)


def watch(command: Sequence[str], after: float, tell: Tell) -> int:
    """Run a command, say what it waits for, and return its exit status.

    That is 128 plus the number of a signal that ended it.  Raises OSError if it cannot be started.
    """
    numbers = [getattr(signal, name) for name in PASSED if hasattr(signal, name)]
    numbers = [each for each in numbers if signal.getsignal(each) != signal.SIG_IGN]
    pending: list[Signal] = []
    with _folder(command) as folder:
        state = Watch(folder, after, tell)
        path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
        listener = GroupListener(numbers)
        note = lambda number, _: pending.append(Signal(number, time.time()))  # noqa: E731
        old = {each: signal.signal(each, note) for each in numbers}
        try:
            environment = {**os.environ, "PYTHONPATH": path}
            process = state.command = subprocess.Popen(command, env=environment)
            while process.poll() is None:
                time.sleep(TICK)
                came, pending[:] = [*pending], []
                heard = listener.heard() if came else set()
                for number, at, _ in came:
                    if number not in heard:
                        process.send_signal(number)
                    if signal.Signals(number).name in ENDS:
                        state.signals.append(Signal(number, at, number in heard))
                        (folder / "stop").touch()
                state.look()
            state.look()
            status = process.returncode
            status = SIGNALLED - status if status < 0 else status
            with contextlib.suppress(Exception):
                state.end(status)
        finally:
            for number, before in old.items():
                signal.signal(number, before)
            listener.close()
    return status


def attach(pid: int, after: float, tell: Tell) -> None:
    """Say what a process waits for that runs already, until it ends.

    Raises OSError or RuntimeError if it cannot be looked into.
    """
    with _folder(()) as folder:
        state = Watch(folder, after, tell)
        sys.remote_exec(pid, str(folder / "begin.py"))  # type: ignore[attr-defined]  # Python 3.14
        asleep = time.monotonic() + after
        while is_alive(pid):
            time.sleep(TICK)
            state.look()
            if not state.processes and time.monotonic() > asleep:
                tell(fact("watch-asleep", pid=pid, seconds=f"{after:g}"), (), None, 0)
                asleep = math.inf


@contextlib.contextmanager
def _folder(command: Sequence[str]) -> Iterator[Path]:
    """Yield a folder from which the agent begins in each Python that has it on its path.

    It is removed at the end.
    """
    import fcntl  # noqa: PLC0415  which Windows lacks, where only this module's help is read

    with tempfile.TemporaryDirectory(prefix="lifespec-watch-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        package = folder / "lifespec_agent"
        for room, names in TRAVELS.items():
            (package / room).mkdir(parents=True)
            (package / room / "__init__.py").touch()
            for each in names:
                text = resources.files(f"lifespec.{room}").joinpath(f"{each}.py").read_bytes()
                (package / room / f"{each}.py").write_bytes(text)
        (package / "__init__.py").touch()
        targets = filter(None, map(TARGET.match, command))
        begin = BEGIN.format(folder=name, own=next((each[1] for each in targets), ""))
        (folder / "begin.py").write_text(begin, "utf-8")
        (folder / "sitecustomize.py").write_text(begin + HIDDEN, "utf-8")
        lock = os.open(name, os.O_RDONLY)  # held for as long as this process lives
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield folder
        finally:
            os.close(lock)
