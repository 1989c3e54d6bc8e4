"""A server is checked by its command: what is checked, and what cannot be."""

import re
import shlex
import socket
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from lifespec.conformance.cases import Case
from lifespec.conformance.finding import Unchecked
from lifespec.conformance.log import Log
from lifespec.conformance.processes import until
from lifespec.conformance.report import Report
from lifespec.conformance.server import check as server_check
from lifespec.conformance.server import play, process
from lifespec.conformance.server.check import Target, check, check_server, chosen
from lifespec.conformance.server.play import ServerObservation
from lifespec.diagnosis.fact import Fact, fact
from lifespec.testing.trace import Entry
from serving import free_port
from sights import SERVER, answered, line, saw

WITHOUT = (sys.executable, "-m", "uvicorn", "{app}", "--port", "{port}", "--lifespan", "off")


def target(*command: str, **options: Any) -> Target:
    return Target(command or SERVER, **options)


def shell(text: str) -> Target:
    """Return a target whose command is a line of a shell, which starts at once."""
    return target("sh", "-c", text, "{app}", "{port}")


@dataclass(frozen=True)
class Shows(Target):
    """A server of which the same is observed in each case."""

    sequence: str = "called"

    def play(self, case: Case, _: object) -> ServerObservation:
        return saw(case.name, self.sequence)


def shown(sequence: str, case: str = "well-behaved") -> dict[str, tuple[str, str]]:
    """Check a server that shows a sequence; return verdict and what was seen, by rule."""
    found = check(Shows(SERVER, sequence=sequence), chosen([case]))
    return {each.rule: (each.verdict.value, each.kind) for each in found.findings}


def test_check_server_takes_a_command_as_in_a_shell() -> None:
    report = check_server(
        shlex.join(SERVER), only=["sends-no-type"], ignore=["refusal-survived"], strict=True
    )
    assert report.ok
    assert report.strict
    assert [each.rule for each in report.findings] == ["send-refuses-unknown"]
    first = f"{report.subject} keeps lifespan 2.0 (ASGI) rules "  # in lines of 80 columns
    assert "".join(str(report).split()).startswith("".join(first.split()))


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"command": "uvicorn {app}"}, "no-place-port"),
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
def test_refused_arguments(options: dict[str, Any], kind: str) -> None:
    with pytest.raises(Unchecked) as unchecked:
        check_server(**{"command": SERVER} | options)
    assert unchecked.value.fact.kind == kind
    assert str(unchecked.value)


def test_slow_cases_are_named_as_left_out_if_all_others_are_played() -> None:
    shows, workers = Shows(SERVER), Shows((*SERVER, "{workers}"), limit="--drain 1")
    limit = ("limit-case", "limit-expires")
    assert left_out(check(shows, chosen())) == [("slow-cases", 2), ("worker-cases", 7), limit]
    assert left_out(check(workers, chosen())) == [("slow-cases", 2)]
    assert left_out(check(workers, chosen(slow=True))) == []
    assert left_out(check(shows, chosen(["state"]))) == []
    found = check(replace(shows, spec="asgi 1.0"), chosen(["state", "well-behaved"]))
    assert {each.case for each in found.findings} == {"well-behaved"}  # it has no state


def left_out(report: Report) -> list[tuple[str, object]]:
    """Return what a report says was left out."""
    return [(row.fact.kind, *row.fact.parts.values()) for row in report.rows]


@pytest.mark.parametrize(
    ("command", "workers", "case", "wanted"),
    [
        (("x", "-w={workers}"), "", "two-workers", ["x", "-w={workers}"]),
        (("x",), "--workers 2", "two-workers", ["x", "--workers", "2"]),
        (("x",), "--workers 2", "state", ["x"]),
        (("x",), "", "limit-expires", ["x", "-g", "1"]),
    ],
)
def test_two_workers_are_given_to_the_command(
    command: tuple[str, ...],
    workers: str,
    case: str,
    wanted: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def start(command: Sequence[str], *_: object) -> None:
        raise Unchecked(fact("text", text=" ".join(command)))

    monkeypatch.setattr(server_check, "ServerProcess", start)
    with pytest.raises(Unchecked, match=f"^{re.escape(' '.join(wanted))}$"):
        target(*command, workers=workers, limit="-g 1").play(*chosen([case]), threading.Event())


@pytest.mark.parametrize(
    ("name", "drawn", "answered"), [("well-behaved", 2, 3), ("port-in-use", 3, 0)]
)
def test_a_case_whose_port_another_program_took_is_played_with_another_port(
    name: str, drawn: int, answered: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        ports = [taken, free_port()] if name == "well-behaved" else [taken] * drawn
        monkeypatch.setattr(process, "unused_port", lambda: ports.pop(0))
        seen = target().play(*chosen([name]), threading.Event())
    assert ports == []
    assert len([each for each in seen.answers if each.body]) == answered


@pytest.mark.parametrize("name", ["well-behaved", "hangs-at-shutdown"])
def test_without_a_lifespan_nothing_is_checked(name: str) -> None:
    found = check(target(*WITHOUT, timeout=2.0), chosen([name, "state"]))
    assert {(each.verdict.value, each.kind) for each in found.findings} == {("skip", "no-lifespan")}
    assert (found.status, found.unchecked) == (2, found.obstacle)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "echo bad option; exit 2",
            "NAME ended with status 2 before it served anything; its last words: bad option",
        ),
        ("sleep 60", "NAME did not call the application within 2 s"),
        (
            "sleep 60 & exit 0",
            "NAME ended and left other processes behind: start it in the foreground",
        ),
    ],
)
def test_a_server_that_does_not_call_the_application_cannot_be_checked(
    text: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(play, "START_LIMIT", 2.0)
    monkeypatch.setattr(server_check, "START_LIMIT", 2.0)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(Unchecked) as unchecked:
        check(shell(text), chosen(["state"]))
    assert str(unchecked.value) == sentence.replace("NAME", shell(text).subject)
    assert [*tmp_path.iterdir()] == []


def test_a_case_that_cannot_be_played_does_not_end_the_check() -> None:
    class Fails(Shows):
        def play(self, case: Case, _: object) -> ServerObservation:
            if case.name == "interrupted":
                raise Unchecked(fact("no-port-free"))
            return saw(case.name, "called")

    found = check(Fails(SERVER), chosen(["interrupted", "well-behaved"]))
    assert {each.kind for each in found.findings if each.case == "interrupted"} == {"no-port-free"}
    assert "The case interrupted could not be played: no port of 127.0.0.1 is free" in str(found)


class Disturbed(Shows):
    """A server that is disturbed by other cases, and not if a case runs alone."""

    def play(self, case: Case, _: object) -> ServerObservation:
        seen = saw(case.name, "called, startup, plays a step=0, plays b step=1, plays c step=2")
        if case.name not in PLAYED:
            PLAYED.add(case.name)
            return replace(seen, **DISTURBED[case.name])
        return replace(seen, answers=answered("/"))


PLAYED: set[str] = set()
DISTURBED: dict[str, dict[str, Any]] = {
    "well-behaved": {"answers": answered("/")},
    "raises-after-startup": {
        "stranger": True,
        "answers": answered("/", loop=1),
    },  # another was called
    "returns-on-the-scope": {},  # its requests went to another one
    "raises-on-the-scope": {"ended": 9.0, "status": 1},  # its port was in use
    "interrupted": {"log": Log()},  # it called nobody
    "completes-twice": {"answers": answered("/")},  # it was served
}


@pytest.mark.parametrize(
    ("played", "otherwise"),
    [
        ([*DISTURBED][1:], ("returns-on-the-scope", "raises-on-the-scope")),
        (["raises-on-the-scope"], ("raises-on-the-scope",)),
        (["returns-on-the-scope"], ()),  # nothing shows that others are to blame
    ],
)
def test_a_case_that_others_may_have_disturbed_is_played_again_alone(
    played: Sequence[str], otherwise: tuple[str, ...]
) -> None:
    PLAYED.clear()
    found = check(Disturbed(SERVER), chosen(played))
    assert [each for each in found.findings if each.verdict == "fail"] == []
    seen = [row.fact.parts["cases"] for row in found.rows]
    assert [set(each) for each in seen] == [set(otherwise)] * bool(otherwise)


def test_a_server_that_listens_elsewhere_cannot_be_checked() -> None:
    class Elsewhere(Shows):
        def play(self, case: Case, _: object) -> ServerObservation:
            alone = case.name == "well-behaved"
            return replace(saw(case.name, "called", answers=answered("/")), stranger=not alone)

    found = check(Elsewhere(SERVER), chosen(["state", "interrupted"]))
    assert (found.status, found.unchecked) == (2, fact("cases-met"))
    assert {each.kind for each in found.findings} == {"cases-met"}


def test_a_server_that_sends_startup_twice_keeps_nothing() -> None:
    twice = "called, startup, complete, startup, plays send step=3"
    command = (*SERVER, "--workers", "{workers}")
    found = check(Shows(command, sequence=twice), chosen(["two-workers", "interrupted"]))
    text = " ".join(str(found).split())
    assert found.status == 2
    assert " could not be judged: it sends lifespan.startup twice seen " in text
    assert "seen lifespan.startup came twice in 3 of 3 cases." in text
    assert "The events were: lifespan.startup, lifespan.startup." in text


STARTED = "called, startup, sent lifespan.startup.complete, plays send step=3"


def test_without_requests_only_what_the_call_shows_counts() -> None:
    found = shown(STARTED)
    kept = {rule for rule, (how, _) in found.items() if how == "pass"}
    assert {"startup-sent", "scope-type", "once-per-loop"} >= kept >= {"startup-sent"}
    found = shown(STARTED, "slow-shutdown")
    assert {kind for _, kind in found.values()} == {"idle"}


def test_a_server_that_misleads_is_judged_by_the_call_and_the_order_of_events_alone() -> None:
    found = shown("called, shutdown, plays send step=3")
    assert {rule: how for rule, how in found.items() if how != ("skip", "misled")} == {
        "scope-type": ("pass", "lifespan-scopes"),
        "scope-versions": ("fail", "versions"),
        "scope-state": ("skip", "no-state"),
        "state-starts-empty": ("skip", "no-state"),
        "once-per-loop": ("pass", "calls"),
        "startup-sent": ("fail", "events"),
    }


def test_another_type_of_scope_is_named_though_no_lifespan_took_place() -> None:
    found = shown("lifecycle")
    assert found["scope-type"] == ("fail", "scope-type")
    assert found["startup-sent"] == ("skip", "no-lifespan")


def test_an_interruption_ends_every_case() -> None:
    were_cancelled: list[bool] = []

    class Lasts(Target):
        def play(self, case: Case, cancelled: Any) -> ServerObservation:
            if case.name != "well-behaved":
                were_cancelled.append(cancelled.wait(30.0))
            return super().play(case, cancelled)

    def on_wait(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check(Lasts(SERVER), chosen(["interrupted", "hangs-at-startup"]), on_wait=on_wait)
    assert were_cancelled == [True, True]


def test_who_waits_hears_of_a_case_that_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_check, "TELL_EVERY", 0.1)
    waits: list[tuple[str, float]] = []

    class Lasts(Shows):
        def play(self, case: Case, cancelled: object) -> ServerObservation:
            until(lambda: waits or case.name == "well-behaved", 30.0)
            return super().play(case, cancelled)

    check(Lasts(SERVER), chosen(["interrupted"]), on_wait=lambda *wait: waits.append(wait))
    assert waits[0][0] == "interrupted"
    assert waits[0][1] >= 0.1


def test_a_message_sequence_is_of_the_first_lifespan_with_all_requests() -> None:
    seen = saw(
        "well-behaved",
        "imported call=0, called, plays receive",
        line("refused x.y", error="ValueError", text="no"),
        "sent a.b text=why, request path=/look, returned http",
        line("raised lifespan", error="Failure", text="burst"),
        "called pid=2",
    )
    assert [*seen.entries] == [
        Entry(0.0, "called", "lifespan", ""),
        Entry(2.0, "refused", "x.y", "ValueError: no"),
        Entry(3.0, "sent", "a.b", "why"),
        Entry(4.0, "called", "http /look", ""),
        Entry(6.0, "raised", "Failure", "burst"),
    ]
    assert [*saw("well-behaved", "request").entries] == []


def test_requests_until_one_is_answered_are_one_line() -> None:
    polls = ", ".join(["request"] * 40)
    called, requests, startup = saw("well-behaved", f"called, {polls}, startup").entries
    assert (requests.type, requests.detail) == ("http /", fact("repeated", count=40))
    assert (called.time, requests.time, startup.time) == (0.0, 1.0, 41.0)
    two = saw("well-behaved", "called, request, request path=/look").entries
    assert [each.type for each in two] == ["lifespan", "http /", "http /look"]


def test_what_does_not_apply_to_a_target_is_skipped_with_its_reason() -> None:
    class Limited(Shows):
        def not_applicable(self, name: str) -> Fact | None:
            return fact("idle") if name in ("interrupted", "startup-sent") else None

    found = check(Limited(SERVER), chosen(["interrupted", "well-behaved"]))
    idle = {(each.case, each.rule, each.verdict) for each in found.findings if each.kind == "idle"}
    assert idle == {
        ("interrupted", "shutdown-sent", "skip"),
        ("well-behaved", "startup-sent", "skip"),
    }
