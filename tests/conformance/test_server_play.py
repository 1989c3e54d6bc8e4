"""A case is played with a server's process: steps, waits, their limits, and the end."""

import shlex
import sys
import threading
import time
from collections.abc import Sequence

import pytest

from lifespec.conformance import cases
from lifespec.conformance.cases import Case, steps
from lifespec.conformance.server import play as playing
from lifespec.conformance.server.play import Player, ServerObservation
from lifespec.conformance.server.process import ServerProcess
from sights import SERVER

LIMIT = 100.0  # seconds, which only a hang reaches
EXPECT = '[it.expect]\nstartup-sent = "startup first"'
SERVES_NOTHING = [sys.executable, "-c", "import time; time.sleep(60)"]


def case(script: list[str], meanwhile: list[str]) -> Case:
    """Return a case: what the application does, and what client and operator do meanwhile."""
    head = '[it]\nrole = "server"\nsays = "It is tried."'
    text = f"{head}\nscript = {script!r}\nmeanwhile = {meanwhile!r}\n{EXPECT}"
    return cases.read(text)[0]


def play(
    script: list[str],
    meanwhile: list[str],
    command: Sequence[str] = SERVER,
    limit: float = LIMIT,
) -> ServerObservation:
    """Play a case with a server."""
    played = case(script, meanwhile)
    server = ServerProcess(command, steps(played.script), played.workers)
    return Player(server, ServerObservation(played, timeout=limit), threading.Event()).play()


def kinds(seen: ServerObservation) -> list[str]:
    """Return kind and type of each line that is not of a request."""
    rows = sorted(seen.log, key=lambda line: line.time)
    return [f"{row.kind} {row.type}" for row in rows if row.type != "http"]


def answered(seen: ServerObservation) -> list[str]:
    """Return the paths of the requests that were answered."""
    return [answer.path for answer in seen.answers if answer.body]


def test_a_case_is_played() -> None:
    seen = play(["converse"], ["request /", "request /b", "stop"])
    assert answered(seen) == ["/", "/b"]
    assert kinds(seen)[-1] == "returned lifespan"
    assert seen.stopped
    assert seen.ended
    assert seen.stopped <= seen.last_action <= seen.ended
    assert (seen.status, seen.left_running) == (0, set())
    assert "Serving on" in seen.output


def test_requests_on_one_connection() -> None:
    seen = play(["converse"], ["workers", "request /", "keep /a", "keep /b", "stop"])
    assert answered(seen) == ["/", "/a", "/b"]
    assert seen.unusable is None


def test_after_a_refused_websocket_no_other_is_opened() -> None:
    seen = play(["converse"], ["request /", "websocket /", "websocket /", "stop"])
    assert seen.unusable
    assert (seen.unusable.kind, seen.unusable.parts) == ("websocket-refused", {"status": "200"})
    assert len(seen.answers) == 1


def test_traffic_goes_on_for_a_second() -> None:
    seen = play(
        ["pause", "converse"], ['until "plays pause"', "traffic", "go", "traffic", "interrupt"]
    )
    assert sum(row.type == "http" for row in seen.log) > 1
    assert seen.answers == []
    assert "received lifespan.shutdown" in kinds(seen)


def test_a_request_is_open_until_it_is_released() -> None:
    seen = play(
        ["converse"],
        ["request /", "open /hold", "stop", "wait 0.3", "release", 'until "returned lifespan"'],
    )
    order = [
        f"{row.kind} {row.type}"
        for row in seen.log
        if row.kind in ("holds", "received") or row.path
    ]
    assert order[-2:] == ["holds http", "received lifespan.shutdown"]
    ends = [row for row in seen.log if (row.kind, row.type) == ("returned", "http")]
    assert len(ends) == 2  # that, and the one before


def test_a_knock_is_answered_or_refused() -> None:
    seen = play(["converse"], ["knock", "request /", "knock", "stop", "wait 5", "knock"])
    # the first one may come before the server listens, or after
    assert seen.knocks[1:] == ["answered", "refused"]


def test_the_suite_waits_in_vain_only_once() -> None:
    began = time.monotonic()
    seen = play(["receive", "hang"], ["request /", "request /", "wait 0.1"], limit=1.0)
    assert [answer.body for answer in seen.answers] == [None, None]
    assert time.monotonic() - began < LIMIT
    assert (seen.status, seen.ended) == (None, None)


def test_a_server_has_another_limit_until_it_has_imported_the_application(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(playing, "START_LIMIT", 0.5)
    seen = play(["converse"], ["request /", "stop"], SERVES_NOTHING)
    assert seen.answers[0].body is None
    assert (seen.stopped, seen.status) == (None, None)


def test_an_application_that_never_ends_has_a_limit() -> None:
    seen = play([*["wait 0.1"] * 100], ['until "returned lifespan"', "stop"], limit=0.5)
    assert 0 < sum(row.kind == "plays" for row in seen.log) < 100


def test_a_server_that_restarts_for_ever_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(playing, "RESTARTS", 1)
    program = (
        "import asyncio, lifespec_probe as p; asyncio.run(p.app({'type': 'lifespan'}, None, None))"
    )
    once = shlex.join([sys.executable, "-c", program])
    command = ["sh", "-c", f"while :; do {once}; done"]
    seen = play(['throw "SystemExit"'], ["request /"], command, limit=2 * LIMIT)
    assert seen.answers[0].body is None
    assert len({line.pid for line in seen.log}) >= 3


def test_a_server_that_serves_on_is_not_waited_for_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(playing, "HANGING", 0.5)
    seen = play(["converse"], ["request /"])
    assert (seen.timeout, seen.ended) == (0.5, None)


def test_a_server_that_ignores_its_signal_has_no_status() -> None:
    command = ["sh", "-c", "trap '' TERM; sleep 60"]
    seen = play(["converse"], ["wait 1", "stop"], command, limit=0.5)
    assert seen.stopped
    assert (seen.status, seen.ended) == (None, None)
