"""The lifespan protocol as types.  COPY ME: what a type-checker has to know of the protocol.

    async def app(scope: LifespanScope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})

Theory of operation.  Each event and each scope is a TypedDict, so at run time a plain dict.
A key that the texts call optional is NotRequired: who reads it asks first, or names a default.
A checker tells the events apart by their literal `type`, and the scopes, as they are final, by
`"asgi" in scope`; the texts allow further keys all the same.

A scope that has state is generic in it: ASGILifespanScope[AppState], where AppState is a
TypedDict of the application's own; without one the state is a dict[str, Any].  The scope of a
request, which is no part of this protocol, inherits from RequestScope[AppState] the one key
that is.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, Literal, NotRequired, TypedDict, TypeVar, final

__all__ = [
    "AMGILifespanScope",
    "AMGIVersions",
    "ASGI1LifespanScope",
    "ASGILifespanScope",
    "ASGIVersions",
    "Application",
    "LifespanReceiveEvent",
    "LifespanScope",
    "LifespanSendEvent",
    "LifespanShutdownCompleteEvent",
    "LifespanShutdownEvent",
    "LifespanShutdownFailedEvent",
    "LifespanStartupCompleteEvent",
    "LifespanStartupEvent",
    "LifespanStartupFailedEvent",
    "PAGILifespanScope",
    "PAGIVersions",
    "Receive",
    "RequestScope",
    "Send",
]

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
    """The application has not started; a message that is missing is the empty text."""

    type: Literal["lifespan.startup.failed"]
    message: NotRequired[str]


class LifespanShutdownEvent(TypedDict):
    """The server asks the application to shut down."""

    type: Literal["lifespan.shutdown"]


class LifespanShutdownCompleteEvent(TypedDict):
    """The application has shut down."""

    type: Literal["lifespan.shutdown.complete"]


class LifespanShutdownFailedEvent(TypedDict):
    """The application has not shut down cleanly; a message that is missing is the empty text."""

    type: Literal["lifespan.shutdown.failed"]
    message: NotRequired[str]


@final
class ASGI1LifespanScope(TypedDict):
    """Lifespan 1.0 (ASGI): nothing but the type.  It has no failed events either."""

    type: Literal["lifespan"]


class ASGIVersions(TypedDict):
    """The version of ASGI, and that of lifespan: 1.0 where it is missing."""

    version: Literal["2.0", "3.0"]
    spec_version: NotRequired[Literal["1.0", "2.0"]]


@final
class ASGILifespanScope(TypedDict, Generic[State]):
    """Lifespan 2.0 (ASGI)."""

    type: Literal["lifespan"]
    asgi: ASGIVersions
    state: NotRequired[State]


class AMGIVersions(TypedDict):
    """The version of AMGI, twice."""

    version: Literal["1.0", "2.0"]
    spec_version: Literal["1.0", "2.0"]


@final
class AMGILifespanScope(TypedDict, Generic[State]):
    """AMGI 1.0 and 2.0."""

    type: Literal["lifespan"]
    amgi: AMGIVersions
    state: NotRequired[State]


class PAGIVersions(TypedDict):
    """The version of PAGI, and that of lifespan: the same where it is missing; the worker.

    `is_worker` is 1 in a worker process, and `worker_num` its number from 1 on.
    """

    version: str
    spec_version: NotRequired[str]
    is_worker: NotRequired[Literal[0, 1]]
    worker_num: NotRequired[int | None]


@final
class PAGILifespanScope(TypedDict, Generic[State]):
    """PAGI 0.3."""

    type: Literal["lifespan"]
    pagi: PAGIVersions
    state: NotRequired[State]


class RequestScope(TypedDict, Generic[State]):
    """What the scope of each request has from its lifespan: a shallow copy of the state."""

    state: NotRequired[State]


LifespanScope = (
    ASGI1LifespanScope
    | ASGILifespanScope[State]
    | AMGILifespanScope[State]
    | PAGILifespanScope[State]
)
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
