"""Types for the lifespan protocol: its events, its scopes, and the application.

    async def app(scope: LifespanScope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})

Each event and each scope is a TypedDict, and a plain dict at run time.  An optional key is
NotRequired.  A type checker narrows events by their literal `type`, and scopes by `"asgi" in
scope`, because the classes are final.  PAGI has no types here, because its applications are Perl.

ASGILifespanScope[AppState] gives the state a type, where AppState is a TypedDict of yours; without
one the state is a dict[str, Any].  RequestScope[AppState] is a base for the scope of a request.

This file is self-contained: copy it into your project.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, Literal, NotRequired, TypedDict, TypeVar, final

if not TYPE_CHECKING:
    State = TypeVar("State")
else:  # a checker knows defaults on every Python
    import typing_extensions

    State = typing_extensions.TypeVar("State", bound=Mapping[str, Any], default=dict[str, Any])


class LifespanStartupEvent(TypedDict):
    """The server asks the application to start."""

    type: Literal["lifespan.startup"]


class LifespanStartupCompleteEvent(TypedDict):
    """The application has started."""

    type: Literal["lifespan.startup.complete"]


class LifespanStartupFailedEvent(TypedDict):
    """The application has not started; `message` defaults to the empty string."""

    type: Literal["lifespan.startup.failed"]
    message: NotRequired[str]


class LifespanShutdownEvent(TypedDict):
    """The server asks the application to shut down."""

    type: Literal["lifespan.shutdown"]


class LifespanShutdownCompleteEvent(TypedDict):
    """The application has shut down."""

    type: Literal["lifespan.shutdown.complete"]


class LifespanShutdownFailedEvent(TypedDict):
    """The application has not shut down cleanly; `message` defaults to the empty string."""

    type: Literal["lifespan.shutdown.failed"]
    message: NotRequired[str]


@final
class ASGI1LifespanScope(TypedDict):
    """Lifespan 1.0 (ASGI): the type alone.  This version has no failed events either."""

    type: Literal["lifespan"]


class ASGIVersions(TypedDict):
    """The version of ASGI, and that of lifespan, which defaults to 1.0."""

    version: Literal["2.0", "3.0"]
    spec_version: NotRequired[Literal["1.0", "2.0"]]


@final
class ASGILifespanScope(TypedDict, Generic[State]):
    """Lifespan 2.0 (ASGI)."""

    type: Literal["lifespan"]
    asgi: ASGIVersions
    state: NotRequired[State]


class AMGIVersions(TypedDict):
    """The version of AMGI, in both keys."""

    version: Literal["1.0", "2.0"]
    spec_version: Literal["1.0", "2.0"]


@final
class AMGILifespanScope(TypedDict, Generic[State]):
    """AMGI 1.0 and 2.0."""

    type: Literal["lifespan"]
    amgi: AMGIVersions
    state: NotRequired[State]


class RequestScope(TypedDict, Generic[State]):
    """The state in the scope of a request: a shallow copy of the state of the lifespan."""

    state: NotRequired[State]


LifespanScope = ASGI1LifespanScope | ASGILifespanScope[State] | AMGILifespanScope[State]
LifespanReceiveEvent = LifespanStartupEvent | LifespanShutdownEvent
LifespanSendEvent = (
    LifespanStartupCompleteEvent
    | LifespanStartupFailedEvent
    | LifespanShutdownCompleteEvent
    | LifespanShutdownFailedEvent
)
Receive = Callable[[], Awaitable[LifespanReceiveEvent]]
Send = Callable[[LifespanSendEvent], Awaitable[None]]
Application = Callable[[LifespanScope[State], Receive, Send], Awaitable[object]]
