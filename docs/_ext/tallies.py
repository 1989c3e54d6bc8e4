"""How often a text denies, and names a party or a term: a translation does as its original.

The two languages have their own ways of it: Chinese names the server where English has *it*, and
says *not yet answered* where English says *before it answers*.  There the entry of the catalog
says so, above the message and by the number of times:

    # denials: +1
    # server: +1

Without that, or with another number, it is a fault: who changes the one language alone is told.
In a rule both deny equally often, whatever an entry says.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["DENIALS", "TALLIES", "Tally", "faults", "stated"]

DENIALS = "denials"
# Of what looks like a denial and is none, the pattern has no group.
CHINESE_DENIALS = (
    "不(?:过|论|管|仅|止|断)|无(?:论|须|需|关)|是不是|要不要"
    "|(?P<denial>[不没无未勿非]|缺少|从零|免得)"
)
ENGLISH_DENIALS = (
    r"\b(?P<denial>not|no|never|nothing|nobody|none|neither|nor|cannot|without|lacks?|missing"
    r"|unknown|unspecified|silent|withdrawn|wrong|unless|absent|out of order|differ\w*"
    r"|linger(?:s|ing)?|open(?=[,)])|before it (?:has )?answered)\b"
)
STATED = re.compile(r"(\w+): ([+-]\d+)")


ORDERS = ({"before"}, {"之后"}), ({"after"}, {"之前"})


class Tally(NamedTuple):
    """What is counted: its name, how it is said in English and in Chinese."""

    name: str
    english: re.Pattern[str]
    chinese: re.Pattern[str]

    def surplus(self, english: str, chinese: str) -> int:
        """Return how much more often the Chinese says it."""
        return _count(self.chinese, chinese) - _count(self.english, english)


def _count(pattern: re.Pattern[str], text: str) -> int:
    """Count what is found, but for what only looks like it."""
    found = pattern.finditer(text)
    return sum("denial" not in pattern.groupindex or bool(one["denial"]) for one in found)


class Order(Tally):
    """Whether the one language says *before* where the other says *after*: 0 or 1."""

    def surplus(self, english: str, chinese: str) -> int:
        """Return 1 where each says one of the two, and not the same one."""
        ours, theirs = (
            {found[0].lower() for found in pattern.finditer(text)}
            for pattern, text in ((self.english, english), (self.chinese, chinese))
        )
        return int((ours, theirs) in ORDERS)


def _named(name: str, chinese: str, after: str = "") -> Tally:
    """Return the tally of a word: as it begins a sentence or stands in one, and in no name."""
    word = rf"(?<![\w*(-])[{name[0]}{name[0].upper()}]{name[1:]}s?\b{after}"
    return Tally(name, re.compile(word), re.compile(chinese))


TALLIES = (
    Tally(DENIALS, re.compile(ENGLISH_DENIALS, re.IGNORECASE), re.compile(CHINESE_DENIALS)),
    Order("order", re.compile(r"\b(?:before|after)\b", re.IGNORECASE), re.compile("之前|之后")),
    _named("server", "服务器"),
    _named("application", "应用程序"),
    _named("scope", "作用域"),
    _named("message", "消息"),
    _named("state", "状态", r"(?! (?:that|what|how|why)\b)"),
)


def stated(note: str) -> dict[str, int]:
    """Read what an entry says of itself: how much more often its Chinese has something."""
    return {name: int(more) for name, more in STATED.findall(note)}


def faults(english: str, chinese: str, note: str = "", rule: str = "") -> Iterator[str]:
    """Yield a sentence for each count that is another one in Chinese, and not stated."""
    known = stated(note)
    for tally in TALLIES:
        surplus, said = tally.surplus(english, chinese), known.pop(tally.name, 0)
        if rule and tally.name == DENIALS:
            said = 0
        if surplus != said:
            where = f"in the rule {rule} " if rule else ""
            counts = _counted(tally, english, chinese)
            stands = f", and the entry states {said:+}" if said else ""
            yield f"{where}{counts}{stands}: {_told(tally, surplus, rule)}."
    for name in known:
        names = ", ".join(tally.name for tally in TALLIES)
        yield f"{name} is not counted, only {names}: delete it from the comment."


def _told(tally: Tally, surplus: int, rule: str) -> str:
    """Say what to do."""
    if rule and tally.name == DENIALS:
        return "a rule denies what the original does"
    right = f"`# {tally.name}: {surplus:+}` above the message" if surplus else "no such comment"
    return f"where both say the same nevertheless, write {right}"


def _counted(tally: Tally, english: str, chinese: str) -> str:
    if isinstance(tally, Order):
        return "the one language says “before”, the other “after”"
    ours, theirs = _count(tally.english, english), _count(tally.chinese, chinese)
    if tally.name == DENIALS:
        return f"the English denies something {_times(ours)}, the Chinese {_times(theirs)}"
    word = tally.chinese.pattern
    return f"the English says “{tally.name}” {_times(ours)}, the Chinese {word} {_times(theirs)}"


def _times(count: int) -> str:
    return {0: "not once", 1: "once"}.get(count, f"{count} times")
