"""The harness of `make bench` runs, and what it measures is of the right size."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import bench
import rivals

__all__: list[str] = []

ROOT = Path(__file__).resolve().parents[2]

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


def test_another_python_measures_one_lifespan(
    found: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In processes of its own, each a part; what is going on is said meanwhile."""
    monkeypatch.setattr(bench, "PROCESSES", 2)
    monkeypatch.setenv("PYTHONPATH", f"{ROOT / 'src'}:{ROOT / 'docs' / '_ext'}")
    own, other = bench.on_pythons(found, [sys.executable])
    assert own["python"] == other["python"] == found["python"]
    assert [row["name"] for row in other["lifespan"]] == [row["name"] for row in own["lifespan"]]
    said = capsys.readouterr().err.splitlines()
    assert said == [f"{sys.executable}: part {number} of 2" for number in (1, 2)]


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
    monkeypatch.setattr(bench, "several", lambda *_: found)
    bench.main([str(tmp_path / "bench.json"), "python3.99"])
    told = capsys.readouterr().out
    written = json.loads((tmp_path / "bench.json").read_text(encoding="utf-8"))
    assert told == bench.told(written) + "\n"
    assert [each["python"] for each in written["pythons"]] == [found["python"]] * 2
    assert told.splitlines()[-1].startswith(f"{found['python']}: lifespec ")
    bench.main(["--part", "0.001", str(tmp_path / "part.json"), "state"])
    assert capsys.readouterr().out == ""
    part = json.loads((tmp_path / "part.json").read_text(encoding="utf-8"))
    assert [row["name"] for row in part["state"]] == ["inline", "with_state()"]
    assert "lifespan" not in part
