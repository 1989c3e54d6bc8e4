"""What type-checkers have to say of a typed state: read by them, never run; see test_typing.py.

`assert_type` holds what must be inferred.  A line that must be an error has an ignore for each
checker, and an ignore that is not needed is an error itself: so both directions are checked.
"""
# pyright: strict, reportUnnecessaryTypeIgnoreComment=error

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, MutableMapping
from contextlib import asynccontextmanager
from typing import Any, Literal, TypedDict, assert_type

from lifespec import (
    Lifespan,
    combine_lifespans,
    double_to_single_callable,
    lifespan_scope,
    with_lifespan,
)
from lifespec.messages import (
    AMGILifespanScope,
    Application,
    ASGILifespanScope,
    LifespanReceiveEvent,
    LifespanScope,
    LifespanSendEvent,
    LifespanShutdownEvent,
    LifespanStartupEvent,
    PAGILifespanScope,
    Receive,
    RequestScope,
    Send,
)
from lifespec.server import StateMachine

__all__: list[str] = []


class Pool:
    """What an application opens."""

    size: int


class AppState(TypedDict):
    """The state of an application."""

    pool: Pool
    cache: dict[str, bytes]


# ---- Lifespan(app), as ever ------------------------------------------------------------------


async def untyped(scope: Any, receive: Any, send: Any) -> None:
    """Be an application without types."""


async def as_ever() -> None:
    """No annotation is asked for, and the state is a dict."""
    lifespan = Lifespan(untyped)
    assert_type(lifespan, Lifespan[dict[str, Any]])
    assert_type(lifespan.state, dict[str, Any] | None)
    async with Lifespan(untyped, startup_timeout=1.0) as entered:
        assert_type(entered, Lifespan[dict[str, Any]])
        request = entered.with_state({"type": "http", "path": "/"})
        wanted: dict[str, Any] = request
        mutable: MutableMapping[str, Any] = request
        assert_type(request["path"], Any)
        assert_type(request["state"], dict[str, Any])
        request["state"]["anything"] = 1
        await untyped(wanted, mutable, None)
    several: list[Lifespan] = [
        lifespan,
        Lifespan(untyped, scope=lifespan_scope("pagi 0.3", worker=2)),
    ]
    assert_type(several, list[Lifespan[dict[str, Any]]])
    Lifespan("app")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


class Served(Lifespan):
    """A subclass asks for no parameter."""

    def requests(self, scopes: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return a list of what is a dict."""
        return [self.with_state(scope) for scope in scopes]


# ---- Lifespan[AppState](app) -----------------------------------------------------------------


async def typed() -> None:
    """Give a type to the state, and so to that of each request."""
    async with Lifespan[AppState](untyped) as lifespan:
        assert_type(lifespan, Lifespan[AppState])
        assert_type(lifespan.state, AppState | None)
        _ = lifespan.state.keys()  # type: ignore[union-attr]  # pyright: ignore[reportOptionalMemberAccess]
        if lifespan.state is not None:
            assert_type(lifespan.state["pool"], Pool)
            _ = lifespan.state["pol"]  # type: ignore[typeddict-item]  # pyright: ignore[reportGeneralTypeIssues, reportUnknownVariableType]
        request = lifespan.with_state({"type": "http"})
        assert_type(request["state"], AppState)
        assert_type(request["state"]["pool"].size, int)
        assert_type(request["type"], Any)
        _ = request["state"]["pol"]  # type: ignore[typeddict-item]  # pyright: ignore[reportGeneralTypeIssues, reportUnknownVariableType]
        await untyped(request, None, None)


class Serving(Lifespan[AppState]):
    """A subclass can name the state once for all."""


def pool_of(conversation: StateMachine[AppState]) -> Pool | None:
    """Take the core, the driver and a subclass alike."""
    return None if conversation.state is None else conversation.state["pool"]


pool_of(Serving(untyped))
pool_of(Lifespan[AppState](untyped))
pool_of(Lifespan(untyped))  # what is wanted says which state it is
pool_of(Served(untyped))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
no_state: Lifespan[int]  # type: ignore[type-var]  # pyright: ignore[reportInvalidTypeArguments]


# ---- applications ----------------------------------------------------------------------------


async def lifespan_only(scope: LifespanScope, receive: Receive, send: Send) -> None:
    """Have a lifespan and nothing else."""
    event = await receive()
    assert_type(event, LifespanReceiveEvent)
    if event["type"] == "lifespan.shutdown":
        assert_type(event, LifespanShutdownEvent)
    else:
        assert_type(event, LifespanStartupEvent)
    _ = event["message"]  # type: ignore[typeddict-item]  # pyright: ignore[reportGeneralTypeIssues, reportUnknownVariableType]
    await send({"type": "lifespan.startup.complete"})
    await send({"type": "lifespan.startup.failed"})
    await send({"type": "lifespan.startup.failed", "message": "no database"})
    await send({"type": "lifespan.startup"})  # type: ignore[misc, arg-type]  # pyright: ignore[reportArgumentType]
    await send({"type": "lifespan.shutdown.failed", "message": 1})  # type: ignore[misc, arg-type]  # pyright: ignore[reportArgumentType]
    await send({"type": "lifespan.shutdown.complete", "message": ""})  # type: ignore[misc, arg-type]  # pyright: ignore[reportArgumentType]


def told(event: LifespanSendEvent) -> str:
    """Read the optional key by its default."""
    if event["type"] == "lifespan.startup.failed" or event["type"] == "lifespan.shutdown.failed":
        return event.get("message", "")
    _ = event["message"]  # type: ignore[typeddict-item]  # pyright: ignore[reportGeneralTypeIssues, reportUnknownVariableType]
    return ""


async def typed_state(scope: ASGILifespanScope[AppState], receive: Receive, send: Send) -> None:
    """Set the state that requests share."""
    if "state" in scope:
        scope["state"]["pool"] = Pool()
        scope["state"]["pool"] = "pool"  # type: ignore[typeddict-item]  # pyright: ignore[reportGeneralTypeIssues]
        scope["state"]["pol"] = Pool()  # type: ignore[typeddict-unknown-key]  # pyright: ignore[reportGeneralTypeIssues]


async def any_spec(scope: LifespanScope[AppState], receive: Receive, send: Send) -> None:
    """Tell the specifications apart by their envelope."""
    if "asgi" in scope:
        assert_type(scope, ASGILifespanScope[AppState])
        assert_type(scope["asgi"].get("spec_version", "1.0"), Literal["1.0", "2.0"])
    elif "amgi" in scope:
        assert_type(scope, AMGILifespanScope[AppState])
        assert_type(scope["amgi"]["spec_version"], Literal["1.0", "2.0"])
    elif "pagi" in scope:
        assert_type(scope, PAGILifespanScope[AppState])
        assert_type(scope["pagi"].get("worker_num"), int | None)
    if "state" in scope:
        assert_type(scope["state"], AppState)


class HTTPScope(RequestScope[AppState]):
    """The scope of a request, as the application knows it."""

    type: Literal["http"]
    path: str


async def respond(scope: HTTPScope, receive: Any, send: Any) -> None:
    """Have requests and no lifespan."""
    if "state" in scope:
        assert_type(scope["state"]["pool"], Pool)


async def both(scope: ASGILifespanScope[AppState] | HTTPScope, receive: Any, send: Any) -> None:
    """Have both in one function."""
    if scope["type"] == "lifespan":
        assert_type(scope, ASGILifespanScope[AppState])
    else:
        assert_type(scope, HTTPScope)


class Framework:
    """An application as frameworks write them."""

    async def __call__(
        self,
        scope: MutableMapping[str, Any],
        receive: Callable[[], Awaitable[MutableMapping[str, Any]]],
        send: Callable[[MutableMapping[str, Any]], Awaitable[None]],
    ) -> None:
        """Answer."""


class TwoCallable:
    """An application in the old style."""

    def __init__(self, scope: dict[str, Any]) -> None:
        pass

    async def __call__(self, receive: Any, send: Any) -> None:
        """Answer."""


application: Application = lifespan_only
typed_application: Application[AppState] = any_spec
for each in (lifespan_only, typed_state, any_spec, respond, both, Framework()):
    Lifespan(each)
Lifespan(double_to_single_callable(TwoCallable))
Lifespan(combine_lifespans(lifespan_only, both, Framework(), application))


async def one_argument(scope: Any) -> None:
    """Be no application."""


def no_awaitable(scope: Any, receive: Any, send: Any) -> None:
    """Be none either."""


Lifespan(no_awaitable)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
Lifespan(one_argument)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


# ---- with_lifespan ---------------------------------------------------------------------------


@asynccontextmanager
async def typed_context(_: object) -> AsyncGenerator[AppState, None]:
    """Yield a typed state."""
    yield {"pool": Pool(), "cache": {}}


@asynccontextmanager
async def plain_context(_: object) -> AsyncGenerator[dict[str, int], None]:
    """Yield a dict."""
    yield {"answer": 42}


@asynccontextmanager
async def no_context(_: object) -> AsyncGenerator[None, None]:
    """Yield nothing."""
    yield


@asynccontextmanager
async def either_context(_: object) -> AsyncGenerator[AppState | None, None]:
    """Yield a typed state, or nothing."""
    yield None


@asynccontextmanager
async def list_context(_: object) -> AsyncGenerator[list[str], None]:
    """Yield what is no state."""
    yield []


class ClassContext:
    """A context manager that is a class."""

    def __init__(self, app: object) -> None:
        self.app = app

    async def __aenter__(self) -> AppState:
        return {"pool": Pool(), "cache": {}}

    async def __aexit__(self, *error: object) -> None:
        pass


with_lifespan(respond, typed_context)
with_lifespan(untyped, plain_context)
with_lifespan(respond, no_context)
with_lifespan(Framework(), either_context)
with_lifespan(both, ClassContext)
with_lifespan(respond, list_context)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
with_lifespan(respond, typed_context(None))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
Lifespan[AppState](with_lifespan(respond, typed_context))
asgi: Application = with_lifespan(respond, typed_context)
