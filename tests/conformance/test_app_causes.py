"""What the report says of an application: the cause in its author's words, and the exit status."""

import os
from pathlib import Path
from typing import Any

import causes
import pytest

from lifespec.conformance import Report, check_app
from lifespec.conformance.text import render
from lifespec.testing import leftovers
from lifespec.testing.facts import short

__all__: list[str] = []

LIMIT = 2.0  # seconds; a busy machine takes long for little
FILE = short(Path(causes.__file__))


def line_of(text: str) -> int:
    """Return the number of the line of causes.py that has this text."""
    lines = Path(causes.__file__).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def said(report: Report) -> str:
    """Return the report on one line, without what wraps it."""
    return " ".join(str(report).split())


CASES: list[tuple[Any, int, tuple[str, ...]]] = [
    (causes.faultless, 0, ("faultless keeps lifespan 2.0 (ASGI) starts yes stops yes", "12 kept")),
    (
        causes.blocks_at_startup,
        2,
        (
            "does not start",
            "within 2 s (--timeout); it blocks the event loop in",
            "time.sleep(100)",
        ),
    ),
    (
        causes.joins_at_shutdown,
        1,
        ("does not stop", "it blocks the event loop in `joins_at_shutdown`", "thread.join()"),
    ),
    (causes.waits_at_startup, 2, ("does not start", "it waits in `wait_for_kafka`", "--timeout")),
    (causes.waits_at_shutdown, 1, ("does not stop", "it waits in `wait_for_kafka`")),
    (
        causes.blocks_while_serving,
        1,
        ("does not stop", "after startup, for 2 s (--timeout) it blocks", "in `later`"),
    ),
    (
        causes.needs_a_setting,
        2,
        ("does not start", "no: KeyError: 'DATABASE_URL_OF_SHOP', in `needs_a_setting`"),
    ),
    (causes.cannot_flush, 1, ("does not stop", "RuntimeError: cannot flush, in `cannot_flush`")),
    (
        causes.leaves_a_thread,
        1,
        (
            "starts and stops, but its process does not end",
            "a thread that is not a daemon: connection, started in `leaves_a_thread`",
            "Close what started it",
        ),
    ),
    (
        causes.leaves_a_task,
        0,
        (
            "a task that still runs: `wait_for_kafka` (poller), made in `leaves_a_task`",
            "a task that still runs: `sleep`, made in `leaves_a_task`",
        ),
    ),
    (causes.leaves_a_process, 0, ("a child process that still runs:", "import time")),
    (
        causes.logs_errors,
        0,
        (
            "and an error occurred",
            "while starting: ERROR rows: no cache",
            "while stopping: ERROR rows: the last batch was lost (RuntimeError: Plugin not yet",
        ),
    ),
    (
        causes.has_a_task_that_dies,
        0,
        ("receive_messages`, made in `has_a_task_that_dies`", "ConnectionError: link detached"),
    ),
    (
        causes.fails_while_serving,
        1,
        ("does not stop", "no: OSError: no orders, in `work`"),
    ),
    (
        causes.raises_late,
        1,
        (
            "is served without its startup",
            "it raised OSError: no database, in `raises`",
            "after it had received lifespan.startup",
            "Answer lifespan.startup.failed",
        ),
    ),
    (
        causes.raises_on_the_scope,
        0,
        ("does not support lifespan", "it raised AssertionError", "find the middleware"),
    ),
    (causes.wants_a_path, 0, ("KeyError: 'path'", "Only requests have this key")),
    (causes.returns_late, 1, ("is served without its startup", "it returned without an answer")),
    (causes.returns_early, 0, ("without clean-up", "To run clean-up, wait for lifespan.shutdown")),
    (causes.returns_at_shutdown, 1, ("it returned without an answer to lifespan.shutdown",)),
    (causes.raises_at_shutdown, 1, ("it raised at shutdown: OSError: no disk",)),
    (causes.crashes, 1, ("it raised while it was running: OSError: no disk",)),
    (causes.exits, 2, ("does not start", "it ended the process at startup: status 4")),
    (causes.exits_at_shutdown, 1, ("it ended the process at shutdown: status 4",)),
    (causes.raises_exit, 2, ("it ended the process at startup: SystemExit: 4",)),
    (causes.kills_itself, 1, ("it ended the process at shutdown: SIGKILL",)),
    (
        causes.answers_with_shutdown,
        2,
        ("the suite refused what it sent: it sent lifespan.shutdown.complete while starting",),
    ),
    (causes.says_failed, 2, ("does not start", "no: no database")),
    (causes.says_nothing, 2, ("it sent no message",)),
    (causes.asks_again, 1, ("instead of answering it waits for another event", "Answer the event")),
    (causes.forks, 0, ("keeps lifespan 2.0",)),
    (causes.rebinds, 0, ('It put another object into scope["state"]',)),
    (causes.lingers, 0, ("It does not return after it has answered lifespan.shutdown",)),
    (causes.on_trio, 0, ("on trio, which it needs",)),
    (causes.hangs_on_trio, 1, ("does not stop", "it waits in `hangs_on_trio`")),
    (causes.no_coroutine, 2, ("could not be checked", "returned 1, which cannot be awaited")),
]


@pytest.mark.parametrize(
    ("app", "status", "sentences"), CASES, ids=lambda each: getattr(each, "__qualname__", None)
)
def test_the_report_names_the_cause(app: Any, status: int, sentences: tuple[str, ...]) -> None:
    slow = app in (causes.on_trio, causes.hangs_on_trio)  # they import trio
    report = check_app(app, timeout=3 * LIMIT if slow else LIMIT)
    text = said(report)
    assert [each for each in sentences if each not in text] == [], str(report)
    assert report.status == status
    chinese = render(report, "zh")
    assert not any(word in chinese for word in ("does not", "within", " while ", "kept"))


def test_a_place_is_a_file_and_a_line() -> None:
    report = said(check_app(causes.joins_at_shutdown, timeout=LIMIT))
    number = line_of("thread.join()")
    assert f"`joins_at_shutdown`, {FILE}:{number}" in report
    assert f"{FILE}:{number} in joins_at_shutdown thread.join()" in report


def test_a_hang_costs_one_timeout() -> None:
    report = check_app(causes.waits_at_shutdown, timeout=1.0)
    assert [name for name, seconds in report.times.items() if seconds >= 1.0] == ["start-and-stop"]
    assert {each.case for each in report.findings if each.kind == "does-not-stop"} > {"two-loops"}


def test_a_faultless_report_has_few_lines() -> None:
    assert len(str(check_app(causes.faultless)).splitlines()) <= 5


def test_the_process_of_a_case_ends_with_its_time() -> None:
    check_app(causes.blocks_at_startup, timeout=0.5)
    assert leftovers.processes(os.getpid()) == []
