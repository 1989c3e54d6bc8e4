"""A Starlette application with a lifespan and state runs under our `Lifespan`."""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from lifespec import Lifespan, ShutdownFailed, StartupFailed
from lifespec.testing import clock

__all__: list[str] = []

Context = Callable[[Starlette], contextlib.AbstractAsyncContextManager[dict[str, Any]]]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


async def greet(request: Request) -> PlainTextResponse:
    """Answer with what the lifespan put into the state, and note the visit there."""
    request.state.visits.append(request.url.path)
    request.state.greeting += "!"  # the namespace is this request's own
    return PlainTextResponse(request.state.greeting)


def starlette(lifespan: Context) -> Starlette:
    """Make an application of one route."""
    return Starlette(routes=[Route("/{path}", greet)], lifespan=lifespan)


async def get(app: Starlette, lifespan: Lifespan, path: str) -> str:
    """Send the application one request, as a server does: with its copy of the state."""

    async def serving(scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        await app(lifespan.with_state(scope), receive, send)

    transport = httpx.ASGITransport(app=serving)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        return (await client.get(path)).text


def test_requests_see_the_state_of_the_lifespan() -> None:
    """What the context manager yields reaches each request; the values are shared, the keys not."""
    visits: list[str] = []
    events: list[str] = []

    @contextlib.asynccontextmanager
    async def context(_: Starlette) -> AsyncIterator[dict[str, Any]]:
        events.append("started")
        yield {"greeting": "hello", "visits": visits}
        events.append("stopped")

    async def main() -> str | None:
        app = starlette(context)
        async with Lifespan(app) as lifespan:
            assert lifespan.supported
            assert await get(app, lifespan, "/one") == "hello!"
            assert await get(app, lifespan, "/two") == "hello!"
            assert lifespan.state == {"greeting": "hello", "visits": ["/one", "/two"]}
            assert events == ["started"]
        return lifespan.outcome

    assert clock.run(main()) == "complete"
    assert visits == ["/one", "/two"]
    assert events == ["started", "stopped"]


def test_a_start_that_fails_is_never_served() -> None:
    """Starlette sends its traceback as the message: `StartupFailed` carries it exactly."""

    @contextlib.asynccontextmanager
    async def context(_: Starlette) -> AsyncIterator[dict[str, Any]]:
        raise ConnectionError("no database")
        yield {}

    async def main() -> None:
        async with Lifespan(starlette(context)):
            pytest.fail("it was served")

    with pytest.raises(StartupFailed) as caught:
        clock.run(main())
    assert caught.value.message.startswith("Traceback")
    assert caught.value.message.rstrip().endswith("ConnectionError: no database")


def test_a_stop_that_fails_is_told() -> None:
    """What fails after the yield becomes `ShutdownFailed`."""

    @contextlib.asynccontextmanager
    async def context(_: Starlette) -> AsyncIterator[dict[str, Any]]:
        yield {}
        raise ConnectionError("the pool is still in use")

    async def main() -> None:
        async with Lifespan(starlette(context)):
            pass

    with pytest.raises(ShutdownFailed) as caught:
        clock.run(main())
    assert caught.value.message.rstrip().endswith("ConnectionError: the pool is still in use")


def test_an_application_without_a_lifespan_starts_and_stops() -> None:
    """Starlette answers startup and shutdown also where it was given nothing to do."""

    async def main() -> str | None:
        async with Lifespan(Starlette()) as lifespan:
            assert lifespan.supported
            assert lifespan.state == {}
        return lifespan.outcome

    assert clock.run(main()) == "complete"
