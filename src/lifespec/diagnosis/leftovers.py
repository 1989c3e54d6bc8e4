"""What an application leaves behind, and the author's own lines that began it.

Looking never waits: `alive` does that.  What ends by itself has a moment for it here.
"""

import asyncio
import gc
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.process import BaseProcess
from typing import Any
from weakref import WeakKeyDictionary

from lifespec.diagnosis.alive import children, holds
from lifespec.diagnosis.author import caller, described, library, place
from lifespec.diagnosis.fact import Fact, Place, fact
from lifespec.diagnosis.stacks import is_ours, is_own, line, short

ENDING = 0.5  # seconds that threads and processes have to end
POLL = 0.05
_CLOSED = (("closed", "__del__"), ("is_closed", "aclose"))  # says it, and what complains or closes
SIGNALS = (signal.SIGINT, signal.SIGTERM)  # that end a server
_STARTS: tuple[tuple[Any, str], ...] = (
    (threading.Thread, "start"), (BaseProcess, "start"), (subprocess.Popen, "__init__"),
)  # fmt: skip
_starters: WeakKeyDictionary[Any, Place] = WeakKeyDictionary()  # of threads
_started: dict[int, Place] = {}  # processes, by their number


# ---- who began it ------------------------------------------------------------------------------


class Tasks:
    """A task factory that keeps the tasks of an application, and the author's lines that made them.

    Tasks of lifespec are left out.  `belongs` tells of others whether they are the application's.
    """

    def __init__(self, belongs: Callable[[asyncio.Task[Any]], bool] | None = None) -> None:
        self.made: WeakKeyDictionary[asyncio.Task[Any], Place | None] = WeakKeyDictionary()
        self.belongs = belongs or self.made.__contains__

    def __call__(
        self, loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any
    ) -> asyncio.Task[Any]:
        """Make a task."""
        task = asyncio.Task(coroutine, loop=loop, **options)
        code = getattr(coroutine, "cr_code", None)
        if not (code and is_ours(code.co_filename)):
            self.made[task] = caller(sys._getframe(1))  # noqa: SLF001
        return task

    def failed(self, kind: str) -> list[Fact]:
        """Return the tasks whose exceptions were never retrieved, as facts of this kind."""
        done = [x for x in [*self.made] if x.done() and not x.cancelled() and self.belongs(x)]
        lost = [each for each in done if getattr(each, "_log_traceback", True)]
        found = [(task_name(each, self.made[each]), each.exception()) for each in lost]
        return [fact(kind, task=x, error=described(error).fact()) for x, error in found if error]

    async def left(self) -> list[Fact]:
        """Return the tasks of this loop that still run, sorted.

        Those that have no place in the author's code are a library's, which has to end them.
        """
        running = asyncio.all_tasks()
        for _turn in range(2):  # a task that was cancelled in the last moment ends in the next
            await asyncio.sleep(0)
        left = [each for each in running if not each.done() and self.belongs(each)]
        kinds = ["task-unawaited" if each.cancelling() else "task-left" for each in left]
        names = [task_name(each, self.made.get(each)) for each in left]
        found = zip(kinds, names, strict=True)
        return sorted((fact(kind, name=name) for kind, name in found), key=str)


def task_name(task: asyncio.Task[Any], made: Place | None = None) -> Fact | str:
    """Return the name of a task and of its function, and the author's own line that it is at."""
    coroutine: Any = task.get_coro()
    frame = getattr(coroutine, "cr_frame", None)
    function = getattr(coroutine, "__qualname__", repr(coroutine)).replace(".<locals>", "")
    name = task.get_name()
    unnamed = name.startswith("Task-") or name == "None"  # so Python 3.13.0 with a task factory
    named = "" if unnamed else f" ({name})"
    at = place([line(frame)]) if frame else None
    return _named("task", f"`{function}`{named}", made or at)


@contextmanager
def noting_starts(belongs: Callable[[], bool] = lambda: True) -> Iterator[None]:
    """Note the author's own lines that start threads and processes, so that these can be named.

    Only where `belongs` says so: it is asked in the context of who starts one.
    """
    before = [(kind, name, getattr(kind, name)) for kind, name in _STARTS]
    for kind, name, start in before:
        setattr(kind, name, _noted(start, belongs))
    try:
        yield
    finally:
        for kind, name, start in before:
            setattr(kind, name, start)


def _noted(start: Callable[..., None], belongs: Callable[[], bool]) -> Callable[..., None]:
    def noted(started: Any, *args: Any, **options: Any) -> None:
        where = caller(sys._getframe(1)) if belongs() else None  # noqa: SLF001
        if where and isinstance(started, threading.Thread):
            _starters[started] = where
        start(started, *args, **options)
        if where and not isinstance(started, threading.Thread):
            _started[started.pid] = where

    return noted


def is_started(pid: int) -> bool:
    """Tell whether the start of a child process was noted."""
    return pid in _started


def _thread_name(thread: threading.Thread) -> Fact | str:
    """Return the name of a thread, the package of its function, and the line that started it."""
    target = getattr(thread, "_target", None) or type(thread).run
    package, where = library(str(getattr(target, "__module__", ""))), _starters.get(thread)
    if package:
        return _named("thread-of", thread.name, where, package=package)
    return _named("thread", thread.name, where)


def _named(kind: str, name: str, where: Place | None, **more: str) -> Fact | str:
    """Return a name, and the place that belongs to it if there is one."""
    return Fact(kind, {"name": name, "place": where.fact(), **more}) if where else name


# ---- what still runs ---------------------------------------------------------------------------


def threads(before: Collection[threading.Thread]) -> list[Fact]:
    """Return the threads that started meanwhile and that the process has to wait for at its end."""
    found = [each for each in threading.enumerate() if each not in before and holds(each)]
    return [fact("thread-left", name=_thread_name(x)) for x in _unended(found) if holds(x)]


def daemons(before: Collection[threading.Thread]) -> list[Fact]:
    """Return the daemon threads of the author's functions that started meanwhile and do not end."""
    found = [each for each in threading.enumerate() if each.daemon and each not in before]
    targets = [getattr(each, "_target", None) or type(each).run for each in found]
    codes = [getattr(each, "__code__", None) for each in targets]
    own = [x for x, code in zip(found, codes, strict=True) if code and is_own(code.co_filename)]
    return [fact("daemon-left", name=_thread_name(each)) for each in _unended(own)]


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
    named = sorted(found.items(), key=lambda each: each[1])
    names = [_named("thread", name, _started.get(each)) for each, name in named]
    return [fact("process-left", name=name) for name in names]


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
