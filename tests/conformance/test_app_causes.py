"""What the report says of an application: the cause in its author's words, and the exit status."""

import os
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import causes
import pytest
from causes import LIMIT, one_line

from lifespec.conformance import check_app
from lifespec.conformance.text import render
from lifespec.diagnosis import waits
from lifespec.diagnosis.fact import short

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
    text = one_line(report)
    assert [each for each in sentences if each not in text] == [], str(report)
    assert report.status == status
    chinese = render(report, "zh")
    assert not any(word in chinese for word in ENGLISH), chinese


def test_a_hang_costs_one_timeout() -> None:
    report = check_app(causes.waits_at_shutdown, timeout=LIMIT)
    stopped = {each.case for each in report.findings if each.kind == "does-not-stop"}
    assert "two-loops" in stopped
    assert not stopped & {*report.times}  # those were not played


def test_the_process_of_a_case_ends_with_its_time() -> None:
    check_app(causes.blocks_at_startup, timeout=0.5)
    assert waits.processes(os.getpid()) == []
