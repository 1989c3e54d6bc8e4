"""What servers log, on a page: a row for each server, drawn from the record."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from sample_site import SampleSite

__all__: list[str] = []


RUN = {"lines": [], "served": True, "alone": False, "shutdown": True, "ended": True, "status": 0}


def subject(name: str, waits: dict[str, Any] | None = None, **runs: Any) -> dict[str, Any]:
    """Return a server's row of the record: by what it is run, what differs from RUN."""
    ways = {"SIGTERM": {}, "SIGINT": {}, **runs}
    raises = {way: RUN | told for way, told in ways.items()}
    row = {"name": name, "versions": {name: "1.0"}, "runs": {"raises": raises}}
    return row | ({"waits": waits} if waits else {})


def tried(folder: Path, page: str, *subjects: dict[str, Any]) -> SampleSite:
    """Make a page that shows a record."""
    sample = SampleSite(folder, {"index": f"# A\n\n{page}\n"}, "records.loglines")
    (sample.docs / "matrix").mkdir()
    record = {"programs": {"raises": ""}, "subjects": subjects}
    (sample.docs / "matrix" / "loglines.json").write_text(json.dumps(record))
    return sample


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("sings", "There is no program 'sings', only raises."),
        ("raises\n:facts: taste", "There is no fact 'taste', only served, shutdown, ended,"),
    ],
)
def test_what_is_unknown_is_told(options: str, told: str, tmp_path: Path) -> None:
    """With file and line, and with what there is."""
    with tried(tmp_path, f"```{{loglines}} {options}\n```", subject("one")) as sample:
        assert told in "\n".join(sample.warnings)


@pytest.mark.parametrize("program", ["raises", "fails", "crashes-later"])
def test_the_record_has_each_server(program: str) -> None:
    """As `make loglines` wrote it: each ran the same programs."""
    file = Path(__file__).parents[3] / "docs" / "matrix" / "loglines.json"
    record = json.loads(file.read_text("utf-8"))
    names = [each["name"] for each in record["subjects"]]
    assert names == ["uvicorn", "hypercorn", "granian", "gunicorn", "daphne"]
    for each in record["subjects"]:
        assert {*each["runs"]} == {*record["programs"]}
        assert program in each["runs"]


def test_each_log_line_on_the_page_is_logged() -> None:
    """A line in a heading or a table stands in the record, or in the output of an example."""
    docs = Path(__file__).parents[3] / "docs"
    page = (docs / "troubleshooting.md").read_text("utf-8")
    outputs = re.findall(r"^```{output}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    logged = "\n".join([(docs / "matrix" / "loglines.json").read_text("utf-8"), *outputs])
    headings = "\n".join(re.findall(r"^##.*", page, re.MULTILINE))
    lines = re.findall(r"`([^`]+)`", headings) + re.findall(
        r"^\| `(Wait[^`]+)`", page, re.MULTILINE
    )
    assert len(lines) >= 10
    assert [line for line in lines if line not in logged] == []
