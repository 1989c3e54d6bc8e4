"""What is drawn from a record, and code that draws it otherwise."""

import json
from pathlib import Path

import pytest

from lifespec_docs.records import bench, drawn
from sample_site import SampleSite

FOUND = {"state": [{"name": "inline", "seconds": 2e-7}, {"name": "with_state()", "seconds": 3e-7}]}


def of(folder: Path, found: object = FOUND, options: str = "") -> dict[str, list[str]]:
    """Build a page with a table, and return what was written of it."""
    page = f"# A\n\n```{{measured}} state\n{options}\n```\n"
    sample = SampleSite(folder, {"index": page}, "records.bench", "records.drawn")
    (sample.docs / "matrix").mkdir(exist_ok=True)
    (sample.docs / "matrix" / "bench.json").write_text(json.dumps(found))
    with sample:
        file = Path(sample.app.doctreedir, drawn.DRAWN)
        pages: dict[str, list[str]] = json.loads(file.read_text(encoding="utf-8"))
        return pages


def test_code_that_draws_otherwise_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another record, and another directive, are drawn otherwise of themselves."""
    before = of(tmp_path)
    assert not [*drawn.faults(before, of(tmp_path))]
    other = {"state": [*FOUND["state"], {"name": "more()", "seconds": 1}]}
    for now in (of(tmp_path, other), of(tmp_path, options=":chart:")):
        assert now["index"][1] != before["index"][1]
        assert not [*drawn.faults(before, now)]
    monkeypatch.setattr(bench, "MILLI", 1e-9)
    (told,) = drawn.faults(before, of(tmp_path))
    assert told.startswith("docs/index.md: from the same records this page draws something else")
    assert not [*drawn.faults(before, {})]
