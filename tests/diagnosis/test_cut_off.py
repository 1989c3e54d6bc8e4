"""The steps of an exception, as the trace function notes them, with and without their source."""

import sys
import traceback
from pathlib import Path

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


CODE = "raise OSError\nclose()\n"


@pytest.mark.parametrize(("source", "kinds"), [(CODE, ["left-out"]), ("def broken(", [])])
def test_code_without_its_source_says_nothing(
    source: str, kinds: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "shop.py"
    path.write_text(source)
    passing = cut_off.Passing(root.__code__)
    steps = []
    for depth, code in enumerate([root.__code__, compile(CODE, str(path), "exec")]):
        steps.append(cut_off.PassedFrame(code, 1, depth, in_lifespan=True, after=[]))
    passing.passed[0] = (OSError(), steps)
    assert [each.kind for each in passing.facts(complete=False)] == kinds
