"""Where the sections of the specifications can be read, from data/sections.toml."""

from __future__ import annotations

import functools
import tomllib
from typing import TYPE_CHECKING

from lifespec.conformance.data_files import packaged
from lifespec.conformance.rules import MAIN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lifespec.conformance.rules import Rule

__all__ = ["address", "addresses"]


def address(spec: str, text: str, section: str) -> str:
    """Return where a section of a specification can be read, "" if sections.toml lacks it."""
    if text == "asgi":
        spec, text = MAIN, ""
    return _lines().get((spec, text, section), "")


def addresses(rule: Rule, spec: str) -> dict[str, str]:
    """Return the sections of a specification that say a rule, each with its address."""
    return {
        each.section: address(spec, each.text, each.section)
        for each in rule.sources
        if spec in each.specs
    }


@functools.cache
def _lines() -> Mapping[tuple[str, str, str], str]:
    files = tomllib.loads(packaged("sections.toml"))["file"]
    return {
        (spec, file["text"], section): f"{file['url']}#L{line}"
        for file in files
        for spec in file["specs"]
        for section, line in file["lines"].items()
    }
