"""What the report says of an application: the cause in its author's words, and the exit status."""

import os
from pathlib import Path

import causes
import pytest
from causes import LIMIT, one_line

from apart import checked
from lifespec.conformance import check_app
from lifespec.conformance.report import render
from lifespec.diagnosis import waits

NAMES = [name for name, app in vars(causes).items() if callable(app) and app in causes.CAUSES]
HANG = {
    "asks_again", "blocks_at_startup", "blocks_while_serving", "hangs_on_trio", "joins_at_shutdown",
    "waits_at_shutdown", "waits_at_startup",
}  # fmt: skip
ENGLISH = "does not", "within", " while ", "kept", "status "


@pytest.mark.parametrize("name", NAMES)
def test_the_report_names_the_cause(name: str) -> None:
    status, sentences = causes.CAUSES[getattr(causes, name)]
    report = checked(check_app, "causes", name, timeout=LIMIT if name in HANG else 20 * LIMIT)
    text = one_line(report)
    assert [each for each in sentences if each not in text] == [], str(report)
    assert report.status == status
    chinese = render(report, "zh")
    assert not any(word in chinese for word in ENGLISH), chinese


@pytest.mark.parametrize("name", causes.PROGRAMS)
def test_a_program_is_told_its_cause_and_a_faultless_one_nothing(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, sentences = causes.PROGRAMS[name]
    monkeypatch.chdir(tmp_path)
    Path("shop.py").write_text(causes.PRELUDE + source)
    report = check_app("shop:app", only=["request-while-running", "two-loops"])
    text = one_line(report)
    assert [each for each in sentences if each not in text] == [], str(report)
    assert sentences or {each.label for each in report.rows} == {"starts", "stops"}, str(report)
    chinese = render(report, "zh")
    assert not any(word in chinese for word in (*ENGLISH, "Requests", " is ", "makes")), chinese


def test_a_hang_costs_one_timeout() -> None:
    report = checked(check_app, "causes", "waits_at_shutdown", timeout=LIMIT)
    stopped = {each.case for each in report.findings if each.kind == "does-not-stop"}
    assert "two-loops" in stopped
    assert not stopped & {*report.times}  # those were not played


def test_the_process_of_a_case_ends_with_its_time() -> None:
    check_app(causes.blocks_at_startup, timeout=0.5)
    assert waits.processes(os.getpid()) == []
