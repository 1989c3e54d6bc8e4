"""What pages count, and what their comments say is received: held against what has to be so."""

import json
import re

import pytest
from published import ROOT, of_readme, published

from lifespec.conformance import cases

__all__: list[str] = []

COMMENT = re.compile(r"#\s*lifespan\.(startup|shutdown)$", re.MULTILINE)
FUNCTION = re.compile(r"^.*(?:\bdef\b|\bsub\b).*$", re.MULTILINE)
RECEIVED = re.compile(r"receive(?:->)?\(\).*$", re.MULTILINE)


def rows(title: str) -> list[list[str]]:
    """Return the cells of the table of `workers` that begins with this title."""
    text = (ROOT / "docs" / "workers.md").read_text(encoding="utf-8")
    (table,) = re.findall(rf"^\| {title} \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", text, re.MULTILINE)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]


def numbers(cells: list[str]) -> set[int]:
    """Return the first number of each cell."""
    return {int(re.findall(r"\d+", cell)[0]) for cell in cells}


@pytest.mark.parametrize("title", ["what is started", "command, and what happens to it"])
def test_each_loop_that_serves_has_one_lifespan(title: str) -> None:
    """So there are as many startups as loops, or as shutdowns and processes."""
    found = [numbers(cells) for _, *cells in rows(title)]
    assert [len(each) for each in found] == [1] * len(found)
    assert len(found) >= 4


@pytest.mark.parametrize("record", ["servers", "drivers", "amgi", "pagi"])
def test_a_record_has_the_cases_of_the_suite(record: str) -> None:
    """Of each subject a finding for every case, and for every rule that it judges there."""
    found = json.loads((ROOT / "docs" / "matrix" / f"{record}.json").read_text(encoding="utf-8"))
    judged = {
        (case.name, each.slug)
        for case in cases.load()
        for each in case.expect
        if case.party == "server" and found["text"] in case.dialects
        if found["text"] in cases.rules()[each.slug].levels
    }
    for subject in found["subjects"]:
        assert {(each["case"], each["slug"]) for each in subject["findings"]} == judged


def test_a_comment_names_the_event_that_is_received() -> None:
    """What an application receives first is startup, and then comes shutdown."""
    readme = of_readme((ROOT / "README.md").read_text(encoding="utf-8"))
    blocks = [*readme, *(block for page in published()["en"].values() for block in page)]
    found = []
    for function in (part for block in blocks for part in FUNCTION.split(block.source)):
        received = [COMMENT.search(line) for line in RECEIVED.findall(function)]
        order = zip(received, ("startup", "shutdown"), strict=False)
        found += [comment[1] == event for comment, event in order if comment]
    assert all(found)
    assert len(found) >= 8
