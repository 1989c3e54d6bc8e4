"""What an application leaves behind: tasks, threads and processes, and the errors that it logged.

The conformance suite reports these, and the pytest fixture warns of them, in the same words.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import sys
import threading
import time
import traceback
from contextlib import contextmanager, suppress
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary, WeakSet

from lifespec.testing import places
from lifespec.testing.places import Place, place

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from types import FrameType

__all__ = ["SENTENCES", "Error", "Fact", "Logged", "Tasks", "described", "logging_errors"]
__all__ += [
    "chain",
    "make_noted",
    "note_thread",
    "processes",
    "task_name",
    "tasks",
    "threads",
]

ENDING = 0.5  # seconds that threads have to end
_PROC = Path("/proc")
_WAITING = (threading.__file__, queue.__file__)
_POOLS = (
    "concurrent/futures/thread.py",
    "anyio/_backends/_asyncio.py",
    "trio/_core/_thread_cache.py",
)
_makers: WeakKeyDictionary[asyncio.Task[Any], Place] = WeakKeyDictionary()
_starters: WeakKeyDictionary[threading.Thread, Place] = WeakKeyDictionary()


def _(english: str) -> str:
    """Return the sentence; the catalogs are made of what this is called with."""
    return english


SENTENCES: Mapping[str, str] = {
    "task-left": _("a task that still runs: {name}. Cancel it in the clean-up."),
    "thread-left": _("a thread that is not a daemon: {name}. The process does not end before it."),
    "process-left": _("a child process that still runs: {name}."),
    "logged": _("{level} {logger}: {message}"),
    "logged-error": _("{level} {logger}: {message} ({error})"),
    "at-place": _("{what}, in {place}"),
    "error": "{type}: {text}",
    "error-bare": "{type}",
    "task": _("{name}, made in {place}"),
    "thread": _("{name}, started in {place}"),
    "thread-of": _("{name}, started by {package} in {place}"),
    "place": _("`{function}`, {file}:{line}"),
}


class Fact(NamedTuple):
    """What was observed: the kind of a sentence, and what stands at the places of that sentence.

    A part is a string, a number, another fact, or a tuple of these.  A string is somebody else's
    word, such as a name or a message, and is never translated.  `str()` knows the kinds that are
    in SENTENCES here.
    """

    kind: str
    parts: Mapping[str, Any] = {}

    def __str__(self) -> str:
        return SENTENCES[self.kind].format(**self.parts)

    def __hash__(self) -> int:
        return hash(repr(self))

    def data(self) -> dict[str, Any]:
        """Return what JSON can hold: nested objects with a key `kind`, and the parts."""
        return {"kind": self.kind, **{name: _data(part) for name, part in self.parts.items()}}


def _data(part: Any) -> Any:
    if isinstance(part, Fact):
        return part.data()
    return [*map(_data, part)] if isinstance(part, tuple) else part


def _at(where: Place | None) -> Fact | None:
    return Fact("place", where._asdict()) if where else None


def _named(kind: str, name: str, where: Place | None, **more: str) -> Fact | str:
    """Return a name, and the place that belongs to it if there is one."""
    return Fact(kind, {"name": name, "place": _at(where), **more}) if where else name


# ---- exceptions and log records ----------------------------------------------------------------


class Error(NamedTuple):
    """An exception as data: of a group the first; the place is in its author's own code.

    `kinds` are the names of its classes and those of the exceptions that it came from, `texts` the
    texts of all these.
    """

    type: str
    text: str
    place: Place | None
    kinds: tuple[str, ...] = ()
    texts: str = ""
    files: tuple[str, ...] = ()

    def fact(self) -> Fact:
        """Return what a sentence says of it."""
        kind = "error" if self.text else "error-bare"
        what = Fact(kind, {"type": self.type, "text": self.text})
        return Fact("at-place", {"what": what, "place": _at(self.place)}) if self.place else what


def described(error: BaseException, own: str = "") -> Error:
    """Return an exception as data; `own` is a package whose code counts as the author's."""
    errors = [*chain(error)]
    found = (place(traceback.walk_tb(each.__traceback__), own) for each in errors)
    first = errors[0]
    text = " ".join(_text(first).split())
    kinds = tuple(dict.fromkeys(kind.__name__ for each in errors for kind in type(each).__mro__))
    frames = traceback.walk_tb(first.__traceback__)
    files = tuple(frame.f_code.co_filename for frame, _line in frames)
    texts = "\n".join(map(_text, errors))
    return Error(type(first).__name__, text, next(filter(None, found), None), kinds, texts, files)


def _text(error: BaseException) -> str:
    try:
        return str(error)[:2000]
    except Exception:
        return ""


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the exceptions of a group before it, and those that it was raised from or after."""
    if error is None:
        return
    for each in error.exceptions if isinstance(error, BaseExceptionGroup) else ():
        yield from chain(each)
    yield error
    yield from chain(error.__cause__ or error.__context__)


class Logged(NamedTuple):
    """A record of level ERROR or above, when it was made, and the exception with it."""

    level: str
    logger: str
    message: str
    time: float
    error: Error | None = None

    def fact(self) -> Fact:
        """Return what a sentence says of it."""
        parts: dict[str, Any] = {
            "level": self.level,
            "logger": self.logger,
            "message": self.message,
        }
        if self.error:
            return Fact("logged-error", {**parts, "error": self.error.fact()})
        return Fact("logged", parts)


class _Errors(logging.Handler):
    def __init__(self, own: str) -> None:
        super().__init__(logging.ERROR)
        self.own, self.found = own, list[Logged]()

    def emit(self, record: logging.LogRecord) -> None:
        if record.name == "lifespec.server":  # it tells of the application, and so do we
            return
        error = record.exc_info[1] if record.exc_info else None
        lines = record.getMessage().splitlines() or [""]
        known = described(error, self.own) if error else None
        self.found.append(Logged(record.levelname, record.name, lines[0], time.monotonic(), known))


@contextmanager
def logging_errors(own: str = "") -> Iterator[list[Logged]]:
    """Collect the records of level ERROR and above, of loggers that do not propagate, too."""
    known = logging.root.manager.loggerDict.values()
    apart = [each for each in known if isinstance(each, logging.Logger) and not each.propagate]
    handler = _Errors(own)
    for logger in (logging.root, *apart):
        logger.addHandler(handler)
    try:
        yield handler.found
    finally:
        for logger in (logging.root, *apart):
            logger.removeHandler(handler)


# ---- tasks -------------------------------------------------------------------------------------


def make_noted(loop: asyncio.AbstractEventLoop, own: str = "") -> None:
    """Note the author's own line that makes a task: `tasks` names it if the task runs none."""

    def make(loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> asyncio.Task[Any]:
        task = asyncio.Task(coroutine, loop=loop, **options)
        if where := place(_stack(sys._getframe(1)), own):  # noqa: SLF001
            _makers[task] = where
        return task

    loop.set_task_factory(make)


def _stack(frame: FrameType) -> list[tuple[FrameType, int]]:
    return [*traceback.walk_stack(frame)][::-1]


async def tasks(ours: Callable[[asyncio.Task[Any]], bool], own: str = "") -> list[Fact]:
    """Return the tasks of this loop that still run and that are `ours`, in alphabetical order.

    Those that have no place in the author's code are a library's, which ends them as it likes.
    """
    running = asyncio.all_tasks()
    for _turn in range(2):  # a task that was cancelled in the last moment ends in the next
        await asyncio.sleep(0)
    found = [task_name(each, own) for each in running if not each.done() and ours(each)]
    return sorted((Fact("task-left", {"name": each}) for each in found), key=str)


def task_name(task: asyncio.Task[Any], own: str = "") -> Fact | str:
    """Return the name of a task and of its function, and the author's own line that it is at."""
    coroutine: Any = task.get_coro()
    frame = getattr(coroutine, "cr_frame", None)
    function = getattr(coroutine, "__qualname__", repr(coroutine)).replace(".<locals>", "")
    code = place([(frame, frame.f_lineno)] if frame else [], own)
    name = task.get_name()
    named = "" if name.startswith("Task-") else f" ({name})"
    return _named("task", f"`{function}`{named}", _makers.get(task) or code)


def is_ours(task: asyncio.Task[Any]) -> bool:
    """Tell whether a task is lifespec's own."""
    code = getattr(task.get_coro(), "cr_code", None)
    return bool(code and places.is_ours(code.co_filename))


class Tasks:
    """The tasks of an application that were seen while it ran, and those that died."""

    def __init__(self, own: str = "") -> None:
        self.own, self.seen = own, WeakSet[asyncio.Task[Any]]()
        self.names: WeakKeyDictionary[asyncio.Task[Any], Fact | str] = WeakKeyDictionary()

    def look(self) -> None:
        """Take in the tasks that run now."""
        for task in asyncio.all_tasks() - {*self.seen}:
            if not is_ours(task):
                self.seen.add(task)
                self.names[task] = task_name(task, self.own)

    def died(self) -> Iterator[tuple[Fact | str, Error]]:
        """Yield the tasks whose exceptions nobody has asked for, and these."""
        for task in self.seen:
            lost = task.done() and not task.cancelled() and getattr(task, "_log_traceback", True)
            if lost and (error := task.exception()):
                yield self.names[task], described(error, self.own)


# ---- threads and processes ---------------------------------------------------------------------


def threads(before: Collection[threading.Thread], own: str = "") -> list[Fact]:
    """Return the threads that started meanwhile and that the process has to wait for at its end."""
    end = time.monotonic() + ENDING
    found = [each for each in threading.enumerate() if each not in before and _holds(each)]
    for each in found:
        each.join(max(end - time.monotonic(), 0))
    kept = [each for each in found if each.is_alive() and _holds(each)]
    return [Fact("thread-left", {"name": _thread_name(each, own)}) for each in kept]


def _holds(thread: threading.Thread) -> bool:
    """Tell whether a thread is waited for: an idle one of a pool ends with the process."""
    if thread.daemon or thread is threading.current_thread():
        return False
    frame = sys._current_frames().get(thread.ident or 0)  # noqa: SLF001
    files = [each.f_code.co_filename for each, _line in traceback.walk_stack(frame)]
    waiting = [*takewhile(lambda file: file in _WAITING, files)]
    idle = (not waiting or queue.__file__ in waiting) and files[len(waiting) :]
    return not (idle and idle[0].endswith(_POOLS))


def _thread_name(thread: threading.Thread, own: str) -> Fact | str:
    target = getattr(thread, "_target", None) or type(thread).run
    package = str(getattr(target, "__module__", "") or "").partition(".")[0]
    where = _starters.get(thread)
    is_library = package not in ("", own, "__main__") and package not in sys.stdlib_module_names
    file = getattr(sys.modules.get(package), "__file__", None) or ""
    if is_library and "-packages" in file:
        return _named("thread-of", thread.name, where, package=package)
    return _named("thread", thread.name, where)


def note_thread(frame: FrameType, own: str = "") -> None:
    """Note the author's own line that starts a thread; `frame` is that of Thread.start."""
    thread = frame.f_locals.get("self")
    where = place(_stack(frame), own)
    if isinstance(thread, threading.Thread) and where:
        _starters[thread] = where


def processes(pid: int) -> list[Fact]:
    """Return the processes that a process has started and that run, where /proc lists them."""
    found = []
    for folder in _PROC.glob("[0-9]*"):
        with suppress(OSError, ValueError):
            _name, _, fields = (folder / "stat").read_text().rpartition(") ")
            state, parent = fields.split()[:2]
            if int(parent) == pid and state != "Z":
                words = (folder / "cmdline").read_text().split("\0")
                found.append(f"{' '.join(words).strip()[:60]} ({folder.name})")
    return [Fact("process-left", {"name": each}) for each in sorted(found)]
