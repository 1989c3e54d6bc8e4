"""Texts of others in sentences of ours."""

import pytest

from lifespec.conformance.report import near, unknown
from lifespec.conformance.rules import rules
from lifespec.conformance.words import LONGEST, named, plain, said, shown

__all__: list[str] = []


class Odd(Exception):
    """An exception, and a value, without a text."""

    def __str__(self) -> str:
        raise ValueError

    __repr__ = __str__


def test_what_has_no_text() -> None:
    """Something is said of it, whatever it does."""
    assert (said(OSError("no disk")), shown("a")) == ("no disk", "'a'")
    assert said(Odd()) == "(its message cannot be shown: ValueError)"
    assert shown(Odd()) == "<Odd, whose repr() raises ValueError>"


def test_an_exception_in_a_sentence() -> None:
    """The sentence has a full stop of its own."""
    texts = [named(OSError(text)) for text in ("no disk", "no disk.", "wait...", "")]
    assert texts == ["OSError: no disk", "OSError: no disk", "OSError: wait...", "OSError"]


def test_control_characters() -> None:
    """C0, C1, the line's end, and what begins a sequence of a terminal are written as escapes."""
    assert plain("a\x1b]0;t\x07\x9b31m\x00\nb 数") == "a\\x1b]0;t\\x07\\x9b31m\\x00\\nb 数"


def test_a_long_sentence() -> None:
    """It is cut in the middle: the end says what to do."""
    cut = plain("x" * 1_000_000 + " give another")
    assert len(cut) <= LONGEST + 5
    assert cut.endswith("xxx give another")
    assert " ... " in cut
    assert plain("x" * LONGEST) == "x" * LONGEST


def test_unknown_names() -> None:
    """The sentence names those that were meant, and what lists all."""
    sentence = "there is no rule {}{} `x` lists all"
    for name, meant in (
        ("ab", ". Did you mean abc?"),
        ("b", ". Did you mean abc, bcd?"),
        ("q", ";"),
    ):
        told = unknown("rule", name, ["abc", "bcd"], "x")
        assert str(told) == sentence.format(name, meant)


@pytest.mark.parametrize(
    ("rule_id", "nearest"),
    [
        ("startup-snt", "startup-sent"),
        ("STARTUP_SENT", "startup-sent"),
        ("crash", "crash-logged"),
        ("unsupported-by-return", "unsupported-by-returning"),
        ("xyzzy", ""),
    ],
)
def test_what_one_may_have_meant(rule_id: str, nearest: str) -> None:
    """The nearest comes first; three at most, and none where none is near."""
    found = near(rule_id, rules())
    assert found[:1] == [nearest] * bool(nearest)
    assert len(found) == len(set(found)) <= 3


def test_names_that_have_a_word() -> None:
    """Who gives a part of a name is told of those that have it; the nearest are not told twice."""
    assert near("startup", rules())[0] == "startup-sent"
    assert near("crash", rules()) == [
        "crash-logged",
        "crash-may-continue",
        "crashed-gets-no-events",
    ]
