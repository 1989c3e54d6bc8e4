"""The application's half of the lifespan protocol.  COPY ME: an application needs this file alone.

    @contextlib.asynccontextmanager
    async def lifespan(app):
        async with connect() as connection:
            yield {"connection": connection}

    app = with_lifespan(app, lifespan)

Theory of operation.  A context manager says all that an application has to say: what comes
before `yield` is startup, what comes after it is shutdown, and what it yields is the state of
the requests.  `with_lifespan` says it in the protocol's words, in one task from start to end.
It knows no server.  The context is made anew for every lifespan, so that the same application
can start in two event loops.

An exception on the way up is startup.failed and on the way down shutdown.failed, each with the
exception's text; then it goes on, so that the server can show its traceback.  That includes a
CancelledError of something that the context awaited: without an answer, servers take it for an
application without lifespan support and serve it.  A cancellation of the application's own task
comes from the server and is not answered.  An exception in between was not asked for: nothing is
sent, the application has crashed.  A word in [brackets] is the rule of the specification that the
line obeys.
"""

import asyncio
import inspect
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

__all__ = ["double_to_single_callable", "with_lifespan"]

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
Application = Callable[[Any, Receive, Send], Awaitable[object]]
App = TypeVar("App", bound=Application)
Context = AbstractAsyncContextManager[Mapping[str, Any] | None]


def with_lifespan(app: App, lifespan: Callable[[App], Context]) -> Application:
    """Return an application that enters `lifespan(app)` at startup, and is `app` for requests.

    `lifespan` has the shape of Starlette's and FastAPI's: it takes the application and returns
    an async context manager, which can yield a mapping, the state of the requests.  Raises
    TypeError where one of the two cannot be called so.
    """
    if not _takes(3, app):
        raise TypeError(
            "with_lifespan(app, lifespan) takes the application first, which is called with"
            f" scope, receive and send, not {app!r}"
        )
    if not _takes(1, lifespan):
        raise TypeError(
            "with_lifespan(app, lifespan) takes second what is called with the application and"
            f" returns an async context manager, not {lifespan!r}"
        )

    async def application(scope: Any, receive: Receive, send: Send) -> object:
        if scope["type"] != "lifespan":
            return await app(scope, receive, send)
        await _live(lambda: lifespan(app), scope, receive, send)
        return None

    return application


def _takes(count: int, function: object) -> bool:
    """Tell whether this can be called with so many arguments, as far as is known."""
    if not callable(function):
        return False
    try:
        inspect.signature(function).bind(*range(count))
    except TypeError:
        return False
    except ValueError:  # it has no signature, as some that are written in C
        return True
    return True


async def _live(context: Callable[[], Context], scope: Any, receive: Receive, send: Send) -> None:
    await receive_event("lifespan.startup", receive)
    asked: str | None = "startup"
    try:
        async with context() as state:
            if state is not None:
                _share(state, scope)
            await send({"type": "lifespan.startup.complete"})  # [startup-answered-when-done]
            asked = None
            await receive_event("lifespan.shutdown", receive)
            asked = "shutdown"
        if asked != "shutdown":
            raise RuntimeError("the context ended before shutdown")  # noqa: TRY301  it swallowed one
    except BaseException as error:
        if asked and not _was_cancelled(error):  # [failed-to-prevent-start]
            await send({"type": f"lifespan.{asked}.failed", "message": failure_message(error)})
        raise
    await send({"type": "lifespan.shutdown.complete"})  # [shutdown-answered]


async def receive_event(expected: str, receive: Receive) -> None:
    """Receive the event that comes next; raise RuntimeError if it is another."""
    event = await receive()
    if event["type"] != expected:  # [receive-refuses-unknown]
        raise RuntimeError(f"expected the event {expected!r}, got {event!r}")


def _was_cancelled(error: BaseException) -> bool:
    """Tell whether this task was ended from outside: cancelled, or its coroutine closed.

    A CancelledError alone does not say so: a task that the context awaited raises one, too.
    """
    trio: Any = sys.modules.get("trio")
    if isinstance(error, GeneratorExit) or (trio and _only(error, trio.Cancelled)):
        return True
    if not _only(error, asyncio.CancelledError):
        return False
    try:
        task = asyncio.current_task()
    except RuntimeError:  # another library runs the event loop
        return False
    return task is not None and task.cancelling() > 0


def _only(error: BaseException, kind: type[BaseException]) -> bool:
    return BaseExceptionGroup("", [error]).split(kind)[1] is None


def failure_message(error: BaseException) -> str:
    """Return what a failed event says of an exception, also if its own text cannot be had."""
    try:
        return str(error) or repr(error)
    except Exception:
        return object.__repr__(error)


def _share(state: Mapping[str, Any], scope: Any) -> None:
    if not isinstance(state, Mapping):
        raise TypeError(f"a lifespan context yields None or a mapping of state, not {state!r}")
    if state and "state" not in scope:
        keys = ", ".join(map(str, state))
        raise RuntimeError(f"the context yields state ({keys}), and the server offers none")
    if state:
        scope["state"].update(state)


def double_to_single_callable(
    app: Callable[[Any], Callable[[Receive, Send], Awaitable[object]]],
) -> Application:
    """Return a two-callable (legacy) application, `app(scope)(receive, send)`, as a single one."""

    async def application(scope: Any, receive: Receive, send: Send) -> object:
        return await app(scope)(receive, send)

    return application
