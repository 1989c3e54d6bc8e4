"""The package's data, the translation of words, and texts of others as parts of a sentence."""

import functools
import re
from ast import literal_eval
from collections.abc import Callable, Mapping
from importlib import resources

_ENTRY = re.compile(r'^(#,.*\n)?msgid (".*"(?:\n".*")*)\nmsgstr (".*"(?:\n".*")*)$', re.MULTILINE)
_LONGEST = 2000  # characters of a text of others in a report


def data(name: str) -> str:
    """Return a file of the package's data."""
    return resources.files("lifespec.conformance").joinpath("data", name).read_text("utf-8")


def mark(english: str) -> str:
    """Return a word as it is; Babel finds it by the name `_`."""
    return english


def translator(language: str) -> Callable[[str], str]:
    """Return what translates a word; a word without a translation stays English."""
    known = {} if language == "en" else _catalog(language)
    return lambda english: known.get(english, english)


@functools.cache
def _catalog(language: str) -> Mapping[str, str]:
    files = [data(f"{name}.{language}.po") for name in ("report", "rules")]
    return {word: translated for file in files for word, translated in read_catalog(file).items()}


def read_catalog(text: str) -> dict[str, str]:
    """Return the translations of a catalog, without those that are marked fuzzy."""
    found = (entry for flags, *entry in _ENTRY.findall(text) if "fuzzy" not in flags)
    pairs = ((literal_eval(f"({each})") for each in entry) for entry in found)
    return {english: translated for english, translated in pairs if english and translated}


def printable(character: str) -> str:
    """Return a character, or an escape if it cannot be printed."""
    if character.isprintable():
        return character
    return character.encode("unicode_escape").decode()


def cut(text: str, most: int = _LONGEST) -> str:
    """Return a text; of a long one the beginning and, in a quarter of the room, the end."""
    end = most // 4
    return text if len(text) <= most else f"{text[: most - end]} ... {text[-end:]}"


def short_repr(value: object) -> str:
    """Return the repr of a value, even if its own repr raises; cut if it is long."""
    try:
        return cut(repr(value))
    except Exception as error:
        return f"<{type(value).__name__}, whose repr() raises {type(error).__name__}>"
