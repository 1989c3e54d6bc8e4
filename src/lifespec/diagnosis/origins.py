"""Who began it: the author's own lines that made tasks, threads and processes, noted meanwhile."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from typing import Any
from weakref import WeakKeyDictionary

from lifespec.diagnosis.author import caller, described, library, place
from lifespec.diagnosis.fact import Error, Fact, Place
from lifespec.diagnosis.stacks import is_ours, line

_STARTS: tuple[tuple[Any, str], ...] = (
    (threading.Thread, "start"), (BaseProcess, "start"), (subprocess.Popen, "__init__"),
)  # fmt: skip
_starters: WeakKeyDictionary[Any, Place] = WeakKeyDictionary()  # of threads
_started: dict[int, Place] = {}  # processes, by their number


class Tasks:
    """A task factory that keeps the tasks of an application, and the author's lines that made them.

    Tasks of lifespec are left out.
    """

    def __init__(self) -> None:
        self.made: WeakKeyDictionary[asyncio.Task[Any], Place | None] = WeakKeyDictionary()

    def __call__(
        self, loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any
    ) -> asyncio.Task[Any]:
        """Make a task."""
        task = asyncio.Task(coroutine, loop=loop, **options)
        code = getattr(coroutine, "cr_code", None)
        if not (code and is_ours(code.co_filename)):
            self.made[task] = caller(sys._getframe(1))  # noqa: SLF001
        return task

    def died(
        self, belongs: Callable[[asyncio.Task[Any]], bool] = lambda _: True
    ) -> list[tuple[Fact | str, Error]]:
        """Return the tasks whose exceptions were never retrieved, each with its exception."""
        done = [x for x in [*self.made] if x.done() and not x.cancelled() and belongs(x)]
        lost = [each for each in done if getattr(each, "_log_traceback", True)]
        found = [(task_name(each, self.made[each]), each.exception()) for each in lost]
        return [(name, described(error)) for name, error in found if error]


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


def process_name(pid: int, name: str) -> Fact | str:
    """Return the name of a child process, and the line that started it."""
    return _named("thread", name, _started.get(pid))


def is_started(pid: int) -> bool:
    """Tell whether the start of a child process was noted."""
    return pid in _started


def thread_name(thread: threading.Thread) -> Fact | str:
    """Return the name of a thread, the package of its function, and the line that started it."""
    target = getattr(thread, "_target", None) or type(thread).run
    package, where = library(str(getattr(target, "__module__", ""))), _starters.get(thread)
    if package:
        return _named("thread-of", thread.name, where, package=package)
    return _named("thread", thread.name, where)


def _named(kind: str, name: str, where: Place | None, **more: str) -> Fact | str:
    """Return a name, and the place that belongs to it if there is one."""
    return Fact(kind, {"name": name, "place": where.fact(), **more}) if where else name
