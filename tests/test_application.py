"""The application's half: a context manager that speaks lifespan."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from lifespec.application import with_lifespan
from lifespec.server import Lifespan, ShutdownFailed, StartupFailed


async def respond(scope: Any, receive: Any, send: Any) -> None:
    """Raise on every scope, as an application does that knows none."""
    raise ValueError(scope["type"])


def steps(log: list[str], state: Any = None) -> Any:
    """Make a context that notes its start and stop, and yields state."""

    @contextlib.asynccontextmanager
    async def context(_: object) -> AsyncIterator[Mapping[str, Any] | None]:
        log.append("started")
        yield state
        log.append("stopped")

    return context


@pytest.mark.parametrize("events", [["lifespan.pause"], ["lifespan.startup", "lifespan.pause"]])
async def test_unexpected_event(events: list[str]) -> None:
    """An event that is not the one to come next raises, and is not answered."""
    log: list[str] = []
    coming, sent = iter(events), []

    async def receive() -> Any:
        return {"type": next(coming)}

    async def send(event: Any) -> None:
        sent.append(event["type"])

    app = with_lifespan(respond, steps(log))
    with pytest.raises(RuntimeError, match=r"expected the event 'lifespan\.\w+', got .*pause"):
        await app({"type": "lifespan", "state": {}}, receive, send)
    assert sent == ["lifespan.startup.complete"][: len(events) - 1]
    assert log == ["started"][: len(events) - 1]


async def test_no_state_not_offered() -> None:
    """A context without state needs no offer of it."""
    nothing: list[Any] = [None, {}]
    for state in nothing:
        async with Lifespan(
            with_lifespan(respond, steps([], state)), scope={"type": "lifespan"}
        ) as lifespan:
            assert lifespan.supported


@pytest.mark.parametrize(("state", "outcome"), [("wrong", "failed"), (None, "crashed")])
async def test_exception_swallowed(state: Any, outcome: str) -> None:
    """A context that swallows what was raised in it has not completed anything."""

    @contextlib.asynccontextmanager
    async def context(_: object) -> AsyncIterator[Any]:
        with contextlib.suppress(TypeError, OSError):
            yield state

    async def broken(receive: Any) -> Any:
        event = await receive()
        if event["type"] == "lifespan.shutdown":
            raise OSError("the line is cut")
        return event

    app = with_lifespan(respond, context)
    lifespan = Lifespan(lambda scope, receive, send: app(scope, lambda: broken(receive), send))
    with contextlib.suppress(StartupFailed):
        async with lifespan:
            pass
    assert lifespan.outcome == outcome
    assert outcome == "crashed" or lifespan._message == "the context ended before shutdown"


async def gives_up() -> None:
    """Await a task that somebody cancels: nobody cancels the one that awaits it."""
    task = asyncio.ensure_future(asyncio.sleep(9))
    task.cancel()
    await task


@pytest.mark.parametrize("at", ["startup", "shutdown"])
async def test_cancelled_error_of_its_own(at: str) -> None:
    """A CancelledError of what the context awaits is a failure; servers would serve without it."""

    @contextlib.asynccontextmanager
    async def context(_: object) -> AsyncIterator[None]:
        if at == "startup":
            await gives_up()
        yield
        await gives_up()

    lifespan = Lifespan(with_lifespan(respond, context))
    with pytest.raises(StartupFailed if at == "startup" else ShutdownFailed) as caught:
        async with lifespan:
            pass
    assert caught.value.message == "CancelledError()"
    assert lifespan.outcome == "failed"


async def by_hand(app: Any, sent: list[Any]) -> None:
    """Call an application with a receive that always answers startup."""

    async def receive() -> Any:
        return {"type": "lifespan.startup"}

    async def send(event: Any) -> None:
        sent.append(event)

    await app({"type": "lifespan"}, receive, send)


@pytest.mark.parametrize("grouped", [False, True])
async def test_cancellation_of_its_own_task(*, grouped: bool) -> None:
    """What the server's cancellation raises is never answered, also not in a group."""

    @contextlib.asynccontextmanager
    async def context(_: object) -> AsyncIterator[None]:
        try:
            await asyncio.sleep(9)
        except asyncio.CancelledError as error:
            if grouped:
                raise BaseExceptionGroup("both", [error]) from None
            raise
        yield

    sent: list[Any] = []
    task = asyncio.ensure_future(by_hand(with_lifespan(respond, context), sent))
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(BaseExceptionGroup if grouped else asyncio.CancelledError):
        await task
    assert sent == []


async def test_other_scopes() -> None:
    """Every other scope goes to the application untouched, and what it returns comes back."""
    seen = []

    async def app(*call: Any) -> str:
        seen.append(call)
        return "returned"

    scope, receive, send = {"type": "http"}, object(), object()
    both = with_lifespan(app, steps([]))
    assert await both(scope, receive, send) == "returned"  # type: ignore[arg-type]
    assert seen[0][0] is scope
    assert seen == [(scope, receive, send)]
