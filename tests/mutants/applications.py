"""Small wrong applications: each breaks one rule, whose name it bears, and keeps the others."""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, NamedTuple

__all__ = ["ALL", "CORRECT", "MUTANTS", "scripted"]

Application = Callable[[Any, Any, Any], Awaitable[None]]
MUTANTS: dict[str, list[Application]] = {}
CORRECT: list[Application] = []

STARTED = {"type": "lifespan.startup.complete"}
STOPPED = {"type": "lifespan.shutdown.complete"}


def breaks(rule_id: str) -> Callable[[Application], Application]:
    """Enter a mutant for a rule."""

    def entered(app: Application) -> Application:
        MUTANTS.setdefault(rule_id, []).append(app)
        return app

    return entered


def correct(app: Application) -> Application:
    """Enter an application that breaks nothing."""
    CORRECT.append(app)
    return app


async def hear(receive: Any, *types: str) -> str:
    """Receive an event that is known."""
    event = await receive()
    if event["type"] not in types:
        raise ValueError(event["type"])
    return str(event["type"])


def known(scope: Any) -> None:
    """Refuse scopes that are not lifespan's; requests are left alone."""
    if scope["type"] not in ("lifespan", "http", "message"):
        raise ValueError(scope["type"])


STARTUP, SHUTDOWN = "lifespan.startup", "lifespan.shutdown"
ALL = STARTUP, STARTED, SHUTDOWN, STOPPED
REFUSED = {"type": "lifespan.startup.failed", "message": "no database"}


class Try(NamedTuple):
    """A message that is sent, whether it is refused or not."""

    message: dict[str, Any]


def scripted(name: str, *script: Any) -> Application:
    """Make an application of events to receive, None for any; what else is sent or raised."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        known(scope)
        for step in script if scope["type"] == "lifespan" else ():
            if step in (STARTUP, SHUTDOWN):
                await hear(receive, step)
            elif step is None:
                await receive()
            elif isinstance(step, BaseException):
                raise type(step)(*step.args)  # anew: each call adds to a traceback
            elif isinstance(step, Try):
                with contextlib.suppress(Exception):
                    await send(step.message)
            else:
                await send(step)

    app.__name__ = app.__qualname__ = name
    return app


live = scripted("live", *ALL)

# ---- the rules of applications -----------------------------------------------------------------

SCRIPTS: dict[str, dict[str, tuple[Any, ...]]] = {
    "failed-to-prevent-start": {
        "leaves_the_process": (STARTUP, SystemExit("no database")),
        "raises_at_startup": (None, RuntimeError("no database")),  # it is served without its start
    },
    "startup-answered": {"never_answers_startup": (STARTUP, SHUTDOWN, STOPPED)},
    "startup-answered-once": {
        "answers_startup_twice": (STARTUP, STARTED, Try(STARTED), SHUTDOWN, STOPPED),
        "fails_after_it_started": (STARTUP, STARTED, REFUSED),
    },
    "shutdown-answered": {
        "answers_shutdown_with_startup": (STARTUP, STARTED, SHUTDOWN, STARTED),
        "leaves_at_shutdown": (STARTUP, STARTED, SHUTDOWN),
        "never_answers_shutdown": (STARTUP, STARTED, SHUTDOWN, None),
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
    "receive-refuses-unknown": {"takes_anything": (None, STARTED, None, STOPPED)},
}
RIGHT: dict[str, tuple[Any, ...]] = {
    "declines_by_returning": (),
    "fails_to_start": (STARTUP, REFUSED, OSError("no database")),
    "fails_without_a_message": (STARTUP, {"type": "lifespan.startup.failed"}, None),
    "fails_to_stop": (
        *(STARTUP, {**STARTED, "took": 0.1}, SHUTDOWN),
        {"type": "lifespan.shutdown.failed", "message": "not saved"},
    ),
    "leaves_while_running": (STARTUP, STARTED),  # it has nothing to stop
}
for rule_id, apps in SCRIPTS.items():
    MUTANTS[rule_id] = [scripted(name, *script) for name, script in apps.items()]
CORRECT += [live, *(scripted(name, *script) for name, script in RIGHT.items())]


@breaks("startup-answered")
async def waits_for_ever(scope: Any, receive: Any, send: Any) -> None:
    """It hangs at startup."""
    known(scope)
    await hear(receive, "lifespan.startup")
    await asyncio.Event().wait()


@breaks("failed-to-prevent-start")
async def interrupts(scope: Any, receive: Any, send: Any) -> None:
    """The same by an interrupt, in another task."""
    known(scope)
    await hear(receive, "lifespan.startup")

    async def task() -> None:
        raise KeyboardInterrupt

    await asyncio.create_task(task())


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
    known(scope)
    while scope["type"] == "lifespan":
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


@breaks("state-may-be-missing")
async def needs_state(scope: Any, receive: Any, send: Any) -> None:
    """It takes it that there is state."""
    if scope["type"] == "lifespan":
        scope["state"]["pool"] = "open"
    await live(scope, receive, send)


@breaks("spec-version-default")
async def needs_spec_version(scope: Any, receive: Any, send: Any) -> None:
    """It takes it that there is a spec_version."""
    if scope["type"] == "lifespan" and scope["asgi"]["spec_version"] < "1.0":
        raise ValueError(scope["asgi"])
    await live(scope, receive, send)


@breaks("state-keys-text")
async def keys_by_object(scope: Any, receive: Any, send: Any) -> None:
    """It keeps what it has under a key that is no text."""
    if scope["type"] == "lifespan" and "state" in scope:
        scope["state"][live] = "open"
    await live(scope, receive, send)


@breaks("state-keys-text")
async def keys_by_number_later(scope: Any, receive: Any, send: Any) -> None:
    """It does so only when it has started."""

    async def sent(event: Any) -> None:
        await send(event)
        if "state" in scope:
            scope["state"][1] = "open"

    await live(scope, receive, sent if scope["type"] == "lifespan" else send)


# ---- what is right -----------------------------------------------------------------------------


@correct
async def declines_at_the_scope(scope: Any, receive: Any, send: Any) -> None:
    """It knows requests alone."""
    if scope["type"] != "http":
        raise NotImplementedError(scope["type"])


@correct
async def loops(scope: Any, receive: Any, send: Any) -> None:
    """It waits for further events when it has answered shutdown."""
    known(scope)
    while scope["type"] == "lifespan":
        kind = await hear(receive, "lifespan.startup", "lifespan.shutdown")
        await send({"type": f"{kind}.complete"})


@correct
async def takes_its_time(scope: Any, receive: Any, send: Any) -> None:
    """It starts and stops slowly, with tasks of its own, and keeps state where there is some."""
    known(scope)
    if scope["type"] != "lifespan":
        return
    await hear(receive, "lifespan.startup")
    ticks = itertools.count()

    async def tick() -> None:
        for _ in ticks:
            await asyncio.sleep(0.05)

    async with asyncio.TaskGroup() as tasks:
        ticking = tasks.create_task(tick())
        await asyncio.sleep(0.2)
        scope.get("state", {})["ticks"] = ticks
        await send(STARTED)
        await hear(receive, "lifespan.shutdown")
        ticking.cancel()
        await asyncio.sleep(0.2)
    await send(STOPPED)


@correct
async def as_a_context(scope: Any, receive: Any, send: Any) -> None:
    """It is an asynchronous generator, as frameworks have it."""

    @contextlib.asynccontextmanager
    async def context() -> AsyncIterator[dict[str, str]]:
        yield {"pool": "open"}

    known(scope)
    if scope["type"] == "lifespan":
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
