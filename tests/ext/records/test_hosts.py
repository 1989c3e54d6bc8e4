"""What hosts do with a lifespan, on a page: drawn from the record."""

import json
from pathlib import Path
from typing import Any

import pytest

from lifespec_docs.facts.recorded import ROOT
from lifespec_docs.records.hosts import CTRL_C, GROUPS, KEPT, TWICE, HostRun
from sample_site import SampleSite

__all__: list[str] = []

LIFESPAN, EVENT = ["lifespan", "state"], ["event", "lifespan.startup"]
COMPLETE, STOP = ["sends", "lifespan.startup.complete"], ["event", "lifespan.shutdown"]
STARTED = [LIFESPAN, EVENT, COMPLETE]
SEEN, EMPTY = ["request", "the pool", "another dict"], ["request", "no pool", "another dict"]
NOTE = [*SEEN, "the note of another request"]
EXIT, TERM, OPENED = ["exit", 0], ["SIGTERM"], ["opened"]
RAISED, REFUSED = ["raises", "OSError", "no pool"], ["request raises", "Failure", "none"]
WAITED, ON = ["seconds", 69], ["goes on"]
VARIED = ["another time", "no shutdown", "exit", "139 (SIGSEGV)"]


def says(group: str, number: int, *happened: list[Any]) -> str:
    """Return what a column of a group says."""
    words, *about = GROUPS[group][number].says(HostRun(happened))
    return words % tuple(about) if about else words


CELLS = [
    ("starts", 0, [EVENT], "once"),
    ("starts", 0, [EVENT, EVENT], "2 times"),
    ("starts", 1, [["one request at a time"], EVENT, EVENT], "one request at a time"),
    ("starts", 1, [EVENT, EVENT], "2 times"),
    ("starts", 2, [EVENT, COMPLETE, SEEN], "No"),
    ("starts", 2, [EVENT, SEEN, COMPLETE], "Yes"),
    ("starts", 2, [EVENT, SEEN], "Yes"),
    ("starts", 3, [EVENT, SEEN], "never"),
    ("starts", 3, [SEEN, STOP, SEEN, STOP], "after each request"),
    ("starts", 3, [SEEN, SEEN, STOP], "once"),
    ("failures", 0, [OPENED, REFUSED, EXIT], "raises `Failure`"),
    ("failures", 0, [EVENT, ["and so on"], EXIT], "starts again and again"),
    ("failures", 0, [EVENT, SEEN, TERM, EXIT], "serves"),
    ("failures", 0, [EVENT, SEEN, WAITED, ON], "serves, then does not end"),
    ("failures", 0, [EVENT, WAITED, ON], "does not go on"),
    ("failures", 0, [EVENT, ["exit", 3]], "ends, status 3"),
    ("failures", 0, [EVENT, TERM, ["exit", "143 (SIGTERM)"]], "serves nothing"),
    ("failures", 1, [EVENT, RAISED], "Yes"),
    ("failures", 1, [EVENT, ["prints", "no pool"]], "Yes"),
    ("failures", 1, [EVENT, REFUSED], "No"),
    ("failures", 2, [EVENT, SEEN], "Yes"),
    ("failures", 2, [EVENT], "No"),
    ("ends", 0, [COMPLETE, TERM, EXIT], "–"),
    ("ends", 0, [COMPLETE, STOP, RAISED], "raises `OSError`"),
    ("ends", 0, [COMPLETE, STOP, ON], "does not end"),
    ("ends", 0, [COMPLETE, STOP, EXIT], "ends"),
    ("ends", 0, [COMPLETE, TERM, STOP, EXIT, VARIED], "ends, status 0 / 139 (SIGSEGV)"),
    ("ends", 1, [COMPLETE, TERM, EXIT], "–"),
    ("ends", 1, [COMPLETE, STOP, ["raises", "Failure", "pool lost"]], "Yes"),
    ("ends", 3, [EVENT, SEEN], "serves"),
    ("ends", 3, [EVENT, WAITED, ON], "no limit within 70 s"),
    ("ends", 3, [EVENT, RAISED], "raises `OSError`"),
    ("ends", 3, [EVENT, ["seconds", 60], ["exit", 1]], "after 60 s"),
    ("ends", 4, [COMPLETE, TERM, EXIT], "–"),
    ("ends", 4, [STOP, WAITED, ON], "no limit within 70 s"),
    ("ends", 4, [STOP, EXIT], "ends"),
    ("state", 0, [LIFESPAN], "Yes"),
    ("state", 0, [["lifespan"]], "No"),
    ("state", 1, [["request", "no state"]], "no `state`"),
    ("state", 1, [EMPTY], "No"),
    ("state", 1, [SEEN], "Yes"),
    ("state", 2, [EMPTY, EMPTY], "–"),
    ("state", 2, [SEEN, SEEN], "Yes"),
    ("state", 2, [SEEN, NOTE], "No"),
    ("state", 2, [["request", "the pool", "the same dict"]], "No"),
    ("state", 3, [STOP], "–"),
    ("state", 3, [["state at shutdown", "no pool"]], "No"),
    ("state", 3, [["state at shutdown", "the pool"]], "Yes"),
    ("state", 3, [["state at shutdown", "the pool", NOTE[-1]]], "Yes, and what a request wrote"),
    ("again", 0, [TERM, EXIT], "–"),
    ("again", 0, [TERM, STOP, TERM, ["exit", 1]], "ends, status 1"),
    ("again", 1, [["SIGINT"], STOP, ["SIGINT"], ON], "does not end"),
    ("again", 2, [SEEN, SEEN, SEEN], "Yes"),
    ("again", 2, [SEEN], "–"),
    ("again", 2, [EXIT], "–"),
    ("signals", 0, [TERM, STOP, EXIT], "Yes"),
    ("signals", 0, [TERM, EXIT], "No"),
    ("signals", 2, [["SIGINT"], STOP, EXIT, VARIED], "not each time"),
    (
        "signals",
        3,
        [["exit", 0], VARIED, ["another time", "shutdown", "goes on"]],
        "0 / 139 (SIGSEGV)",
    ),
]


@pytest.mark.parametrize(("group", "number", "happened", "said"), CELLS)
def test_what_a_cell_says(group: str, number: int, happened: list[Any], said: str) -> None:
    """A sentence of the catalog, and what it is about."""
    assert says(group, number, *happened) == said


OF_SERVERS = {CTRL_C, KEPT, *TWICE}
QUESTIONS = {column.question for group in GROUPS.values() for column in group} - OF_SERVERS


def subject(name: str, kind: str, program: str, *happened: list[Any]) -> dict[str, Any]:
    """Return a row of the record, where the same happened in each question."""
    questions = QUESTIONS | (OF_SERVERS if kind == "server" else set())
    return {
        "name": name,
        "host": name.partition(",")[0],
        "kind": kind,
        "program": program,
        "command": f"{program} --port 1",
        "versions": {"shop": "1.0"},
        "happened": dict.fromkeys(sorted(questions), happened),
    }


ROWS = [
    subject("Cloud, on", "adapter", "cloud", *STARTED, SEEN, STOP, SEEN, EXIT),
    subject("Plain", "client", "plain", OPENED, EMPTY, EXIT),
    subject("Served", "server", "shop", *STARTED, SEEN, TERM, STOP, EXIT),
]


HASTY = [subject(f"Hasty, {each}", "adapter", "cloud", LIFESPAN, SEEN, STOP) for each in "12"]


def tried(folder: Path, page: str, rows: list[dict[str, Any]] = ROWS) -> SampleSite:
    """Make a page that shows a record."""
    extensions = "records.hosts", "examples.included", "examples.folded"
    sample = SampleSite(folder, {"index": f"# A\n\n{page}\n"}, *extensions)
    record = {"python": "CPython 3.11", "system": "Linux", "subjects": rows}
    (sample.docs / "matrix").mkdir()
    (sample.docs / "matrix" / "hosts.json").write_text(json.dumps(record))
    (sample.docs / "programs" / "hosts").mkdir(parents=True)
    (sample.docs / "programs" / "hosts" / "cloud.py").write_text("app = 1\n")
    return sample


def test_a_table_has_the_hosts_of_its_kinds_that_send_a_lifespan(tmp_path: Path) -> None:
    """One of signals has those that were asked, and `never` the others."""
    page = (
        "```{hosts} starts\n:kinds: adapter client\n```\n\n"
        "```{hosts} signals\n```\n\n```{hosts} never\n```\n"
    )
    with tried(tmp_path, page) as sample:
        tables = sample.page().select("table")
        cells = [[cell.get_text().strip() for cell in each.select("td")] for each in tables]
        assert cells == [
            ["Cloud, on", "once", "once", "No", "after each request"],
            ["Served", "Yes", "0", "Yes", "0"],
            ["Plain", "No"],
        ]
        assert [each["href"] for each in tables[0].select("td a")] == ["#host-cloud"]


def test_a_host_has_its_command_and_its_own_program(tmp_path: Path) -> None:
    """The application itself is shown elsewhere."""
    page = "```{host} Cloud\nSay *so*.\n```\n\n```{host} Served\n```\n"
    with tried(tmp_path, page) as sample:
        found = sample.page()
        assert "Cloud, on · shop 1.0 · cloud --port 1" in found.get_text()
        summaries = [each.get_text() for each in found.select("summary")]
        assert summaries == ["cloud.py", "What happened", "What happened"]


def test_what_breaks_a_rule_has_a_text_for_the_project(tmp_path: Path) -> None:
    """It is there once, although two rows of the host break the rule."""
    with tried(tmp_path, "```{host} Hasty\n```\n", HASTY) as sample:
        page = sample.page()
        (reported,) = (each for each in page.select("details") if "Report" in each.get_text())
        assert "Report this: wait-for-startup" in reported.get_text()
        assert "Thank you for shop." in reported.get_text()


def test_each_program_of_the_folder_is_that_of_a_host() -> None:
    """Or the application, what makes the requests, and an event that two of them share."""
    record = json.loads((ROOT / "docs/matrix/hosts.json").read_text("utf-8"))
    programs = {path.stem for path in (ROOT / "docs/programs/hosts").glob("*.py")}
    assert {row["program"] for row in record["subjects"]} == programs - {"visit", "api_gateway"}
    names = (ROOT / "docs/host-compatibility.md").read_text("utf-8")
    assert all(f"{{host}} {row['host']}\n" in names for row in record["subjects"])
