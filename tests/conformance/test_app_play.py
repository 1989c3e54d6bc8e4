"""A case is played in this process: what no other test reaches, or only sometimes."""

import asyncio
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.routing import Host, Mount

from lifespec.conformance import cases, check_app
from lifespec.conformance.app import forks, process, routes
from lifespec.conformance.app.output import Output
from lifespec.conformance.app.play import PlayedCall, play
from lifespec.conformance.app.target import Job
from lifespec.diagnosis.leftovers import processes
from scripted import NOT_STARTED, STARTED, STOPPED, says


def played(
    app: Any, case: str = "start-and-stop", spec: str = "asgi 2.0", limit: float = 60.0
) -> PlayedCall:
    """Play a case, and end what is left in the loop."""
    found = next(each for each in cases.load() if each.name == case)
    call = play(app, found, spec, limit)
    call.loop.sweep()
    return call


@pytest.mark.parametrize("answer", [[STARTED], []])
def test_what_comes_after_the_deadline_does_not_count(answer: list[Any]) -> None:
    app = says("receive", lambda _: time.sleep(0.2), *answer)
    seen = played(app, limit=0.1).seen
    assert (seen.startup.how, seen.sent) == ("hung", [])
    assert seen.activity == ("late" if answer else "running")


def test_where_a_long_startup_spent_its_time_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lifespec.conformance.app.play.LONG_ANSWER", 0.1)
    blocks = lambda _: time.sleep(0.5)  # noqa: E731
    seen = played(says("receive", blocks, STARTED, "receive", STOPPED), limit=60.0).seen
    assert seen.spent["startup"].kind == "yes-in-blocked"


def test_a_new_object_for_the_state_is_told() -> None:
    replaces = lambda scope: scope.update(state={})  # noqa: E731
    seen = played(says("receive", replaces, STARTED, "receive", STOPPED)).seen
    assert "state-rebound" in [fact.kind for fact in seen.facts]


def test_a_route_without_a_path_leads_nowhere_of_its_own() -> None:
    app = Starlette(routes=[Host("shop.example", Starlette()), Mount("/admin", Starlette())])
    assert routes.paths(app) == ("/admin",)


async def waits(scope: Any, receive: Any, send: Any) -> None:
    await asyncio.sleep(60)


@pytest.mark.parametrize("error", [asyncio.CancelledError(), GeneratorExit(), OSError()])
def test_a_call_ends_with_whatever_it_raises(error: BaseException) -> None:
    seen = played(says("receive", error)).seen
    assert seen.error
    assert (seen.startup.how, seen.error.type) == ("raised", type(error).__name__)


lingers = says("receive", STARTED, "receive", STOPPED, lambda _: asyncio.sleep(60))


@pytest.mark.parametrize(
    ("app", "case", "startup", "activity", "reaction"),
    [
        (waits, "start-and-stop", "hung", "not-received", ""),
        (waits, "two-loops", "hung", "not-received", ""),  # the second loop would hang, too
        (waits, "unknown-scope", "hung", "awaits-sleep", "silent"),
        (lingers, "start-and-stop", "complete", "", ""),
    ],
)
def test_what_an_application_does_when_its_time_is_over_is_kept(
    app: Any, case: str, startup: str, activity: str, reaction: str
) -> None:
    seen = played(app, case, limit=0.1 if activity else 60.0).seen
    assert (seen.startup.how, seen.activity, seen.reaction) == (startup, activity, reaction)
    assert [each.function for each in seen.stack] == ["waits"] * bool(activity)


def test_a_task_of_the_application_may_exit() -> None:
    async def exits() -> None:
        sys.exit(3)

    tasks: list[asyncio.Task[None]] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        tasks.append(asyncio.create_task(exits()))
        await waits(scope, receive, send)

    assert played(app).seen.startup.how == "exited"
    assert isinstance(tasks[0].exception(), SystemExit)  # else it is logged when another test runs


def test_what_is_printed_without_end_is_thrown_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lifespec.conformance.app.output.MOST_WRITTEN_OUT", 3)
    output = Output()
    for text, lines in (("two", ("two",)), ("lines", ())):
        Path(output.name).write_text(text)
        output.limit()
        assert output.last_lines() == lines
    output.close()


def test_an_application_that_is_silent_on_an_unknown_event_has_started() -> None:
    async def ignores(scope: Any, receive: Any, send: Any) -> None:
        await says("receive", STARTED, "receive")(scope, receive, send)
        await waits(scope, receive, send)

    seen = played(ignores, "unknown-event-while-running", limit=1.0).seen
    assert (seen.startup.how, seen.reaction) == ("complete", "silent")
    assert seen.activity == "awaits-sleep"


def test_what_is_sent_once_all_is_seen_does_not_count() -> None:
    sends: list[Any] = []

    async def keeps(scope: Any, receive: Any, send: Any) -> None:
        sends.append(send)
        await says("receive", STARTED, "receive", STOPPED, "receive")(scope, receive, send)

    call = played(keeps)
    before = len(call.seen.log)
    asyncio.run(sends[0](STARTED))
    call.end("returned")
    assert len(call.seen.log) == before


@pytest.mark.parametrize(("spec", "kind"), [("amgi 2.0", "message"), ("asgi 1.0", "http")])
def test_a_request_follows_its_specification(spec: str, kind: str) -> None:
    scopes: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        scopes.append(scope)
        if scope["type"] == "lifespan":
            await says("receive", STARTED, "receive", STOPPED)(scope, receive, send)
            return
        assert [(await receive())["type"] for _ in range(2)] == [
            f"{kind}.request",
            f"{kind}.disconnect",
        ]
        await send({"type": "http.response.body"})
        await receive()
        raise KeyError("pool")

    seen = played(app, "request-while-running", spec).seen
    assert scopes[-1]["type"] == kind
    assert ("state" in scopes[-1]) is (spec == "amgi 2.0")
    assert [entry.detail for entry in seen.entries if entry.type == "KeyError"] == ["'pool'"]


def test_an_event_that_the_specification_lacks_is_open() -> None:
    seen = played(says("receive", NOT_STARTED), spec="asgi 1.0").seen
    assert [(each.rule, each.open) for each in seen.broken] == [("events-known", True)]


@pytest.mark.skipif(not hasattr(signal, "SIGRTMIN"), reason="macOS has names for all signals")
def test_an_application_may_end_by_a_signal_without_a_name() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        os.kill(os.getpid(), signal.SIGRTMIN + 8)

    assert "signal 42" in str(check_app(app, timeout=20.0))


def test_a_parent_that_has_gone_ends_the_cases() -> None:
    job = Job("application", "test_app_play:waits", "asgi 2.0", 60.0)
    before = processes(os.getpid())
    with process.Host(job) as host:
        host.connection.send((["start-and-stop"], 1))
        deadline = time.monotonic() + 20
        while not processes(host.process.pid) and time.monotonic() < deadline:
            time.sleep(0.02)
        children = processes(host.process.pid)
    assert children
    assert processes(os.getpid()) == before


def test_a_process_is_forked_once_a_thread_that_ends_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for thread in "12":
        (tmp_path / thread).touch()
    monkeypatch.setattr(forks, "Path", lambda _: tmp_path)
    monkeypatch.setattr(forks.threading, "active_count", lambda: 1)
    monkeypatch.setattr(time, "sleep", lambda _: (tmp_path / "2").unlink())
    assert not forks.cannot_fork(forks.open_files())
    monkeypatch.setattr(sys, "platform", "darwin")
    assert forks.cannot_fork(forks.open_files())
