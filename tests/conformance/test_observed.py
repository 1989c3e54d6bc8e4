"""What the suite observed is told in the language of the page, where its pattern is known."""

import json
import re
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from lifespec.conformance.app import middleware
from lifespec.conformance.observed import translated
from lifespec.conformance.words import translator
from middlewares import MUTANTS

__all__: list[str] = []

ROOT = Path(__file__).parents[2]
WORDS = {
    "Shutdown came %s times; %s.": "关闭 %s 次；%s。",
    "the process ended with status %s after %s s": "状态 %s，%s 秒",
    "send has raised %s": "抛出 %s",
    "%s.": "%s。",
}


@pytest.mark.parametrize(
    ("sentence", "shown"),
    [
        ("Shutdown came 0 times; the process ended with status 0 after 0.6 s.", None),
        ("Shutdown came 2 times; it hung.", "关闭 2 次；it hung。"),
        ("The process ended with status 70 after 1.5 s.", "状态 70，1.5 秒。"),
        ("send has raised OSError: 100 % of it", "抛出 OSError: 100 % of it"),
        ("Nobody knows.", ""),
        ("", ""),
    ],
)
def test_a_sentence_is_translated_with_what_it_names(sentence: str, shown: str | None) -> None:
    """Also where it ends with how the process did; what nobody knows is told as it is."""
    expected = "关闭 0 次；状态 0，0.6 秒。" if shown is None else shown
    assert translated(sentence, lambda word: WORDS.get(word, word)) == expected


@pytest.mark.parametrize("record", ["servers", "adapted", "drivers", "amgi", "pagi"])
def test_english_stays_as_it_is(record: str) -> None:
    """A sentence of our records follows its pattern, or none."""
    data = json.loads((ROOT / "docs" / "matrix" / f"{record}.json").read_text("utf-8"))
    findings = [each for subject in data["subjects"] for each in subject["findings"]]
    shown = {each["actual"] for each in findings if each["verdict"] != "pass"}
    assert shown
    assert {translated(each, str) or each for each in shown} == shown
    assert any(translated(each, str) for each in shown)


@pytest.mark.parametrize("wraps", [*chain(*MUTANTS.values())], ids=lambda each: each.__name__)
def test_what_middleware_does_is_told_in_chinese(wraps: Any) -> None:
    """Each finding, whatever its verdict is."""
    known = translator("zh")
    told = [each.actual for each in middleware.check(wraps, "asgi 2.0").findings]
    assert [each for each in told if not re.search("[一-龥]", translated(each, known))] == []
