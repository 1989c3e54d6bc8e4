"""What is recorded of a lifespan."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from lifespec.testing import clock, trace
from lifespec.testing.trace import Entry

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

__all__: list[str] = []

LIFESPAN = {"type": "lifespan"}
STARTUP, SHUTDOWN = {"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}
UP, DOWN = {"type": "lifespan.startup.complete"}, {"type": "lifespan.shutdown.complete"}


class Refused(Exception):
    """What the server of these tests raises."""


def served(app: Callable[..., Any], *events: object, pause: float = 0) -> Awaitable[object]:
    """Call `app` as a server that offers `events` and refuses the type "wrong"."""
    inbox = list(events)

    async def receive() -> object:
        await asyncio.sleep(pause)
        return inbox.pop(0)

    async def send(event: Any) -> None:
        if event == {"type": "wrong"} or not isinstance(event, dict):
            raise Refused("The application sent what is wrong.")
        if event["type"] == "stuck":
            await asyncio.Event().wait()
        event["type"] = "changed"

    return app(dict(LIFESPAN), receive, send)


def entries_of(app: Callable[..., Any], *events: object, pause: float = 0) -> list[Entry]:
    """Return what is recorded while `app` hears `events`, `pause` seconds before each."""

    async def main() -> None:
        await served(recorder, *events, pause=pause)

    recorder = trace.record(app)
    clock.run(main())
    return recorder.conversations[0].entries


async def good(_scope: object, receive: Any, send: Any) -> str:
    """Complete both halves."""
    await receive()
    await send(dict(UP))
    await receive()
    await send(dict(DOWN))
    return "value"


@pytest.mark.parametrize(
    ("event", "detail"),
    [({"message": "no database"}, "no database"), ({}, ""), ({"message": 42}, "42")],
)
def test_failed(event: dict[str, object], detail: str) -> None:
    """The message of a failure is its detail; what is no text, as it is written in Python."""

    async def app(_scope: object, _receive: Any, send: Any) -> None:
        await send({"type": "lifespan.startup.failed", **event})

    assert entries_of(app)[1] == Entry(0.0, "sent", "lifespan.startup.failed", detail)


@pytest.mark.parametrize(
    ("event", "shown"),
    [
        ({"type": "wrong"}, "wrong"),
        (42, "42"),
        (None, "None"),
        ("x" * 99, "'xxxxxxxxxxxx...xxxxxxxxxxxxx'"),
    ],
)
def test_refused(event: object, shown: str) -> None:
    """An event that the server refuses is recorded with the server's sentence."""

    async def app(_scope: object, _receive: Any, send: Any) -> None:
        with pytest.raises(Refused):
            await send(event)

    refused = Entry(0.0, "refused", shown, "The application sent what is wrong.")
    assert entries_of(app)[1:] == [refused, Entry(0.0, "returned")]


def test_event_without_type() -> None:
    """A mapping without a type is recorded as it is written in Python."""

    async def app(_scope: object, receive: Any, _send: Any) -> None:
        await receive()
        await receive()

    types = [entry.type for entry in entries_of(app, {}, {"type": 1})]
    assert types == ["lifespan", "{}", "{'type': 1}", ""]


@pytest.mark.parametrize("stuck", [STARTUP, {"type": "stuck"}])
def test_cancelled(stuck: dict[str, str]) -> None:
    """A cancellation is recorded; what the server never took was neither sent nor refused."""

    async def app(_scope: object, receive: Any, send: Any) -> None:
        await send(stuck)
        await receive()

    recorder = trace.record(app)

    async def main() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5):
                await served(recorder, pause=9)

    clock.run(main())
    kinds = [entry.kind for entry in recorder.conversations[0].entries]
    assert kinds == ["called"] + ["sent"] * (stuck is STARTUP) + ["cancelled"]
    assert recorder.conversations[0].entries[-1].time == 5.0


def test_refusal_at_the_door() -> None:
    """A call that raises at once raises at once when it is recorded."""

    def two_callable(_scope: object) -> None: ...

    recorder = trace.record(two_callable)
    with pytest.raises(TypeError, match="positional"):
        served(recorder)
    kinds = [(entry.kind, entry.type) for entry in recorder.conversations[0].entries]
    assert kinds == [("called", "lifespan"), ("raised", "TypeError")]


def test_foreign_awaitable() -> None:
    """Any awaitable will do."""

    class Call:
        def __await__(self) -> Any:
            yield from asyncio.sleep(1).__await__()

    assert entries_of(lambda *_: Call())[-1] == Entry(1.0, "returned")


@pytest.mark.parametrize("scope", [{"type": "http"}, {}, None])
def test_other_scopes(scope: object) -> None:
    """Another scope than lifespan's goes through with the very same arguments."""
    seen: list[object] = []
    recorder = trace.record(lambda *arguments: seen.extend(arguments))
    receive, send = object(), object()
    recorder(scope, receive, send)
    assert [id(each) for each in seen] == [id(scope), id(receive), id(send)]
    assert recorder.conversations == []


def test_without_loop() -> None:
    """Where asyncio does not run, times are those of the machine's clock."""
    recorder = trace.record(lambda *_: None)
    served(recorder)
    assert 0 <= recorder.conversations[0].entries[-1].time < 60


def test_deadlock_hides_the_recorder() -> None:
    """The sentence of a deadlock names the application's functions, not the recorder's."""

    async def app(_scope: object, receive: Any, _send: Any) -> None:
        await receive()

    async def main() -> None:
        await trace.record(app)(dict(LIFESPAN), asyncio.Event().wait, None)

    with pytest.raises(clock.Deadlock, match=r"recorder\.main → \S+recorder\.app → Event\.wait"):
        clock.run(main())


def test_collect() -> None:
    """Conversations that begin meanwhile are collected, whoever records them."""
    with trace.collect() as outer:
        served(trace.record(lambda *_: None))
        with trace.collect() as inner:
            served(trace.record(lambda *_: None))
    served(trace.record(lambda *_: None))
    assert len(outer) == 2
    assert inner == outer[1:]
    assert trace._collections == []


def test_a_recorder_is_named_after_the_application() -> None:
    assert repr(trace.record(good)) == repr(good)
