"""What still runs once an application is stopped, and what keeps its process: as facts.

Looking never waits: `alive` does that.  What ends by itself has a moment for it here.
"""

import asyncio
import gc
import signal
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any

from lifespec.diagnosis.alive import children, holds
from lifespec.diagnosis.author import library
from lifespec.diagnosis.fact import Fact, Place, fact
from lifespec.diagnosis.origins import process_name, task_name, thread_name
from lifespec.diagnosis.stacks import is_own, short

ENDING = 0.5  # seconds that threads and processes have to end
POLL = 0.05
_CLOSED = (("closed", "__del__"), ("is_closed", "aclose"))  # says it, and what complains or closes
SIGNALS = (signal.SIGINT, signal.SIGTERM)  # that end a server


async def tasks(
    belongs: Callable[[asyncio.Task[Any]], bool],
    made: Mapping[asyncio.Task[Any], Place | None] = {},
) -> list[Fact]:
    """Return the tasks of this loop that still run and that belong to an application, sorted.

    Those that have no place in the author's code are a library's, which has to end them.
    """
    running = asyncio.all_tasks()
    for _turn in range(2):  # a task that was cancelled in the last moment ends in the next
        await asyncio.sleep(0)
    left = [each for each in running if not each.done() and belongs(each)]
    kinds = ["task-unawaited" if each.cancelling() else "task-left" for each in left]
    names = [task_name(each, made.get(each)) for each in left]
    found = zip(kinds, names, strict=True)
    return sorted((fact(kind, name=name) for kind, name in found), key=str)


def threads(before: Collection[threading.Thread]) -> list[Fact]:
    """Return the threads that started meanwhile and that the process has to wait for at its end."""
    found = [each for each in threading.enumerate() if each not in before and holds(each)]
    return [fact("thread-left", name=thread_name(x)) for x in _unended(found) if holds(x)]


def daemons(before: Collection[threading.Thread]) -> list[Fact]:
    """Return the daemon threads of the author's functions that started meanwhile and do not end."""
    found = [each for each in threading.enumerate() if each.daemon and each not in before]
    targets = [getattr(each, "_target", None) or type(each).run for each in found]
    codes = [getattr(each, "__code__", None) for each in targets]
    own = [x for x, code in zip(found, codes, strict=True) if code and is_own(code.co_filename)]
    return [fact("daemon-left", name=thread_name(each)) for each in _unended(own)]


def _unended(found: Sequence[threading.Thread]) -> list[threading.Thread]:
    """Return those of threads that do not end; they have one time for all."""
    end = time.monotonic() + ENDING
    for each in found:
        each.join(max(end - time.monotonic(), 0))
    return [each for each in found if each.is_alive()]


def processes(pid: int, belongs: Callable[[int], bool] = bool) -> list[Fact]:
    """Return the processes that a process has started and that do not end, where /proc has them."""
    end = time.monotonic() + ENDING
    while found := {each: name for each, name in children(pid).items() if belongs(each)}:
        if time.monotonic() > end:
            break
        time.sleep(POLL)
    names = sorted(found.items(), key=lambda each: each[1])
    return [fact("process-left", name=process_name(*each)) for each in names]


def unclosed() -> list[Fact]:
    """Return the objects of libraries that are open and that one has to close.

    Those that were frozen before a process was forked are left out: the collector has none of them.
    """
    known: dict[type, tuple[str, str]] = {}
    found: list[Fact] = []
    for each in gc.get_objects():
        kind = type(each)
        if kind not in known:
            names = [
                name for name, method in _CLOSED if hasattr(kind, name) and hasattr(kind, method)
            ]
            known[kind] = (library(str(kind.__module__)), names[0]) if names else ("", "")
        package, name = known[kind]
        with suppress(Exception):  # a property is code of its library
            if package and getattr(each, name) is False:
                found.append(fact("unclosed", name=kind.__name__, package=package))
    return sorted(dict.fromkeys(found), key=str)


# ---- signals -----------------------------------------------------------------------------------


def handlers() -> dict[signal.Signals, Any]:
    """Return the handlers of the signals that end a server."""
    return {each: signal.getsignal(each) for each in SIGNALS}


def taken(before: Mapping[signal.Signals, Any]) -> list[Fact]:
    """Return the handlers that have come in the place of those before."""
    now = handlers()
    return [
        fact("signal-taken", signal=each.name, handler=_handler(now[each]))
        for each in before
        if now[each] != before[each]
    ]


def _handler(handler: Any) -> Fact | str:
    """Return the name of a handler of a signal, and where it is if it is the author's."""
    code, name = getattr(handler, "__code__", None), getattr(handler, "__qualname__", repr(handler))
    name = "loop.add_signal_handler" if name == "_sighandler_noop" else name  # asyncio's
    if code is None or not is_own(code.co_filename):
        return f"`{name}`"
    return Place.at(short(name), code.co_filename, code.co_firstlineno).fact()
