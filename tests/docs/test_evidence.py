"""Numbers, exceptions and log levels in a statement with a check occur in the code of its page.

What is said of all measured servers has a check below it that reads a record.

What stands in a link, a role or a substitution is drawn or looked up, and a year is history.
Negations, orders and units are not compared: readers hold them.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifespec_pages import review

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = sorted({*DOCS.glob("*.md")} - {DOCS / "open-questions.md"})  # it quotes specifications
DRAWN = re.compile(r"\[[^\]]*\]\([^)]*\)|\{\{.*?\}\}|\{[\w:-]+\}`[^`]*`|https?://\S+|\S*#\S*")
NUMBER = re.compile(r"(?<![\w.,-])(?!(?:19|20)\d\d\b)(\d+(?:[.,]\d+)?)(?![\w-]|\.\d)")
EXCEPTION = re.compile(r"`(\w+(?:Error|Failed|Timeout|Exit|Interrupt|Unsupported|Violation))\b")
LEVEL = re.compile(r"\b(?:logs?|logged|level)\b[^.]*?\b(error|warning|info|debug)\b")
SAME = {"CancelledError": "Cancelled"}  # by which the checks of both libraries mean it
# a word of a page that no code of it has: why not
ELSEWHERE: dict[tuple[str, str], str] = {
    ("migrate-from-on-event.md", "1.0"): "a version of Starlette that is not installed here",
    ("mount-applications.md", "RuntimeError"): "a library that is not installed here",
    ("timeouts.md", "29"): "the sum of steps that the check computes with other values",
    ("write-server.md", "30"): "cases in cases.toml, whose table another page shows",
    ("write-server.md", "60"): "cases in cases.toml, whose table another page shows",
}


def statements(page: Path) -> Iterator[str]:
    """Yield the paragraph, item or cell right above each check."""
    above = ""
    for _, token in review._tokens(page.read_text("utf-8")):
        if token.type == "inline":
            above = token.content
        elif token.type == "fence" and token.info.startswith("{check}"):
            yield above


def values(statement: str) -> Iterator[str]:
    """Yield the values in a statement that its page computes or shows."""
    text = DRAWN.sub("", statement)
    for pattern in NUMBER, EXCEPTION, LEVEL:
        yield from pattern.findall(text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_values_of_a_checked_statement_are_in_its_page(page: Path) -> None:
    tokens = review._tokens(page.read_text("utf-8"))
    code = "\n".join(each.content for _, each in tokens if each.type == "fence")
    lacking = [
        f"{page.name}: {value} is in no program, output or check of the page: {statement[:90]}"
        for statement in statements(page)
        for value in values(statement)
        if not re.search(rf"(?<!\w){re.escape(SAME.get(value, value))}", code, re.IGNORECASE)
        and (page.name, value) not in ELSEWHERE
    ]
    assert lacking == []


OF_ALL = re.compile(
    r"\b(?:every|each|no|only|all|none|other|one)(?: of)?(?: the)? measured\b", re.IGNORECASE
)
FROM_RECORDS = re.compile(r"\b(?:measured|record|logged)\(")


def unproven(text: str) -> list[str]:
    """Return the sentences about all measured servers below which no check reads a record."""
    tokens, found = review._tokens(text), list[str]()
    waiting = list[str]()
    for _, token in tokens:
        if token.type == "inline" and OF_ALL.search(token.content):
            waiting.append(token.content)
        elif token.type == "fence" and token.info.startswith("{check}"):
            waiting = [] if FROM_RECORDS.search(token.content) else waiting
        elif token.type == "heading_open":
            found, waiting = found + waiting, []
    return found + waiting


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.name)
def test_what_is_said_of_all_measured_servers_is_computed_from_a_record(page: Path) -> None:
    assert unproven(page.read_text("utf-8")) == []
