"""Tasks that were left behind, by name and place."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from lifespec.testing import tasks
from lifespec.testing.places import short

__all__: list[str] = []


async def waits() -> None:
    """Wait for ever."""
    await asyncio.Event().wait()


async def test_a_task_that_still_runs_is_named() -> None:
    task, ended = (asyncio.create_task(waits(), name=name) for name in ("poller", "ended"))
    await asyncio.sleep(0)
    ended.cancel()
    line = waits.__code__.co_firstlineno + 2
    assert await tasks.left(lambda each: each in (task, ended)) == [
        f"poller, waits ({short(Path(__file__))}:{line})"
    ]
    task.cancel()


def test_a_task_without_a_frame_is_named() -> None:
    class Own:
        def __repr__(self) -> str:
            return "own coroutine"

    class Made(SimpleNamespace):
        __hash__ = object.__hash__

    task: Any = Made(get_name=lambda: "Task-1", get_coro=Own)
    assert tasks._named(task) == "Task-1, own coroutine"


async def test_a_task_of_a_library_is_named_by_who_made_it() -> None:
    loop = asyncio.get_running_loop()
    tasks.note_makers(loop)
    sleeper, waiter = asyncio.create_task(asyncio.sleep(60)), asyncio.create_task(waits())
    line = sys._getframe().f_lineno - 1
    await asyncio.sleep(0)
    (told,) = await tasks.left(lambda each: each is sleeper)
    assert told == f"{sleeper.get_name()}, sleep ({short(Path(__file__))}:{line})"
    (told,) = await tasks.left(lambda each: each is waiter)
    assert f":{line})" not in told
    loop.set_task_factory(None)
    sleeper.cancel()
    waiter.cancel()
