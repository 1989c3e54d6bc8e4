"""A server is checked by its command: what is checked, and what cannot be."""

import re
import shlex
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from lifespec.conformance.cases import Case, Unchecked
from lifespec.conformance.report import Finding
from lifespec.conformance.server import check as server_check
from lifespec.conformance.server import process
from lifespec.conformance.server import run as server_run
from lifespec.conformance.server.check import ServerCheck
from lifespec.conformance.server.observation import RAISED, ServerObservation
from lifespec.testing.trace import Entry
from sights import line, saw

__all__: list[str] = []

SERVE = Path(__file__).parents[2] / "docs" / "programs" / "serve.py"
SERVER = (sys.executable, str(SERVE), "{app}", "--port", "{port}")


WITHOUT = (sys.executable, "-m", "uvicorn", "{app}", "--port", "{port}", "--lifespan", "off")


def job(*command: str, **options: Any) -> ServerCheck:
    """Return what is to be checked."""
    return ServerCheck(command or SERVER, **options)


def program(text: str, **options: Any) -> ServerCheck:
    """Return a job whose command runs a program of a few lines."""
    return job(sys.executable, "-c", text, "{app}", "{port}", **options)


def rows(findings: Sequence[Finding]) -> list[tuple[str, str, str]]:
    """Return case, rule and verdict of each."""
    return [(each.case, each.rule, each.verdict) for each in findings]


def test_a_server_is_checked_case_by_case() -> None:
    """The findings come in the order of the cases, with a conversation each."""
    told: list[int] = []
    only = server_check.chosen(["sends-no-type", "well-behaved-loop"])
    found = server_check.check(job(), only, lambda *_: bool(told.append(1)))
    command = shlex.join([sys.executable, str(SERVE)])
    assert found.subject == f"{command} {{app}} --port {{port}}"
    assert job("a b", "{app}", "-x=$y").subject == "'a b' {app} '-x=$y'"
    assert rows(found.findings) == [
        ("sends-no-type", "send-refuses-unknown", "pass"),
        ("sends-no-type", "refusal-survived", "pass"),
        ("well-behaved-loop", "startup-sent", "pass"),
        ("well-behaved-loop", "shutdown-sent", "pass"),
        ("well-behaved-loop", "wait-for-shutdown", "pass"),
    ]
    assert "X------" in found.findings[0].conversation
    assert "ProtocolError" in found.findings[0].conversation
    assert len(told) == 2  # the first of all cases is played besides, and was not asked for


def test_what_is_told_can_end_the_check() -> None:
    """Cases that had not begun by then are skipped, and say so."""
    only = server_check.chosen(["well-behaved", "sends-no-type", "returns-on-the-scope"])
    found = server_check.check(job(), only, lambda *_: True)
    verdicts = {each.case: each.verdict for each in found.findings}
    assert verdicts["well-behaved"] == "pass"
    assert "skip" in verdicts.values()


def test_slow_cases_are_left_out_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all others are run; what was named is all that was asked for."""
    monkeypatch.setattr(server_check, "CaseRun", Tried)
    slow = tuple(case.name for case in server_check.chosen(slow=True) if case.slow)
    assert server_check.check(job(), server_check.chosen()).left_out == slow
    assert server_check.check(job(), server_check.chosen(slow=True)).left_out == ()
    assert server_check.check(job(), server_check.chosen(["state"])).left_out == ()
    found = server_check.check(job(spec="asgi 1.0"), server_check.chosen(["state", "well-behaved"]))
    assert {each.case for each in found.findings} == {"well-behaved"}  # it has no state


def test_workers_have_a_place() -> None:
    """In the command, or by what is added to it; else the case is not run."""
    two = server_check.chosen(["two-workers"])[0]
    one = server_check.chosen(["state"])[0]
    assert job("x", "-w={workers}").arguments(two) == ["x", "-w={workers}"]
    assert job("x", workers="--workers 2").arguments(two) == ["x", "--workers", "2"]
    assert job("x", workers="--workers 2").arguments(one) == ["x"]
    found = server_check.check(job(), [two])
    assert {each.verdict for each in found.findings} == {"skip"}
    assert found.findings[0].actual == (
        "Not run: the command has no {workers}, and --workers was not given."
    )
    assert found.status() == 2


def test_a_server_without_lifespan_is_told_as_that() -> None:
    """Nothing was checked, and the exit status says so."""
    only = server_check.chosen(["well-behaved", "state"])
    found = server_check.check(job(*WITHOUT, limit=2.0), only)
    assert {(each.verdict, each.actual) for each in found.findings} == {
        ("skip", server_check.WITHOUT)
    }
    assert (found.status(), found.unchecked) == (2, server_check.WITHOUT)


def test_what_only_waits_begins_before_it_is_known_what_the_server_is() -> None:
    """It is checked when that is known."""
    only = server_check.chosen(["hangs-at-shutdown", "hangs-at-shutdown"])
    assert [case.name for case in only] == ["hangs-at-shutdown"]
    found = server_check.check(job(*WITHOUT, limit=2.0), only)
    assert {(each.verdict, each.actual) for each in found.findings} == {
        ("skip", server_check.WITHOUT)
    }
    began = time.monotonic()
    with pytest.raises(Unchecked, match="ended with status 3"):
        server_check.check(program("raise SystemExit(3)", limit=20.0), only)
    assert time.monotonic() - began < 15


class Tried:
    """A case that only counts how many of its kind there are at a time."""

    now, most = 0, 0
    rest, together = False, threading.Barrier(1)

    def __init__(self, _: object, case: Case, *__: object, rests: Any, **___: object) -> None:
        self.case, self.rests = case, rests

    def run(self) -> ServerObservation:
        """Take part; the first case does not rest."""
        Tried.now += 1
        Tried.most = max(Tried.most, Tried.now)
        if self.case.name != "well-behaved" and self.rest:
            self.rests()
            self.rests()
            self.together.wait(30)
        time.sleep(0.01)
        Tried.now -= 1
        return saw(self.case.name, "called lifespan")


@pytest.mark.parametrize(("rest", "most"), [(True, 3), (False, 1)])
def test_a_case_begins_when_another_only_waits(
    rest: bool, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many are played at a time as there are places, and beside them those that rest."""
    monkeypatch.setattr(server_check, "AT_ONCE", 1)
    monkeypatch.setattr(server_check, "CaseRun", Tried)
    monkeypatch.setattr(Tried, "most", 0)
    monkeypatch.setattr(Tried, "rest", rest)
    monkeypatch.setattr(Tried, "together", threading.Barrier(3))
    only = server_check.chosen(["state", "slow-start", "hangs-at-startup"])
    found = server_check.check(job(), only)
    assert {each.case for each in found.findings} == {case.name for case in only}
    assert Tried.most == most


@pytest.mark.parametrize("slow", [1, 2])
def test_what_fails_because_it_came_late_is_tried_again(
    slow: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the others are over; it is told once, as it was then."""
    runs: list[str] = []

    class Late(Tried):
        def run(self) -> ServerObservation:
            runs.append(self.case.name)
            late = self.case.name == "state" and runs.count("state") <= slow
            return saw(self.case.name, "called lifespan", late=late)

    said = {"copies": lambda seen, _: (not seen.late, "It is so.")}
    monkeypatch.setattr(server_check, "PHRASES", {**server_check.PHRASES, **said})
    monkeypatch.setattr(server_check, "CaseRun", Late)
    monkeypatch.setattr(ServerObservation, "finished", lambda _: None)
    told: list[str] = []
    only = server_check.chosen(["state", "well-behaved"])
    found = server_check.check(job(), only, lambda name, _: bool(told.append(name)))
    assert (runs.count("state"), runs.count("well-behaved")) == (2, 1)
    assert sorted(told) == ["state", "well-behaved"]
    verdicts = [each.verdict for each in found.findings if each.rule == "state-shallow-copy"]
    assert verdicts == ["pass" if slow == 1 else "fail"]


PORT = "import socket, sys, time; s = socket.create_server(('127.0.0.1', 0)); "


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "print('bad option'); exit(2)",
            "NAME ended with status 2 before it served anything; its last words: bad option",
        ),
        (
            f"{PORT}time.sleep(60)",
            r"NAME listens on port \d+, not on the one that \{port\} stands for",
        ),
        ("import time; time.sleep(60)", "NAME did not call the application within 1 s"),
        (
            "import os, time; os._exit(0) if os.fork() else time.sleep(60)",
            "NAME ended and left other processes behind: start it in the foreground",
        ),
        ("while True: print('x' * 100_000)", "it wrote more than 8 MB to its output"),
    ],
)
def test_what_cannot_be_checked(
    text: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sentence says why, and nothing is left behind."""
    monkeypatch.setattr(server_run, "START", 1.0)
    monkeypatch.setattr(server_check, "START", 1.0)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(Unchecked) as told:
        server_check.check(program(text), server_check.chosen(["state"]))
    assert re.fullmatch(sentence.replace("NAME", repr(sys.executable)), str(told.value))
    assert [*tmp_path.iterdir()] == []
    assert not process._given


def test_a_log_cut_short_is_told_and_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The case is not run; others are."""
    complete = process.Subject.complete

    def cut(self: process.Subject) -> list[dict[str, Any]]:
        if self.script != [["converse", None]]:
            return complete(self)
        self.log.write_bytes(self.log.read_bytes()[:-5])
        self._read, self._lines = 0, []
        return complete(self)

    monkeypatch.setattr(process.Subject, "complete", cut)
    found = server_check.check(job(), server_check.chosen(["interrupted"]))
    assert [(each.verdict, each.actual) for each in found.findings] == [
        ("skip", "Not run: the probe's log is cut short: its last line has no end.")
    ]
    assert found.status() == 2
    assert found.unchecked.startswith("The case interrupted could not be played: the probe's log")


@pytest.fixture
def verdicts(monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, tuple[str, str]]]:
    """Check what shows these lines in each case; return verdict and what was seen, by rule."""

    def checked(*lines: str, case: str, **facts: Any) -> dict[str, tuple[str, str]]:
        class Shows(Tried):
            def run(self) -> ServerObservation:
                return saw(self.case.name, "called lifespan", *lines, **facts)

        monkeypatch.setattr(server_check, "CaseRun", Shows)
        found = server_check.check(
            job(client=bool(facts.get("client"))), server_check.chosen([case])
        )
        return {each.rule: (each.verdict, each.actual) for each in found.findings}

    return checked


STARTED = ["received lifespan.startup", "sent lifespan.startup.complete"]


def test_a_pass_needs_the_last_step(verdicts: Callable[..., dict[str, tuple[str, str]]]) -> None:
    """What held until then is skipped, with the step that was not reached."""
    how, actual = verdicts(STARTED[0], "plays receive", case="well-behaved")["startup-sent"]
    assert how == "skip"
    assert actual.startswith('Step 4, "send lifespan.shutdown.complete", was not reached.')


def test_a_server_that_serves_nothing_cannot_be_checked(
    verdicts: Callable[..., dict[str, tuple[str, str]]],
) -> None:
    """Startup was completed: what the call showed until then counts, and the rest is left out."""
    found = verdicts(*STARTED, "plays send  step=3", case="well-behaved")
    kept = {rule for rule, (how, _) in found.items() if how == "pass"}
    assert {"startup-sent", "scope-type", "once-per-loop"} >= kept >= {"startup-sent"}
    found = verdicts(*STARTED, "plays send  step=3", case="slow-shutdown")
    assert {actual for _, actual in found.values()} == {server_check.IDLE}


def test_what_a_test_client_raises_is_no_failure(
    verdicts: Callable[..., dict[str, tuple[str, str]]],
) -> None:
    """It goes to the caller, and no specification says that it must not."""
    facts: dict[str, Any] = {"status": RAISED, "ended": 3.0, "client": True}
    found = verdicts("plays raise", case="raises-on-the-scope", output="ValueError: no\n", **facts)
    said = ("info", "It raised to the caller: ValueError: no")
    assert found["unsupported-by-raising"] == said


@pytest.mark.parametrize(
    ("words", "demand"),
    [
        (("uvicorn", "--lifespan", "on"), "--lifespan on"),
        (("uvicorn", "--lifespan=on"), "--lifespan=on"),
        (("gunicorn", "--asgi-lifespan", "on"), "--asgi-lifespan on"),
        (("uvicorn", "--lifespan", "auto"), ""),
        (("uvicorn", "--lifespan", "once"), ""),
    ],
)
def test_a_command_can_demand_lifespan_support(words: tuple[str, ...], demand: str) -> None:
    """By an option that is named after it."""
    assert job(*words).demand == demand


def test_an_interruption_ends_every_case() -> None:
    """Ctrl+C while cases are played leaves no process behind, and is no verdict."""

    def tell(*_: object) -> bool:
        raise KeyboardInterrupt

    began, only = time.monotonic(), server_check.chosen(["interrupted", "hangs-at-startup"])
    with pytest.raises(KeyboardInterrupt):
        server_check.check(job(limit=60.0), only, tell)
    assert time.monotonic() - began < 30
    assert not process._given


def test_a_conversation_is_drawn_with_its_requests() -> None:
    """Of the first lifespan all that was said, of others and of requests only that they came."""
    seen = saw(
        "well-behaved",
        "imported  call=0",
        line("called lifespan", 2, text=None),
        "plays receive",
        line("refused x.y", 4, error="ValueError", text="no"),
        line("sent a.b", 5, event={"message": "why"}, text=None),
        line("sent ", 6, event=28, text=None),
        line("called http", 7, path="/look", text=None),
        "returned http  call=9",
        line("raised lifespan", 9, error="Failure", text="burst"),
        "called lifespan  pid=2",
    )
    assert [*server_check._entries(seen)] == [
        Entry(0.0, "called", "lifespan", ""),
        Entry(2.0, "refused", "x.y", "ValueError: no"),
        Entry(3.0, "sent", "a.b", "why"),
        Entry(4.0, "sent", "", ""),
        Entry(5.0, "called", "http /look", ""),
        Entry(7.0, "raised", "Failure", "burst"),
    ]
    assert [*server_check._entries(saw("well-behaved", "called http"))] == []


def test_what_is_no_affair_of_a_subject_is_left_out() -> None:
    """A case, or a rule, for which the job has a sentence."""
    beside = {"interrupted": "It hears no signals.", "startup-sent": "It sends nothing."}
    found = server_check.check(
        job(beside=beside, title="a thing"),
        server_check.chosen(["interrupted", "well-behaved-loop"]),
    )
    assert found.subject == "a thing"
    assert [(each.rule, each.verdict, each.actual) for each in found.findings][:2] == [
        ("shutdown-sent", "skip", "It hears no signals."),
        ("startup-sent", "skip", "It sends nothing."),
    ]
    assert {each.verdict for each in found.findings[2:]} == {"pass"}
