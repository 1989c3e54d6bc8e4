"""The lifespan protocol for an application: run an async context manager at startup and shutdown.

    @contextlib.asynccontextmanager
    async def lifespan(app):
        async with connect() as connection:
            yield {"connection": connection}

    app = with_lifespan(app, lifespan)

The code before `yield` is startup, the code after it is shutdown, and the mapping that it yields
is the state of the requests.  Both run in one task.  The context manager is created anew for every
lifespan, so the same application can start in two event loops.

If the context manager raises at startup or shutdown, `with_lifespan` sends lifespan.startup.failed
or lifespan.shutdown.failed with the exception's message, and raises the exception again, so that
the server can log its traceback.  It does so for a CancelledError, too, if something that the
context manager awaited raised it: without an answer, servers conclude that the application does
not support lifespan, and serve it.  If the server cancels the application's own task, nothing is
sent.  Nothing is sent either if the context manager raises between startup and shutdown.

The context manager takes the place of a lifespan that the application has itself: the application
is not called with the lifespan scope.  To run both, combine them in one context manager.

A name in [brackets] is the ID of the rule that the line implements.

This file is self-contained: copy it into your project.
"""

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any, TypeVar

__all__ = ["double_to_single_callable", "with_lifespan"]

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
Application = Callable[[Any, Receive, Send], Awaitable[object]]
App = TypeVar("App", bound=Application)
Context = AbstractAsyncContextManager[Mapping[str, Any] | None]

log = logging.getLogger(__name__)


def with_lifespan(app: App, lifespan: Callable[[App], Context]) -> Application:
    """Return `app` with a lifespan: enter `lifespan(app)` at startup, leave it at shutdown.

    `lifespan` has the shape of Starlette's and FastAPI's: it takes the application and returns
    an async context manager, which can yield a mapping, the state of the requests.

    It takes the place of a lifespan that `app` has itself, which then does not run.  If that is
    the lifespan of a Starlette or FastAPI application or of another call of this function, each
    startup logs a warning.  `lifespec.combine_lifespans` runs both.

    Raises TypeError if one of the two cannot be called.
    """
    for argument in (app, lifespan):
        if not callable(argument):
            raise TypeError(f"with_lifespan(app, lifespan) takes two callables, got {argument!r}")

    async def application(scope: Any, receive: Receive, send: Send) -> object:
        if scope["type"] != "lifespan":
            return await app(scope, receive, send)
        if replaced is not None:
            log.warning("with_lifespan replaces the lifespan of the application, %r", replaced)
        await _run_lifespan(partial(lifespan, app), scope, receive, send)
        return None

    replaced = _own_lifespan(app)
    vars(application)["lifespan_context"] = lifespan
    return application


def _own_lifespan(app: Any) -> Any:
    """Return the lifespan that an application was given, None if there is none or it is unknown."""
    holder = getattr(app, "router", app)
    own = getattr(holder, "lifespan_context", None)
    if type(own).__name__ == "_DefaultLifespan":  # Starlette's, if none was given
        return None
    return own


async def _run_lifespan(
    context: Callable[[], Context], scope: Any, receive: Receive, send: Send
) -> None:
    await receive_event("lifespan.startup", receive)
    pending: str | None = "startup"  # the stage that is not answered yet
    try:
        async with context() as state:
            if state is not None:
                _share(state, scope)
            await send({"type": "lifespan.startup.complete"})  # [startup-answered-when-done]
            pending = None
            await receive_event("lifespan.shutdown", receive)
            pending = "shutdown"
        if pending != "shutdown":  # the context swallowed an exception
            raise RuntimeError("the context ended before shutdown")  # noqa: TRY301
    except BaseException as error:
        if pending and not _was_cancelled(error):  # [failed-to-prevent-start]
            await send({"type": f"lifespan.{pending}.failed", "message": failure_message(error)})
        raise
    await send({"type": "lifespan.shutdown.complete"})  # [shutdown-answered]


async def receive_event(expected: str, receive: Receive) -> None:
    """Receive the event that comes next; raise RuntimeError if it is another."""
    event = await receive()
    if event["type"] != expected:  # [receive-refuses-unknown]
        raise RuntimeError(f"expected the event {expected!r}, got {event!r}")


def _was_cancelled(error: BaseException) -> bool:
    """Tell whether this task was cancelled, or its coroutine closed.

    A CancelledError is not enough: a task that the context manager awaited can raise one, too.
    """
    if isinstance(error, GeneratorExit):
        return True
    trio: Any = sys.modules.get("trio")
    if trio is not None and _only(error, trio.Cancelled):
        return True
    if not _only(error, asyncio.CancelledError):
        return False
    try:
        task = asyncio.current_task()
    except RuntimeError:  # the event loop is not asyncio's
        return False
    return task is not None and task.cancelling() > 0


def _only(error: BaseException, kind: type[BaseException]) -> bool:
    return BaseExceptionGroup("", [error]).split(kind)[1] is None


def failure_message(error: BaseException) -> str:
    """Return the message of a failed event for an exception, even if its `str()` raises."""
    try:
        return str(error) or repr(error)
    except Exception:
        return object.__repr__(error)


def _share(state: Mapping[str, Any], scope: Any) -> None:
    if not isinstance(state, Mapping):
        raise TypeError(f"a lifespan context yields None or a mapping of state, not {state!r}")
    if not state:
        return  # an empty mapping asks for nothing: any server will do
    if "state" not in scope:
        keys = ", ".join(map(str, state))
        raise RuntimeError(f"the context yields state ({keys}), and the server offers none")
    scope["state"].update(state)


def double_to_single_callable(
    app: Callable[[Any], Callable[[Receive, Send], Awaitable[object]]],
) -> Application:
    """Return a two-callable (legacy) application, `app(scope)(receive, send)`, as a single one."""

    async def application(scope: Any, receive: Receive, send: Send) -> object:
        return await app(scope)(receive, send)

    return application
