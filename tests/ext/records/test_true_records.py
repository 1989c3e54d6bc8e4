"""The true records, and what the project has beside them."""

import re

import pytest

from lifespec_docs.facts.recorded import ROOT, read
from lifespec_docs.records.frameworks import Run, has_hooks

DOCS = ROOT / "docs"


@pytest.mark.parametrize(
    ("name", "shared"), [("frameworks", {"resources"}), ("hosts", {"visit", "api_gateway"})]
)
def test_no_program_is_left_that_nobody_has_run(name: str, shared: set[str]) -> None:
    subjects = read(ROOT, name)["subjects"]
    variants = [each for row in subjects for each in row.get("variants", {}).values()]
    programs = {path.stem for path in (DOCS / "programs" / name).glob("*.py")}
    assert {row["program"] for row in [*subjects, *variants]} == programs - shared


def test_an_application_opens_all_its_resources_or_has_no_hooks() -> None:
    for row in read(ROOT, "frameworks")["subjects"]:
        opened = ["connect", "cache"] in Run(row["happened"]["usual"]).lived
        assert has_hooks(row["happened"]) == opened


@pytest.mark.parametrize("about", ["host", "framework"])
def test_each_subject_has_a_section(about: str) -> None:
    """Else the tables lead nowhere, and its program is not shown."""
    page = (DOCS / f"{about}-compatibility.md").read_text("utf-8")
    names = {row[about] for row in read(ROOT, f"{about}s")["subjects"]}
    assert {name for name in names if f"{{{about}}} {name}\n" not in page} == set()


def test_each_log_line_on_the_page_is_logged() -> None:
    """A line in a heading or a table stands in the record, or in the output of an example."""
    page = (DOCS / "troubleshooting.md").read_text("utf-8")
    outputs = re.findall(r"^```{output}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    logged = "\n".join([(DOCS / "matrix" / "loglines.json").read_text("utf-8"), *outputs])
    lines = re.findall(r"^\| `(Wait[^`]+)`", page, re.MULTILINE)
    for heading in re.findall(r"^##.*", page, re.MULTILINE):
        lines += re.findall(r"`([^`]+)`", heading)
    assert len(lines) >= 10
    assert [line for line in lines if line not in logged] == []
