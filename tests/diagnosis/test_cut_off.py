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


CODE = """\
try:
    raise OSError
    close()
finally:
    pass
later()
match len:
    case _:
        before()
        raise OSError
        after()
"""


@pytest.mark.parametrize(
    ("source", "line", "after", "lines"),
    [
        (CODE, 2, [], [3]),
        (CODE, 2, [3], [6]),  # what ran then was not left out
        (CODE, 10, [], [11]),
        ("def broken(", 2, [], []),
    ],
)
def test_code_without_its_source_says_nothing(
    source: str, line: int, after: list[int], lines: list[int], tmp_path: Path
) -> None:
    path = tmp_path / "shop.py"
    path.write_text(source)
    passing = cut_off.Passing(root.__code__)
    steps = []
    for depth, code in enumerate([root.__code__, compile(CODE, str(path), "exec")]):
        steps.append(cut_off.PassedFrame(code, line, depth, in_lifespan=True, after=after))
    passing.passed[0] = (OSError(), steps)
    told = list(passing.facts(complete=False))
    assert [each.parts["place"].parts["line"] for each in told] == lines


WORK = """\
async def work():
    try:

        async with lock, \\
                lock:
            await fails()

            await close()
        await later()
    except OSError:
        await tell()
    except BaseException: pass
    except ValueError:
        await never()
    await last()
    try:
        pass
    finally:
        try:
            await tidies()
        except OSError:
            pass
    try:

        async with lock: await fails()
        await late()
    except BaseException:
        pass
"""
LIBRARY = contextlib.suppress.__exit__.__code__
CANCELLED = asyncio.CancelledError()
BY_SCOPE = asyncio.CancelledError("Cancelled via cancel scope 1")


@pytest.mark.parametrize(
    ("error", "steps", "told"),
    [
        # the lines of `with` run once more on the way out, and what is inside comes first
        (CANCELLED, [(6, [5, 4, 10, 12])], ("skipped", 8, "await close()")),
        (CANCELLED, [(8, [5, 4, 10, 12, 15])], ("skipped", 9, "await later()")),
        (CANCELLED, [(5, [4, 10, 12])], ("skipped", 9, "await later()")),  # on the way in
        (CANCELLED, [(25, [25, 27, 28])], ("skipped", 26, "await late()")),
        # the `with` has caught it, or an `except` inside of it, which nothing follows
        (CANCELLED, [(6, [5, 9])], ("skipped", 8, "await close()")),
        (CANCELLED, [(8, [5, 9])], None),
        # another function has caught it, in which nothing is skipped
        (CANCELLED, [(8, []), (9, [10, 12])], ("left-out", 9, "await later()")),
        (CANCELLED, [(11, []), (9, [10, 12])], ("left-out", 15, "await last()")),
        # a library has caught it, and an `except` on the way is for another exception
        (BY_SCOPE, [(20, [21])], ("cut-off", 20, "await tidies()")),
        (OSError(), [(6, []), (8, [])], ("cut-off-error", 8, None)),
    ],
)
def test_what_is_left_out_has_its_line(
    error: BaseException,
    steps: list[tuple[int, list[int]]],
    told: tuple[str, int, str | None] | None,
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
    if told and told[0].startswith("cut-off"):
        passed.append(cut_off.PassedFrame(LIBRARY, 1, 1, in_lifespan=True, after=[]))
    passing.passed[0] = (error, passed)
    found = []
    for fact in passing.facts(complete=True):
        place = fact.parts["place"].parts
        assert place["function"] == "work"
        found.append((fact.kind, place["line"], fact.parts.get("source")))
    assert found == [told] * bool(told)
