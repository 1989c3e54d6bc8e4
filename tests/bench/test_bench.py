"""The harness of `make bench` runs, and what it measures is of the right size."""

import json
from pathlib import Path
from typing import Any

import pytest

import bench
import rivals

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


def test_what_is_not_installed_is_not_measured(found: dict[str, Any]) -> None:
    """The rows are those drivers of which there is a version."""
    drivers = [name for name in rivals.DRIVERS if rivals.installed(name) is not None]
    assert [row["name"] for row in found["lifespan"]] == drivers
    assert [row["name"] for row in found["long-lifespan"]] == drivers


def test_processes_measure_a_part_each(
    found: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Their times are joined, and what is going on is said meanwhile."""
    parts: list[float] = []
    monkeypatch.setattr(bench, "PROCESSES", 2)
    monkeypatch.setattr(bench, "apart", lambda part: parts.append(part) or found)
    assert bench.several() == found
    assert parts == [0.5, 0.5]
    assert capsys.readouterr().err == "part 1 of 2\npart 2 of 2\n"


def test_a_part_is_measured_apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A process of its own measures it, without a word."""
    program = tmp_path / "bench.py"
    program.write_text("import sys; open(sys.argv[1], 'w').write(sys.argv[2])", encoding="utf-8")
    monkeypatch.setattr(bench, "__file__", str(program))
    assert bench.apart(0.25) == 0.25


def test_the_median_counts(found: dict[str, Any]) -> None:
    """Of each row: what one process measured by chance changes nothing."""
    slow, fast = ({**found, "state": [{**found["state"][0], "seconds": n}]} for n in (9e9, 0))
    usual = {**found, "state": found["state"][:1]}
    assert bench.joined([slow, usual, fast]) == usual


def test_the_command_writes_what_it_prints(
    found: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The file holds the rows as JSON; for a part nothing is printed."""
    monkeypatch.setattr(bench, "several", lambda: found)
    bench.main([str(tmp_path / "bench.json")])
    assert capsys.readouterr().out == bench.told(found) + "\n"
    assert json.loads((tmp_path / "bench.json").read_text(encoding="utf-8")) == found
    monkeypatch.setattr(bench, "measured", lambda part: {"part": part})
    bench.main([str(tmp_path / "part.json"), "0.5"])
    assert capsys.readouterr().out == ""
    assert json.loads((tmp_path / "part.json").read_text(encoding="utf-8")) == {"part": 0.5}
