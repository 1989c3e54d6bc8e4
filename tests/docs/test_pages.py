"""The pages: their programs as one file, their facts, their entries and their words."""

import inspect
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from samples import ROOT

from lifespec import Lifespan
from lifespec.server import TABLE
from lifespec_docs.blocks import joined, programs
from lifespec_docs.facts import facts
from lifespec_docs.views.records import key, read
from lifespec_docs.views.subjects import KEYS, page_name
from lifespec_pages.block import TRACEBACK
from lifespec_pages.page import blocks
from lifespec_pages.runner import run
from lifespec_pages.sandbox import Namespace

DOCS = ROOT / "docs"
PAGES = sorted({*DOCS.rglob("*.md")} - {*DOCS.glob("_*/**/*.md")})  # as Sphinx takes them
COMMAND = re.compile(r"^lifespec (?:check|explain|cases)\b(?!.*--help)", re.MULTILINE)
PROGRAMS = [page for page in PAGES if programs(page)]


# -- programs --


def printed(source: str) -> list[str]:
    """Return the lines that a program prints; a blank one at the edge of an output is not shown."""
    namespace = Namespace()
    with namespace.staged():
        exec(compile(source, "one file", "exec"), namespace.names)  # noqa: S102  our own pages'
    return lines(namespace.stdout.getvalue())


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def test_the_programs_of_the_readme_print_what_it_shows() -> None:
    program, test = blocks(ROOT / "README.md", "README.md")
    assert (program.kind, test.kind) == ("program", "program")
    assert "open the pool" in (program.output or "")
    run(program, Namespace())  # test_readme.py runs the other under pytest


@pytest.mark.parametrize("page", PROGRAMS, ids=lambda page: page.stem)
def test_the_programs_of_a_page_run_as_one_file(page: Path) -> None:
    """A reader of the file sees all that the page shows; tracebacks go to standard error."""
    shown = "\n".join((each.output or "").partition(TRACEBACK)[0] for each in programs(page))
    assert printed(joined(programs(page))) == lines(shown)


def test_what_the_command_prints_stands_in_both_languages() -> None:
    shown = Counter(
        f"{page.name}:{block.line}"
        for page in PAGES
        for block in blocks(page, page.name)
        if block.kind == "process" and block.output and COMMAND.search(block.source)
    )
    assert set(shown.values()) == {2}, shown


def test_the_edge_cases_show_every_step_of_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    met: set[tuple[str, str]] = set()

    class Row(dict[str, Any]):
        phase = ""

        def get(self, what: str, default: Any = None) -> Any:
            met.add((self.phase, what))
            return super().get(what, default)

    for phase, row in [*TABLE.items()]:
        noted = Row(row)
        noted.phase = phase
        monkeypatch.setitem(TABLE, phase, noted)
    namespace = Namespace()
    for block in blocks(DOCS / "edge-cases.md", "docs/edge-cases.md"):
        run(block, namespace)
    namespace.close()
    rows = {(phase, what) for phase in TABLE for what in TABLE[phase]}
    exits = {(phase, "exited") for phase in TABLE}  # one case: test_server has each phase
    assert rows - exits <= met
    assert exits & met


SHAPES = re.compile(r"[\w.-]+/[\w.-]+(/(issues|pull)/\d+|/(blob|tree)/[0-9a-f]{40}/.+)?")
GITHUB = re.compile(r"https://github\.com/([^)\s>#\"`]*)")
ISSUE = re.compile(r"\[([\w.-]+)#(\d+)\]\(https://github\.com/([^)#]*)")


def test_a_link_to_an_issue_has_the_address_that_its_text_says() -> None:
    wrong = []
    for page in [*DOCS.rglob("*.md"), ROOT / "README.md"]:
        for number, line in enumerate(page.read_text("utf-8").splitlines(), 1):
            place = f"{page.relative_to(ROOT)}:{number}"
            found = [each.rstrip("/.,") for each in GITHUB.findall(line)]
            wrong += [f"{place}: {each}" for each in found if not SHAPES.fullmatch(each)]
            for name, issue, address in ISSUE.findall(line):
                _owner, project, *_, last = address.split("/")
                if (name.lower(), issue) != (project.lower(), last):
                    wrong.append(f"{place}: {name}#{issue} leads to {address}")
    assert not wrong, "\n".join(["Correct these links:", *wrong])


# -- facts --

FACTS = facts(", ")
NAMED = re.compile(r"(?<!`)\{\{ (.*?) \}\}")


@pytest.mark.parametrize(
    "file", [*PAGES, *ROOT.glob("locales/*/LC_MESSAGES/*.po")], ids=lambda path: path.name
)
def test_each_fact_of_a_file_exists(file: Path) -> None:
    assert {*NAMED.findall(file.read_text("utf-8"))} <= {*FACTS}


def test_a_fact_is_what_the_code_and_the_records_have() -> None:
    grace = inspect.signature(Lifespan).parameters["grace"].default
    assert float(FACTS["default Lifespan.grace"]) == grace
    assert FACTS["default Lifespan.startup_timeout"] == "`None`"
    assert FACTS["message lifespan.startup.failed"] == '`""`'
    assert re.fullmatch(r"\d+\.\d+\.\d+", FACTS["version uvicorn"])
    name = "seen completes-twice startup-answered-once pass"
    assert facts("、")[name] == FACTS[name].replace(", ", "、")
    assert "gunicorn (uvicorn-worker)" in FACTS[name]


# -- frameworks and hosts --


def test_each_measured_server_has_a_section_on_the_page_of_its_host() -> None:
    pages = "".join(each.read_text("utf-8") for each in (DOCS / "hosts").glob("*.md"))
    labels = [f"(subject-servers-{key(each['name'])})=" for each in read("servers")["subjects"]]
    lacks = [f"docs/hosts: a page has to have {each}" for each in labels if each not in pages]
    assert not lacks, "\n".join(lacks)


def names(record: str) -> set[str]:
    rows = json.loads((DOCS / "matrix" / f"{record}.json").read_text("utf-8"))["subjects"]
    return {row[KEYS[record]] for row in rows}


@pytest.mark.parametrize("record", KEYS)
def test_each_name_has_its_page_and_each_answer_its_words(record: str) -> None:
    """A page that is missing is a dead link, and one that is left over cannot be drawn."""
    pages = {each.stem: each.read_text("utf-8") for each in (DOCS / record).glob("*.md")}
    wanted = {page_name(name): f"({KEYS[record]}-{page_name(name)})=" for name in names(record)}
    lacks = [f"{name}.md: write it, with {wanted[name]}" for name in wanted.keys() - pages.keys()]
    lacks += [
        f"{name}.md: add {label}"
        for name, label in wanted.items()
        if name in pages and label not in pages[name]
    ]
    lacks += [
        f"{name}.md: docs/_measure/{record}.toml has no row of it, or it is not measured"
        for name in pages.keys() - wanted.keys()
    ]
    assert not lacks, "\n".join(f"docs/{record}/{each}" for each in sorted(lacks))
