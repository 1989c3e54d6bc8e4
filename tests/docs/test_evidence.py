"""Values and names in a statement with a check occur in the code that is to prove it.

Numbers, exceptions and log levels occur in the code of the page. Options and servers occur below
the statement, if the check there names any. What is said of all measured servers has a check that
reads a record. The statements come from the catalogs of the pages: those in subfolders, in
docstrings and in cells are among them.

What stands in a link, a role or a substitution is drawn or looked up, and a year is history.
Negations, orders and units are not compared: readers hold them.
"""

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

from lifespec_pages.sentences import Group, build, groups, tokens

ROOT = Path(__file__).resolve().parents[2]
QUOTES = "docs/open-questions.md"  # its values are those of specifications
DRAWN = re.compile(
    r"\[[^\]]*\]\([^)]*\)|\{\{.*?\}\}|(?:\{[\w:-]+\}|:[\w:]+:)`[^`]*`|https?://\S+|\S*#\S*"
)
NUMBER = re.compile(r"(?<![\w.,-])(?!(?:19|20)\d\d\b)(\d+(?:[.,]\d+)?)(?![\w-]|\.\d)")
EXCEPTION = re.compile(r"`(\w+(?:Error|Failed|Timeout|Exit|Interrupt|Unsupported|Violation))\b")
LEVEL = re.compile(r"\b(?:logs?|logged|level)\b[^.]*?\b(error|warning|info|debug)\b")
OPTION = re.compile(r"\b(startup_timeout|shutdown_timeout|grace|strict|raises)(?=`| ?=)")
SERVER = re.compile(
    r"(?<![\w`/.])(uvicorn|hypercorn|granian|gunicorn|daphne|nonecorn|anycorn|tremolo|socketify)\b"
)
SAME = {"CancelledError": "Cancelled"}  # by which the checks of both libraries mean it
# a word of a statement that its code has not: why not
ELSEWHERE: dict[tuple[str, str], str] = {
    **dict.fromkeys(
        (
            ("docs/check-conformance.md", name)
            for name in ("daphne", "granian", "gunicorn", "hypercorn")
        ),
        "tests/conformance/test_app_command.py tries each server, the check one",
    ),
    ("docs/test-application.md", "SystemExit"): "tests/testing ends a process with it",
    ("docs/clients/asgi-lifespan.md", "ShutdownTimeout"): "its base class alone is raised there",
    ("docs/clients/asgi-lifespan.md", "StartupTimeout"): "its base class alone is raised there",
    ("docs/hosts/uvicorn.md", "0"): "a status of several workers, which the record lacks",
    ("docs/middleware-compatibility.md", "uvicorn"): "what the record of middleware ran under",
    ("docs/migrate-from-on-event.md", "1.0"): "a version of Starlette that is not installed here",
    ("docs/share-state.md", "KeyError"): "what Starlette before 0.20 raised",
    ("docs/timeouts.md", "29"): "the sum of steps that the check computes with other values",
    ("docs/troubleshooting.md", "10"): "a default of docker",
    ("docs/troubleshooting.md", "30"): "a default of Kubernetes; docs/hosts has that of gunicorn",
    ("docs/troubleshooting.md", "daphne"): "another page has its check",
    ("docs/troubleshooting.md", "granian"): "another page has its check",
}


@pytest.fixture(scope="module")
def found() -> dict[str, list[Group]]:
    build(ROOT)
    return groups(ROOT)


def checks(group: Group) -> str:
    """Return the checks of a group."""
    texts = (block.text for block in group.blocks)
    return "\n".join(text for text in texts if text.startswith(("{check}", ".. check::")))


def lacking(group: Group, code: str) -> Iterator[tuple[str, str]]:
    """Yield what a checked statement names and its code does not, each with its statement."""
    proof = checks(group)
    if not proof:
        return
    below = "\n".join(block.text for block in group.blocks)
    for sentence in group.paragraphs[-1]:
        text = DRAWN.sub("", sentence.text)
        for pattern in NUMBER, EXCEPTION, LEVEL:
            for value in pattern.findall(text):
                word = re.escape(SAME.get(value, value))
                if not re.search(rf"(?<!\w){word}", code, re.IGNORECASE):
                    yield value, sentence.text
        for pattern in OPTION, SERVER:
            if pattern.search(proof.replace('"', " ")):
                for name in pattern.findall(text):
                    if not re.search(rf"\b{name}\b", below):
                        yield name, sentence.text


def test_what_a_checked_statement_names_is_in_its_code(found: dict[str, list[Group]]) -> None:
    faults = []
    excused = set[tuple[str, str]]()
    for page in found.keys() - {QUOTES}:
        blocks = chain.from_iterable(group.blocks for group in found[page])
        code = "\n".join(block.text for block in blocks)
        for group in found[page]:
            for word, statement in lacking(group, code):
                excused.add((page, word))
                if (page, word) not in ELSEWHERE:
                    faults.append(f"{page}: {word} is in no code that proves: {statement[:200]}")
    assert faults == []
    assert sorted(ELSEWHERE.keys() - excused) == []


OF_ALL = re.compile(
    r"\b(?:every|each|no|only|all|none|other|one)(?: of)?(?: the)? measured\b", re.IGNORECASE
)
FROM_RECORDS = re.compile(r"\b(?:measured|record|logged)\(")


def unproven(text: str) -> list[str]:
    """Return the sentences about all measured servers below which no check reads a record."""
    found, waiting = list[str](), list[str]()
    for _, kind, language, content in tokens(text):
        if kind == "inline" and OF_ALL.search(content):
            waiting.append(content)
        elif kind == "fence" and language.startswith("{check}"):
            if FROM_RECORDS.search(content):
                waiting = []
        elif kind == "heading_open":
            found += waiting
            waiting = []
    return found + waiting


def test_what_is_said_of_all_measured_servers_is_computed_from_a_record() -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        assert unproven(page.read_text("utf-8")) == [], page
