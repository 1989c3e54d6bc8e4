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


def rows(sample: SampleSite) -> list[list[str]]:
    """Return the text of each cell."""
    found = sample.page().select("table.docutils tr")
    return [[cell.get_text().strip() for cell in row.select("th, td")] for row in found]


def test_each_line_of_a_server_is_code(tmp_path: Path) -> None:
    """A server without a line has words instead."""
    lines = {"lines": ["ERROR: one", "two"]}
    loud = subject("loud", SIGTERM=lines, SIGINT=lines)
    with tried(tmp_path, "```{loglines} raises\n```", subject("quiet"), loud) as sample:
        assert rows(sample) == [
            ["Server", "Log"],
            ["quiet 1.0", "no line"],
            ["loud 1.0", "ERROR: onetwo"],
        ]
        shown = [line.get_text() for line in sample.page().select(".log-line code")]
        assert shown == ["ERROR: one", "two"]


def test_a_server_that_depends_on_the_signal_has_a_row_for_each(tmp_path: Path) -> None:
    """Where what is shown is the same, it has one."""
    page = "```{loglines} raises\n:facts: served shutdown ended\n```"
    quick = subject("quick", SIGINT={"shutdown": False, "status": 1})
    with tried(tmp_path, page, subject("one", SIGINT={"status": 1}), quick) as sample:
        assert rows(sample) == [
            ["Server", "Log", "Serves requests", "Sends shutdown", "Ends"],
            ["one 1.0", "no line", "Yes", "Yes", "Yes"],
            ["quick 1.0, SIGTERM", "no line", "Yes", "Yes", "Yes"],
            ["quick 1.0, SIGINT", "no line", "Yes", "No", "Yes"],
        ]


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        (
            "status status-of-two",
            [
                ["killed 1.0, SIGTERM", "no line", "143 (SIGTERM)", "3"],
                ["killed 1.0, SIGINT", "no line", "–", "3"],
                ["plain 1.0", "no line", "0", "–"],
            ],
        ),
        (
            "exit exit-of-two",
            [["killed 1.0", "no line", "–", "3"], ["plain 1.0", "no line", "–", "–"]],
        ),
    ],
)
def test_exit_statuses_are_as_in_a_shell(facts: str, told: list[list[str]], tmp_path: Path) -> None:
    """With two workers too, if the server has workers; or only of what ended without a signal."""
    page = f"```{{loglines}} raises\n:facts: {facts}\n```"
    of_two = {"two workers": {"status": 3, "alone": True}}
    killed = subject("killed", SIGTERM={"status": -15}, SIGINT={"status": None}, **of_two)
    with tried(tmp_path, page, killed, subject("plain")) as sample:
        assert rows(sample)[1:] == told


def test_open_requests(tmp_path: Path) -> None:
    """How long each server waits for them, its option for that, and what comes then."""
    ends = {"ended": True, "seconds": 3, "cancelled": True, "shutdown": True}
    kills = {"ended": True, "seconds": 6, "cancelled": False, "shutdown": False}
    waits = subject("waits", {"": kills | {"ended": False}, "--limit": kills})
    with tried(tmp_path, "```{open-requests}\n```", waits, subject("ends", {"": ends})) as sample:
        assert rows(sample)[1:] == [
            ["waits 1.0", "--limit", "until they end", "No", "No"],
            ["ends 1.0", "–", "3 s", "Yes", "Yes"],
        ]


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
