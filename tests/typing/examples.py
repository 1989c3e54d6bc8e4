"""What type checkers say of an author's code: read by them, never run.

A line that must be an error has an ignore for each checker, and an idle ignore is an error itself.
"""
# pyright: strict, reportUnnecessaryTypeIgnoreComment=error

from collections.abc import AsyncGenerator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from typing import Any, Literal, TypedDict, assert_type

from lifespec import Lifespan, combine_lifespans, with_lifespan
from lifespec.messages import (
    AMGILifespanScope,
    Application,
    ASGILifespanScope,
    LifespanScope,
    LifespanShutdownEvent,
    LifespanStartupEvent,
    Receive,
    RequestScope,
    Send,
)


class AppState(TypedDict):
    pool: list[str]


class HTTPScope(RequestScope[AppState]):
    type: Literal["http"]


class Framework:
    """An application as frameworks write them."""

    async def __call__(
        self,
        scope: MutableMapping[str, Any],
        receive: Callable[[], Awaitable[MutableMapping[str, Any]]],
        send: Callable[[MutableMapping[str, Any]], Awaitable[None]],
    ) -> None: ...


async def by_hand(scope: LifespanScope[AppState], receive: Receive, send: Send) -> None:
    event = await receive()
    if event["type"] == "lifespan.shutdown":
        assert_type(event, LifespanShutdownEvent)
    else:
        assert_type(event, LifespanStartupEvent)
    _ = event["message"]  # type: ignore[typeddict-item]  # pyright: ignore[reportGeneralTypeIssues, reportUnknownVariableType]
    await send({"type": "lifespan.startup.failed"})
    await send({"type": "lifespan.startup.failed", "message": "no database"})
    await send({"type": "lifespan.startup"})  # type: ignore[misc, arg-type]  # pyright: ignore[reportArgumentType]
    await send({"type": "lifespan.shutdown.failed", "message": 1})  # type: ignore[misc, arg-type]  # pyright: ignore[reportArgumentType]
    if "asgi" in scope:
        assert_type(scope, ASGILifespanScope[AppState])
    elif "amgi" in scope:
        assert_type(scope, AMGILifespanScope[AppState])
    if "state" in scope:
        scope["state"]["pool"] = []
        scope["state"]["pol"] = []  # type: ignore[typeddict-unknown-key]  # pyright: ignore[reportGeneralTypeIssues]


async def both(scope: ASGILifespanScope[AppState] | HTTPScope, receive: Any, send: Any) -> None:
    if scope["type"] == "lifespan":
        assert_type(scope, ASGILifespanScope[AppState])
    elif "state" in scope:
        assert_type(scope["state"], AppState)


@asynccontextmanager
async def typed_context(_: object) -> AsyncGenerator[AppState, None]:
    yield {"pool": []}


@asynccontextmanager
async def list_context(_: object) -> AsyncGenerator[list[str], None]:
    yield []


async def serve() -> None:
    async with Lifespan(Framework(), startup_timeout=1.0) as lifespan:
        assert_type(lifespan, Lifespan)
        assert_type(lifespan.with_state({"type": "http"}), dict[str, Any])
        lifespan.state["anything"] = 1


application: Application[AppState] = by_hand
asgi: Application = with_lifespan(both, typed_context)
Lifespan(combine_lifespans(application, both, Framework(), asgi))
Lifespan("app")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
with_lifespan(both, list_context)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
