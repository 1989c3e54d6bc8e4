"""Print the paragraphs and the blocks or rules below them of which only one has changed.

python -m lifespec_pages.review [REVISION]     from git alone; the revision is main if none is given
"""

import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

from markdown_it.token import Token

from lifespec_pages.page import PARSER

RULES = "src/lifespec/conformance/data/rules.toml"
RULE = re.compile(r"\{rule\}`(?:[^`<]*<)?([\w-]+)")
LONGEST = 110  # characters of a paragraph that is printed
Read = Callable[[str], str]


def at(revision: str) -> Read:
    """Return a function that reads a file as it was in a revision, or "" if there was none."""

    def read(name: str) -> str:
        command = ["git", "show", f"{revision}:{name}"]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout

    return read


def now(name: str) -> str:
    """Read a file as it is."""
    return Path(name).read_text(encoding="utf-8") if Path(name).exists() else ""


def evidence(page: str, read: Read) -> dict[str, str]:
    """Return what stands below each paragraph: programs, outputs, checks, files, rules."""
    rules = {name: repr(rule) for name, rule in tomllib.loads(read(RULES)).items()}
    found: dict[str, str] = {}
    above: list[str] = []
    ended = False  # a block followed the paragraphs above: the next paragraph begins a new group
    for token in _tokens(read(page)):
        if token.type == "inline":
            above = [token.content] if ended else [*above, token.content]
            ended = False
            linked = (rules.get(name, "") for name in RULE.findall(token.content))
            found.setdefault(token.content, "".join(linked))
        elif token.type == "heading_close":
            above = []
        elif token.type == "fence":
            ended = True
            name, _, argument = token.info.strip().partition(" ")
            shown = read(f"docs/{argument.strip()}") if name == "{shown}" else ""
            rule = rules.get(argument.strip(), "") if name == "{rule}" else ""
            for paragraph in above:
                found[paragraph] += token.info + token.content + shown + rule
    return found


def _tokens(text: str) -> Iterator[Token]:
    """Yield the tokens of a page, of a directive in colons those inside."""
    for token in PARSER.parse(text):
        if token.type == "colon_fence":
            yield from _tokens(token.content)
        else:
            yield token


def main(revision: str = "main") -> None:
    """Print a line for each paragraph that changed, or whose evidence did, without the other."""
    before = at(revision)
    for page in sorted(map(str, Path("docs").glob("*.md"))):
        old, new = evidence(page, before), evidence(page, now)
        kept = {each for paragraph, each in old.items() if each and paragraph not in new}
        for paragraph, below in new.items():
            if old.get(paragraph, below) != below:
                _print(page, "the evidence changed and this sentence did not", paragraph)
            elif paragraph not in old and below in kept:
                _print(page, "this sentence changed and its evidence did not", paragraph)


def _print(page: str, what: str, paragraph: str) -> None:
    print(f"{page}: {what}: {' '.join(paragraph.split())[:LONGEST]}")  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
