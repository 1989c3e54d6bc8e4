"""Name the asyncio tasks that something left behind, with their place in the source."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lifespec.testing.places import short

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["left"]


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
    return f"{task.get_name()}, {name}{where}"
