"""The steps of an exception, as the trace function notes them, with and without their source."""

import asyncio
import contextlib
import sys
import traceback
from pathlib import Path
from typing import Any

import pytest

from lifespec.diagnosis import cut_off


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
    [(error, steps)] = passing.passed.values()
    assert error is caught.value
    names = [each.place.function for each in steps[:2]]
    assert names == ["inner", "root"]
    assert [step.in_lifespan for step in steps] == [True, True, False]
    passing.note(sys._getframe(1), caught.value)  # of a library
    assert steps[-1].after == []
    assert steps[0].depth == steps[1].depth + 1


CODE = "try:\n    raise OSError\n    close()\nfinally:\n    pass\nlater()\n"


@pytest.mark.parametrize(("source", "lines"), [(CODE, [3]), ("def broken(", [])])
def test_code_without_its_source_says_nothing(
    source: str, lines: list[int], tmp_path: Path
) -> None:
    path = tmp_path / "shop.py"
    path.write_text(source)
    passing = cut_off.Passing(root.__code__)
    steps = []
    for depth, code in enumerate([root.__code__, compile(CODE, str(path), "exec")]):
        steps.append(cut_off.PassedFrame(code, 2, depth, in_lifespan=True, after=[]))
    passing.passed[0] = (OSError(), steps)
    told = list(passing.facts(complete=False))
    assert [each.parts["place"].parts["line"] for each in told] == lines


WORK = """\
async def work():
    try:

        async with lock:

            await fails()
            await close()
        await later()
    except BaseException:
        pass
"""
LIBRARY = contextlib.suppress.__exit__.__code__


@pytest.mark.parametrize(
    ("error", "steps", "kind", "line"),
    [
        # the line of `with` runs once more on the way out, and what is inside comes first
        (asyncio.CancelledError(), [(6, [4, 9])], "skipped", 7),
        (asyncio.CancelledError(), [(7, [4, 9])], "skipped", 8),
        # an error that a library has caught left the outermost of the author's functions
        (OSError(), [(6, []), (8, [])], "cut-off-error", 8),
    ],
)
def test_what_is_left_out_has_its_line(
    error: BaseException,
    steps: list[tuple[int, list[int]]],
    kind: str,
    line: int,
    tmp_path: Path,
) -> None:
    path = tmp_path / "shop.py"
    path.write_text(WORK)
    variables: dict[str, Any] = {}
    exec(compile(WORK, str(path), "exec"), variables)  # noqa: S102
    passing, passed = cut_off.Passing(root.__code__), []
    for depth, (number, after) in enumerate(steps):
        code = variables["work"].__code__
        passed.append(cut_off.PassedFrame(code, number, 9 - depth, in_lifespan=True, after=after))
    if kind == "cut-off-error":
        passed.append(cut_off.PassedFrame(LIBRARY, 1, 1, in_lifespan=True, after=[]))
    passing.passed[0] = (error, passed)
    [told] = passing.facts(complete=True)
    assert (told.kind, told.parts["place"].parts["line"]) == (kind, line)
