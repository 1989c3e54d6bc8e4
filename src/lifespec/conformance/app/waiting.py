"""Tells whether an application only slept while it waited, or looked at something outside.

Where a clock jumps, nothing outside of the process has had time to happen: an application that
asked for it might have had another answer in real time.  Who did nothing that is not known to be
harmless would have waited in real time as it did here.
"""

from __future__ import annotations

import sys
import threading
import time
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from lifespec.testing import places

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterable, Iterator
    from types import CodeType, FrameType

    Chains = dict[asyncio.Task[Any], list[FrameType]]

__all__ = ["Watch", "moved_clocks", "other_threads"]

TASKS = Path("/proc/self/task")
# what these call is their own concern: the loop refuses what is outside, a log tells nobody
_ALOOF = {"asyncio", "codecs", "contextlib", "lifespec", "linecache", "logging", "tokenize"}
_ALOOF |= {"traceback", "warnings"}
_ALSO = {"anyio", "sniffio"}  # what they have of outside is asyncio's, or in threads
_HARMLESS = {"_abc", "_asyncio", "_bisect", "_collections", "_contextvars", "_functools", "_heapq"}
_HARMLESS |= {"_json", "_operator", "_random", "_sre", "_string", "_struct", "_thread", "_warnings"}
_HARMLESS |= {"_weakref", "builtins", "collections", "contextvars", "functools", "itertools"}
_HARMLESS |= {"asyncio", "math", "operator", "re", "sys", "weakref"}
_SAFE = {"fspath", "getpid"}  # of os
_INSTALLED = {"site-packages", "dist-packages"}


class Watch:
    """Notes what runs in this thread from `begin` to `end`; `own` is the package checked."""

    def __init__(self, own: str) -> None:
        self.own = own
        self.ran: dict[tuple[int, CodeType], dict[str, Any]] = {}
        self.called: dict[tuple[str, Any, str], Any] = {}
        self.before: Chains = {}
        # one expression: a tracer sees nothing of what a profiler calls
        self.note = lambda frame, event, function: (
            self.ran.update({(id(frame), frame.f_code): frame.f_globals})
            if event == "call"
            else event == "c_call"
            and self.called.setdefault(
                (frame.f_globals["__name__"], _owner(function), function.__name__),
                function.__module__,
            )
        )

    def begin(self, tasks: Iterable[asyncio.Task[Any]]) -> None:
        """Begin, with nothing noted."""
        self.before = _chains(tasks)
        self.ran.clear()
        self.called.clear()
        sys.setprofile(self.note)

    def end(self, tasks: Iterable[asyncio.Task[Any]]) -> str:
        """Say what could have brought another answer in real time, or ""."""
        sys.setprofile(None)
        now = _chains(tasks)
        passed = {each for task in now for each in self._passed(task, now[task])}
        self.before = {}
        for (caller, owner, name), module in self.called.items():
            whose = _defines(owner, name) if isinstance(owner, type) else module
            harmless = name in _SAFE or (whose in _HARMLESS and name != "input")
            if not harmless and _root(caller) not in _ALOOF:
                return f"the application called {whose}.{name} while it waited"
        for (number, code), names in self.ran.items():
            for used in self._used(code, names) if number not in passed else ():
                return f"the application used {used} while it waited"
        return ""

    def _passed(self, task: asyncio.Task[Any], now: list[FrameType]) -> Iterator[int]:
        """Yield the frames that waited for one and the same other all the time."""
        pairs = zip(self.before.get(task, ()), now, strict=False)
        same = [id(each) for each, _ in takewhile(lambda pair: pair[0] is pair[1], pairs)]
        yield from same[:-1]

    def _used(self, code: CodeType, names: dict[str, Any]) -> Iterator[str]:
        """Yield installed packages that code belongs to, or that it names: they may be in C."""
        own = str(names["__name__"])
        if code.co_filename.startswith("<"):  # what `namedtuple` makes, say
            return
        if self._is_foreign(own):
            yield _root(own)
        elif _root(own) not in sys.stdlib_module_names | {"lifespec"} | _ALSO:
            found = (names.get(name, sys.modules.get(name)) for name in code.co_names)
            modules = (_origin(each) for each in found if each is not None)
            yield from (_root(each) for each in modules if self._is_foreign(each))

    def _is_foreign(self, module: str) -> bool:
        root = _root(module)
        if root in sys.stdlib_module_names | {"lifespec", self.own} | _ALSO:
            return False
        file = getattr(sys.modules.get(module), "__file__", None) or ""
        return not file.endswith(".py") or bool(_INSTALLED & {*Path(file).parts})


def _chains(tasks: Iterable[asyncio.Task[Any]]) -> Chains:
    return {task: [frame for frame, _ in places.waiting(task)] for task in tasks}


def _root(module: str) -> str:
    return module.partition(".")[0]


_owner: Callable[[Any], type | None] = lambda function: (  # noqa: E731  see `Watch.note`
    None
    if isinstance(function.__self__, ModuleType | None)
    else function.__self__
    if isinstance(function.__self__, type)
    else type(function.__self__)
)


def _defines(kind: type, name: str) -> str:
    """Return the module of the class that has a method."""
    return next((each for each in kind.__mro__ if name in vars(each)), kind).__module__


def _origin(value: object) -> str:
    """Return the module that a value is, or that it comes from."""
    if isinstance(value, ModuleType):
        return value.__name__
    if isinstance(value, type | FunctionType | BuiltinFunctionType):
        return str(value.__module__)
    return str(type(value).__module__)


def other_threads(*, all_of_them: bool) -> bool:
    """Whether there are threads beside this one: Python's, or `all_of_them`."""
    others = all_of_them and TASKS.is_dir() and len([*TASKS.iterdir()]) > 1
    return others or threading.active_count() > 1


@contextmanager
def moved_clocks(by: Callable[[], float]) -> Iterator[None]:
    """Move the clocks of the module `time`, in this thread, by as many seconds as a loop jumped."""
    home = threading.get_ident()
    real = {name: getattr(time, name) for name in ("time", "monotonic", "perf_counter")}
    nano = {f"{name}_ns": getattr(time, f"{name}_ns") for name in real}

    def moved(clock: Callable[[], Any], second: Any) -> Callable[[], Any]:
        kind = type(second)
        return lambda: clock() + kind(by() * second if threading.get_ident() == home else 0)

    try:
        for name, clock in (real | nano).items():
            setattr(time, name, moved(clock, 10**9 if name in nano else 1.0))
        yield
    finally:
        for name, clock in (real | nano).items():
            setattr(time, name, clock)
