"""Words in the reader's language, and lines of a terminal: what the command needs to say anything.

The Chinese stands in `conformance/data/*.po`.  The help imports this and little else.
"""

import functools
import re
import unicodedata
from ast import literal_eval
from collections.abc import Callable, Iterator, Mapping

Translate = Callable[[str], str]

FOLDERS = {"en": "en", "zh": "zh-cn"}  # of the site, by language
WIDTH = 80
UNIT = re.compile(  # a line can end between units: words, wide characters with their marks, and
    r"[（《“(]*(?:第 \d+ [\u2e80-\uffee]|\d[\d.]* [\u2e80-\uffee]"  # a number with its measure
    r"|[\u2e80-\uffee]|[^ \u2e80-\uffee]+)[、。，；：？！）》”.,;:?!)]* *| +"
)
_ENTRY = re.compile(r'^(#,.*\n)?msgid (".*"(?:\n".*")*)\nmsgstr (".*"(?:\n".*")*)$', re.MULTILINE)


def data(name: str) -> str:
    """Return a file of the package's data."""
    from importlib import resources  # noqa: PLC0415  pytest loads this module in every run

    return resources.files("lifespec.conformance").joinpath("data", name).read_text("utf-8")


def _(english: str) -> str:
    """Return a word as it is; the catalogs are made of what this is called with."""
    return english


def translator(language: str) -> Translate:
    """Return what translates a word; a word without a translation stays English."""
    if language == "en":
        return _
    known = _catalog(language)
    return lambda english: known.get(english, english)


@functools.cache
def _catalog(language: str) -> Mapping[str, str]:
    catalog: dict[str, str] = {}
    for name in ("report", "rules"):
        catalog |= read_catalog(data(f"{name}.{language}.po"))
    return catalog


def read_catalog(text: str) -> dict[str, str]:
    """Return the translations of a catalog, without those that are marked fuzzy."""
    catalog = {}
    for flags, *quoted in _ENTRY.findall(text):
        if "fuzzy" in flags:
            continue
        # a text of several lines is several literals, which Python joins in brackets
        english, translated = (literal_eval(f"({lines})") for lines in quoted)
        if english and translated:
            catalog[english] = translated
    return catalog


def language(environment: Mapping[str, str]) -> str:
    """Return "zh" where the locale is a Chinese one, else "en".

    The first of LC_ALL, LC_MESSAGES and LANG that is set counts.
    """
    values = map(environment.get, ("LC_ALL", "LC_MESSAGES", "LANG"))
    locale = next(filter(None, values), "")
    return "zh" if locale.lower().startswith("zh") else "en"


# ---- lines of a terminal ------------------------------------------------------------------------


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
