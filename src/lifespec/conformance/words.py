"""Marks the words of the suite for translation, and translates them by the package's catalogs."""

from __future__ import annotations

import functools
import re
from ast import literal_eval
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["CATALOGS", "data", "mark", "translator"]

_ENTRY = re.compile(r'^msgid (".*"(?:\n".*")*)\nmsgstr (".*"(?:\n".*")*)$', re.MULTILINE)
CATALOGS = "report", "rules"  # data/report.zh.po: words and cases; data/rules.zh.po: the rules


def data(name: str) -> str:
    """Return a file of the package's data."""
    return resources.files("lifespec.conformance").joinpath("data", name).read_text("utf-8")


def mark(english: str) -> str:
    """Return a word as it is; Babel finds it by the name `_`."""
    return english


def translator(language: str) -> Callable[[str], str]:
    """Return what translates a word; a word without a translation stays English."""
    if language == "en":
        return mark
    known = _catalog(language)
    return lambda english: known.get(english, english)


@functools.cache
def _catalog(language: str) -> Mapping[str, str]:
    files = [data(f"{name}.{language}.po") for name in CATALOGS]
    entries = (entry for file in files for entry in _ENTRY.findall(file))
    pairs = ((literal_eval(f"({text})") for text in entry) for entry in entries)
    return {english: translated for english, translated in pairs if english and translated}
