"""What a measuring program writes beside what it observed: answers, statuses, what varies."""

import importlib
from pathlib import Path
from typing import Any

import pytest


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


def test_a_signal_is_recorded_as_the_status_of_a_shell(run: Any) -> None:
    text = run.plain("The process ended by signal 15 after 0.2 s: <App at 0x7f12>.")
    assert text == "The process ended with status 143 (SIGTERM) after 0.2 s: <App at 0x…>."
    found = [
        finding("failed-with-message", "pass", text),
        finding("two-workers-failed", "warn", "The process was still there 10 s later."),
        finding("well-behaved", "skip", rule="shutdown-sent"),
        finding("slow-start", "pass", text),
    ]
    assert run.exits(found) == {
        "failed-with-message": 143, "two-workers-failed": "running", "well-behaved": None,
    }  # fmt: skip


def test_a_verdict_that_a_second_run_does_not_have_is_told_as_varying(run: Any) -> None:
    first = [finding("a", "info"), finding("b", "warn"), finding("c", "pass")]
    again = [finding("a", "pass"), finding("b", "warn")]
    assert [each.get("varies") for each in run.varying(first, again)] == [["pass"], None, None]


def test_a_package_that_is_not_locked_is_named_with_its_line_and_the_cure(run: Any) -> None:
    subjects = {"uvicorn": run.server(["uvicorn"], "uvicorn {app}")}
    assert [*run.lacking(subjects, "uvicorn==0.54.0 \\\n")] == []
    (sentence,) = run.lacking(subjects, "granian==2.8.7 \\\n")
    assert sentence.startswith("tests/measure/run.py:")
    assert "add it to the group matrix of pyproject.toml, then run `make lock`" in sentence
