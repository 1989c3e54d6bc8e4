"""A problem is a page: its program shows it, and a change removes it; reports lead there."""

import re
from pathlib import Path

import pytest

from lifespec import pages
from lifespec.catalog import columns
from lifespec.diagnosis import advice
from lifespec.diagnosis.fact import Fact, fact
from lifespec.diagnosis.problem import FAILING, PROBLEMS, names_of, problem_of
from lifespec.words import FOLDERS, sentences
from lifespec_pages.block import Block
from lifespec_pages.page import blocks

DOCS = Path(__file__).parents[2] / "docs"
FOLDER = DOCS / "problems"
ONLY_SEEN_ELSEWHERE = {"open-requests", "signal-lost", "shutdown-skipped"}  # `watch` shows these
NO_PROSE = re.compile(r"(?ms)^```.*?^```$|^\{[^`\n]*\}$")  # programs, their outputs and attributes


def checks(name: str) -> list[Block]:
    """Return the checks of a page's programs, in English."""
    found = blocks(FOLDER / f"{name}.md", name)
    return [each for each in found if "report" in each.classes and each.locale == "C.UTF-8"]


def test_each_name_has_a_page_and_each_page_a_name() -> None:
    written = {path.stem for path in FOLDER.glob("*.md")}
    assert written == {*PROBLEMS}


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_page_shows_its_problem_and_a_change_that_removes_it(name: str) -> None:
    """Its outputs are compared where the page runs."""
    first, *others = checks(name)
    command = f"lifespec explain {name}"
    assert name in ONLY_SEEN_ELSEWHERE or command in (first.output or "")
    cured = others[-1]
    assert "--strict" in cured.source
    assert "lifespec explain" not in (cured.output or "")
    if name in FAILING:
        assert " problems " in f" {first.output} ".replace("\n", " ") or "does not" in str(
            first.output
        )


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_page_is_short_and_stands_in_the_index(name: str) -> None:
    text = pages.page(name).partition("\n# ")[2]
    assert 100 <= len(NO_PROSE.sub("", text).split()) <= 250
    assert f"{{doc}}`problems/{name}`" in (DOCS / "troubleshooting.md").read_text("utf-8")
    reports = text.partition("\n## Reports\n")[2]
    assert "](https://github.com/" in reports or "No public report of it is known" in reports


def test_each_row_of_advice_names_a_problem() -> None:
    for row in advice.ROWS:
        assert names_of([Fact(row.change), *map(Fact, row.found)]), row


def test_a_headline_can_name_each_problem_that_fails() -> None:
    headlines = {kind for kind in sentences() if kind.startswith("found-")}
    assert headlines == {f"found-{name}" for name in FAILING}


# beside what the programs of the pages show: with "!" what fails with --strict, too
KINDS = """
thread-stays    thread-left! process-held
never-ran       never-ran! never-ran-mounted! registered-late!
cut-off         cut-off! cut-off-error! skipped clean-up-cut-off clean-up-cut-off-somewhere
task-failed     died! died-stopping!
state-dropped   state-dropped! state-unseen!
left-open       unclosed! unfinished!
task-left       task-left! task-unawaited!
lifespan-shape  given-module given-no-lifespan
startup-raised  headline-does-not-start failed failed-again start-lost
blocks-the-loop  way-out-blocked doing-blocked doing-blocked-thread doing-blocked-future
set-from-thread  due! doing-awaits-due
open-requests   open-requests open-background open-requests-and-background
signal-lost     signal-lost
shutdown-skipped  without-shutdown startup-cut-off
"""


@pytest.mark.parametrize("row", KINDS.strip().splitlines())
def test_a_fact_leads_to_the_page_of_its_problem(row: str) -> None:
    name, *kinds = row.split()
    for kind in kinds:
        told = Fact(kind.rstrip("!"))
        assert names_of([told]) == [name]
        assert problem_of(fact("at", what=told)) == (name if kind.endswith("!") else "")


def test_a_kind_of_fact_tells_of_one_problem() -> None:
    kinds = [kind for each in PROBLEMS.values() for kind in (*each.fail, *each.tell)]
    assert len(kinds) == len({*kinds})


@pytest.mark.parametrize("language", FOLDERS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_terminal_shows_a_page_in_its_language(name: str, language: str) -> None:
    shown = [*pages.problem_lines(name, language)]
    text = "\n".join(shown)
    assert not re.search(r"\{\w+\}`|^(```|\{\.|\(.*\)=|---)|\]\(", text, re.MULTILINE)
    assert all(columns(each) <= 80 for each in shown if not each.startswith(pages.CODE_INDENT))
    # another problem is the command for it
    leads_nowhere = re.search(r"(?<!docs/)problems/[a-z-]+|《`", text)
    assert leads_nowhere is None, leads_nowhere
    assert "{ref}" not in pages.page(name)  # a terminal does not know where a label is
    assert f"lifespec explain {name}" in text or name in ONLY_SEEN_ELSEWHERE
    assert language == "en" or not re.search(r"^ *lifespec: [a-z]", text, re.MULTILINE)
    headings = [line[3:] for line in pages.page(name).split("\n") if line.startswith("## ")]
    assert all((heading in shown) is (language == "en") for heading in headings)
