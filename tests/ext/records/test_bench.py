"""What `make bench` measured, on a page."""

import json
from pathlib import Path

from sample_site import SampleSite

__all__: list[str] = []

FOUND = {
    "date": "2026-01-02",
    "python": "CPython 3.11.2",
    "machine": "one that is quick",
    "lifespan": [
        {"name": "floor", "version": "", "seconds": 1e-5},
        {"name": "lifespec", "version": "0.1", "seconds": 1.5e-5},
    ],
    "state": [{"name": "inline", "seconds": 2e-7}, {"name": "with_state()", "seconds": 3e-7}],
    "import": [{"name": "import asyncio", "seconds": 0.04}],
    "at-once": [
        {"name": "%s at once", "count": 10000, "seconds": 1e-5, "bytes": 2500},
        {"name": "%s at once, with garbage collection", "count": 10000, "seconds": 2e-5},
    ],
    "validator": [],
    "pythons": [
        {
            "python": f"CPython {version}",
            "lifespan": [
                {"name": "floor", "version": "", "seconds": 1e-5},
                {"name": "lifespec", "version": "0.1", "seconds": seconds},
            ],
        }
        for version, seconds in (("3.11.2", 1.5e-5), ("3.12.0", 0.9e-5))
    ],
}


def tried(folder: Path, page: str, **configuration: str) -> SampleSite:
    """Make a page that shows what was measured."""
    sample = SampleSite(folder, {"index": f"# A\n\n{page}\n"}, "records.bench", **configuration)
    (sample.docs / "matrix").mkdir()
    (sample.docs / "matrix" / "bench.json").write_text(json.dumps(FOUND))
    return sample


def rows(sample: SampleSite) -> list[list[str]]:
    """Return the texts of the page's table."""
    found = sample.page().select("table tr")
    return [[cell.get_text(strip=True) for cell in row.find_all(["th", "td"])] for row in found]


def test_a_lifespan_is_compared_by_python(tmp_path: Path) -> None:
    """Each with the floor on the same Python."""
    with tried(tmp_path, "```{measured-by-python}\n```") as sample:
        assert rows(sample) == [
            ["What is measured", "CPython 3.11.2", "CPython 3.12.0"],
            ["floor", "1.00", "1.00"],
            ["lifespec 0.1", "1.50", "0.90"],
        ]
        drawn = sample.page().select_one("svg")
        assert drawn
        assert "0.90 × · 3.12.0" in drawn.get_text()
        assert "lifespec 0.1: CPython 3.11.2 1.50, CPython 3.12.0 0.90" in drawn.get_text()


def test_memory_has_a_column_where_it_was_measured(tmp_path: Path) -> None:
    """A row without it has an empty cell."""
    with tried(tmp_path, "```{measured} at-once\n```") as sample:
        assert rows(sample)[1:] == [
            ["10,000 at once", "10\N{NO-BREAK SPACE}µs", "1.00", "2,500 bytes"],
            ["10,000 at once, with garbage collection", "20\N{NO-BREAK SPACE}µs", "2.00", ""],
        ]


def test_a_chart_can_be_read_without_being_seen(tmp_path: Path) -> None:
    """It is one drawing, in the colour of the text, with a label and a description."""
    with tried(tmp_path, "```{measured} lifespan\n:chart:\n```") as sample:
        (drawing,) = sample.page().select("figure svg")
        assert drawing["role"] == "img"
        assert drawing["aria-label"] == "Time of each as a multiple of the first"
        assert drawing.find("desc").get_text() == "floor: 1.00 ×; lifespec 0.1: 1.50 ×"
        assert len(drawing.select("path")) == 2


def test_what_was_not_measured_is_not_shown(tmp_path: Path) -> None:
    """A measure without rows leaves nothing on the page."""
    with tried(tmp_path, "```{measured} validator\n:chart:\n```") as sample:
        assert not sample.page().select("table, svg")


def test_a_sentence_says_when_and_where(tmp_path: Path) -> None:
    """Date, Python and machine."""
    with tried(tmp_path, "```{measured-when}\n```") as sample:
        sentence = "Measured on 2026-01-02: CPython 3.11.2; one that is quick."
        assert sentence in sample.page().get_text()
