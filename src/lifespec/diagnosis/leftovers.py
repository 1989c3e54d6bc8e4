"""What an application leaves behind, and the author's own lines that began it.

Looking never waits: `alive` does that.  What ends by itself has a moment for it here.
"""

import asyncio
import signal
import subprocess
import sys
import threading
import time
from _signal import getsignal  # type: ignore[import-not-found]  # `signal` compares handlers
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from types import FunctionType, MethodType
from typing import Any
from weakref import WeakKeyDictionary

from lifespec.diagnosis.alive import children, keeps_process
from lifespec.diagnosis.author import caller, described, library, place
from lifespec.diagnosis.fact import Fact, Place, fact
from lifespec.diagnosis.guard import keeping
from lifespec.diagnosis.stacks import is_ours, is_own, line, short_name

TIME_TO_END = 0.5  # seconds that threads and processes have to end
TIME_TO_END_OF_A_POOL = 2.0  # the same for threads of a pool
LOOK_AGAIN_AFTER = 0.05  # seconds
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
        with keeping():
            code = getattr(coroutine, "cr_code", None)
            if not (code and is_ours(code.co_filename)):
                self.made[task] = caller(sys._getframe(1))  # noqa: SLF001
        return task

    def failed(self, kind: str) -> list[Fact]:
        """Return the tasks whose exceptions were never retrieved, as facts of this kind."""
        found = []
        for task, where in [*self.made.items()]:
            if not task.done() or task.cancelled() or not self.belongs(task):
                continue
            is_retrieved = not getattr(task, "_log_traceback", True)  # or there is none
            error = task.exception()
            if error is None or is_retrieved:
                continue
            name = task_name(task, where)
            found.append(fact(kind, task=name, error=described(error).fact()))
        return found

    async def left(self) -> list[Fact]:
        """Return the tasks of this loop that still run, sorted.

        Those that have no place in the author's code are a library's, which has to end them.
        """
        running = asyncio.all_tasks()
        for _turn in range(2):  # a task that was cancelled in the last moment ends in the next
            await asyncio.sleep(0)
        found = []
        for task in running:
            if task.done() or not self.belongs(task):
                continue
            kind = "task-unawaited" if task.cancelling() else "task-left"
            found.append(fact(kind, name=task_name(task, self.made.get(task))))
        return sorted(found, key=str)


def task_name(task: asyncio.Task[Any], made: Place | None = None) -> Fact | str:
    """Return the name of a task and of its function, and the author's own line that it is at."""
    coroutine: Any = task.get_coro()
    frame = getattr(coroutine, "cr_frame", None)
    function = getattr(coroutine, "__qualname__", repr(coroutine)).replace(".<locals>", "")
    called = f"`{function}`"
    name = task.get_name()
    # "None" is what Python 3.13.0 says with a task factory
    if not name.startswith("Task-") and name != "None":
        called = f"{called} ({name})"
    if made is None and frame:
        made = place([line(frame)])
    return _with_place("task", called, made)


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
        where = None
        with keeping():
            where = caller(sys._getframe(1)) if belongs() else None  # noqa: SLF001
        is_thread = issubclass(type(started), threading.Thread)
        with keeping():
            if where and is_thread:
                _starters[started] = where
        start(started, *args, **options)
        with keeping():
            if where and not is_thread:
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
        return _with_place("thread-of", thread.name, where, package=package)
    return _with_place("thread", thread.name, where)


def _with_place(kind: str, name: str, where: Place | None, **more: str) -> Fact | str:
    """Return a name, and the place that belongs to it if there is one."""
    if where is None:
        return name
    return fact(kind, name=name, place=where.fact(), **more)


# ---- what still runs ---------------------------------------------------------------------------


def threads_left(before: Collection[threading.Thread]) -> list[Fact]:
    """Return the threads that started meanwhile and that the process has to wait for at its end."""
    found = [each for each in threading.enumerate() if each not in before and keeps_process(each)]
    left = _unended(found, lambda thread: thread.is_alive() and keeps_process(thread))
    return [fact("thread-left", name=_thread_name(each)) for each in left]


def daemons(before: Collection[threading.Thread]) -> list[Fact]:
    """Return the daemon threads of the author's functions that started meanwhile and do not end."""
    own = []
    for thread in threading.enumerate():
        target = getattr(thread, "_target", None) or type(thread).run
        code = getattr(target, "__code__", None)
        if thread.daemon and thread not in before and code and is_own(code.co_filename):
            own.append(thread)
    left = _unended(own, threading.Thread.is_alive)
    return [fact("daemon-left", name=_thread_name(each)) for each in left]


def _unended(
    found: Sequence[threading.Thread], runs: Callable[[threading.Thread], bool]
) -> list[threading.Thread]:
    """Return those of threads that go on; they have one time for all.

    Those of a pool have more: most of them end with the call that they have begun.
    """
    begin = time.monotonic()
    while found := [each for each in found if runs(each)]:
        limit = TIME_TO_END
        if any(map(_is_of_pool, found)):
            limit = TIME_TO_END_OF_A_POOL
        if time.monotonic() - begin > limit:
            break
        time.sleep(LOOK_AGAIN_AFTER)
    return [*found]


def _is_of_pool(thread: threading.Thread) -> bool:
    target = getattr(thread, "_target", None) or type(thread).run
    module = str(getattr(target, "__module__", ""))
    return module in ("concurrent.futures.thread", "anyio._backends._asyncio")


def processes(pid: int, belongs: Callable[[int], bool] = bool) -> list[Fact]:
    """Return the processes that a process has started and that do not end, where /proc has them."""
    end = time.monotonic() + TIME_TO_END
    while found := {each: name for each, name in children(pid).items() if belongs(each)}:
        if time.monotonic() > end:
            break
        time.sleep(LOOK_AGAIN_AFTER)
    named = sorted(found.items(), key=lambda each: each[1])
    names = [_with_place("thread", name, _started.get(each)) for each, name in named]
    return [fact("process-left", name=name) for name in names]


# ---- signals -----------------------------------------------------------------------------------


def handlers() -> dict[signal.Signals, Any]:
    """Return the handlers of the signals that end a server."""
    return {number: getsignal(number) for number in SIGNALS}


def taken(before: Mapping[signal.Signals, Any]) -> list[Fact]:
    """Return the handlers that have come in the place of those before."""
    now = handlers()
    found = []
    for number, handler in now.items():
        # a method of an object is another one each time; other objects may not like to be compared
        is_same = handler is before[number]
        if type(handler) is MethodType:
            is_same = handler == before[number]
        if not is_same:
            found.append(fact("signal-taken", signal=number.name, handler=_handler(handler)))
    return found


def _handler(handler: Any) -> Fact | str:
    """Return the name of a handler of a signal, and where it is if it is the author's."""
    if type(handler) is int:
        return f"`signal.{signal.Handlers(handler).name}`"
    if type(handler) not in (FunctionType, MethodType):
        return f"`{_repr_of(handler)}`"
    code, name = handler.__code__, handler.__qualname__
    if name == "_sighandler_noop":  # asyncio's
        name = "loop.add_signal_handler"
    if not is_own(code.co_filename):
        return f"`{name}`"
    return Place.at(short_name(name), code.co_filename, code.co_firstlineno).fact()


def _repr_of(value: object) -> str:
    try:
        return repr(value)
    except KeyboardInterrupt:
        raise
    except BaseException:  # of a class of the application
        return object.__repr__(value)
