"""Find the place in an author's own code at which a call waits, or at which it raised."""

from __future__ import annotations

import gc
import os
from asyncio import Task
from contextlib import suppress
from pathlib import Path
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import FrameType, TracebackType

    Frames = Iterable[tuple[FrameType, int]]  # each with its line, the outermost first

__all__ = ["Place", "is_ours", "is_own_file", "place", "places", "short", "waiting", "without_ours"]

_CALLS = (CoroutineType, GeneratorType, AsyncGeneratorType)
_LIBRARY = str(Path(os.__file__).parent)
_PACKAGE = str(Path(__file__).parents[1])
_INSTALLED = {"site-packages", "dist-packages"}


class Place(NamedTuple):
    """A function, its file from the current folder on, and a line."""

    function: str
    file: str
    line: int

    def __str__(self) -> str:
        return f"`{self.function}`, {self.file}:{self.line}"


def waiting(call: object) -> Iterator[tuple[FrameType, int]]:
    """Yield the frames of a coroutine and of what it waits for, the outermost first."""
    while call is not None:
        if isinstance(call, Task):
            call = call.get_coro()
        elif isinstance(call, _CALLS):
            frame, call = _step(call)
            if frame is not None:
                yield frame, frame.f_lineno
        else:  # what `await` makes of a task, of a coroutine, of an asynchronous generator
            found = gc.get_referents(call)
            call = next((each for each in found if isinstance(each, (Task, *_CALLS))), None)


def _step(call: object) -> tuple[FrameType | None, object]:
    """Return the frame of a call, and what it waits for."""
    if isinstance(call, CoroutineType):
        return call.cr_frame, call.cr_await
    if isinstance(call, GeneratorType):
        return call.gi_frame, call.gi_yieldfrom
    return call.ag_frame, call.ag_await  # type: ignore[attr-defined]


def place(frames: Frames, own: str = "") -> Place | None:
    """Return the innermost place in an author's own code, None if there is none."""
    return next(reversed(places(frames, own)), None)


def places(frames: Frames, own: str = "") -> list[Place]:
    """Return the places in an author's own code.

    That is neither Python's library, nor lifespec, nor an installed package other than `own`.
    """
    return [_place(frame, line) for frame, line in frames if _is_own(frame, own)]


def _place(frame: FrameType, line: int) -> Place:
    name = frame.f_code.co_qualname.rpartition("<locals>.")[2]
    return Place(name, short(Path(frame.f_code.co_filename)), line)


def _is_own(frame: FrameType, own: str) -> bool:
    package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    return package == own or is_own_file(frame.f_code.co_filename)


def is_own_file(file: str) -> bool:
    """Tell whether a file is the author's; one such as `<string>` is nobody's."""
    others = (_LIBRARY, _PACKAGE, "<")
    return not (file.startswith(others) or _INSTALLED & {*Path(file).parts})


def is_ours(file: str) -> bool:
    """Tell whether a file is lifespec's."""
    return file.startswith(_PACKAGE)


def short(file: Path) -> str:
    """Return a path from the current folder on, or only its name."""
    with suppress(OSError, ValueError):  # there is no such folder any more; it is elsewhere
        return str(file.relative_to(Path.cwd()))
    return file.name


def without_ours(traceback: TracebackType | None) -> TracebackType | None:
    """Return a traceback from the first frame on that is the application's."""
    found = traceback
    while found and is_ours(found.tb_frame.f_code.co_filename):
        found = found.tb_next
    return found or traceback
