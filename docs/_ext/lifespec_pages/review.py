"""Print the paragraphs and the blocks or rules below them of which only one has changed.

python -m lifespec_pages.review [REVISION]     from git alone; the revision is main if none is given
"""

import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from markdown_it.token import Token

from lifespec_pages.page import PARSER

RULES = "src/lifespec/conformance/data/rules.toml"
RULE = re.compile(r"\{rule\}`(?:[^`<]*<)?([\w-]+)")
SENTENCE = re.compile(r"\s.*[.!?:]$|(?:\S+\s+){7}", re.DOTALL)  # and no label or cell
NEAREST = 3  # sentences above a block that it may prove
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


class Sentence(NamedTuple):
    """A paragraph: its line, and what stands below it, by line."""

    line: int
    below: dict[int, str]


def evidence(page: str, read: Read) -> dict[str, Sentence]:
    """Return the sentences of a page with what stands below each: programs, outputs, checks, rules.

    A block belongs to the nearest sentences above it.
    """
    rules = {name: repr(rule) for name, rule in tomllib.loads(read(RULES)).items()}
    found: dict[str, Sentence] = {}
    above: list[str] = []
    ended = False  # a block followed the sentences above: the next sentence begins a new group
    for line, token in _tokens(read(page)):
        if token.type == "inline" and SENTENCE.search(token.content):
            above = [token.content] if ended else [*above, token.content][-NEAREST:]
            ended = False
            linked = "".join(rules.get(name, "") for name in RULE.findall(token.content))
            found.setdefault(token.content, Sentence(line, {line: linked} if linked else {}))
        elif token.type == "heading_open":
            above = []
        elif token.type == "fence":
            ended = True
            name, _, argument = token.info.strip().partition(" ")
            shown = read(f"docs/{argument.strip()}") if name == "{shown}" else ""
            rule = rules.get(argument.strip(), "") if name == "{rule}" else ""
            for paragraph in above:
                found[paragraph].below[line] = token.info + token.content + shown + rule
    return found


def _tokens(text: str, first: int = 1) -> Iterator[tuple[int, Token]]:
    """Yield the tokens of a page with their lines, without titles; of a directive those inside."""
    heading = False
    for token in PARSER.parse(text):
        line = first + (token.map or [0])[0]
        heading = token.type == "heading_open" or (heading and token.type != "heading_close")
        if token.type == "colon_fence":
            yield from _tokens(token.content, line + 1)
        elif not heading or token.type == "heading_open":
            yield line, token


def main(revision: str = "main") -> None:
    """Print each sentence that changed, or whose evidence did, without the other; nearest first."""
    before = at(revision)
    for page in sorted(map(str, Path("docs").glob("*.md"))):
        old, new = evidence(page, before), evidence(page, now)
        was = {text: [*each.below.values()] for text, each in old.items()}
        kept = [was[text] for text in was if was[text] and text not in new]
        found = []
        for text, (line, below) in new.items():
            shown = f"{page}:{line}: %s: {' '.join(text.split())[:LONGEST]}"
            blocks = [*below.values()]
            if text not in old and blocks in kept:
                found.append((line, 0, shown % "this changed, and what is below it did not"))
            elif was.get(text, blocks) != blocks:
                changed = next((each for each in below if below[each] not in was[text]), line)
                what = f"line {changed} changed" if changed != line else "its rule or block changed"
                found.append((changed, -line, shown % f"{what}, and this did not"))
        sys.stdout.writelines(f"{text}\n" for _, _, text in sorted(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
