"""What the report says of an application: the cause in its author's words, and the exit status."""

import os
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import causes
import pytest
from causes import LIMIT, said

from lifespec.conformance import check_app
from lifespec.conformance.text import render
from lifespec.testing import leftovers
from lifespec.testing.facts import short

__all__: list[str] = []

FILE = short(Path(causes.__file__))


NAMES = {app: name for name, app in vars(causes).items() if isinstance(app, Hashable)}


HANG = {
    causes.asks_again,
    causes.blocks_at_startup,
    causes.blocks_while_serving,
    causes.hangs_on_trio,
    causes.joins_at_shutdown,
    causes.waits_at_shutdown,
    causes.waits_at_startup,
}

ENGLISH = "does not", "within", " while ", "kept", "status "


@pytest.mark.parametrize("app", causes.CAUSES, ids=NAMES.get)
def test_the_report_names_the_cause(app: Any) -> None:
    status, sentences = causes.CAUSES[app]
    report = check_app(app, timeout=LIMIT if app in HANG else 20 * LIMIT)
    text = said(report)
    assert [each for each in sentences if each not in text] == [], str(report)
    assert report.status == status
    chinese = render(report, "zh")
    assert not any(word in chinese for word in ENGLISH), chinese


def test_a_place_is_a_file_and_a_line() -> None:
    report = said(check_app(causes.joins_at_shutdown, timeout=LIMIT))
    lines = Path(causes.__file__).read_text().splitlines()
    number = lines.index("    thread.join()") + 1
    assert f"`joins_at_shutdown`, {FILE}:{number}" in report
    assert f"{FILE}:{number} in joins_at_shutdown thread.join()" in report


def test_a_hang_costs_one_timeout() -> None:
    report = check_app(causes.waits_at_shutdown, timeout=LIMIT)
    stopped = {each.case for each in report.findings if each.kind == "does-not-stop"}
    assert "two-loops" in stopped
    assert not stopped & {*report.times}  # those were not played


def test_a_faultless_report_has_few_lines() -> None:
    assert len(str(check_app(causes.faultless)).splitlines()) <= 5


def test_the_process_of_a_case_ends_with_its_time() -> None:
    check_app(causes.blocks_at_startup, timeout=0.5)
    assert leftovers.processes(os.getpid()) == []
