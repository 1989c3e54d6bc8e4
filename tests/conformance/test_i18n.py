"""The words of a report: English as they were found, Chinese as the pages have them."""

import re
from itertools import chain
from typing import Any

import pytest

from applications import CORRECT, MUTANTS
from lifespec.conformance import cases, explain, i18n
from lifespec.conformance.app import run as app_run
from lifespec.conformance.cases import Unchecked
from lifespec.conformance.i18n import ENGLISH
from lifespec.conformance.oldreport.model import requirement
from lifespec.conformance.rules import rules
from lifespec.testing import Entry, sequence

__all__: list[str] = []

CHINESE = i18n.wording("zh")


@pytest.mark.parametrize(
    ("case", "rule_id", "spec", "end"),
    [
        ("start-and-stop", "startup-answered", "asgi 2.0", "%s〔必须 MUST，生命周期 2.0（ASGI）〕"),
        ("start-and-stop", "startup-answered", "pagi 0.3", "%s〔必须 MUST，PAGI 0.3〕"),
        (
            "crashes-while-serving",
            "crash-logged",
            "asgi 2.0",
            "%s〔规范未规定，生命周期 2.0（ASGI）〕",
        ),
        ("crashes-while-serving", "crash-logged", "pagi 0.3", "%s〔应 SHOULD，PAGI 0.3〕"),
        ("hangs-at-startup", "wait-for-startup", "amgi 2.0", "%s〔AMGI 2.0 未规定这种情形〕"),
    ],
)
def test_a_rule_is_worded_as_on_its_page(case: str, rule_id: str, spec: str, end: str) -> None:
    """And the level is that of the text, where it has one for this case."""
    silent = any(each.silent_on(rule_id, spec) for each in cases.load() if each.name == case)
    said = CHINESE.requirement(requirement(rule_id, spec, silent=silent), rule_id, spec)
    assert said == end % rules()[rule_id].says(spec, CHINESE.translate)


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("the process ends by itself", "进程自行结束"),
        ("the output has this text: no database: db-1", "输出里有这段文字：no database: db-1"),
        ("a missing message makes no difference: there is no KeyError", None),
        ("what nobody has worded: x", "what nobody has worded: x"),
    ],
)
def test_what_is_expected(english: str, chinese: str | None) -> None:
    """What follows a colon is the case's own, unless the whole is one phrase."""
    assert CHINESE.expected(english) == (chinese or CHINESE.translate(english))


def test_every_expectation_of_the_suite_is_worded() -> None:
    """In Chinese none is as it was in English."""
    for case in cases.load():
        for each in case.expect:
            assert CHINESE.expected(each.says) != each.says, each


@pytest.mark.parametrize("app", [*CORRECT, *chain(*MUTANTS.values())], ids=lambda app: app.__name__)
def test_what_was_observed_of_an_application_is_told_in_chinese(app: Any) -> None:
    """And so is each reason for which something was skipped."""
    for each in app_run.check(app, limit=0.5 if app.__name__ == "waits_for_ever" else 30).findings:
        assert CHINESE.seen(each.actual) != each.actual, each.actual
        ours = re.split("[:：] ?(?=[ -~])", CHINESE.seen(each.actual))[0]  # not what it said
        assert not re.search(r"\b(was|not|did|the)\b", ours)


def test_what_follows_no_pattern_stays_as_it_is() -> None:
    assert CHINESE.seen("Nobody knows.") == "Nobody knows."


def test_a_diagram_has_the_words_of_the_language_and_stays_as_wide() -> None:
    english = sequence(
        [
            Entry(0.0, "called", "lifespan"),
            Entry(0.0, "refused", "lifespan.ready", "startup was already answered when it sent x."),
            Entry(1.0, "cancelled"),
            Entry(1.0, "sent", "lifespan.startup.failed", "no database"),
            Entry(2.0, "raised", "KeyError"),
        ]
    )
    chinese = CHINESE.drawn(english)
    assert ENGLISH.drawn(english) == english
    head, *lines = chinese.split("\n")
    assert explain.columns(head) == len(english.split("\n")[0])
    assert lines[2] == "           |  发送 x 时，startup 已经得到答复。"
    assert lines[3] == f"  1.000 s  |-- 取消 {'-' * 47}>|"
    assert lines[5] == "           |  no database"
    assert lines[-1].endswith("  抛出异常 KeyError X")
    assert explain.columns(lines[3]) == explain.columns(lines[-1])


def test_a_language_that_is_not_here() -> None:
    """An installation that lacks the file says which."""
    with pytest.raises(Unchecked, match=r"this installation has no .*report\.eo\.po: install"):
        i18n.wording("eo")
