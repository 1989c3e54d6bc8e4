"""The steps of an exception, as the trace function notes them, with and without their source."""

import asyncio
import runpy
import sys
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import causes
import pytest

from lifespec.diagnosis import cut_off

KINDS = {
    "the clean-up of its task is cancelled": ["cut-off"],
    "what it cancels is what it has to cancel": [],
    "a CancelledError skips the rest": ["cut-off-block"] * 2,
    "a CancelledError skips nothing": [],
    "an error of its clean-up is lost": ["cut-off-error"],
    "its clean-up leaves something out": ["left-out"],
    "its clean-up leaves nothing out": [],
    "it raises after its answer": [],
}


def root() -> None:
    inner()


def inner() -> None:
    raise OSError("no disk")


def test_an_exception_is_noted_with_its_steps() -> None:
    passing = cut_off.Passing(root.__code__)
    with pytest.raises(OSError, match="no disk") as caught:
        root()
    frames = [frame for frame, _line in traceback.walk_tb(caught.tb)]
    for frame in reversed(frames):
        passing.note(frame, caught.value)
    passing.note(frames[0], StopIteration())
    [(error, steps)] = passing.found.values()
    assert error is caught.value
    names = [each.place.function for each in steps[:2]]
    assert names == ["inner", "root"]
    assert [each.called for each in steps] == [True, True, False]
    assert steps[0].depth == steps[1].depth + 1


def test_code_without_its_source_says_nothing(tmp_path: Path) -> None:
    path = tmp_path / "shop.py"
    path.write_text("def broken(")
    step = cut_off.Step(compile("1", str(path), "eval"), 1, 1, called=True)
    assert cut_off._blocks(step) == []


def in_a_thread(run: Callable[[], object]) -> None:
    """Run this where a trace function counts for nothing else."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(run).result(20)


def test_tracing_ends_as_it_was() -> None:
    def traces() -> None:
        before = sys.gettrace()
        with cut_off.noting():
            cut_off.Passing(root.__code__).begin()
            changed = sys.gettrace()
        assert changed is not before
        assert sys.gettrace() is before

    def traces_nothing() -> None:
        with cut_off.noting():
            pass

    in_a_thread(traces)
    in_a_thread(traces_nothing)


@pytest.mark.parametrize("name", KINDS)
def test_what_is_cut_off_follows_from_the_exceptions_that_pass(name: str, tmp_path: Path) -> None:
    path, sent = tmp_path / "shop.py", list[str]()
    path.write_text(causes.PRELUDE + causes.PROGRAMS[name][0])
    app = runpy.run_path(str(path))["app"]
    events = ["lifespan.startup", "lifespan.shutdown"]

    async def receive() -> dict[str, Any]:
        if len(events) == 1:
            passing.begin()
        await asyncio.sleep(0)
        return {"type": events.pop(0)}

    async def send(event: Any) -> None:
        sent.append(event["type"])

    async def play() -> None:
        with suppress(OSError):
            await app({"type": "lifespan", "asgi": {}, "state": {}}, receive, send)

    passing = cut_off.Passing(play.__code__)
    in_a_thread(lambda: asyncio.run(play()))
    found = passing.facts(complete=sent[-1] == "lifespan.shutdown.complete")
    assert [each.kind for each in found] == KINDS[name]
