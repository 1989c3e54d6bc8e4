"""What is said of what was seen, where no small application shows it."""

from typing import Any

import pytest

from lifespec.conformance import Fact
from lifespec.conformance.app import judge
from lifespec.conformance.app.play import Broken, Seen
from lifespec.conformance.report import Row, fact
from lifespec.conformance.text import Words
from lifespec.testing.facts import Error
from lifespec.testing.leftovers import Logged

__all__: list[str] = []

STARTED: dict[str, Any] = {"startup": "complete", "shutdown": "complete", "received": True}
STARTED |= {"ended": "returned"}


def rows(seen: Seen, serving: Seen | None = None) -> list[Row]:
    return [*judge.rows(seen, serving or seen, 30.0)]


def said(seen: Seen, label: str, serving: Seen | None = None) -> list[str]:
    return [Words().say(row.fact) for row in rows(seen, serving) if row.label == label]


def test_only_what_takes_long_has_its_seconds() -> None:
    assert said(Seen(**STARTED), "starts") == ["yes"]
    long = {"startup": 1.26, "shutdown": 3.0}
    assert said(Seen(seconds=long, **STARTED), "starts") == ["yes, in 1.3 s"]
    assert said(Seen(seconds=long, **STARTED), "stops") == ["yes, in 3.0 s"]


def test_three_lifespans_that_never_ran_are_named_and_the_others_counted() -> None:
    unrun = [fact("never-ran", receiver="App", place=str(number)) for number in range(5)]
    found = said(Seen(unrun=unrun, **STARTED), "never ran")
    assert len(found) == 4
    assert found[-1] == "and 2 more"


def test_a_lifespan_that_ran_while_it_served_is_not_named() -> None:
    unrun = [fact("never-ran", receiver="App", place="x")]
    assert said(Seen(unrun=unrun, **STARTED), "never ran", Seen(**STARTED)) == []


def test_what_a_framework_sends_is_told_beside_what_it_had_caught() -> None:
    error = Error("KeyError", "'DATABASE_URL'", None, ("KeyError",), "'DATABASE_URL'")
    seen = Seen("failed", message="'DATABASE_URL'", caught=error, framework="Quart")
    assert said(seen, "starts") == [
        "no: KeyError: 'DATABASE_URL'",
        "(Quart sends only \"'DATABASE_URL'\"; this is what it had caught)",
    ]


def test_a_message_of_its_own_stands_beside_the_exception() -> None:
    error = Error("KeyError", "'pool'", None, ("KeyError",), "'pool'")
    seen = Seen("failed", message="no database", caught=error)
    assert said(seen, "starts") == ["no: no database (KeyError: 'pool')"]


def test_tasks_of_libraries_are_one_line() -> None:
    own = fact("task", name="`work`", place="shop.py:1")
    tasks = [fact("task-left", name=name) for name in ("`poll`", "`poll`", "`send`", own)]
    found = said(Seen(leftovers=tasks, **STARTED), "left")
    assert found[-1] == "tasks of libraries that still run: `poll`, `send`"
    assert len(found) == 2


def test_an_error_that_was_logged_is_named_unless_it_is_the_cause_or_of_a_request() -> None:
    error = Error("KeyError", "'pool'", None, ("KeyError",), "'pool'")
    records = [
        Logged("ERROR", "shop", "no cache", 1.0),
        Logged("ERROR", "shop", "failed", 1.0, error),
        Logged("ERROR", "shop", "startup: 'pool'", 1.0),
        Logged("ERROR", "shop", "no page", 3.0),
    ]
    seen = Seen("failed", error=error, logged=records, marks=[(2.0, "request")])
    assert said(seen, "logged") == ["while starting: ERROR shop: no cache"]


def test_a_framework_that_returns_early_is_no_fault_of_the_author() -> None:
    seen = Seen("complete", "returned early", framework="Flama")
    assert said(seen, "know") == ["This is the doing of Flama, not of your code."]
    assert said(seen, "change") == []


@pytest.mark.parametrize(
    ("type_", "texts", "words"),
    [
        ("RuntimeError", "Attempted to exit cancel scope in a different task", "one task group"),
        ("RuntimeError", "Event loop is closed", "Create it in the lifespan, not at import"),
        ("RuntimeError", "Cannot add middleware after an application has", "Add middleware before"),
        ("TypeError", "the asynchronous context manager protocol", "@contextlib.asynccontextm"),
        ("RuntimeError", "generator didn't yield", "yield exactly once"),
        ("OSError", "[Errno 98] Address already in use", "Another process has this port"),
        ("ConnectionRefusedError", "x", "Start the service"),
        ("CancelledError", "", "Nobody cancelled it from outside"),
        ("ModuleNotFoundError", "No module named 'x'", "Install the package"),
    ],
)  # fmt: skip
def test_advice_is_by_the_kind_of_exception(type_: str, texts: str, words: str) -> None:
    error = Error(type_, texts, None, (type_, "ConnectionError" * (type_[:3] == "Con")), texts)
    seen = Seen("failed", caught=error)
    assert words in " ".join(said(seen, "change"))


def test_an_exception_without_advice_and_a_group_that_was_cancelled_have_none() -> None:
    error = Error("KeyError", "x", None, ("KeyError", "CancelledError"), "x")
    assert judge.advice_on(error) is None
    assert said(Seen("failed", caught=error), "change") == []


def test_what_was_given_is_told_where_it_cannot_be_called() -> None:
    error = Error("TypeError", "x", None, ("TypeError",), "'module' object is not callable")
    given = [fact("given-no-lifespan", name="life", type="module", receiver="FastAPI", place="x")]
    assert "is no function" in said(Seen("failed", caught=error, unrun=given), "change")[0]


def test_an_answer_that_came_too_late_does_not_count() -> None:
    seen = Seen("complete", "hung", asked=True, waited="shutdown", doing="late")
    assert said(seen, "stops") == ["no: not within 30 s (--timeout); its answer came later"]
    assert not judge.stops(seen)
    assert "Cancel what the clean-up waits for" in said(seen, "change")[0]


def test_a_refusal_that_kept_it_from_stopping_is_told() -> None:
    error = Error("SendRefused", "x", None, ("SendRefused",), "x")
    refused = [fact("no-event", value="1")]
    seen = Seen("complete", "raised", received=True, refused=refused, error=error)
    assert judge.answers(seen) == ("complete", "refused")
    assert said(seen, "stops") == ["no: the suite refused what it sent: 1 is no event"]


@pytest.mark.parametrize(
    ("phrase", "rule", "seen", "how", "kind"),
    [
        ("answers too", "state-may-be-missing", Seen("raised"), "skip", "does-not-start"),
        ("answered", "shutdown-answered", Seen("failed"), "skip", "does-not-start"),
        ("raises", "receive-refuses-unknown", Seen(), "skip", "course-start"),
        ("raises", "receive-refuses-unknown", Seen(reaction="raised"), "skip", "course-start"),
        ("raises", "unknown-scope-rejected", Seen(reaction="silent"), "broken", "did-nothing"),
        ("raises", "unknown-scope-rejected", Seen(reaction="returned", ended="returned"), "broken",
         "it-returned"),
        ("kept", "state-keys-text", Seen(wrong_key="1"), "broken", "key-at-end"),
        ("kept", "events-known", Seen(broken=[Broken("events-known", Fact("x"), open=True)]),
         "unspecified", "x"),
    ],
)  # fmt: skip
def test_a_phrase_judges_what_was_seen(
    phrase: str, rule: str, seen: Seen, how: str, kind: str
) -> None:
    found = judge.PHRASES[phrase](judge._Question(rule, "asgi 2.0", seen, seen, 30.0))
    assert (found.how, found.observed.kind) == (how, kind)
