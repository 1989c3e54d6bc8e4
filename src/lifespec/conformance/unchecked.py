"""What is raised if a subject cannot be checked, and names that are to be known."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING

from lifespec.conformance.report import Fact, fact
from lifespec.conformance.rules import NEWEST, rules
from lifespec.validate import SPECS

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Unchecked", "known_rule", "known_spec", "near", "unknown"]


class Unchecked(Exception):
    """A subject could not be checked: `fact` says why, and `str()` is its sentence in English."""

    def __init__(self, why: Fact | str) -> None:
        super().__init__(why)
        self.fact = fact("text", text=why) if isinstance(why, str) else why

    def __str__(self) -> str:
        text = import_module("lifespec.conformance.text")  # which needs all others
        return str(text.Words().say(self.fact)).removesuffix(".")


def near(name: str, known: Iterable[str]) -> list[str]:
    """Return what a name may have meant, three at most: those alike, those that it is part of."""
    name, names = name.lower().replace("_", "-"), [*known]
    alike = get_close_matches(name, names, n=3, cutoff=0.6)
    return list(dict.fromkeys([*alike, *(each for each in names if name in each)]))[:3]


def unknown(what: str, name: str, known: Iterable[str], lists: str) -> Unchecked:
    """Return what is raised for an unknown name; `what` is "rule" or "case".

    The command `lists` names all.
    """
    alike = tuple(near(name, known))
    kind = f"unknown-{what}-near" if alike else f"unknown-{what}"
    return Unchecked(fact(kind, name=name, near=alike, lists=lists))


def known_rule(rule_id: str) -> str:
    """Return a rule ID; raise Unchecked if there is no such rule."""
    if rule_id not in rules():
        raise unknown("rule", rule_id, rules(), "lifespec cases")
    return rule_id


def known_spec(name: str) -> str:
    """Return the key of SPECS that a name means: the name itself, or the newest of a family."""
    if name not in {*SPECS, *NEWEST}:
        raise Unchecked(fact("unknown-spec", name=name, known=(*SPECS, *NEWEST)))
    return NEWEST.get(name, name)
