"""What `make matrix` writes in addition to its findings: exit statuses, and verdicts that vary."""

from dataclasses import replace
from typing import Any

import pytest

import matrix
from lifespec.conformance.report import Fact, Finding, Report, Verdict, fact


def finding(case: str, verdict: str) -> dict[str, Any]:
    return {"case": case, "rule": "startup-failed-exits", "verdict": verdict}


@pytest.mark.parametrize(
    ("end", "status"),
    [
        (fact("ended-after", way=fact("ended-with-status", status=3)), 3),
        (fact("ended-by-signal", status=143, name="SIGTERM"), 143),
        (fact("remained", seconds=10.0), "running"),
    ],
)
def test_the_exit_status_is_in_the_fact(end: Fact, status: int | str) -> None:
    case, rule = "failed-with-message", "startup-failed-exits"
    for verdict, found in (Verdict.PASS, status), (Verdict.SKIP, None):
        ended = Finding(verdict, rule, case, fact("end", end=end))
        other = replace(ended, case="slow-start")
        assert matrix.exits(Report("x", "asgi 2.0", (ended, other))) == {case: found}


def test_a_verdict_that_a_second_run_does_not_have_is_recorded_as_varying() -> None:
    first = [finding("a", "info"), finding("b", "warn"), finding("c", "pass")]
    again = [finding("a", "pass"), finding("b", "warn")]
    assert [each.get("varies") for each in matrix.varying(first, again)] == [["pass"], None, None]
