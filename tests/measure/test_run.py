"""What a record says of a server: which verdicts count, what varies, with which status it ended."""

import pytest
import run

from lifespec.conformance.report import Fact, Finding, Report, Verdict, fact

__all__: list[str] = []


def row(case: str, verdict: str, *, unspecified: bool = False) -> run.Finding:
    return {"case": case, "rule": "startup-sent", "verdict": verdict, "unspecified": unspecified}


def test_the_verdict_that_counts_of_a_rule_and_of_an_unspecified_case() -> None:
    found = run.answers([row("a", "pass"), row("b", "info"), row("c", "info", unspecified=True)])
    assert found["rules"] == {"startup-sent": ["pass", "info"]}
    assert found["cases"] == {"c": ["info"]}
    assert found["counts"]["pass"] == 1


def test_a_verdict_of_a_second_run_is_noted() -> None:
    found = run.varying([row("a", "info"), row("b", "fail")], [row("a", "pass"), row("b", "fail")])
    assert found == [row("a", "info") | {"varies": ["pass"]}, row("b", "fail")]


@pytest.mark.parametrize(
    ("observed", "status"),
    [
        (fact("end", end=fact("ended-after", way=fact("ended-with-status", status=3))), 3),
        (fact("end", end=fact("ended-by-signal", status=143, name="SIGTERM")), 143),
        (fact("end", end=fact("ended-with-status", status=0)), 0),
        (fact("end", end=fact("remained", seconds=10.0)), "running"),
    ],
)
def test_the_exit_status_is_in_the_fact(observed: Fact, status: int | str) -> None:
    case, rule = "failed-with-message", "startup-failed-exits"
    findings = (Finding(Verdict.PASS, rule, case, observed),)
    assert run.exits(Report("x", "asgi 2.0", findings)) == {case: status}
    skipped = (Finding(Verdict.SKIP, rule, case, observed),)
    assert run.exits(Report("x", "asgi 2.0", skipped)) == {case: None}


def test_a_finding_has_its_sentence_in_both_languages() -> None:
    observed = fact("state", state="<a at 0x7f00>")
    (found,) = run.findings(
        Report("x", "asgi 2.0", (Finding(Verdict.FAIL, "scope-state", "state", observed),))
    )
    assert found["actual"] == "The state was <a at 0x…>."
    assert found["zh"] == "状态是 <a at 0x…>。"
    assert found["unspecified"] is False
