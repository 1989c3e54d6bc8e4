"""What servers log, on a page: a row for each server, drawn from the record."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from sample_site import SampleSite

__all__: list[str] = []


def subject(name: str, *lines: str, served: bool = True, ended: bool = True) -> dict[str, Any]:
    """Return a server's row of the record."""
    run = {"lines": [*lines], "served": served, "ended": ended}
    return {"name": name, "versions": {name: "1.0"}, "runs": {"raises": run}}


def tried(folder: Path, page: str, *subjects: dict[str, Any]) -> SampleSite:
    """Make a page that shows a record."""
    sample = SampleSite(folder, {"index": f"# A\n\n{page}\n"}, "records.loglines")
    (sample.docs / "matrix").mkdir()
    (sample.docs / "matrix" / "loglines.json").write_text(json.dumps({"subjects": subjects}))
    return sample


def rows(sample: SampleSite) -> list[list[str]]:
    """Return the text of each cell."""
    found = sample.page().select("table.loglines tr")
    return [[cell.get_text().strip() for cell in row.select("th, td")] for row in found]


def test_each_line_of_a_server_is_code(tmp_path: Path) -> None:
    """A server without a line has words instead."""
    quiet, loud = subject("quiet", served=False), subject("loud", "ERROR: one", "two")
    with tried(tmp_path, "```{loglines} raises\n```", quiet, loud) as sample:
        assert rows(sample) == [
            ["Server", "Log", "Serves requests"],
            ["quiet 1.0", "no line", "No"],
            ["loud 1.0", "ERROR: onetwo", "Yes"],
        ]
        lines = [line.get_text() for line in sample.page().select(".log-line code")]
        assert lines == ["ERROR: one", "two"]


def test_on_demand_it_says_whether_a_server_ends(tmp_path: Path) -> None:
    """That matters if an application hangs."""
    page = "```{loglines} raises\n:interrupt:\n```"
    with tried(tmp_path, page, subject("stuck", ended=False), subject("free")) as sample:
        assert [row[-1] for row in rows(sample)] == ["Ends on Ctrl-C", "No", "Yes"]


def test_at_shutdown_it_does_not_say_whether_a_server_serves(tmp_path: Path) -> None:
    """The server has served requests before."""
    page = "```{loglines} raises\n:interrupt:\n:shutdown:\n```"
    with tried(tmp_path, page, subject("stuck", ended=False)) as sample:
        head, row = rows(sample)
        assert head == ["Server", "Log", "Ends on Ctrl-C"]
        assert row == ["stuck 1.0", "no line", "No"]


def test_an_unknown_program_is_told(tmp_path: Path) -> None:
    """With file and line, and with the programs that there are."""
    with tried(tmp_path, "```{loglines} sings\n```", subject("one")) as sample:
        assert "There is no program 'sings', only raises." in "\n".join(sample.warnings)


@pytest.mark.parametrize("program", ["raises", "fails", "crashes-later"])
def test_the_record_has_each_server(program: str) -> None:
    """As `make loglines` wrote it: each ran the same programs."""
    file = Path(__file__).parents[3] / "docs" / "matrix" / "loglines.json"
    record = json.loads(file.read_text("utf-8"))
    names = [each["name"] for each in record["subjects"]]
    assert names == ["uvicorn", "hypercorn", "granian", "gunicorn", "daphne"]
    for each in record["subjects"]:
        assert {*each["runs"]} | {"answers"} == {*record["programs"]}
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
