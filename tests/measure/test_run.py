"""What a measuring program writes beside what it observed: answers, statuses, what varies."""

import importlib
from pathlib import Path
from typing import Any

import pytest

from lifespec.conformance.report import Fact, Finding, Report, Verdict, fact


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    return importlib.import_module("run")


def finding(case: str, verdict: str, actual: str = "", **more: Any) -> dict[str, Any]:
    row = {"case": case, "rule": "startup-failed-exits", "verdict": verdict, "actual": actual}
    return {**row, "unspecified": False, **more}


def test_the_worst_verdict_of_a_rule_counts_and_a_pass_does_not_hide_an_info(run: Any) -> None:
    passed = [finding("a", "pass"), finding("b", "info")]
    other = [finding("a", "skip", rule="startup-sent"), finding("b", "warn", rule="startup-sent")]
    odd = [finding("c", "info", unspecified=True)]
    answers = run.answers([*passed, *other, *odd])
    assert answers["rules"] == {"startup-failed-exits": ["pass", "info"], "startup-sent": ["warn"]}
    assert answers["cases"] == {"c": ["info"]}
    assert answers["counts"] == {"fail": 0, "warn": 1, "pass": 1, "info": 0, "skip": 0}


@pytest.mark.parametrize(
    ("observed", "status"),
    [
        (fact("end", end=fact("ended-after", way=fact("ended-with-status", status=3))), 3),
        (fact("end", end=fact("ended-by-signal", status=143, name="SIGTERM")), 143),
        (fact("end", end=fact("ended-with-status", status=0)), 0),
        (fact("end", end=fact("remained", seconds=10.0)), "running"),
    ],
)
def test_the_exit_status_is_in_the_fact(run: Any, observed: Fact, status: int | str) -> None:
    case, rule = "failed-with-message", "startup-failed-exits"
    passed = Report("x", "asgi 2.0", (Finding(Verdict.PASS, rule, case, observed),))
    skipped = Report("x", "asgi 2.0", (Finding(Verdict.SKIP, rule, case, observed),))
    other = Report("x", "asgi 2.0", (Finding(Verdict.PASS, rule, "slow-start", observed),))
    assert [run.exits(each) for each in (passed, skipped, other)] == [
        {case: status}, {case: None}, {},
    ]  # fmt: skip


def test_a_finding_has_its_sentence_in_both_languages(run: Any) -> None:
    observed = fact("state", state="<a at 0x7f00>")
    findings = (Finding(Verdict.FAIL, "scope-state", "state", observed),)
    (found,) = run.findings(Report("x", "asgi 2.0", findings))
    assert found["actual"] == "The state was <a at 0x…>."
    assert found["zh"] == "状态是 <a at 0x…>。"
    assert found["unspecified"] is False


def test_a_verdict_that_a_second_run_does_not_have_is_told_as_varying(run: Any) -> None:
    first = [finding("a", "info"), finding("b", "warn"), finding("c", "pass")]
    again = [finding("a", "pass"), finding("b", "warn")]
    assert [each.get("varies") for each in run.varying(first, again)] == [["pass"], None, None]
