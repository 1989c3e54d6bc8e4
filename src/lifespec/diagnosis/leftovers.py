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
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from types import FunctionType, MethodType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from lifespec.diagnosis.alive import children, keeps_process
from lifespec.diagnosis.author import caller, described, library, place
from lifespec.diagnosis.fact import Fact, Place, fact
from lifespec.diagnosis.guard import keeping
from lifespec.diagnosis.stacks import is_ours, is_own, is_own_code, line, short_name

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


class BegunTask(NamedTuple):
    """A task that the call of an application has begun itself, in whatever function."""

    function: str  # that it runs
    place: Place  # the author's line that made it
    source: tuple[str, int]  # where the function begins, whatever line calls it
    time: float


class Tasks:
    """A task factory that keeps the tasks of an application, and the author's lines that made them.

    Tasks of lifespec are left out.  `belongs` tells of others whether they are the application's.
    """

    def __init__(self, belongs: Callable[[asyncio.Task[Any]], bool] | None = None) -> None:
        self.made: WeakKeyDictionary[asyncio.Task[Any], Place | None] = WeakKeyDictionary()
        self.sources = set[tuple[str, int]]()  # of all that an author's line has made
        self.of_call: WeakKeyDictionary[asyncio.Task[Any], BegunTask] = WeakKeyDictionary()
        self.belongs: Callable[[asyncio.Task[Any]], bool] = self.made.__contains__
        if belongs is not None:
            self.belongs = belongs

    def __call__(
        self, loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any
    ) -> asyncio.Task[Any]:
        """Make a task."""
        task = asyncio.Task(coroutine, loop=loop, **options)
        with keeping():
            code = getattr(coroutine, "cr_code", None)
            if not (code and is_ours(code.co_filename)):
                made = self.made[task] = caller(sys._getframe(1))  # noqa: SLF001
                if made is not None:
                    self._note(task, coroutine, made)
        return task

    def _note(self, task: asyncio.Task[Any], coroutine: Any, made: Place) -> None:
        """Note what a task runs, and who has begun it: what another task begins has its own time.

        The call of the application is in a task of lifespec's.
        """
        function = getattr(coroutine, "__qualname__", "")
        code = getattr(coroutine, "cr_code", None)  # of one that is written in C, the name alone
        source = getattr(code, "co_filename", function), getattr(code, "co_firstlineno", 0)
        self.sources.add(source)
        by = asyncio.current_task(task.get_loop())  # the loop need not run yet
        if by is not None and by not in self.made:
            name = short_name(function)
            self.of_call[task] = BegunTask(name, made, source, time.monotonic())

    def running(self) -> list[BegunTask]:
        """Return those of the tasks that the call has begun itself that still run."""
        return [begun for task, begun in list(self.of_call.items()) if not task.done()]

    def failed(self, kind: str) -> list[Fact]:
        """Return the tasks whose exceptions were never retrieved, as facts of this kind."""
        facts = []
        for task in filter(self.belongs, list(self.made)):
            error = _unretrieved(task)
            if error is not None:
                name = task_name(task, self.made[task])
                facts.append(fact(kind, task=name, error=described(error).fact()))
        return facts

    async def left(self) -> list[Fact]:
        """Return the tasks of this loop that still run, sorted.

        Those that have no place in the author's code are a library's, which has to end them.
        """
        running = asyncio.all_tasks()
        for _turn in range(2):  # a task that was cancelled in the last moment ends in the next
            await asyncio.sleep(0)
        facts = []
        for task in running:
            if task.done():
                continue
            if not self.belongs(task):
                continue
            kind = "task-unawaited" if task.cancelling() else "task-left"
            facts.append(fact(kind, name=task_name(task, self.made.get(task))))
        return sorted(facts, key=str)


def _unretrieved(task: asyncio.Task[Any]) -> BaseException | None:
    """Return the exception of a task, None if there is none or somebody has asked for it.

    Who asks for it keeps asyncio from logging it: here that is right, as a report says it.
    """
    if not task.done() or task.cancelled():
        return None
    if not getattr(task, "_log_traceback", True):
        return None
    return task.exception()


def task_name(task: asyncio.Task[Any], made: Place | None = None) -> Fact | str:
    """Return the name of a task and of its function, with the author's line that made it.

    If that was not seen, as of a task that a library makes, with the author's line that it is at.
    """
    coroutine: Any = task.get_coro()
    function = getattr(coroutine, "__qualname__", repr(coroutine)).replace(".<locals>", "")
    called = f"`{function}`"
    name = task.get_name()
    # "None" is what Python 3.13.0 says with a task factory
    if not name.startswith("Task-") and name != "None":
        called = f"{called} ({name})"
    if made is not None:
        return _with_place("task", called, made)
    frame = getattr(coroutine, "cr_frame", None)
    if frame is None:  # it has ended, or is written in C
        return called
    return _with_place("task-at", called, place([line(frame)]))


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
            if belongs():
                where = caller(sys._getframe(1))  # noqa: SLF001
        is_thread = issubclass(type(started), threading.Thread)
        with keeping():
            if where and is_thread:  # before it starts: it may be over soon
                _starters[started] = where
        start(started, *args, **options)
        with keeping():
            if where and not is_thread:  # a process has its number only then
                _started[started.pid] = where

    return noted


def is_started(pid: int) -> bool:
    """Tell whether the start of a child process was noted."""
    return pid in _started


def _thread_name(thread: threading.Thread) -> Fact | str:
    """Return the name of a thread, the package of its function, and the line that started it."""
    where = _starters.get(thread)
    package = library(_module_of(thread))
    if package:
        return _with_place("thread-of", thread.name, where, package=package)
    return _with_place("thread", thread.name, where)


def _function_of(thread: threading.Thread) -> Any:
    """Return what a thread runs: what it was given, or the `run` of its class."""
    return getattr(thread, "_target", None) or type(thread).run


def _module_of(thread: threading.Thread) -> str:
    return str(getattr(_function_of(thread), "__module__", ""))


def _with_place(kind: str, name: str, where: Place | None, **more: str) -> Fact | str:
    """Return a name, and the place that belongs to it if there is one."""
    if where is None:
        return name
    return fact(kind, name=name, place=where.fact(), **more)


# ---- what still runs ---------------------------------------------------------------------------


def threads_left(before: Collection[threading.Thread]) -> list[Fact]:
    """Return the threads that started meanwhile and that the process has to wait for at its end."""
    started = [thread for thread in threading.enumerate() if thread not in before]
    left = _unended(started, _delays_end)
    return [fact("thread-left", name=_thread_name(thread)) for thread in left]


def _delays_end(thread: threading.Thread) -> bool:
    return thread.is_alive() and keeps_process(thread)


def daemons(before: Collection[threading.Thread]) -> list[Fact]:
    """Return the daemon threads of the author's functions that started meanwhile and do not end."""
    started = []
    for thread in threading.enumerate():
        if thread in before:
            continue
        code = getattr(_function_of(thread), "__code__", None)
        if thread.daemon and is_own_code(code):
            started.append(thread)
    left = _unended(started, threading.Thread.is_alive)
    return [fact("daemon-left", name=_thread_name(thread)) for thread in left]


def _unended(
    threads: Iterable[threading.Thread], runs: Callable[[threading.Thread], bool]
) -> list[threading.Thread]:
    """Return those of threads that go on; they have one time for all.

    Those of a pool have more: most of them end with the call that they have begun.
    """
    begin = time.monotonic()
    left = list(filter(runs, threads))
    while left:
        limit = TIME_TO_END
        if any(map(_is_of_pool, left)):
            limit = TIME_TO_END_OF_A_POOL
        if time.monotonic() - begin > limit:
            break
        time.sleep(LOOK_AGAIN_AFTER)
        left = list(filter(runs, left))
    return left


def _is_of_pool(thread: threading.Thread) -> bool:
    return _module_of(thread) in ("concurrent.futures.thread", "anyio._backends._asyncio")


def processes(pid: int, belongs: Callable[[int], bool] = bool) -> list[Fact]:
    """Return the processes that a process has started and that do not end, where /proc has them."""
    end = time.monotonic() + TIME_TO_END
    left = _children(pid, belongs)
    while left and time.monotonic() <= end:
        time.sleep(LOOK_AGAIN_AFTER)
        left = _children(pid, belongs)
    facts = []
    for name, child in left:
        where = _started.get(child)
        facts.append(fact("process-left", name=_with_place("thread", name, where)))
    return facts


def _children(pid: int, belongs: Callable[[int], bool]) -> list[tuple[str, int]]:
    """Return the name and the number of each child that belongs to an application, sorted."""
    return sorted((name, child) for child, name in children(pid).items() if belongs(child))


# ---- signals -----------------------------------------------------------------------------------


def handlers() -> dict[signal.Signals, Any]:
    """Return the handlers of the signals that end a server."""
    return {number: getsignal(number) for number in SIGNALS}


def taken(before: Mapping[signal.Signals, Any]) -> list[Fact]:
    """Return the handlers that have come in the place of those before."""
    now = handlers()
    facts = []
    for number, handler in now.items():
        # a method of an object is another one each time; other objects may not like to be compared
        is_same = handler is before[number]
        if type(handler) is MethodType:
            is_same = handler == before[number]
        if not is_same:
            facts.append(fact("signal-taken", signal=number.name, handler=_handler(handler)))
    return facts


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
