"""The words of a report in the reader's language: verdicts, requirements, what is expected.

English words are their own keys.  Those of another language stand in words.LANGUAGE.json, which
`make docs` writes from the catalogs, and rules are worded as in explain.LANGUAGE.json.  What was
seen is told in English: the suite makes those sentences as it sees.
"""

from __future__ import annotations

import functools
import json
from importlib import resources
from typing import TYPE_CHECKING

from lifespec.conformance import explain
from lifespec.conformance.cases import Unchecked, load, rules
from lifespec.conformance.language import PHRASES
from lifespec.validate import SPECS

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ADVICE", "ENGLISH", "STARTS", "STOPS", "WORDS", "Wording", "wording"]

# How an application starts and stops, by what came of the event; %s is a detail.
STARTS = {
    "complete": "yes",
    "failed": "no, its startup failed: %s",
    "raised": "without lifespan: it raised %s when it was called with the scope",
    "raised late": "without its startup: it raised %s after it had received lifespan.startup",
    "returned": "without lifespan: it returned when it was called with the scope",
    "returned late": "without its startup: it returned without an answer to lifespan.startup",
    "refused": "no, the suite refused what it sent: %s",
    "exited": "no, it ended the process at startup: %s",
    "silent": "no, it did not answer lifespan.startup within the timeout: %s",
}
STOPS = {
    "complete": "yes",
    "failed": "no, its clean-up failed: %s",
    "raised": "no, it raised %s after it had received lifespan.shutdown",
    "raised early": "no, it raised %s before it received lifespan.shutdown",
    "returned": "no, it returned without an answer to lifespan.shutdown",
    "returned early": "no, it returned before it received lifespan.shutdown",
    "exited": "no, it ended the process at shutdown: %s",
    "exited early": "no, it ended the process before it received lifespan.shutdown: %s",
    "silent": "no, it did not answer lifespan.shutdown within the timeout: %s",
}
ADVICE = {
    "": "no change needed",
    "failed": "Start the services that its startup needs, and check it again.",
    "unsupported": "If it should support lifespan: find the middleware that drops the scope, or the"
    " application in which the one with the lifespan is mounted.",
}

WORDS = (
    "%s, checked against %s",
    "verdict",
    "rule",
    "cases",
    "%s and %s more",
    "case",
    "requirement",
    "expected",
    "actual",
    "origin",
    "hint",
    "more",
    "%s: %s",
    "%s (%s, %s)",
    "not specified",
    "%s (%s does not specify this case)",
    "Broken MUST rules of %s: %s.",
    "It could not be checked: %s",
    "The application does not support lifespan.",
    "It keeps every MUST of %s. Missed SHOULD rules: %s.",
    "It keeps every MUST and SHOULD of %s.",
    ", ",
    "starts",
    "stops",
    "rules",
    "to change",
    "no message",
    "not checked: its startup has to succeed first",
    "and more: see below",
    *STARTS.values(),
    *STOPS.values(),
    *ADVICE.values(),
    *(phrase.says for phrase in PHRASES.values()),
)


class Wording:
    """The words of a report: in English all is as it was found."""

    def word(self, english: str, *parts: str) -> str:
        """Return a word, or a sentence with its parts in place."""
        return english % parts if parts else english

    def title(self, spec: str) -> str:
        """Return the name of a text."""
        return SPECS[spec].title

    def requirement(self, english: str, _rule_id: str, _case: str, _spec: str) -> str:
        """Return what a rule wants in a case, and which text says so."""
        return english

    def expected(self, english: str) -> str:
        """Return what was to be seen."""
        return english

    def hint(self, rule_id: str, role: str) -> str:
        """Return what the author of that role can do if the rule is broken, or ""."""
        rule = rules()[rule_id]
        return (role == "middleware" and rule.hint_middleware) or rule.hint

    def address(self, rule_id: str) -> str:
        """Return where the page of a rule is: a URL, or a path on the site."""
        return _english()[rule_id].address


class _Translated(Wording):
    """The same in another language."""

    def __init__(self, words: Mapping[str, str], language: str) -> None:
        self.words, self.rules = words, explain.read(language)

    def word(self, english: str, *parts: str) -> str:
        """Return a word, or a sentence with its parts in place."""
        # a full-width bracket, with which some names of specifications end, has its own space
        return super().word(self.words.get(english, english), *parts).replace("） ", "）")

    def title(self, spec: str) -> str:
        """Return the name of a text."""
        return self._text("scope-type", spec)[0]

    def _text(self, rule_id: str, spec: str) -> tuple[str, str, str]:
        return self.rules[rule_id].texts[[*SPECS].index(spec)]

    def requirement(self, _english: str, rule_id: str, case: str, spec: str) -> str:
        """Return the rule as its page words it, and which text says so."""
        name, level, _ = self._text(rule_id, spec)
        sentence = self.rules[rule_id].said(spec).replace("\n", "")
        if not level:
            return self.word("%s (%s, %s)", sentence, self.word("not specified"), name)
        if any(each.silent_on(rule_id, spec) for each in load() if each.name == case):
            return self.word("%s (%s does not specify this case)", sentence, name)
        return self.word("%s (%s, %s)", sentence, level, name)

    def expected(self, english: str) -> str:
        """Return what was to be seen; what follows a colon is the case's own."""
        said, _, argument = english.partition(": ")
        if english in self.words or said not in self.words:
            return self.word(english)
        return self.word("%s: %s", self.word(said), argument)

    def hint(self, rule_id: str, role: str) -> str:
        """Return what the author of that role can do if the rule is broken, or ""."""
        return self.rules[rule_id].hint(role)

    def address(self, rule_id: str) -> str:
        """Return where the page of a rule is: a URL, or a path on the site."""
        return self.rules[rule_id].address


@functools.cache
def _english() -> Mapping[str, explain.Explanation]:
    return explain.read("en")


ENGLISH = Wording()


def wording(language: str) -> Wording:
    """Return the words of a language; raise Unchecked where this installation lacks them."""
    if language == "en":
        return ENGLISH
    file = resources.files("lifespec.conformance").joinpath(f"data/words.{language}.json")
    try:
        return _Translated(json.loads(file.read_text(encoding="utf-8")), language)
    except OSError as error:
        raise Unchecked(
            f"this installation has no {error.filename}: install lifespec again"
        ) from None
