"""Name the asyncio tasks that something left behind, with their place in the source."""

from __future__ import annotations

import asyncio
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from lifespec.testing.places import place, short

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["left", "note_makers"]

_MAKERS: WeakKeyDictionary[asyncio.Task[Any], str] = WeakKeyDictionary()


def note_makers(loop: asyncio.AbstractEventLoop, own: str = "") -> None:
    """Note the author's own line that makes a task: `left` names it if the task runs none."""

    def make(loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> asyncio.Task[Any]:
        task = asyncio.Task(coroutine, loop=loop, **options)
        frames = reversed([*traceback.walk_stack(sys._getframe(1))])  # noqa: SLF001
        _MAKERS[task] = place(frames, own)
        return task

    loop.set_task_factory(make)


async def left(ours: Callable[[asyncio.Task[Any]], bool]) -> list[str]:
    """Name the tasks of this loop that still run and that are `ours`, in alphabetical order."""
    tasks = asyncio.all_tasks()
    for _ in range(2):  # a task that was cancelled in the last moment ends in the next
        await asyncio.sleep(0)
    return sorted(_named(each) for each in tasks if not each.done() and ours(each))


def _named(task: asyncio.Task[Any]) -> str:
    coroutine: Any = task.get_coro()
    name = getattr(coroutine, "__qualname__", repr(coroutine)).replace(".<locals>", "")
    frame = getattr(coroutine, "cr_frame", None)
    where = f" ({short(Path(frame.f_code.co_filename))}:{frame.f_lineno})" if frame else ""
    made = _MAKERS.get(task, "")
    if made and not place([(frame, frame.f_lineno)] if frame else []):
        where = f" ({made.rpartition(', ')[2]})"
    return f"{task.get_name()}, {name}{where}"
