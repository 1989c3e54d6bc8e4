"""The rules as a terminal shows them, in the reader's language."""

import os
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping

from lifespec.conformance.rules import Rule, heading, names, sources
from lifespec.conformance.words import translator
from lifespec.validate import SPECS

FOLDERS = {"en": "en", "zh": "zh-cn"}  # of the site, by language
WIDTH = 80
NONE = "–"
UNIT = re.compile(  # between units a line can end: words and wide characters, with their marks
    r"[（《“(]*(?:[\u2e80-\uffee]|[^ \u2e80-\uffee]+)[、。，；：？！）》”.,;:?!)]* *| +"
)


def base() -> str:
    """Return where the site is, with a slash: by LIFESPEC_BASE_URL or the package, or ""."""
    from importlib.metadata import distributions  # noqa: PLC0415  it imports much

    site = os.environ.get("LIFESPEC_BASE_URL", "")
    for each in () if site else distributions(name="lifespec"):
        pairs = (url.partition(", ") for url in each.metadata.get_all("Project-URL") or ())
        site = next((url for label, _, url in pairs if label == "Documentation"), "")
    return f"{site.rstrip('/')}/" if site else ""


def language(environment: Mapping[str, str]) -> str:
    """Return "zh" where the locale is a Chinese one, else "en".

    The first of LC_ALL, LC_MESSAGES and LANG that is set counts.
    """
    names = (environment.get(name) for name in ("LC_ALL", "LC_MESSAGES", "LANG"))
    return "zh" if next(filter(None, names), "").lower().startswith("zh") else "en"


def site(language: str) -> str:
    """Return where the pages of a language are, with a slash."""
    return f"{base()}{FOLDERS[language]}/"


def address(rule: Rule, language: str) -> str:
    """Return where the box of a rule is: a URL, or a path on the site."""
    return f"{site(language)}{rule.page}.html#{rule.rule_id}"


def lines(rule: Rule, language: str, width: int = WIDTH) -> Iterator[str]:
    """Yield what a terminal of so many columns shows of a rule."""
    translate = translator(language)
    first, *more = rule.boxes
    role = [translate(rule.role)] if rule.levels else []
    yield from wrapped(" · ".join([rule.rule_id, *role, heading(rule, first, translate)]), width)
    yield ""
    for group in (first, *more):
        if group != first:
            yield from wrapped(heading(rule, group, translate), width)
        yield from wrapped(rule.sentence(group, translate), width)
        yield ""
    yield from _table(rule, translate, width)
    for _role, head, hint in rule.hints:
        yield ""
        yield from wrapped(translate(head), width)
        yield from wrapped(translate(hint), width)
    if base():
        yield ""
        yield from wrapped(address(rule, language), width)


def _table(rule: Rule, translate: Callable[[str], str], width: int) -> Iterator[str]:
    """Yield a line for each specification: its name, the level and the sections."""
    rows = [
        (names([spec], translate), translate(rule.level(spec)), sources(rule, spec, translate))
        for spec in SPECS
    ]
    widest = [max(columns(row[column]) for row in rows) for column in (0, 1)]
    for name, level, source in rows:
        cells = (name, widest[0]), (level or NONE, widest[1])
        start = "".join(cell + " " * (room - columns(cell) + 2) for cell, room in cells)
        yield from wrapped(start + source, width, " " * columns(start))


def wrapped(text: str, width: int, indent: str = "") -> Iterator[str]:
    """Yield a paragraph in lines of at most so many columns; those after the first indented."""
    line = ""
    for unit in UNIT.findall(text):
        if line.strip() and columns(line + unit.rstrip()) > width:
            yield line.rstrip()
            line = indent
        line += unit
    yield line.rstrip()


def columns(text: str) -> int:
    """Return how many columns of a terminal a text takes: Chinese characters take two."""
    return sum(1 + (unicodedata.east_asian_width(character) in "WF") for character in text)
