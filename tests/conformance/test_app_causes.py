"""What the report says of an application: the cause in its author's words, and the exit status."""

import asyncio
import json
import os
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import causes
import pytest

import problems
from apart import checked_program, in_fixture, one_line
from lifespec.conformance import Fact, Report, check_app
from lifespec.conformance.app import play
from lifespec.conformance.report import render
from lifespec.diagnosis import leftovers
from lifespec.words import english
from scripted import STARTED, STOPPED, says

LIMIT = 2.0  # seconds for an answer that does not come, and until it was looked at
TRIES = 5  # where the report says that this machine was too busy, and asks to try again
BLOCK = {
    "it blocks after its last answer", "it blocks at shutdown", "it blocks while it serves",
    "blocks-the-loop", "advise-join", "advise-result",
}  # fmt: skip
HANG = {
    *BLOCK, "it hangs on trio",
    "advise-forever", "advise-future", "advise-queue", "advise-room", "advise-sleep",
    "advise-startup",
}  # fmt: skip
ENGLISH = "does not", "within", " while ", "kept", "status "
OF_PYTHON = "object does not support the asynchronous context manager protocol"
ALONE = ["start-and-stop"]
SERVES = ["request-while-running", "two-loops"]  # in these, too, a cause is seen
CASES: dict[str, list[str]] = {  # where it is not seen in these three, or in others, too
    "it hangs on trio": [],
    "it keeps every rule": [],
    "middleware of FastAPI drops the scope": [],
    "middleware of Starlette drops the scope": [],
    "it leaves copies of itself": ALONE,  # it takes seconds in each case
    "its startup blocks": ALONE,  # the same
}
CORE = {  # kinds of facts that are the same, whoever meets them
    "at-place", "died", "died-stopping", "doing-at", "error", "error-bare", "logged",
    "logged-error", "loggers-disabled", "process-left", "signal-taken", "task-left",
    "task-unawaited", "text", "thread-left",
}  # fmt: skip
EXPLAINED = re.compile(r"lifespec explain (\S+)$", re.MULTILINE)
RECORD = json.loads((Path(__file__).parents[2] / "docs/matrix/reports.json").read_text("utf-8"))
NUMBER = re.compile(r" ?\(\d+\)|:\d+:\d+|\d{4,}")  # of processes and ports
NOT_IN_A_TEST = {  # what the fixture does not say, and why
    "the process that ends or forks has the test": {
        "a process that it has forked returns", "it exits", "it exits at shutdown",
        "it raises SystemExit",
    },
    "the loop that is blocked is the test's": BLOCK,
    "it runs on the loop of the test, whose task is in the text": {
        "it needs trio", "it hangs on trio",
    },
    "a test has its own profiler and trace function, if any": {
        "advise-register-sooner", "handler-ignored", "never-ran",
    },
    "Python warns, and so does the test": {"it awaits nothing"},
    "its limit wakes the loop, so that it starts: the warning says so": {"set-from-thread"},
}  # fmt: skip


def inner(part: Any) -> Iterator[Fact]:
    """Yield a fact, and those in it."""
    if isinstance(part, Fact):
        yield part
        for each in part.parts.values():
            yield from inner(each)


def cause(report: Report) -> str:
    """Return the sentence with the cause, or what to change; "" if the report has neither."""
    found = [each for row in report.rows for each in inner(row.fact) if each.kind in CORE]
    found += [row.fact for row in report.rows if row.label == "change"]
    return NUMBER.sub("", english(found[0])) if found else ""


def limit(name: str) -> float:
    """Return the seconds for an answer: many for one that comes, on a machine that may be busy."""
    if name in (
        "waits-at-startup",
        "waits-at-shutdown",
        "set-from-thread",
    ):  # it is looked at several times before that
        return LIMIT * 3
    page = problems.PROGRAMS.get(name)
    if name in HANG or (page and page.hangs):
        return LIMIT
    return 60.0


def variant(source: str, kept: str) -> str:
    """Return a program with its fault, "-", or with the change that is advised, "+"."""
    lines = [each for each in source.split("\n") if each[:1] in (kept, "") or each[0] not in "-+"]
    return "\n".join(each.removeprefix(kept) for each in lines)


def cases_of(name: str) -> list[str]:
    """Return the cases that show the fault of a program."""
    if name in problems.PROGRAMS:
        return problems.PROGRAMS[name].only or SERVES[:1]  # as with --quick
    if name in causes.TRIED:
        return CASES.get(name, [*ALONE, *SERVES[: name in SERVING]])
    return CASES.get(name, [*ALONE, *SERVES])


def check(name: str, folder: Path, kept: str = "-") -> Report:
    """Check a program with its fault, or with what is advised, in the cases that show it."""
    tables = causes.FAULTS | causes.PROGRAMS | causes.REPORTED | causes.TRIED
    program = tables[name]
    source = causes.PRELUDE + variant(program.source, kept)
    for _ in range(TRIES):
        report = checked_program(folder, source, only=cases_of(name), timeout=limit(name))
        if english(Fact("doing-starved")) not in one_line(report):
            break
    return report


def says_all(report: Report, program: causes.Program) -> None:
    """Hold a report to what stands above a program."""
    text = one_line(report)
    assert [each for each in program.sentences if each not in text] == [], str(report)
    assert report.status == program.status, str(report)
    assert [*report.problems] == program.problems, str(report)
    if program.problems:  # each of them fails, if that is asked for
        assert replace(report, strict=True).status == (program.status or 1)


def is_chinese(report: Report, *english: str) -> bool:
    """Tell whether no word of English is left in the Chinese report."""
    chinese = " ".join(render(report, "zh").split()).replace(OF_PYTHON, "")
    return not any(word in chinese for word in (*ENGLISH, *english))


def says_the_same(name: str, report: Report, folder: Path) -> None:
    """Hold the fixture to the cause that the check names: the same words and the same place."""
    if cause(report) and name not in BLOCK:
        apart = any(name in names for names in NOT_IN_A_TEST.values())
        said = NUMBER.sub("", in_fixture(folder, "shop", "app", limit(name)))
        assert (cause(report) in said) is not apart, (cause(report), said)


@pytest.mark.parametrize("name", causes.FAULTS)
def test_the_report_names_the_cause(name: str, tmp_path: Path) -> None:
    report = check(name, tmp_path)
    says_all(report, causes.FAULTS[name])
    assert is_chinese(report)
    says_the_same(name, report, tmp_path)


@pytest.mark.parametrize("name", causes.PROGRAMS)
def test_a_program_is_told_its_cause_and_a_faultless_one_nothing(name: str, tmp_path: Path) -> None:
    report = check(name, tmp_path)
    says_all(report, causes.PROGRAMS[name])
    assert is_chinese(report, "Requests", " is ", "makes")
    labels = {each.label for each in report.rows}
    assert causes.PROGRAMS[name].sentences or labels == {"starts", "stops"}, str(report)


@pytest.mark.parametrize("name", causes.REPORTED)
def test_a_public_report_is_named_by_the_problems_of_its_record(name: str, tmp_path: Path) -> None:
    report = check(name, tmp_path)
    says_all(report, causes.REPORTED[name])
    assert sorted(EXPLAINED.findall(str(report))) == sorted(RECORD["reports"][name]["by"])


def test_a_framework_is_not_blamed_for_a_case_of_the_same_life(tmp_path: Path) -> None:
    """Starlette raises where the state is missing; the keys of events are another case."""
    source = causes.PRELUDE + "app = Starlette(lifespan=pool)\n"
    report = checked_program(tmp_path, source)
    assert report.verdicts()["extra-keys-expected"] == "pass", str(report)


def test_a_daemon_thread_that_began_at_import_is_not_of_a_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = causes.PROGRAMS["a daemon thread ends, and a library has its own"].source
    begin = "threading.Thread(target=poll, args=(threading.Event(),), daemon=True).start()"
    (tmp_path / "began.py").write_text(f"{causes.PRELUDE}{source}\n{begin}\n")
    monkeypatch.chdir(tmp_path)
    report = check_app("began:app", only=ALONE)
    assert {each.label for each in report.rows} == {"starts", "stops"}, str(report)


# ---- advice is tried ---------------------------------------------------------------------------

SERVING = {
    "advise-register-sooner",
}  # fmt: skip


@pytest.mark.parametrize("name", causes.TRIED)
def test_what_is_advised_removes_the_fault(name: str, tmp_path: Path) -> None:
    for kept in "-+":
        folder = tmp_path / kept
        folder.mkdir()
        report = check(name, folder, kept)
        parts = [report.obstacle, *(row.fact for row in report.rows)]
        found = {each.kind for part in parts for each in inner(part)}
        if kept == "-":
            assert name in found, str(report)
            says_all(report, causes.TRIED[name])
            says_the_same(name, report, folder)
        else:
            assert name not in found, str(report)
            assert "change" not in {row.label for row in report.rows}, str(report)
            assert report.status == 0, str(report)


@pytest.mark.parametrize("name", problems.PROGRAMS)
def test_the_check_and_the_fixture_name_the_problem_of_a_page(name: str, tmp_path: Path) -> None:
    """What the page advises is tried where the page runs."""
    page = problems.PROGRAMS[name]
    for _ in range(TRIES):
        report = checked_program(
            tmp_path, page.source, quick=not page.only, only=page.only, timeout=limit(name)
        )
        if english(Fact("doing-starved")) not in one_line(report):
            break
    assert f"lifespec explain {name}" in str(report)
    assert is_chinese(report)
    if not page.only:  # a test starts once, and lets one request through
        says_the_same(name, report, tmp_path)


def blocks(_: Any) -> None:
    time.sleep(100)


def test_a_hang_costs_one_timeout() -> None:
    hangs = says("receive", STARTED, "receive", lambda _: asyncio.Event().wait())
    report = check_app(hangs, timeout=LIMIT)
    stopped = {each.case for each in report.findings if each.kind == "does-not-stop"}
    assert "two-loops" in stopped
    assert not stopped & {*report.times}  # those were not played


def test_a_block_after_the_last_answer_costs_no_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(play, "BLOCKS_END", 0.1)
    report = check_app(says("receive", STARTED, "receive", STOPPED, blocks), only=ALONE)
    assert report.times["start-and-stop"] < LIMIT * 10


def test_a_call_that_blocks_when_it_is_cancelled_does_not_end() -> None:
    async def blocks_when_cancelled(_: Any) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            time.sleep(100)  # noqa: ASYNC251  the fault

    report = check_app(
        says("receive", STARTED, blocks_when_cancelled), only=["stopped-while-running"], timeout=1
    )
    assert [each.verdict for each in report.findings] == ["info"]


def test_the_process_of_a_case_ends_with_its_time() -> None:
    before = leftovers.processes(os.getpid())
    check_app(says("receive", blocks), only=ALONE, timeout=0.2)
    assert leftovers.processes(os.getpid()) == before
