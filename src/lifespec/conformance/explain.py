"""The rules as a terminal shows them, in the reader's language.

What they say is written by `make docs` from the pages of each language, into explain.en.json and
explain.zh.json; nothing here has words of its own.
"""

import json
import os
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata, resources
from typing import NamedTuple

__all__ = ["FOLDERS", "Explanation", "base", "columns", "language", "lines", "read", "wrapped"]

FOLDERS = {"en": "en", "zh": "zh-cn"}  # of the site, by language
WIDTH = 80
NONE = "–"
NEVER_FIRST = frozenset("、。，；：？！）》”.,;:?!)")
NEVER_LAST = frozenset("（《“(")


class Explanation(NamedTuple):
    """A rule in one language: `texts` are name, level and source in each of the five.

    Level and source are "" where a text has no such rule; `address` is that of the rule's box.
    `more` are its further boxes: a heading, the specifications, and the text for them.  `hints`
    say what to do if it is broken: a role or "", a heading, and the text for that role.
    """

    rule_id: str
    role: str
    level: str
    text: str
    texts: tuple[tuple[str, str, str], ...]
    page: str
    address: str
    more: tuple[tuple[str, tuple[str, ...], str], ...] = ()
    hints: tuple[tuple[str, str, str], ...] = ()

    def said(self, spec: str) -> str:
        """Return what is said for a specification."""
        return next((text for _, specs, text in self.more if spec in specs), self.text)

    def hint(self, role: str) -> str:
        """Return what the author of that role can do if the rule is broken, or ""."""
        found = {to: text for to, _, text in self.hints}
        return found.get(role, found.get("", ""))


def base() -> str:
    """Return where the site stands, with a slash: by LIFESPEC_BASE_URL or the package, or ""."""
    address = os.environ.get("LIFESPEC_BASE_URL", "")
    if not address:
        try:
            urls = metadata.metadata("lifespec").get_all("Project-URL") or []
        except metadata.PackageNotFoundError:
            urls = []
        pairs = (each.partition(", ") for each in urls)
        address = next((url for label, _, url in pairs if label == "Documentation"), "")
    return f"{address.rstrip('/')}/" if address else ""


def language(environment: Mapping[str, str]) -> str:
    """Return "zh" where the locale is a Chinese one, else "en".

    The first of LC_ALL, LC_MESSAGES and LANG that is set counts.
    """
    names = (environment.get(name) for name in ("LC_ALL", "LC_MESSAGES", "LANG"))
    return "zh" if next(filter(None, names), "").lower().startswith("zh") else "en"


def read(language: str) -> dict[str, Explanation]:
    """Return all rules by ID.  Raises OSError where this installation lacks them."""
    file = resources.files("lifespec.conformance").joinpath(f"data/explain.{language}.json")
    found = json.loads(file.read_text(encoding="utf-8"))
    return {
        rule_id: Explanation(
            rule_id,
            row["role"],
            row["level"],
            row["text"],
            tuple((name, level, source) for name, level, source in row["texts"]),
            row["page"],
            f"{base()}{FOLDERS[language]}/{row['address']}",
            tuple((head, tuple(specs), text) for head, specs, text in row["more"]),
            tuple((to, head, text) for to, head, text in row["hints"]),
        )
        for rule_id, row in found.items()
    }


def lines(rule: Explanation, width: int = WIDTH) -> Iterator[str]:
    """Yield what a terminal of so many columns shows of a rule."""
    yield from wrapped(" · ".join(filter(None, (rule.rule_id, rule.role, rule.level))), width)
    yield ""
    for head, text in [("", rule.text), *((head, text) for head, _, text in rule.more)]:
        if head:
            yield from wrapped(head, width)
        for paragraph in text.split("\n"):
            yield from wrapped(paragraph, width)
        yield ""
    yield from _table(rule.texts, width)
    yield ""
    for _, head, text in rule.hints:
        yield from wrapped(head, width)
        yield from wrapped(text, width)
        yield ""
    yield from wrapped(f"{rule.page} · {rule.address}", width)


def _table(texts: Sequence[tuple[str, str, str]], width: int) -> Iterator[str]:
    widest = [max(columns(text[column]) for text in texts) for column in (0, 1)]
    for name, level, source in texts:
        cells = (name, widest[0]), (level or NONE, widest[1])
        start = "".join(cell + " " * (room - columns(cell) + 2) for cell, room in cells)
        yield from wrapped(start + source, width, " " * columns(start))


def wrapped(text: str, width: int, indent: str = "") -> Iterator[str]:
    """Yield a paragraph in lines of at most so many columns; those after the first indented."""
    line = ""
    for unit in _units(text):
        if line.strip() and columns(line + unit.rstrip()) > width:
            yield line.rstrip()
            line = indent
        line += unit
    yield line.rstrip()


def columns(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    return sum(1 + _is_wide(character) for character in text)


def _is_wide(character: str) -> bool:
    return unicodedata.east_asian_width(character) in "WF"


def _units(text: str) -> Iterator[str]:
    """Yield the parts between which a line can end: words, and Chinese characters."""
    unit = ""
    for character in text:
        if unit and _may_part(unit[-1], character):
            yield unit
            unit = ""
        unit += character
    yield unit


def _may_part(before: str, after: str) -> bool:
    if before == " " or after == " ":
        return after != " "
    apart = after not in NEVER_FIRST and before not in NEVER_LAST
    return apart and (_is_wide(before) or _is_wide(after))
