"""The programs of the README, and those that a page offers as one file."""

import re
from collections import Counter
from pathlib import Path

import pytest
from published import ROOT

from lifespec_docs.blocks import joined, programs
from lifespec_pages.page import blocks
from lifespec_pages.runner import TRACEBACK, run
from lifespec_pages.sandbox import Namespace

COMMAND = re.compile(r"^lifespec (?:check|explain|cases)\b(?!.*--help)", re.MULTILINE)
PAGES = [page for page in sorted((ROOT / "docs").glob("*.md")) if programs(page)]


def printed(source: str) -> list[str]:
    """Return the lines that a program prints; a blank one at the edge of an output is not shown."""
    namespace = Namespace()
    with namespace.staged():
        exec(compile(source, "one file", "exec"), namespace.names)  # noqa: S102  our own pages'
    return lines(namespace.stdout.getvalue())


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def test_the_programs_of_the_readme_print_what_it_shows() -> None:
    namespace = Namespace()
    found = blocks(ROOT / "README.md", "README.md")
    assert [block.kind for block in found] == ["program"]
    assert "open the pool" in (found[0].output or "")
    for block in found:
        run(block, namespace)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_programs_of_a_page_run_as_one_file(page: Path) -> None:
    """A reader of the file sees all that the page shows; tracebacks go to standard error."""
    shown = "\n".join((each.output or "").partition(TRACEBACK)[0] for each in programs(page))
    assert printed(joined(programs(page))) == lines(shown)


def test_what_the_command_prints_stands_in_both_languages() -> None:
    shown = Counter(
        f"{page.name}:{block.line}"
        for page in (ROOT / "docs").glob("*.md")
        for block in blocks(page, page.name)
        if block.kind == "process" and block.output and COMMAND.search(block.source)
    )
    assert set(shown.values()) == {2}, shown
