"""Find the place in an author's own code at which a call waits, or at which it raised."""

from __future__ import annotations

import gc
import os
from asyncio import Task
from contextlib import suppress
from pathlib import Path
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import FrameType, TracebackType

    Frames = Iterable[tuple[FrameType, int]]  # each with its line, the outermost first

__all__ = ["place", "short", "waiting", "without_ours"]

_CALLS = (CoroutineType, GeneratorType, AsyncGeneratorType)
_LIBRARY = str(Path(os.__file__).parent)
_INSTALLED = {"site-packages", "dist-packages"}


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


def place(frames: Frames, own: str = "") -> str:
    """Name the innermost function of an author's own code, with file and line; "" if none is.

    That is neither Python's library, nor lifespec, nor an installed package other than `own`.
    """
    found = [(frame, line) for frame, line in frames if _is_own(frame, own)]
    if not found:
        return ""
    frame, line = found[-1]
    name = frame.f_code.co_qualname.rpartition("<locals>.")[2]
    return f"`{name}`, {short(Path(frame.f_code.co_filename))}:{line}"


def _is_own(frame: FrameType, own: str) -> bool:
    file, package = frame.f_code.co_filename, str(frame.f_globals.get("__name__", ""))
    package = package.partition(".")[0]
    if package == own:
        return True
    if package == "lifespec" or file.startswith("<frozen "):
        return False
    return not (file.startswith(_LIBRARY) or _INSTALLED & {*Path(file).parts})


def short(file: Path) -> str:
    """Return a path from the current folder on, or only its name."""
    with suppress(OSError, ValueError):  # there is no such folder any more; it is elsewhere
        return str(file.relative_to(Path.cwd()))
    return file.name


def without_ours(traceback: TracebackType | None) -> TracebackType | None:
    """Return a traceback from the first frame on that is the application's."""
    found = traceback
    while found and found.tb_frame.f_globals.get("__name__", "").startswith("lifespec."):
        found = found.tb_next
    return found or traceback
