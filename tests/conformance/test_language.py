"""The words of the cases are tables, and each word is used."""

from collections.abc import Mapping
from typing import Any

import pytest

from lifespec.conformance import cases
from lifespec.conformance.app import assertions as app_assertions
from lifespec.conformance.language import DOINGS, PHRASES
from lifespec.conformance.rules import rules
from lifespec.conformance.server import assertions

__all__: list[str] = []


@pytest.mark.parametrize(
    ("role", "checked"),
    [("server", assertions.PHRASES), ("application", app_assertions.ASSERTIONS)],
)
def test_each_phrase_has_a_meaning(role: str, checked: Mapping[str, Any]) -> None:
    """What a case may expect is checked, and nothing else is."""
    assert {name for name, row in PHRASES.items() if role in row.roles} == {*checked}


def test_each_phrase_is_expected_somewhere() -> None:
    """No phrase waits for a case."""
    assert {each.phrase for case in cases.load() for each in case.expect} == set(PHRASES)


# Where each phrase looks; those that are left out look at both, or at what the other role does.
LOOKS = {
    "server": "answered, as empty, ends, exit status, exits, finishes, hides, no change, no exit, "
    "no request after, no request before, not blocked, not served, process ends, same answers, "
    "shows, startup before requests, survives, tells, waits",
    "application": "copies, does nothing, empty state, late key, lasts, lifespan scope, "
    "namespace, one call, quiet, raises, same events, same loop, same refusal, same request, "
    "same scope, same state, shutdown once, startup first, untouched, versions, "
    "worker numbers",
}


def test_a_rule_is_observable_where_its_phrases_look() -> None:
    """At the server or at the application; what cannot be observed has no phrase that looks."""
    at = {phrase: place for place, names in LOOKS.items() for phrase in names.split(", ")}
    assert at.keys() < PHRASES.keys()
    for expected in (each for case in cases.load() for each in case.expect):
        observable = rules()[expected.rule].observable
        assert at.get(expected.phrase, observable) == observable, expected


def test_each_word_of_an_operator_is_used() -> None:
    """No doing waits for a case."""
    assert {doing.verb for case in cases.load() for doing in case.meanwhile} == set(DOINGS)
