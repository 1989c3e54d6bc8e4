"""Small wrong middleware: each breaks one rule, whose name it bears, and keeps the others."""

import contextlib
import copy
from collections.abc import Awaitable, Callable
from typing import Any

__all__ = ["MUTANTS"]

Application = Callable[[Any, Any, Any], Awaitable[Any]]
Middleware = Callable[[Application], Application]
Call = Callable[[Application, Any, Any, Any], Awaitable[None]]
MUTANTS: dict[str, list[Middleware]] = {}


def breaks(rule_id: str) -> Callable[[Call], Call]:
    """Enter a mutant for a rule: what it does around a call of the application."""

    def entered(call: Call) -> Call:
        def middleware(app: Application) -> Application:
            async def wrapped(scope: Any, receive: Any, send: Any) -> None:
                await call(app, scope, receive, send)

            return wrapped

        middleware.__name__ = call.__name__
        MUTANTS.setdefault(rule_id, []).append(middleware)
        return call

    return entered


# ---- the scope, and the state -------------------------------------------------------------------


@breaks("scope-type")
async def has_a_type_of_its_own(app: Application, scope: Any, receive: Any, send: Any) -> None:
    """It takes the event for the scope."""
    if scope["type"] == "lifespan":
        scope = {**scope, "type": "lifespan.startup"}
    await app(scope, receive, send)


@breaks("scope-type")
async def forgets_other_keys(app: Application, scope: Any, receive: Any, send: Any) -> None:
    """It makes a scope of its own, with what the specification has."""
    known = {key: scope[key] for key in scope if key != "hello"}
    await app(known, receive, send)


@breaks("scope-versions")
async def forgets_versions(app: Application, scope: Any, receive: Any, send: Any) -> None:
    """It makes a scope of its own, with what it needs."""
    known = {key: scope[key] for key in scope if key not in ("asgi", "amgi", "pagi")}
    await app(known, receive, send)


@breaks("middleware-copies-scope")
async def changes_the_scope(app: Application, scope: Any, receive: Any, send: Any) -> None:
    """It puts a key into the scope itself."""
    scope["service"] = "shop"
    await app(scope, receive, send)


@breaks("state-untouched")
async def copies_too_deep(app: Application, scope: Any, receive: Any, send: Any) -> None:
    """It copies all of the scope, its state too."""
    await app(copy.deepcopy(scope), receive, send)


@breaks("state-untouched")
async def replaces_the_state(app: Application, scope: Any, receive: Any, send: Any) -> None:
    """It puts another state into a copy of the scope."""
    if scope["type"] == "lifespan":
        scope = {**scope, "state": {}}
    await app(scope, receive, send)


@breaks("state-shallow-copy")
async def requests_without_state(app: Application, scope: Any, receive: Any, send: Any) -> None:
    """It takes the state out of requests."""
    if scope["type"] != "lifespan":
        scope = {key: value for key, value in scope.items() if key != "state"}
    await app(scope, receive, send)


# ---- what goes through --------------------------------------------------------------------------


def only_type(phase: str) -> Call:
    """Make events of a phase anew, with what it knows of."""

    async def call(app: Application, scope: Any, receive: Any, send: Any) -> None:
        async def heard() -> Any:
            event = await receive()
            return {"type": event["type"]} if phase in event["type"] else event

        await app(scope, heard, send)

    call.__name__ = f"only_the_type_at_{phase}"
    return call


def only_known(phase: str, keys: tuple[str, ...]) -> Call:
    """Make answers of a phase anew, with what it knows of."""

    async def call(app: Application, scope: Any, receive: Any, send: Any) -> None:
        async def said(event: Any) -> None:
            known = {key: event[key] for key in ("type", *keys) if key in event}
            await send(known if f"lifespan.{phase}" in event["type"] else event)

        await app(scope, receive, said)

    call.__name__ = f"only_what_it_knows_at_{phase}"
    return call


breaks("startup-sent")(only_type("startup"))
breaks("shutdown-sent")(only_type("shutdown"))
breaks("startup-answered")(only_known("startup.complete", ()))
breaks("shutdown-answered")(only_known("shutdown.failed", ()))
breaks("failed-to-prevent-start")(only_known("startup.failed", ()))


@breaks("failed-to-prevent-start")
async def says_it_has_started(app: Application, scope: Any, receive: Any, send: Any) -> None:
    """It hides that the start has failed."""

    async def said(event: Any) -> None:
        failed = event["type"] == "lifespan.startup.failed"
        await send({"type": "lifespan.startup.complete"} if failed else event)

    await app(scope, receive, said)


@breaks("send-refuses-unknown")
async def swallows_refusals(app: Application, scope: Any, receive: Any, send: Any) -> None:
    """It lets the application think that all is well."""

    async def said(event: Any) -> None:
        with contextlib.suppress(Exception):
            await send(event)

    await app(scope, receive, said)


# ---- how the call ends --------------------------------------------------------------------------


@breaks("middleware-passes-on")
async def swallows_exceptions(app: Application, scope: Any, receive: Any, send: Any) -> None:
    """It has its own idea of what a lifespan may raise."""
    try:
        await app(scope, receive, send)
    except Exception:
        if scope["type"] != "lifespan":
            raise


@breaks("middleware-passes-on")
async def raises_its_own(app: Application, scope: Any, receive: Any, send: Any) -> None:
    """It puts another exception in the place of the application's."""
    try:
        await app(scope, receive, send)
    except Exception:
        if scope["type"] != "lifespan":
            raise
        raise RuntimeError("it failed") from None


@breaks("unknown-scope-rejected")
async def lets_unknown_scopes_pass(app: Application, scope: Any, receive: Any, send: Any) -> None:
    """It takes it that nobody waits for an answer to what it does not know."""
    if scope["type"] in ("lifespan", "http", "message"):
        await app(scope, receive, send)
