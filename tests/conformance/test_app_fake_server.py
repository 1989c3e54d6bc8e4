"""The suite's server: what it takes, what it refuses, and what it writes down."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from lifespec import limits, validate
from lifespec.conformance.app.fake_server import AppObservation, Call, SendRefused
from lifespec.testing import clock

__all__: list[str] = []

Application = Callable[[Any, Any, Any], Awaitable[Any]]
STARTUP, SHUTDOWN = {"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}
STARTED, STOPPED = {"type": "lifespan.startup.complete"}, {"type": "lifespan.shutdown.complete"}


def served(app: Application, *events: dict[str, Any], cancel: bool = False) -> AppObservation:
    """Call an application and let it receive events, one a second; return what was seen."""

    async def main() -> AppObservation:
        call = Call(app)
        call.begin(validate.lifespan_scope("asgi 2.0"))
        for event in events:
            call.put(event)
            await asyncio.sleep(1)
        if cancel:
            call.cancel()
        await call.until(lambda: bool(call.seen.ended), 10)
        call.seen.doing = call.doing()
        call.cancel()
        return call.seen

    return clock.run(main())


def sending(*messages: Any, swallow: bool = True) -> Application:
    """Make an application that receives startup, sends these, and tells what was refused."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        for message in messages:
            try:
                await send(message)
            except SendRefused:
                if not swallow:
                    raise

    return app


async def live(scope: Any, receive: Any, send: Any) -> None:
    """Be an application that does all as it should."""
    await receive()
    await send(STARTED)
    await receive()
    await send(STOPPED)


@pytest.mark.parametrize(
    ("messages", "startup", "refused"),
    [
        ([{"type": "lifespan.startup.failed", "message": "no"}], "failed", 0),
        ([{"type": "lifespan.startup.failed"}], "failed", 0),
        ([{"type": "lifespan.startup.failed", "message": 42}], "failed", 1),
        ([STARTED, STARTED], "complete", 1),
        ([STOPPED, STARTED], "complete", 1),
        ([{"type": "lifespan.ready"}, STARTED], "complete", 1),
        ([{"type": ["unhashable"]}, {}, None, STARTUP, STARTED], "complete", 4),
    ],
)
def test_what_is_refused(messages: list[Any], startup: str, refused: int) -> None:
    """What is no event, or leads nowhere, is refused, and spoils nothing; a failure is taken."""
    seen = served(sending(*messages), STARTUP)
    assert (seen.startup, len(seen.refused)) == (startup, refused)
    assert len(seen.sent) == len(messages)
    assert all(sentence.endswith(".") for sentence in seen.refused)
    if messages[0].get("message") == 42:
        assert (seen.message, seen.refused) == (42, ["`message` is no string but 42."])


def test_an_answer_after_the_deadline_is_late() -> None:
    """A loop that was blocked notices the deadline and the answer, or the end, together."""

    async def main(app: Application, event: dict[str, Any]) -> AppObservation:
        call = Call(app)
        call.begin(validate.lifespan_scope("asgi 2.0"))
        call.put(event)
        assert not await call.until(lambda: bool(call.seen.startup or call.seen.ended), 0.01)
        return call.seen

    async def answers(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        time.sleep(0.05)  # noqa: ASYNC251  that is the fault
        await send(STARTED)

    async def ends(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        time.sleep(0.05)  # noqa: ASYNC251  the same

    for app in (answers, ends):
        seen = asyncio.run(main(app, STARTUP))
        assert (seen.startup, seen.sent) == ("", [])


@pytest.mark.parametrize(
    ("error", "how"),
    [
        (ValueError("http only"), "raised"),
        (BaseException("odd"), "raised"),
        (SystemExit(3), "exited"),
        (KeyboardInterrupt(), "exited"),
        (asyncio.CancelledError(), "raised"),
    ],
)
def test_what_an_application_raises(error: BaseException, how: str) -> None:
    """Nothing that it raises goes further; an exit is told from other exceptions."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        raise error

    seen = served(app, STARTUP)
    assert (seen.startup, seen.ended, seen.error) == (how, how, error)
    assert seen.shutdown == ""
    assert not seen.received


def test_the_limit_of_a_blocking_call_goes_on() -> None:
    """The bell that ends a program that blocks is not the application's own doing."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        raise limits.LimitPassed

    with pytest.raises(limits.LimitPassed):
        served(app)


def test_sends_after_the_end() -> None:
    """A task that outlives the call sends in vain."""
    later: list[asyncio.Task[None]] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        async def late() -> None:
            await asyncio.sleep(0.5)
            await send(STARTED)

        later.append(asyncio.ensure_future(late()))

    seen = served(app, STARTUP, SHUTDOWN)
    assert later[0].done()
    assert (seen.startup, seen.sent) == ("returned", [])


def test_the_first_end_counts() -> None:
    """A call that was found to have ended does not end again."""

    async def main() -> AppObservation:
        call = Call(live)
        call.begin(validate.lifespan_scope("asgi 2.0"))
        await asyncio.sleep(1)
        call.gone("exited", SystemExit(3))
        call.cancel()
        await asyncio.sleep(1)
        return call.seen

    seen = clock.run(main())
    assert (seen.ended, str(seen.error)) == ("exited", "3")


def test_two_who_wait() -> None:
    """Whoever waits hears of each move; one who has given up is passed over."""

    async def main() -> None:
        call = Call(live)
        call.begin(validate.lifespan_scope("asgi 2.0"))
        gave_up = asyncio.ensure_future(call.until(lambda: False, 100))
        await asyncio.sleep(1)
        gave_up.cancel()
        call.put(STARTUP)
        assert await call.until(lambda: call.seen.startup == "complete", 1)
        assert not await call.until(lambda: False, 1)
        call.cancel()

    clock.run(main())


def test_who_acted_is_the_innermost_application() -> None:
    """That is the last that has scope, receive and send; it called one of them, or raised."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        async def helper() -> None:
            await receive()
            raise ValueError

        await helper()

    assert served(app, STARTUP).actor == __name__
    assert served(lambda _, receive, __: receive(), STARTUP).actor == ""
