"""What applications of frameworks do, on a page: drawn from the record."""

import json
from pathlib import Path
from typing import Any

import pytest

from lifespec_docs.facts.recorded import ROOT
from lifespec_docs.records.frameworks import GROUPS, Run, has_hooks
from sample_site import SampleSite

__all__: list[str] = []

EVENT, COMPLETE = ["event", "lifespan.startup"], ["sent", "lifespan.startup.complete"]
FAILED = ["sent", "lifespan.startup.failed"]
OPENED = [["connect", "database"], ["connect", "cache"]]
CLOSED, CLOSES = ["disconnect", "database"], ["loop closes"]
RAISED, OTHER = ["raised", "OSError", "no cache"], ["event", "lifespan.other"]
TRACEBACK = "Traceback (most recent call last):\nOSError: no cache"


def says(title: str, *happened: list[Any]) -> str:
    """Return what a column of this title says."""
    columns = [column for group in GROUPS.values() for column in group]
    words, *about = next(each for each in columns if each.title == title).says(Run(happened))
    return words % tuple(about) if about else words


EXITS = "ERROR:    Application startup failed. Exiting."
UNDER = {
    "under uvicorn": [["server", "uvicorn 1.0"], ["connect", "database"], ["request", 200]],
    "under uvicorn, a hook raises": [
        *(["server", "uvicorn 1.0"], ["connect", "database"], ["logs", "OSError: no cache"]),
        *(["logs", EXITS], CLOSED, ["exit status", 3]),
    ],
}
KINDS = "mounted", "nested", "combined", "router", "task", "group", "state"  # of variants
SHUTDOWN = ["event", "lifespan.shutdown"]
MOUNTED = [["state", "database"], ["request", 200, "state: database"]]
CELLS = [
    ("A hook raises at startup", [EVENT, COMPLETE], "`complete`"),
    ("A hook raises at startup", [EVENT, FAILED], "`failed`, no message"),
    ("A hook raises at startup", [[*FAILED, TRACEBACK]], "`failed`, traceback"),
    (
        "A hook raises at startup",
        [[*FAILED, "OSError('no cache')"]],
        "`failed`, text",
    ),
    ("A hook raises at startup", [[*FAILED, "no luck"]], "`failed`: `no luck`"),
    ("A hook raises at startup", [EVENT, RAISED], "raises `OSError`"),
    ("A hook raises at startup", [EVENT, ["returned"]], "no answer"),
    (
        "A hook raises at shutdown",
        [COMPLETE, ["sent", "lifespan.shutdown.failed"]],
        "`failed`, no message",
    ),
    ("Then the call", [FAILED, RAISED], "raises `OSError`"),
    ("Then the call", [FAILED, ["returned"]], "returns"),
    ("Then the call", [FAILED, ["waits"]], "waits"),
    ("Opened resources are closed", [*OPENED, CLOSED, FAILED], "Yes"),
    ("Opened resources are closed", [*OPENED, FAILED, CLOSES], "No"),
    ("Opened resources are closed", [FAILED, CLOSES, CLOSED], "when the event loop closes"),
    (
        "Opened resources are closed",
        [["disconnect", "cache"], CLOSED],
        "Yes, and so is the one that failed",
    ),
    ("The others are closed", [CLOSED], "Yes"),
    ("Startup waits for the hooks", [*OPENED, COMPLETE], "Yes"),
    ("Startup waits for the hooks", [COMPLETE, *OPENED], "No"),
    ("All hooks run in one task", [["tasks of hooks", 1]], "Yes"),
    ("All hooks run in one task", [["tasks of hooks", 2]], "No"),
    ("All hooks run in one task", [EVENT], "–"),
    ("Context variables are kept", [["context kept", True]], "Yes"),
    ("Context variables are kept", [["context kept", False]], "No"),
    ("Sets the state", [["state", "database"]], "Yes"),
    ("Sets the state", [["state"]], "No"),
    ("Starts again after shutdown", [COMPLETE, COMPLETE], "Yes"),
    ("Starts again after shutdown", [COMPLETE, FAILED], "`failed`, no message"),
    ("Without `state` in the scope", [COMPLETE], "`complete`, but no hook runs"),
    ("Without `state` in the scope", [*OPENED, COMPLETE], "`complete`"),
    ("A request without lifespan", [["request", 200, "database"]], "status 200"),
    ("A request without lifespan", [["request raised", "KeyError", ""]], "raises `KeyError`"),
    ("Shutdown comes first", [OTHER, *OPENED], "starts"),
    ("Shutdown comes first", [OTHER, CLOSED], "cleans up"),
    ("Shutdown comes first", [OTHER, ["raised", "ValueError", ""]], "raises `ValueError`"),
    ("Another event comes first", [OTHER, EVENT, *OPENED], "ignores it"),
    ("Another event comes first", [OTHER, COMPLETE], "sends `startup.complete`"),
    ("A plain application starts", [["connect", "inner"]], "Yes"),
    ("A plain application starts", OPENED, "No"),
    ("An application of the same framework starts", [["connect", "nested"]], "Yes"),
    ("Its startup runs", [["connect", "router"]], "once"),
    ("Its shutdown runs", [["disconnect", "router"], ["disconnect", "router"]], "2 times"),
    ("A hook raises", [["request", 200]], "answers requests, status 200"),
    ("A hook raises", [["exit status", 3]], "ends, exit status 3"),
    ("The log has the exception", [["logs", "OSError: no cache"]], "Yes"),
    ("The log has the exception", [["logs", "INFO"]], "No"),
    ("The database is closed", [CLOSED, ["logs", EXITS]], "Yes"),
    ("The database is closed", [["logs", EXITS], CLOSED], "when the event loop closes"),
    ("Closed after SIGTERM", [["exit status", 0]], "–"),
    ("A task raises", [COMPLETE, SHUTDOWN], "nothing"),
    ("A task raises", [["sent", "lifespan.shutdown.failed", TRACEBACK]], "`failed`, traceback"),
    ("A task raises", [["ends cancelled"]], "ends cancelled"),
    ("A task raises", [RAISED], "raises `OSError`"),
    ("A middleware", [["sees", "middleware", "database"]], "Yes"),
    ("A WebSocket", [["sees", "middleware", "database"]], "No"),
    ("Leaves tasks behind", [["tasks left", 4]], "4"),
    ("Leaves tasks behind", [["tasks left", 0]], "No"),
    ("It then sends", [FAILED, ["cancelled"]], "–"),
    ("It then sends", [["returned"]], "–"),
    ("It then sends", [["cancelled"], [*FAILED, TRACEBACK]], "`failed`, traceback"),
    ("It sees the state", MOUNTED, "Yes"),
    ("It sees the state", [["state", "database"], ["request", 200, "state: "]], "No"),
    ("It sees the state", [["state"], ["request", 200, "state: "]], "–"),
    ("Opens, in this order", [*OPENED, CLOSED], "`database`, `cache`"),
    ("Another scope type", [["sent", "websocket.close"]], "sends `websocket.close`"),
    ("Another scope type", [["returned"]], "returns"),
]


@pytest.mark.parametrize(("title", "happened", "said"), CELLS)
def test_what_a_cell_says(title: str, happened: list[list[Any]], said: str) -> None:
    """A sentence of the catalog, and what it is about."""
    assert says(title, *happened) == said


def subject(name: str, *happened: list[Any]) -> dict[str, Any]:
    """Return a row of the record, where the same happened in each question."""
    questions = {column.question for group in GROUPS.values() for column in group}
    questions -= {*KINDS, *UNDER}
    return {
        "name": name,
        "framework": name.partition(",")[0],
        "program": "shop",
        "versions": {"shop": "1.0", "other": "2.0"},
        "variants": {},
        "happened": {**dict.fromkeys(sorted(questions), happened), **UNDER},
    }


LEFT = ["tasks left", 0]
ROWS = [
    subject(
        "Shop, hooks", EVENT, *OPENED, COMPLETE, [*FAILED, '"a"\nb'], ["request", 200, ""], LEFT
    ),
    subject("Plain", EVENT, ["raised", "ValueError", "no"], LEFT),
]


ROWS[0]["variants"] = {"mounted": {"program": "mounted", "happened": MOUNTED}}


TABLES = "hooks", "unsupported", "mounted", "combined"

MADE = {"python": "CPython 3.11", "system": "Linux"}


def tried(folder: Path, page: str) -> SampleSite:
    """Make a page that shows a record."""
    extensions = "records.frameworks", "examples.included", "examples.folded"
    sample = SampleSite(folder, {"index": f"# A\n\n{page}\n"}, *extensions)
    (sample.docs / "matrix").mkdir()
    (sample.docs / "matrix" / "frameworks.json").write_text(json.dumps(MADE | {"subjects": ROWS}))
    (sample.docs / "programs" / "frameworks").mkdir(parents=True)
    (sample.docs / "programs" / "frameworks" / "shop.py").write_text("app = 1\n")
    (sample.docs / "programs" / "frameworks" / "resources.py").write_text("")
    (sample.docs / "programs" / "frameworks" / "mounted.py").write_text("app = 2\n")
    return sample


def test_a_table_has_a_row_for_each_application_with_hooks(tmp_path: Path) -> None:
    """And the one of those without hooks has the others."""
    page = "\n".join(f"```{{frameworks}} {name}\n```\n" for name in TABLES)
    with tried(tmp_path, page) as sample:
        tables = sample.page().select("table")
        cells = [[cell.get_text().strip() for cell in each.select("td")] for each in tables]
        assert cells[0] == ["Shop, hooks", "Yes", "–", "–", "No", 'failed: "a"\nb']
        assert cells[1] == ["Plain", "raises ValueError", "raises ValueError"]
        assert cells[2:] == [["Shop, hooks", "No", "Yes", "–"], []]
        assert [each["href"] for each in tables[0].select("td a")] == ["#framework-shop"]


def test_a_framework_has_its_programs_and_what_happened(tmp_path: Path) -> None:
    """Each program with its versions, and each question with its line."""
    with tried(tmp_path, "## B\n\n```{framework} Shop\nSay *so*.\n```\n") as sample:
        page = sample.page()
        section = page.select_one("section section#framework-shop")
        assert section
        assert [each.get_text() for each in section.select("h3, em")] == ["Shop¶", "so"]
        text = section.get_text()
        assert "Shop, hooks · shop 1.0, other 2.0" in text
        assert [each.get_text() for each in page.select("summary")] == [
            "shop.py",
            "mounted.py",
            "What happened",
            "under uvicorn · uvicorn 1.0",
            "under uvicorn, a hook raises · uvicorn 1.0",
            "Report this: startup-answered",
            "Report this: unknown-scope-rejected",
        ]
        assert "app = 1" in text
        assert "app = 2" in text
        assert 'lifespan.startup.failed "a" … b · request 200' in text
        assert "connect database\n[request 200]" in text
        assert f"OSError: no cache\n{EXITS}\ndisconnect database\n[exit status 3]" in text


def test_a_name_that_is_not_there_is_told(tmp_path: Path) -> None:
    """Of a table, and of a framework."""
    page = "```{frameworks} hats\n```\n\n```{framework} Hat\n```\n"
    with tried(tmp_path, page) as sample:
        text = "\n".join(sample.warnings)
        assert "There is no table 'hats', only failures, " in text
        assert "There is no framework 'Hat', only Shop, Plain." in text


def test_each_application_of_the_record_has_its_program_and_starts_or_has_no_hooks() -> None:
    """No program is left that nobody has run."""
    record = json.loads((ROOT / "docs/matrix/frameworks.json").read_text("utf-8"))
    folder = ROOT / "docs" / "programs" / "frameworks"
    programs = {path.stem for path in folder.glob("*.py")} - {"resources"}
    variants = [each for row in record["subjects"] for each in row["variants"].values()]
    assert {row["program"] for row in [*record["subjects"], *variants]} == programs
    for row in record["subjects"]:
        usual = Run(row["happened"]["usual"])
        assert has_hooks(row["happened"]) == (["connect", "cache"] in usual.lived)


def test_one_framework_can_be_chosen_without_a_script(tmp_path: Path) -> None:
    """A rule of style hides the rows, tables and sections of the others."""
    page = "```{one-framework}\n```\n\n```{frameworks} hooks\n```\n\n```{framework} Shop\n```\n"
    with tried(tmp_path, page) as sample:
        found = sample.page()
        options = {each["value"]: each.get_text() for each in found.select(".choice option")}
        assert options == {
            "": "all frameworks", "framework-shop": "Shop", "framework-plain": "Plain"
        }  # fmt: skip
        (style,) = found.select(".choice style")
        assert (
            "body:has(option[value=framework-plain]:checked) :is(.framework:not("
            ".about-framework-plain), table.frameworks:not(:has(.about-framework-plain)))"
            "{display:none}"
        ) in style.get_text()
        rows = found.select("tr.framework.about-framework-shop")
        assert [each.select("td")[0].get_text().strip() for each in rows] == ["Shop, hooks"]
        assert found.select("section#framework-shop.framework.about-framework-shop")
