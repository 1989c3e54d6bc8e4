"""The place at which a call waits is found through whatever it awaits, in its author's own code."""

import asyncio
import contextlib
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from lifespec.testing import places

__all__: list[str] = []

FILE = Path(__file__).name


async def waits() -> None:
    await asyncio.Event().wait()


@contextlib.asynccontextmanager
async def life() -> AsyncIterator[None]:
    async for _ in numbers():
        yield


async def numbers() -> AsyncIterator[int]:
    await waits()
    yield 1


class Custom:
    def __await__(self) -> Generator[Any, None, None]:
        yield from asyncio.create_task(waits()).__await__()


async def through_generators() -> None:
    async with life():
        pass


async def through_an_awaitable_and_a_task() -> None:
    await Custom()


async def through_a_shield() -> None:
    await asyncio.shield(waits())  # nothing leads from here to what waits


@pytest.mark.parametrize(
    ("call", "function", "text"),
    [
        (waits, waits, "await asyncio.Event"),
        (through_generators, waits, "await asyncio.Event"),
        (through_an_awaitable_and_a_task, waits, "await asyncio.Event"),
        (through_a_shield, through_a_shield, "await asyncio.shield"),
    ],
)
def test_a_place_is_that_of_the_innermost_function(
    call: Callable[[], Awaitable[None]],
    function: Callable[..., Any],
    text: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(Path(__file__).parent)

    async def main() -> places.Place | None:
        task = asyncio.ensure_future(call())
        await asyncio.sleep(0.01)
        found = places.place(places.waiting(task))
        task.cancel()
        return found

    lines, first = inspect.getsourcelines(function)
    line = first + next(number for number, each in enumerate(lines) if text in each)
    assert str(asyncio.run(main())) == f"`{function.__name__}`, {FILE}:{line}"


def test_a_call_that_is_over_waits_nowhere() -> None:
    async def main() -> list[Any]:
        task = asyncio.ensure_future(asyncio.sleep(0))
        await task
        return [*places.waiting(task)]

    assert asyncio.run(main()) == []


def test_a_package_is_its_authors_own_code_only_if_it_is_checked() -> None:
    async def main() -> list[Any]:
        sleeping = asyncio.ensure_future(asyncio.sleep(1))
        await asyncio.sleep(0)
        return [*places.waiting(sleeping)]

    library = asyncio.run(main())
    assert places.place(library) is None
    assert str(places.place(library, "asyncio")).startswith("`sleep`, tasks.py:")


def test_a_file_elsewhere_is_named_without_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = inspect.currentframe()
    assert frame is not None
    monkeypatch.chdir(tmp_path)
    assert str(places.place([(frame, 1)])).endswith(f", {FILE}:1")
    tmp_path.rmdir()  # nor is there a current folder
    assert str(places.place([(frame, 1)])).endswith(f", {FILE}:1")
    assert places.place([]) is None
