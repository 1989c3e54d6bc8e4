"""What an application leaves behind: tasks, threads and processes, and the errors that it logged.

The conformance suite reports these, and the pytest fixture warns of them, in the same words.
"""

import asyncio
import logging
import queue
import sys
import threading
import time
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from lifespec.testing.facts import (
    Error,
    Fact,
    Place,
    caller,
    described,
    fact,
    is_lifespec,
    library,
    place,
)

ENDING = 0.5  # seconds that threads and processes have to end
POLL = 0.05
_PROC = Path("/proc")
_HELPER = "from multiprocessing.resource_tracker import"  # in the command of a process of Python's
_WAITING = (threading.__file__, queue.__file__)
# where an idle thread of a pool waits: the file, the function, and whether in a queue of Python
_IDLE = (
    ("concurrent/futures/thread.py", "_worker", False),
    ("anyio/_backends/_asyncio.py", "run", True),
)
_starters: WeakKeyDictionary[threading.Thread, Place] = WeakKeyDictionary()


def _named(kind: str, name: str, where: Place | None, **more: str) -> Fact | str:
    """Return a name, and the place that belongs to it if there is one."""
    return Fact(kind, {"name": name, "place": where.fact(), **more}) if where else name


# ---- log records -------------------------------------------------------------------------------


class Logged(NamedTuple):
    """A record of level ERROR or above, when it was made, and the exception with it."""

    level: str
    logger: str
    message: str
    time: float
    error: Error | None = None

    def fact(self) -> Fact:
        """Return the record as part of a sentence."""
        parts = {"level": self.level, "logger": self.logger, "message": self.message}
        if self.error:
            return fact("logged-error", **parts, error=self.error.fact())
        return fact("logged", **parts)


class _Errors(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[Logged] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.name == "lifespec.server":  # the report says the same
            return
        error = described(record.exc_info[1]) if record.exc_info and record.exc_info[1] else None
        line = next(iter(record.getMessage().splitlines()), "")
        self.found.append(Logged(record.levelname, record.name, line, time.monotonic(), error))


@contextmanager
def logging_errors() -> Iterator[list[Logged]]:
    """Collect the records of level ERROR and above, of loggers that do not propagate, too."""
    known = logging.root.manager.loggerDict.values()
    apart = [each for each in known if isinstance(each, logging.Logger) and not each.propagate]
    handler = _Errors()
    for logger in (logging.root, *apart):
        logger.addHandler(handler)
    try:
        yield handler.found
    finally:
        for logger in (logging.root, *apart):
            logger.removeHandler(handler)


# ---- tasks -------------------------------------------------------------------------------------


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
        if not (code and is_lifespec(code.co_filename)):
            self.made[task] = caller(sys._getframe(1))  # noqa: SLF001
        return task

    async def running(self) -> list[Fact]:
        """Return those that still run."""
        return await tasks(self.made.__contains__, self.made)

    def died(self) -> list[tuple[Fact | str, Error]]:
        """Return the tasks whose exceptions were never retrieved, each with its exception."""
        done = [each for each in [*self.made] if each.done() and not each.cancelled()]
        lost = [each for each in done if getattr(each, "_log_traceback", True)]
        found = [(task_name(each, self.made[each]), each.exception()) for each in lost]
        return [(name, described(error)) for name, error in found if error]


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


def task_name(task: asyncio.Task[Any], made: Place | None = None) -> Fact | str:
    """Return the name of a task and of its function, and the author's own line that it is at."""
    coroutine: Any = task.get_coro()
    frame = getattr(coroutine, "cr_frame", None)
    function = getattr(coroutine, "__qualname__", repr(coroutine)).replace(".<locals>", "")
    name = task.get_name()
    unnamed = name.startswith("Task-") or name == "None"  # so Python 3.13.0 with a task factory
    named = "" if unnamed else f" ({name})"
    at = place([(frame, frame.f_lineno)]) if frame else None
    return _named("task", f"`{function}`{named}", made or at)


# ---- threads and processes ---------------------------------------------------------------------


@contextmanager
def noting_threads() -> Iterator[None]:
    """Note the author's own lines that start threads, so that `threads` can name them."""
    start = threading.Thread.start

    def noted(thread: threading.Thread) -> None:
        if where := caller(sys._getframe(1)):  # noqa: SLF001
            _starters[thread] = where
        start(thread)

    threading.Thread.start = noted  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        threading.Thread.start = start  # type: ignore[method-assign]


def threads(before: Collection[threading.Thread]) -> list[Fact]:
    """Return the threads that started meanwhile and that the process has to wait for at its end."""
    end = time.monotonic() + ENDING
    found = [each for each in threading.enumerate() if each not in before and _holds(each)]
    for each in found:
        each.join(max(end - time.monotonic(), 0))
    kept = [each for each in found if each.is_alive() and _holds(each)]
    return [fact("thread-left", name=_thread_name(each)) for each in kept]


def _holds(thread: threading.Thread) -> bool:
    """Tell whether a thread delays the end of the process; that of an idle pool does not."""
    if thread.daemon or thread is threading.current_thread():
        return False
    if (pending := getattr(thread, "pending_work_items", None)) is not None:  # a pool of processes
        return bool(pending)
    frame = sys._current_frames().get(thread.ident or 0)  # noqa: SLF001
    codes = [each.f_code for each, _line in traceback.walk_stack(frame)]
    waiting = [*takewhile(lambda each: each.co_filename in _WAITING, codes)]
    queued = queue.__file__ in {each.co_filename for each in waiting}
    inner = next(iter(codes[len(waiting) :]), None)
    return inner is None or not any(
        inner.co_filename.endswith(file) and (inner.co_name, queued) == (name, in_queue)
        for file, name, in_queue in _IDLE
    )


def _thread_name(thread: threading.Thread) -> Fact | str:
    """Return the name of a thread, the package of its function, and the line that started it."""
    target = getattr(thread, "_target", None) or type(thread).run
    package, where = library(str(getattr(target, "__module__", ""))), _starters.get(thread)
    if package:
        return _named("thread-of", thread.name, where, package=package)
    return _named("thread", thread.name, where)


def processes(pid: int) -> list[Fact]:
    """Return the processes that a process has started and that do not end, where /proc has them."""
    end = time.monotonic() + ENDING
    while (found := [*_children(pid)]) and time.monotonic() < end:
        time.sleep(POLL)
    return [fact("process-left", name=each) for each in sorted(found)]


def _children(pid: int) -> Iterator[str]:
    """Yield the name or command and the number of each child that runs.

    Those that end by themselves are left out: of pools of processes, and Python's own.
    """
    pools = (getattr(each, "processes", None) for each in threading.enumerate())
    pooled = {number for each in pools for number in each or ()}
    started: Any = getattr(sys.modules.get("multiprocessing"), "active_children", list)()
    names = {each.pid: f"{each.name} of multiprocessing" for each in started}
    for folder in _PROC.glob("[0-9]*"):
        with suppress(OSError, ValueError):
            _name, _, fields = (folder / "stat").read_text().rpartition(") ")
            state, parent = fields.split()[:2]
            command, number = _command(folder), int(folder.name)
            if int(parent) == pid and state != "Z" and _HELPER not in command:
                forked = command == _command(_PROC / str(pid))
                shown = names.get(number) or ("os.fork" if forked else command[:60])
                yield from [f"{shown} ({number})"] * (number not in pooled)


def _command(folder: Path) -> str:
    program, *words = (folder / "cmdline").read_text().split("\0")
    return " ".join([Path(program).name, *words]).strip()
