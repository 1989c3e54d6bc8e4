"""Small wrong applications: each breaks one rule, whose name it bears, and keeps the others."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from scripted import (
    NOT_STARTED,
    NOT_STOPPED,
    SHUTDOWN,
    STARTED,
    STARTUP,
    STOPPED,
    Try,
    hear,
    known,
    says,
)

Application = Callable[[Any, Any, Any], Awaitable[None]]
MUTANTS: dict[str, dict[str, Application]] = {}
CORRECT: dict[str, Application] = {}


def breaks(rule_id: str) -> Callable[[Application], Application]:
    """Enter a mutant for a rule."""

    def entered(app: Application) -> Application:
        MUTANTS.setdefault(rule_id, {})[app.__name__] = app
        return app

    return entered


def correct(app: Application) -> Application:
    """Enter an application that breaks nothing."""
    CORRECT[app.__name__] = app
    return app


ALL = STARTUP, STARTED, SHUTDOWN, STOPPED
REFUSED = NOT_STARTED | {"message": "no database"}
NOT_SAVED = {"message": "not saved"}


def named(name: str, *script: Any) -> Application:
    """Make an application of a script, with a name."""
    app: Application = says(*script)
    app.__name__ = app.__qualname__ = name  # type: ignore[attr-defined]
    return app


live = named("live", *ALL)


async def interrupt() -> None:
    raise KeyboardInterrupt


# ---- the rules of applications -----------------------------------------------------------------

SCRIPTS: dict[str, dict[str, tuple[Any, ...]]] = {
    "failed-to-prevent-start": {
        "leaves_the_process": (STARTUP, SystemExit("no database")),
        # it is served without its start
        "raises_at_startup": ("receive", RuntimeError("no database")),
        "interrupts": (STARTUP, lambda _: asyncio.create_task(interrupt())),
    },
    "startup-answered": {
        "never_answers_startup": (STARTUP, SHUTDOWN, STOPPED),
        "waits_for_ever": (STARTUP, lambda _: asyncio.Event().wait()),
    },
    "startup-answered-once": {
        "answers_startup_twice": (STARTUP, STARTED, Try(STARTED), SHUTDOWN, STOPPED),
        "fails_after_it_started": (STARTUP, STARTED, REFUSED),
    },
    "shutdown-answered": {
        "answers_shutdown_with_startup": (STARTUP, STARTED, SHUTDOWN, STARTED),
        "leaves_at_shutdown": (STARTUP, STARTED, SHUTDOWN),
        "never_answers_shutdown": (STARTUP, STARTED, SHUTDOWN, "receive"),
    },
    "shutdown-answered-once": {"answers_shutdown_twice": (*ALL, STOPPED)},
    "answers-in-order": {
        "stops_unasked": (STARTUP, STARTED, STOPPED),
        "starts_unasked": (STARTED, STARTUP, SHUTDOWN, STOPPED),
    },
    "events-known": {
        "invents_an_event": (STARTUP, Try({"type": "lifespan.startup.progress"}), *ALL[1:]),
        "sends_no_mapping": (STARTUP, "lifespan.startup.complete"),
    },
    "message-is-text": {"fails_with_an_exception": (STARTUP, REFUSED | {"message": OSError()})},
    "receive-refuses-unknown": {"takes_anything": ("receive", STARTED, "receive", STOPPED)},
    "state-may-be-missing": {
        "needs_state": (lambda scope: scope["state"].update(pool="open"), *ALL)
    },
    "spec-version-default": {
        "needs_spec_version": (lambda scope: scope["asgi"]["spec_version"], *ALL)
    },
    "state-keys-text": {
        "keys_by_object": (lambda scope: scope.get("state", {}).update({int: "open"}), *ALL),
        "keys_by_number_later": (
            *(STARTUP, STARTED, lambda scope: scope.get("state", {}).update({1: "open"})),
            *(SHUTDOWN, STOPPED),
        ),
    },
}
RIGHT: dict[str, tuple[Any, ...]] = {
    "declines_by_returning": (),
    "fails_to_start": (STARTUP, REFUSED, OSError("no database")),
    "fails_without_a_message": (STARTUP, NOT_STARTED, "receive"),
    "fails_to_stop": (STARTUP, {**STARTED, "took": 0.1}, SHUTDOWN, NOT_STOPPED | NOT_SAVED),
    "leaves_while_running": (STARTUP, STARTED),  # it has nothing to stop
    "takes_its_time": (STARTUP, 0.2, STARTED, SHUTDOWN, 0.2, STOPPED),
}
for rule_id, apps in SCRIPTS.items():
    MUTANTS[rule_id] = {name: named(name, *script) for name, script in apps.items()}
CORRECT |= {"live": live} | {name: named(name, *script) for name, script in RIGHT.items()}


@breaks("unknown-scope-rejected")
async def serves_any_scope(scope: Any, receive: Any, send: Any) -> None:
    """It returns from a scope that it does not know."""
    if scope["type"] == "lifespan":
        await live(scope, receive, send)


@breaks("unknown-scope-rejected")
async def answers_any_scope(scope: Any, receive: Any, send: Any) -> None:
    """It takes what it does not know for a request."""
    if scope["type"] == "lifespan":
        return await live(scope, receive, send)
    await send({"type": "http.response.start", "status": 404, "headers": []})
    await send({"type": "http.response.body", "body": b""})
    return None


@breaks("receive-refuses-unknown")
async def ignores_the_unknown(scope: Any, receive: Any, send: Any) -> None:
    """It waits for the next event where it was to refuse one."""
    while known(scope):
        kind = (await receive())["type"]
        if kind == "lifespan.startup":
            await send(STARTED)
        if kind == "lifespan.shutdown":
            return await send(STOPPED)
    return None


@breaks("extra-keys-expected")
async def knows_all_keys(scope: Any, receive: Any, send: Any) -> None:
    """It does not stand a key in an event that it does not know."""

    async def strictly() -> Any:
        event = await receive()
        if set(event) != {"type"}:
            raise ValueError(event)
        return event

    await live(scope, strictly, send)


# ---- what one case alone shows -----------------------------------------------------------------

STATES: list[Any] = []


async def works_on(_: Any) -> None:
    """It takes no notice of a cancellation."""
    try:
        await asyncio.sleep(2)
    except asyncio.CancelledError:
        await asyncio.sleep(100)


async def starts_once(scope: Any) -> None:
    if STATES:
        raise RuntimeError("it has started before")
    STATES.append(scope)


async def spoils_the_state_later(scope: Any, receive: Any, send: Any) -> None:
    """A request puts a key into the state of the lifespan that is no text."""
    if scope["type"] == "lifespan":
        STATES.append(scope.get("state", {}))
    if scope["type"] == "http":
        STATES[-1][1] = "open"
    await live(scope, receive, send)


ONLY_IN: dict[str, Application] = {
    "request-while-running": spoils_the_state_later,
    "stopped-while-running": says(STARTUP, 1.0, STARTED, works_on, SHUTDOWN, STOPPED),
    "stopped-while-starting": says(STARTUP, works_on, STARTED, SHUTDOWN, STOPPED),
    "two-loops": says(STARTUP, starts_once, STARTED, SHUTDOWN, STOPPED),
    "unknown-event-first": says("receive", STARTED, SHUTDOWN, STOPPED),
    "unknown-event-while-running": says(STARTUP, STARTED, "receive", STOPPED),
}


# ---- what is right -----------------------------------------------------------------------------


@correct
async def declines_at_the_scope(scope: Any, receive: Any, send: Any) -> None:
    """It knows requests alone."""
    if scope["type"] != "http":
        raise NotImplementedError(scope["type"])


@correct
async def loops(scope: Any, receive: Any, send: Any) -> None:
    """It waits for further events when it has answered shutdown."""
    while known(scope):
        kind = await hear(receive, "lifespan.startup", "lifespan.shutdown")
        await send({"type": f"{kind}.complete"})


@correct
async def as_a_context(scope: Any, receive: Any, send: Any) -> None:
    """It is an asynchronous generator, as frameworks have it."""

    @contextlib.asynccontextmanager
    async def context() -> AsyncIterator[dict[str, str]]:
        yield {"pool": "open"}

    if known(scope):
        await hear(receive, "lifespan.startup")
        async with context() as state:
            scope.get("state", {}).update(state)
            await send(STARTED)
            await hear(receive, "lifespan.shutdown")
        await send(STOPPED)


@correct
class AsAnObject:
    """It is an object that can be awaited, and nothing more of a coroutine."""

    def __init__(self, *call: Any) -> None:
        self.call = call

    def __await__(self) -> Any:
        return live(*self.call).__await__()
