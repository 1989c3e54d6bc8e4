"""Small wrong middleware: each breaks one rule, whose name it bears, and keeps the others."""

import contextlib
import copy
import functools
from collections.abc import Awaitable, Callable
from typing import Any

Application = Callable[[Any, Any, Any], Awaitable[Any]]
Middleware = Callable[[Application], Application]
Change = Callable[[Any], Any]


def wrapping(call: Callable[..., Awaitable[None]]) -> Middleware:
    """Make middleware of a function that takes the application first."""

    @functools.wraps(call)
    def middleware(app: Application) -> Application:
        return functools.partial(call, app)

    return middleware


def changing(
    scope: Change = lambda scope: scope,
    event: Change = lambda event: event,
    answer: Change = lambda answer: answer,
) -> Middleware:
    """Make middleware that hands on what these functions return."""

    @wrapping
    async def middleware(app: Any, given: Any, receive: Any, send: Any) -> None:
        async def changing_receive() -> Any:
            return event(await receive())

        async def changing_send(message: Any) -> None:
            await send(answer(message))

        await app(scope(given), changing_receive, changing_send)

    return middleware


def without(*keys: str) -> Change:
    """Make a copy that lacks these keys."""
    return lambda mapping: {key: mapping[key] for key in mapping if key not in keys}


def of(type_: str, change: Change) -> Change:
    """Change what has a type that begins so, and nothing else."""
    return lambda each: change(each) if each["type"].startswith(type_) else each


def only_type(event: Any) -> Any:
    """Make an event anew, without any other key."""
    return {"type": event["type"]}


def changed_in_place(scope: Any) -> Any:
    """Put a key into the scope itself."""
    scope["service"] = "shop"
    return scope


@wrapping
async def swallows_refusals(app: Any, scope: Any, receive: Any, send: Any) -> None:
    """It lets the application think that all is well."""

    async def swallowing(event: Any) -> None:
        with contextlib.suppress(Exception):
            await send(event)

    await app(scope, receive, swallowing)


@wrapping
async def swallows_exceptions(app: Any, scope: Any, receive: Any, send: Any) -> None:
    """It has its own idea of what a lifespan may raise."""
    try:
        await app(scope, receive, send)
    except Exception:
        if scope["type"] != "lifespan":
            raise


@wrapping
async def raises_its_own(app: Any, scope: Any, receive: Any, send: Any) -> None:
    """It puts another exception in the place of the application's."""
    try:
        await app(scope, receive, send)
    except Exception:
        if scope["type"] != "lifespan":
            raise
        raise RuntimeError("it failed") from None


@wrapping
async def lets_unknown_scopes_pass(app: Any, scope: Any, receive: Any, send: Any) -> None:
    """It takes it that nobody waits for an answer to what it does not know."""
    if scope["type"] in ("lifespan", "http", "message"):
        await app(scope, receive, send)


STARTED = {"type": "lifespan.startup.complete"}
MUTANTS: dict[str, dict[str, Middleware]] = {
    "scope-type": {
        "takes_the_event_for_the_scope": changing(
            of("lifespan", lambda scope: {**scope, "type": "lifespan.startup"})
        ),
        "forgets_other_keys": changing(without("hello")),
    },
    "scope-versions": {"forgets_versions": changing(without("asgi", "amgi", "pagi"))},
    "middleware-copies-scope": {"changes_the_scope": changing(changed_in_place)},
    "state-untouched": {
        "copies_too_deep": changing(copy.deepcopy),
        "replaces_the_state": changing(of("lifespan", lambda scope: {**scope, "state": {}})),
    },
    "state-shallow-copy": {
        "requests_without_state": changing(
            lambda scope: scope if scope["type"] == "lifespan" else without("state")(scope)
        )
    },
    "startup-sent": {"only_the_type": changing(event=of("lifespan.startup", only_type))},
    "shutdown-sent": {"only_the_type": changing(event=of("lifespan.shutdown", only_type))},
    "startup-answered": {"only_the_type": changing(answer=of("lifespan.startup.c", only_type))},
    "shutdown-answered": {"only_the_type": changing(answer=of("lifespan.shutdown.f", only_type))},
    "failed-to-prevent-start": {
        "only_the_type": changing(answer=of("lifespan.startup.failed", only_type)),
        "says_it_has_started": changing(answer=of("lifespan.startup.failed", lambda _: STARTED)),
    },
    "send-refuses-unknown": {"swallows_refusals": swallows_refusals},
    "middleware-passes-on": {
        "swallows_exceptions": swallows_exceptions,
        "raises_its_own": raises_its_own,
    },
    "unknown-scope-rejected": {"lets_unknown_scopes_pass": lets_unknown_scopes_pass},
}
