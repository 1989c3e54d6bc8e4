"""Facts that were typed: numbers, versions and dates in prose that a role would draw.

Each pattern binds a value to what it is a fact of: five seconds to an argument or to the word
*default*, a number to the things that are counted, a version to a package.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from lifespec_docs.facts.known import TIMEOUTS, facts

__all__ = ["SPELLED", "Typed", "typed"]

SPELLED = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
    "twenty",
)  # fmt: skip
AMOUNT = rf"(?P<n>\d+(?:\.\d+)?|{'|'.join(SPELLED[1:])})"
SENTENCES = re.compile(r"(?<=[.;:])\s+")
SECONDS = re.compile(rf"\b{AMOUNT}(?:\s|-)?(?:seconds?\b|s\b)", re.IGNORECASE)
COUNTED = re.compile(
    rf"\b{AMOUNT} (?P<noun>rules|cases|specifications|servers|events|outcomes|phases)\b",
    re.IGNORECASE,
)
# What prose calls an argument, and the timeout of the fixture.
SPOKEN = {"grace": r"\bgrace\b", "TIMEOUT": r"\bfixture\b"}
MANY = 10  # of these things there are so many that a larger number is meant as that of all
LITERAL_DEFAULT = re.compile(
    r"`(?P<name>\w+)`[^.;`]{0,40}\b(?:defaults? (?:to|is|of)|by default)\s*`(?P<value>[^`]+)`"
    r"|`(?P<name2>\w+)` is `(?P<value2>[^`]+)` by default"
)
DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")
RELEASE = re.compile(r"`?(?P<name>[A-Za-z][\w:-]*)`?,? (?:version )?v?(?P<version>\d+(?:\.\d+)+)\b")
# Before a release of another time; and before the way in which one package runs with another, as in
# “hypercorn, trio 0.18.0”.
HISTORY = re.compile(r"(?:\b(?:since|until|before|than|from|by) `?|[a-z], )$", re.IGNORECASE)
PYTHON = re.compile(
    r"\bPython (?P<oldest>3\.\d+)(?: or (?:newer|later|higher)|\+| (?:to|–) (?P<newest>3\.\d+))"
)


class Typed(NamedTuple):
    """What was typed, the roles that draw it, and whether it is what they draw."""

    what: str
    roles: tuple[str, ...]
    true: bool

    def __str__(self) -> str:
        roles = " or ".join(f"{{fact}}`{role}`" for role in self.roles)
        wrong = "" if self.true else ", and is not what that says"
        return f"{self.what!r} is typed{wrong}: write {roles}."


def typed(prose: str) -> list[Typed]:
    """Return the facts that are typed in a paragraph whose literals stand in backquotes."""
    sentences = SENTENCES.split(" ".join(prose.split()))
    return list(dict.fromkeys(each for sentence in sentences for each in _typed(sentence)))


def _typed(sentence: str) -> Iterator[Typed]:
    yield from _seconds(sentence)
    yield from _counted(sentence)
    yield from _defaults(sentence)
    yield from _released(sentence)
    for found in DATE.findall(sentence):
        yield from _equal(found, found, [name for name in facts() if name.startswith("date ")])
    for match in PYTHON.finditer(sentence):
        for name, version in match.groupdict().items():
            if version:
                fact = f"python {name}"
                yield Typed(match[0], (fact,), _said(fact) == version)


def _seconds(sentence: str) -> Iterator[Typed]:
    """Yield seconds in a sentence that names their argument or option, or says *default*."""
    default = re.search(r"\bdefaults?\b", sentence, re.IGNORECASE)
    for match in SECONDS.finditer(sentence):
        amount = _number(match["n"])
        same = [
            name for name in _of_seconds() if facts()[name].seconds and float(_said(name)) == amount
        ]
        named = [name for name in _of_seconds() if _names(sentence, name)]
        if both := [name for name in same if name in named]:
            yield Typed(match[0], tuple(both), true=True)
        elif "seconds testing.plugin.TIMEOUT" in named:  # of the fixture
            yield Typed(match[0], ("seconds testing.plugin.TIMEOUT",), true=False)
        elif default and (named or same):
            yield Typed(match[0], tuple(named or same), true=not named)


def _names(sentence: str, fact: str) -> bool:
    """Whether a sentence names the argument or the option of a fact."""
    word = fact.rsplit(" ", maxsplit=1)[-1].rpartition(".")[2]
    spoken = word in SPOKEN and re.search(SPOKEN[word], sentence, re.IGNORECASE)
    return f"`{word}`" in sentence or f"`{word}=" in sentence or bool(spoken)


@lru_cache(maxsize=1)
def _of_seconds() -> list[str]:
    """Return the defaults of timeouts; few constants have a name that a reader knows."""
    return [
        name
        for name, value in facts().items()
        if (value.seconds and (name[:8] != "seconds " or name.rpartition(".")[2] in SPOKEN))
        or (name[:8] == "default " and TIMEOUTS.search(name.rpartition(".")[2]))
    ]


def _counted(sentence: str) -> Iterator[Typed]:
    for match in COUNTED.finditer(sentence):
        fact = f"count {match['noun'].lower()}"
        amount = _number(match["n"])
        if amount == float(_said(fact)) or (amount >= MANY and fact in _MANY):
            yield Typed(match[0], (fact,), amount == float(_said(fact)))


_MANY = "count rules", "count cases"


def _defaults(sentence: str) -> Iterator[Typed]:
    for match in LITERAL_DEFAULT.finditer(sentence):
        name, value = match["name"] or match["name2"], match["value"] or match["value2"]
        known = [
            fact
            for fact in facts()
            if (fact.startswith("default ") and fact.endswith(f".{name}"))
            or fact.startswith(f"{name} lifespan.")
        ]
        if known:
            yield Typed(match[0], tuple(known), value in {_said(fact) for fact in known})


def _released(sentence: str) -> Iterator[Typed]:
    for match in RELEASE.finditer(sentence):
        fact = f"version {match['name'].lower()}"
        if fact in facts() and not HISTORY.search(sentence[: match.start()]):
            yield Typed(match[0], (fact,), _said(fact) == match["version"])


def _equal(what: str, given: str, names: list[str]) -> Iterator[Typed]:
    if same := [name for name in names if _said(name) == given]:
        yield Typed(what, tuple(same), true=True)


def _said(name: str) -> str:
    return facts()[name].words[0]


def _number(text: str) -> float:
    return float(SPELLED.index(text.lower())) if text.lower() in SPELLED else float(text)
