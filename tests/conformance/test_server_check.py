"""A server is checked by its command: what is checked, and what cannot be."""

import shlex
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from lifespec.conformance.cases import Case
from lifespec.conformance.report import Finding, Unchecked
from lifespec.conformance.server import check as server_check
from lifespec.conformance.server import judge, play, process
from lifespec.conformance.server.check import Target, check, check_server, chosen
from lifespec.conformance.server.play import Observation
from lifespec.testing.trace import Entry
from sights import line, saw

__all__: list[str] = []

SERVE = Path(__file__).parents[2] / "docs" / "programs" / "serve.py"
SERVER = (sys.executable, str(SERVE), "{app}", "--port", "{port}")


WITHOUT = (sys.executable, "-m", "uvicorn", "{app}", "--port", "{port}", "--lifespan", "off")


def job(*command: str, **options: Any) -> Target:
    """Return what is to be checked."""
    return Target(command or SERVER, **options)


def program(text: str, **options: Any) -> Target:
    """Return a job whose command runs a program of a few lines."""
    return job(sys.executable, "-c", text, "{app}", "{port}", **options)


def rows(findings: Sequence[Finding]) -> list[tuple[str, str, str]]:
    """Return case, rule and verdict of each."""
    return [(each.case, each.rule, each.verdict) for each in findings]


def test_a_server_is_checked_case_by_case() -> None:
    """The findings come in the order of the cases, with a message sequence each."""
    told: list[str] = []
    only = chosen(["sends-no-type", "well-behaved-loop"])
    found = check(job(), only, lambda name, _: told.append(name))
    assert found.subject == f"{shlex.join(SERVER[:2])} {{app}} --port {{port}}"
    assert job("a b", "{app}", "-x=$y").subject == "'a b' {app} '-x=$y'"
    assert rows(found.findings) == [
        ("sends-no-type", "send-refuses-unknown", "pass"),
        ("sends-no-type", "refusal-survived", "pass"),
        ("well-behaved-loop", "startup-sent", "pass"),
        ("well-behaved-loop", "shutdown-sent", "pass"),
        ("well-behaved-loop", "wait-for-shutdown", "pass"),
    ]
    refused = next(each for each in found.findings[0].entries if each.kind == "refused")
    assert refused.detail.startswith("ProtocolError: ")
    assert sorted(told) == ["sends-no-type", "well-behaved-loop"]  # the first was not asked for
    assert found.partial
    assert found.seconds > 0
    assert found.began


def test_check_server_takes_a_command_as_in_a_shell() -> None:
    report = check_server(
        shlex.join(SERVER), only=["well-behaved-loop"], ignore=["startup-sent"], strict=True
    )
    assert report.ok
    assert report.strict
    assert [each.rule for each in report.findings] == ["shutdown-sent", "wait-for-shutdown"]
    assert str(report).startswith(f"{report.subject} keeps lifespan 2.0 (ASGI)\n")


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"command": "uvicorn {app}"}, "no-place"),
        ({"spec": "amgi"}, "no-amgi-server"),
        ({"spec": "pagi"}, "no-pagi-server"),
        ({"spec": "wsgi"}, "unknown-spec"),
        ({"only": ["stat"]}, "unknown-case-near"),
        ({"only": ["zzz"]}, "unknown-case"),
        ({"ignore": ["startup"]}, "unknown-rule-near"),
        ({"workers": "'"}, "bad-arguments"),
        ({"command": "serve '{app}"}, "bad-arguments"),
    ],
)
def test_what_cannot_be_asked_for(options: dict[str, Any], kind: str) -> None:
    with pytest.raises(Unchecked) as unchecked:
        check_server(**{"command": SERVER} | options)
    assert unchecked.value.fact.kind == kind
    assert str(unchecked.value)


def test_slow_cases_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all others are played; if some are named, no others are missed."""
    monkeypatch.setattr(server_check, "Player", Tried)
    assert left_out(check(job(), chosen())) == [("slow-cases", 2), ("worker-cases", 5)]
    workers = job(*SERVER, "{workers}")
    assert left_out(check(workers, chosen())) == [("slow-cases", 2)]
    assert left_out(check(workers, chosen(slow=True))) == []
    assert left_out(check(job(), chosen(["state"]))) == []
    found = check(job(spec="asgi 1.0"), chosen(["state", "well-behaved"]))
    assert {each.case for each in found.findings} == {"well-behaved"}  # it has no state


def left_out(report: Any) -> list[tuple[str, int]]:
    """Return what a report says was left out."""
    return [(row.fact.kind, row.fact.parts["count"]) for row in report.rows]


def test_workers_have_a_place() -> None:
    """In the command, or by what is added to it; else the case is not played."""
    two, one = chosen(["two-workers", "state"])
    assert job("x", "-w={workers}").command_for(two) == ["x", "-w={workers}"]
    assert job("x", workers="--workers 2").command_for(two) == ["x", "--workers", "2"]
    assert job("x", workers="--workers 2").command_for(one) == ["x"]
    found = check(job(), [two])
    assert {(each.verdict.value, each.kind) for each in found.findings} == {("skip", "no-workers")}
    assert found.status == 2


@pytest.mark.parametrize("name", ["well-behaved", "hangs-at-shutdown"])
def test_without_a_lifespan_nothing_is_checked(name: str) -> None:
    found = check(job(*WITHOUT, timeout=2.0), chosen([name, name, "state"]))
    assert {(each.verdict.value, each.kind) for each in found.findings} == {("skip", "no-lifespan")}
    assert (found.status, found.unchecked) == (2, found.obstacle)
    assert "PASS" not in str(found)


def test_a_server_that_fails_at_once_keeps_nobody_waiting() -> None:
    began = time.monotonic()
    with pytest.raises(Unchecked, match="ended with status 3"):
        check(program("raise SystemExit(3)", timeout=20.0), chosen())
    assert time.monotonic() - began < 15


class Tried:
    """A player that only counts how many of its kind there are at a time."""

    now, most = 0, 0
    rest, together = False, threading.Barrier(1)

    def __init__(self, _: object, case: Case, *__: object, rest: Any, **___: object) -> None:
        self.case, self.to_rest = case, rest

    def play(self) -> Observation:
        """Take part; the first case does not rest."""
        Tried.now += 1
        Tried.most = max(Tried.most, Tried.now)
        if self.case.name != "well-behaved" and self.rest:
            self.to_rest()
            self.to_rest()
            self.together.wait(30)
        time.sleep(0.01)
        Tried.now -= 1
        return saw(self.case.name, "called lifespan")


@pytest.mark.parametrize(("rest", "most"), [(True, 3), (False, 1)])
def test_a_case_begins_when_another_only_waits(
    rest: bool, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many are played at a time as there are places, and beside them those that rest."""
    monkeypatch.setattr(server_check, "BUSY", 1)
    monkeypatch.setattr(server_check, "Player", Tried)
    monkeypatch.setattr(Tried, "most", 0)
    monkeypatch.setattr(Tried, "rest", rest)
    monkeypatch.setattr(Tried, "together", threading.Barrier(3))
    only = chosen(["state", "slow-start", "hangs-at-startup"])
    found = check(job(), only)
    assert {each.case for each in found.findings} == {case.name for case in only}
    assert Tried.most == most


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "print('bad option'); exit(2)",
            "NAME ended with status 2 before it served anything; its last words: bad option",
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
    monkeypatch.setattr(play, "START", 1.0)
    monkeypatch.setattr(server_check, "START", 1.0)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(Unchecked) as told:
        check(program(text), chosen(["state"]))
    assert str(told.value) == sentence.replace("NAME", program(text).subject)
    assert [*tmp_path.iterdir()] == []
    assert not process._ports


def test_a_case_whose_log_is_cut_short_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others are."""
    whole = process.Process.all_lines

    def cut(self: process.Process) -> list[dict[str, Any]]:
        if self.script == [["converse", None]]:
            self.log.write_bytes(self.log.read_bytes()[:-5])
            self._position, self._lines = 0, []
        return whole(self)

    monkeypatch.setattr(process.Process, "all_lines", cut)
    found = check(job(), chosen(["interrupted", "well-behaved"]))
    assert {(each.case, each.kind) for each in found.findings if each.verdict == "skip"} == {
        ("interrupted", "log-cut")
    }
    assert found.status == 2
    assert "The case interrupted could not be played: the log" in str(found)


@pytest.fixture
def verdicts(monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, tuple[str, str]]]:
    """Check what shows these lines in each case; return verdict and what was seen, by rule."""

    def checked(*lines: str, case: str, **facts: Any) -> dict[str, tuple[str, str]]:
        class Shows(Tried):
            def play(self) -> Observation:
                return saw(self.case.name, "called lifespan", *lines, **facts)

        monkeypatch.setattr(server_check, "Player", Shows)
        found = check(job(client=bool(facts.get("client"))), chosen([case]))
        return {each.rule: (each.verdict, each.kind) for each in found.findings}

    return checked


STARTED = ["received lifespan.startup", "sent lifespan.startup.complete"]


def test_a_pass_needs_the_last_step(verdicts: Callable[..., dict[str, tuple[str, str]]]) -> None:
    """What held until then is skipped, with the step that was not reached."""
    how, kind = verdicts(STARTED[0], "plays receive", case="well-behaved")["startup-sent"]
    assert (how, kind) == ("skip", "not-reached")


def test_a_server_that_serves_nothing_cannot_be_checked(
    verdicts: Callable[..., dict[str, tuple[str, str]]],
) -> None:
    """Startup was completed: what the call showed until then counts, and the rest is left out."""
    found = verdicts(*STARTED, "plays send  step=3", case="well-behaved")
    kept = {rule for rule, (how, _) in found.items() if how == "pass"}
    assert {"startup-sent", "scope-type", "once-per-loop"} >= kept >= {"startup-sent"}
    found = verdicts(*STARTED, "plays send  step=3", case="slow-shutdown")
    assert {kind for _, kind in found.values()} == {"idle"}


def test_what_a_test_client_raises_is_no_failure(
    verdicts: Callable[..., dict[str, tuple[str, str]]],
) -> None:
    """It goes to the caller, and no specification says that it must not."""
    facts: dict[str, Any] = {"raised": "ValueError: no", "ended": 3.0, "client": True}
    found = verdicts("plays raise", case="raises-on-the-scope", **facts)
    assert found["unsupported-by-raising"] == ("info", "to-caller")


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
def test_a_command_can_demand_lifespan_support(
    words: tuple[str, ...], demand: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By an option that is named after it."""
    seen: list[str] = []

    def outcome(_: str, __: str, observation: Observation) -> Any:
        seen.append(observation.demand)
        return judge.Judge(observation).lasts()

    monkeypatch.setattr(server_check, "judge", outcome)
    monkeypatch.setattr(server_check, "Player", Tried)
    check(job(*words, "{app}", "{port}"), chosen(["well-behaved"]))
    assert set(seen) == {demand}


def test_an_interruption_ends_every_case() -> None:
    """Ctrl+C while cases are played leaves no process behind, and is no verdict."""

    def tell(*_: object) -> None:
        raise KeyboardInterrupt

    began, only = time.monotonic(), chosen(["interrupted", "hangs-at-startup"])
    with pytest.raises(KeyboardInterrupt):
        check(job(timeout=60.0), only, tell)
    assert time.monotonic() - began < 30
    assert not process._ports


def test_a_message_sequence_has_its_requests() -> None:
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


def test_what_does_not_apply_to_a_target_is_skipped_with_its_reason() -> None:
    """A case, or a rule, for which the target has a reason."""
    reasons = {"interrupted": "It gets no signals.", "startup-sent": "It sends nothing."}
    found = check(
        job(not_applicable=reasons, title="a thing"), chosen(["interrupted", "well-behaved-loop"])
    )
    assert found.subject == "a thing"
    assert [(each.rule, each.verdict, each.parts) for each in found.findings][:2] == [
        ("shutdown-sent", "skip", {"text": "It gets no signals."}),
        ("startup-sent", "skip", {"text": "It sends nothing."}),
    ]
    assert {each.verdict for each in found.findings[2:]} == {"pass"}


def test_a_server_that_misleads_is_judged_by_the_order_of_events_alone(
    verdicts: Callable[..., dict[str, tuple[str, str]]],
) -> None:
    found = verdicts("received lifespan.shutdown", "plays send  step=3", case="well-behaved")
    assert found["startup-sent"] == ("fail", "events")
    assert found["shutdown-sent"] == ("skip", "misled")


def test_another_type_of_scope_is_named_though_no_lifespan_took_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Shows(Tried):
        def play(self) -> Observation:
            return saw(self.case.name, "called lifecycle")

    monkeypatch.setattr(server_check, "Player", Shows)
    found = check(job(), chosen(["well-behaved"]))
    kinds = {each.rule: (each.verdict.value, each.kind) for each in found.findings}
    assert kinds["scope-type"] == ("fail", "scope-type")
    assert kinds["startup-sent"] == ("skip", "no-lifespan")
