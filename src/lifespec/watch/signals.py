"""A signal that has come to a watched command, and what ends a server that does not act on it."""

import math
import signal
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from lifespec.watch.ends import ends
from lifespec.watch.watched import STARTS, WatchedProcess

KEY_OF_SIGNAL = {"SIGINT": "Ctrl-C", "SIGQUIT": "Ctrl-\\"}  # of a terminal


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
        if self.to_all:
            return KEY_OF_SIGNAL.get(self.name, self.name)
        return self.name


def key_that_ends(process: WatchedProcess, waits_for: str, signals: Sequence[Signal]) -> str:
    """Return the key that ends a server where the signals so far do not; "" if one does."""
    return ends(process.recorded_as, process.python, waits_for, _pressed(signals))


def _pressed(signals: Sequence[Signal]) -> list[str]:
    """Return the keys that signals stand for: SIGTERM asks as Ctrl-C does, and never twice."""
    keys = []
    if signals:
        keys.append("Ctrl-C")
    numbers = [came.number for came in signals]
    if numbers.count(signal.SIGINT) > 1:
        keys.append("Ctrl-C twice")
    if signal.SIGQUIT in numbers:
        keys.append("Ctrl-\\")
    return keys


def kill_command(key: str, pids: Iterable[int]) -> str:
    """Return the command of a shell that ends processes as a key does."""
    name = "KILL"
    if key == "Ctrl-\\":
        name = "QUIT"
    return f"kill -{name} {' '.join(map(str, sorted(pids)))}"


def waits_for(process: WatchedProcess, signals: Sequence[Signal]) -> str:
    """Return what a server waits for that keeps it from acting on the last signal, "" if nothing.

    The first signal begins a shutdown, unless startup lasts.
    """
    since, thing = _waits_since(process, is_first=len(signals) == 1)
    if since < signals[-1].time:
        return thing
    return ""


def _waits_since(process: WatchedProcess, *, is_first: bool) -> tuple[float, str]:
    """Return since when a server waits for what keeps it from acting on a signal, and the thing."""
    if process.state in STARTS:
        return process.times["called"], "startup"
    look = process.look
    if is_first or look is None:
        return math.inf, ""
    if process.state in ("cleaning", "cut"):
        return process.times["shutdown"], "shutdown"
    if look.threads:
        return look.time, "threads"
    if process.stopped and look.requests:
        thing = "requests"
        if all(request.background for request in look.requests):
            thing = "tasks"
        return process.stopped, thing
    return math.inf, ""
