"""What the report says of an application: the cause in its author's words, and the exit status."""

import os
from pathlib import Path
from typing import Any

import causes
import pytest
from causes import LIMIT, one_line

from apart import checked, checked_program
from lifespec.conformance import Fact, check_app
from lifespec.conformance.report import render
from lifespec.diagnosis import advice, waits

NAMES = [name for name, app in vars(causes).items() if callable(app) and app in causes.CAUSES]
HANG = {
    "asks_again", "blocks_at_startup", "blocks_while_serving", "hangs_on_trio", "joins_at_shutdown",
    "waits_at_shutdown", "waits_at_startup",
}  # fmt: skip
ENGLISH = "does not", "within", " while ", "kept", "status "
ALONE = ["start-and-stop"]
SERVES = ["request-while-running", "two-loops"]  # in these, too, a cause is seen


@pytest.mark.parametrize("name", NAMES)
def test_the_report_names_the_cause(name: str) -> None:
    status, sentences = causes.CAUSES[getattr(causes, name)]
    limit, only = LIMIT if name in HANG else 20 * LIMIT, [*ALONE, *SERVES]
    only = [] if name == "faultless" else only  # which has no fault in any case
    report = checked(check_app, "causes", name, timeout=limit, only=only)
    text = one_line(report)
    assert [each for each in sentences if each not in text] == [], str(report)
    assert report.status == status
    chinese = render(report, "zh")
    assert not any(word in chinese for word in ENGLISH), chinese


@pytest.mark.parametrize("name", causes.PROGRAMS)
def test_a_program_is_told_its_cause_and_a_faultless_one_nothing(name: str, tmp_path: Path) -> None:
    source, sentences = causes.PROGRAMS[name]
    report = checked_program(tmp_path, causes.PRELUDE + source, only=SERVES)
    text = one_line(report)
    assert [each for each in sentences if each not in text] == [], str(report)
    assert sentences or {each.label for each in report.rows} == {"starts", "stops"}, str(report)
    chinese = render(report, "zh")
    assert not any(word in chinese for word in (*ENGLISH, "Requests", " is ", "makes")), chinese


# ---- advice is tried ---------------------------------------------------------------------------

SERVING = {"advise-close", "advise-crash", "advise-died", "advise-never-ran", "busy"}
HANGS = {"advise-blocked", "advise-clean-up", "advise-silent", "advise-startup"}
STATUS = {"advise-send-failed": 2, "left-out": 1}  # where another fault than the cause stays
UNTRIED = {  # advice that no change of the program follows
    "advise-missing-module": "a package is installed",
    "advise-limit-uvicorn": "an option of the server's command",
    "advise-limit-granian": "an option of the server's command",
    "see-hang": "a page, no advice",
    "see-troubleshooting": "a page, no advice",
}


def kinds(*parts: Any) -> set[str]:
    """Return the kinds of facts, and of those in them."""
    found = [each for each in parts if isinstance(each, Fact)]
    inner = (kinds(*each.parts.values()) for each in found)
    return {each.kind for each in found}.union(*inner)


@pytest.mark.parametrize("name", causes.TRIED)
def test_what_is_advised_removes_the_fault(name: str, tmp_path: Path) -> None:
    source, sentence = causes.TRIED[name]
    only, limit = SERVES[:1] if name in SERVING else ALONE, LIMIT if name in HANGS else 20 * LIMIT
    for kept, left_out in ("-", "+"), ("+", "-"):
        lines = [each for each in source.split("\n") if each[:1] != left_out]
        program = causes.PRELUDE + "\n".join(each.removeprefix(kept) for each in lines)
        (tmp_path / kept).mkdir()
        report = checked_program(tmp_path / kept, program, only=only, timeout=limit)
        found = kinds(report.obstacle, *(row.fact for row in report.rows))
        if kept == "-":
            assert name in found, str(report)
            assert sentence in one_line(report), str(report)
        else:
            assert name not in found, str(report)
            assert "change" not in {row.label for row in report.rows}, str(report)
            assert report.status == STATUS.get(name, 0), str(report)


def test_each_row_of_advice_is_tried_or_says_why_not() -> None:
    rows = {each.change for each in advice.ROWS}
    assert rows - {*causes.TRIED} == {*UNTRIED}


def test_a_hang_costs_one_timeout() -> None:
    report = checked(check_app, "causes", "waits_at_shutdown", timeout=LIMIT)
    stopped = {each.case for each in report.findings if each.kind == "does-not-stop"}
    assert "two-loops" in stopped
    assert not stopped & {*report.times}  # those were not played


def test_the_process_of_a_case_ends_with_its_time() -> None:
    check_app(causes.blocks_at_startup, timeout=0.5)
    assert waits.processes(os.getpid()) == []
