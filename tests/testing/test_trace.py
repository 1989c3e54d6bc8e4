"""What is recorded of a lifespan, and how it is drawn."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from lifespec.testing import clock, trace
from lifespec.testing.trace import Entry, sequence

LIFESPAN = {"type": "lifespan"}
STARTUP = {"type": "lifespan.startup"}


class Refused(Exception):
    """Raised by the server of these tests."""


class Mute(Exception):
    """Has no text."""

    def __str__(self) -> str:
        raise ValueError


def served(app: Callable[..., Any], *events: object, pause: float = 0) -> Awaitable[object]:
    """Call `app` as a server that sends `events` and refuses the type "wrong"."""
    inbox = list(events)

    async def receive() -> object:
        await asyncio.sleep(pause)
        return inbox.pop(0)

    async def send(event: Any) -> None:
        if event == {"type": "mute"}:
            raise Mute
        if event == {"type": "wrong"} or not isinstance(event, dict):
            raise Refused("The application sent what is wrong.")
        if event["type"] == "stuck":
            await asyncio.Event().wait()
        event["type"] = "changed"

    return app(dict(LIFESPAN), receive, send)


def entries_of(app: Callable[..., Any], *events: object) -> list[Entry]:
    """Return what is recorded while `app` receives `events`."""

    async def main() -> None:
        await served(recorder, *events)

    recorder = trace.record(app)
    clock.run(main())
    return recorder.conversations[0].entries


@pytest.mark.parametrize(
    ("event", "shown"),
    [({"type": "wrong"}, "wrong"), (None, "None"), ("x" * 99, "'xxxxxxxxxxxx...xxxxxxxxxxxxx'")],
)
def test_a_refused_event_is_recorded_with_the_servers_sentence(event: object, shown: str) -> None:
    async def app(_scope: object, _receive: Any, send: Any) -> None:
        with pytest.raises(Refused):
            await send(event)

    refused = Entry(0.0, "refused", shown, "The application sent what is wrong.")
    assert entries_of(app)[1:] == [refused, Entry(0.0, "returned")]


def test_an_exit_is_recorded_as_any_other_end() -> None:
    async def app(_scope: object, _receive: Any, _send: Any) -> None:
        raise SystemExit(3)

    call = served(recorder := trace.record(app))
    with pytest.raises(SystemExit):
        call.send(None)  # type: ignore[attr-defined]
    assert recorder.conversations[0].entries[1:] == [Entry(0.0, "raised", "SystemExit", "3")]


def test_a_refusal_without_a_text_is_recorded_without() -> None:
    async def app(_scope: object, _receive: Any, send: Any) -> None:
        with pytest.raises(Mute):
            await send({"type": "mute"})

    assert entries_of(app)[1] == Entry(0.0, "refused", "mute")


def test_an_event_without_a_type_is_recorded_as_it_is_written_in_python() -> None:
    async def app(_scope: object, receive: Any, _send: Any) -> None:
        await receive()
        await receive()

    types = [entry.type for entry in entries_of(app, {}, {"type": 1})]
    assert types == ["lifespan", "{}", "{'type': 1}", ""]


@pytest.mark.parametrize("stuck", [STARTUP, {"type": "stuck"}])
def test_an_event_that_nobody_took_was_neither_sent_nor_refused(stuck: dict[str, str]) -> None:
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


def test_a_call_that_raises_at_once_raises_at_once_when_it_is_recorded() -> None:
    def two_callable(_scope: object) -> None: ...

    recorder = trace.record(two_callable)
    with pytest.raises(TypeError, match="positional"):
        served(recorder)
    kinds = [(entry.kind, entry.type) for entry in recorder.conversations[0].entries]
    assert kinds == [("called", "lifespan"), ("raised", "TypeError")]


def test_without_a_loop_times_are_those_of_the_machines_clock() -> None:
    recorder = trace.record(lambda *_: None)
    served(recorder)
    assert 0 <= recorder.conversations[0].entries[-1].time < 60


def test_a_deadlock_names_the_functions_of_the_application_not_of_the_recorder() -> None:
    async def app(_scope: object, receive: Any, _send: Any) -> None:
        await receive()

    async def main() -> None:
        await trace.record(app)(dict(LIFESPAN), asyncio.Event().wait, None)

    with pytest.raises(clock.Deadlock, match=r"recorder\.main → \S+recorder\.app → Event\.wait"):
        clock.run(main())
    assert repr(trace.record(app)) == repr(app)


def test_a_conversation_is_drawn_with_times_where_time_passed() -> None:
    entries = [
        Entry(0.0, "called", "lifespan"),
        Entry(0.0, "received", "lifespan.startup"),
        Entry(0.5, "sent", "lifespan.startup.failed", "no database"),
        Entry(0.5, "refused", "lifespan." + "x" * 60, "\n".join("abcdefg")),
        Entry(1.0, "raised", "OSError", "no"),
    ]
    dashes = "-" * 43
    assert sequence(entries).splitlines() == [
        "         server                                               application",
        f"  0.000 s  |-- lifespan {dashes}>|",
        "  0.000 s  |-- lifespan.startup ----------------------------------->|",
        "  0.500 s  |<---------------------------- lifespan.startup.failed --|",
        "           |  no database",
        "  0.500 s  |X--- lifespan.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx... --|",
        "           |  ...",
        "           |  d",
        "           |  e",
        "           |  f",
        "           |  g",
        "  1.000 s  |                                         raised OSError X",
        "           |  no",
    ]
    ends = [Entry(0.0, "returned"), Entry(0.0, "cancelled")]
    assert sequence(ends, "suite", "app").splitlines() == [
        "         suite                                                        app",
        "           |                                               returned X",
        "           |-- cancelled ------------------------------------------>X",
    ]
