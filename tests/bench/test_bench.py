"""The harness of `make bench` runs, and what it measures is of the right size."""

from typing import Any

import pytest

import bench

__all__: list[str] = []


# Times are noisy: these bounds lie so far from what is measured that only a blunder breaks them.
BOUNDS = {
    "lifespan": 2.5,
    "long-lifespan": 2.5,
    "state": 3,
    "validator": 4,
    "at-once": 6,
    "compose": 6,
}


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """Measure everything, briefly."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bench, "MOST", 1000)
        patch.setattr(bench, "LONG", 200)
        return bench.measured(0.01)


def seconds(rows: list[dict[str, Any]], name: str) -> float:
    """Return the time of the row of that name."""
    (row,) = (row for row in rows if row["name"] == name)
    return float(row["seconds"])


def test_everything_is_measured(found: dict[str, Any]) -> None:
    """Each measure that has something to measure has a row for each of it."""
    assert set(bench.MEASURES) < set(found)
    assert all(row["seconds"] > 0 for name in bench.MEASURES for row in found[name])
    assert len(bench.told(found).splitlines()) == 1 + sum(len(found[n]) for n in bench.MEASURES)


@pytest.mark.parametrize("name", ["state", "validator", "at-once", "compose"])
def test_ratios_are_of_the_right_size(found: dict[str, Any], name: str) -> None:
    """No ratio to the first is far beyond what is measured in full."""
    rows = found[name]
    assert all(row["seconds"] < BOUNDS[name] * rows[0]["seconds"] for row in rows)


@pytest.mark.parametrize("name", ["lifespan", "long-lifespan"])
def test_a_lifespan_is_near_the_floor(found: dict[str, Any], name: str) -> None:
    """Nothing that costs as much as a second task has crept in, in short turns or long ones."""
    floor, ours = (seconds(found[name], driver) for driver in ("floor", "lifespec"))
    assert ours < BOUNDS[name] * floor
