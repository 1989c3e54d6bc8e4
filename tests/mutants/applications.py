"""Small wrong applications: each breaks one rule, whose name it bears, and keeps the others."""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

__all__ = ["CORRECT", "MUTANTS"]

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


async def live(scope: Any, receive: Any, send: Any) -> None:
    """Be an application that does all as it should."""
    known(scope)
    if scope["type"] == "lifespan":
        await hear(receive, "lifespan.startup")
        await send(STARTED)
        await stop(receive, send)


async def stop(receive: Any, send: Any) -> None:
    """Answer shutdown as one should."""
    await hear(receive, "lifespan.shutdown")
    await send(STOPPED)


# ---- the rules of applications -----------------------------------------------------------------


@breaks("failed-to-prevent-start")
async def leaves_the_process(scope: Any, receive: Any, send: Any) -> None:
    """It ends the server's process where it was to send startup.failed."""
    known(scope)
    await hear(receive, "lifespan.startup")
    raise SystemExit("no database")


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


@breaks("startup-answered")
async def never_answers_startup(scope: Any, receive: Any, send: Any) -> None:
    """It waits for shutdown, and has not answered startup."""
    known(scope)
    await hear(receive, "lifespan.startup")
    await stop(receive, send)


@breaks("startup-answered")
async def waits_for_ever(scope: Any, receive: Any, send: Any) -> None:
    """It hangs at startup."""
    known(scope)
    await hear(receive, "lifespan.startup")
    await asyncio.Event().wait()


@breaks("startup-answered-once")
async def answers_startup_twice(scope: Any, receive: Any, send: Any) -> None:
    """It sends startup.complete again."""
    known(scope)
    if scope["type"] == "lifespan":
        await hear(receive, "lifespan.startup")
        await send(STARTED)
        with contextlib.suppress(Exception):
            await send(STARTED)
        await stop(receive, send)


@breaks("startup-answered-once")
async def fails_after_it_started(scope: Any, receive: Any, send: Any) -> None:
    """It sends startup.failed when it has sent startup.complete, and minds the refusal."""
    known(scope)
    if scope["type"] == "lifespan":
        await hear(receive, "lifespan.startup")
        await send(STARTED)
        await send({"type": "lifespan.startup.failed", "message": "too late"})


@breaks("shutdown-answered")
async def answers_shutdown_with_startup(scope: Any, receive: Any, send: Any) -> None:
    """It sends startup.complete again in place of shutdown.complete."""
    known(scope)
    if scope["type"] == "lifespan":
        await hear(receive, "lifespan.startup")
        await send(STARTED)
        await hear(receive, "lifespan.shutdown")
        await send(STARTED)


@breaks("shutdown-answered")
async def leaves_at_shutdown(scope: Any, receive: Any, send: Any) -> None:
    """It returns when it has received shutdown."""
    known(scope)
    if scope["type"] == "lifespan":
        await hear(receive, "lifespan.startup")
        await send(STARTED)
        await hear(receive, "lifespan.shutdown")


@breaks("shutdown-answered")
async def never_answers_shutdown(scope: Any, receive: Any, send: Any) -> None:
    """It waits for a third event."""
    known(scope)
    if scope["type"] == "lifespan":
        await hear(receive, "lifespan.startup")
        await send(STARTED)
        await hear(receive, "lifespan.shutdown")
        await receive()


@breaks("shutdown-answered-once")
async def answers_shutdown_twice(scope: Any, receive: Any, send: Any) -> None:
    """It sends shutdown.complete again."""
    known(scope)
    if scope["type"] == "lifespan":
        await hear(receive, "lifespan.startup")
        await send(STARTED)
        await stop(receive, send)
        await send(STOPPED)


@breaks("answers-in-order")
async def stops_unasked(scope: Any, receive: Any, send: Any) -> None:
    """It answers a shutdown that nobody has offered."""
    known(scope)
    if scope["type"] == "lifespan":
        await hear(receive, "lifespan.startup")
        await send(STARTED)
        await send(STOPPED)


@breaks("answers-in-order")
async def starts_unasked(scope: Any, receive: Any, send: Any) -> None:
    """It answers startup before it has received it."""
    known(scope)
    if scope["type"] == "lifespan":
        await send(STARTED)
        await hear(receive, "lifespan.startup")
        await stop(receive, send)


@breaks("events-known")
async def invents_an_event(scope: Any, receive: Any, send: Any) -> None:
    """It sends an event that there is not."""
    known(scope)
    if scope["type"] == "lifespan":
        await hear(receive, "lifespan.startup")
        with contextlib.suppress(Exception):
            await send({"type": "lifespan.startup.progress", "percent": 50})
        await send(STARTED)
        await stop(receive, send)


@breaks("events-known")
async def sends_no_mapping(scope: Any, receive: Any, send: Any) -> None:
    """It sends a text, and minds the refusal."""
    known(scope)
    if scope["type"] == "lifespan":
        await hear(receive, "lifespan.startup")
        await send("lifespan.startup.complete")


@breaks("message-is-text")
async def fails_with_a_number(scope: Any, receive: Any, send: Any) -> None:
    """Its message is an exception, not its text."""
    known(scope)
    await hear(receive, "lifespan.startup")
    await send({"type": "lifespan.startup.failed", "message": OSError("no database")})


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


@breaks("receive-refuses-unknown")
async def takes_anything_for_shutdown(scope: Any, receive: Any, send: Any) -> None:
    """It does not look at the types of events."""
    known(scope)
    if scope["type"] == "lifespan":
        await receive()
        await send(STARTED)
        await receive()
        await send(STOPPED)


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

correct(live)


@correct
async def declines_at_the_scope(scope: Any, receive: Any, send: Any) -> None:
    """It knows requests alone."""
    if scope["type"] != "http":
        raise NotImplementedError(scope["type"])


@breaks("failed-to-prevent-start")
async def raises_at_startup(scope: Any, receive: Any, send: Any) -> None:
    """It raises when it has received startup, and is served without it."""
    known(scope)
    await receive()
    raise RuntimeError("no database")


@correct
async def declines_by_returning(scope: Any, receive: Any, send: Any) -> None:
    """It returns without a word."""
    known(scope)


@correct
async def fails_to_start(scope: Any, receive: Any, send: Any) -> None:
    """It says that it cannot start, and raises then."""
    known(scope)
    if scope["type"] == "lifespan":
        await hear(receive, "lifespan.startup")
        await send({"type": "lifespan.startup.failed", "message": "no database"})
        raise OSError("no database")


@correct
async def fails_without_a_message(scope: Any, receive: Any, send: Any) -> None:
    """It says that it cannot start, and not why; and waits for what may come."""
    known(scope)
    if scope["type"] == "lifespan":
        await hear(receive, "lifespan.startup")
        await send({"type": "lifespan.startup.failed"})
        await receive()


@correct
async def fails_to_stop(scope: Any, receive: Any, send: Any) -> None:
    """It says that it could not clean up."""
    known(scope)
    if scope["type"] == "lifespan":
        await hear(receive, "lifespan.startup")
        await send({**STARTED, "took": 0.1})
        await hear(receive, "lifespan.shutdown")
        await send({"type": "lifespan.shutdown.failed", "message": "not saved"})


@correct
async def loops(scope: Any, receive: Any, send: Any) -> None:
    """It waits for further events when it has answered shutdown."""
    known(scope)
    while scope["type"] == "lifespan":
        kind = await hear(receive, "lifespan.startup", "lifespan.shutdown")
        await send({"type": f"{kind}.complete"})


@correct
async def leaves_while_running(scope: Any, receive: Any, send: Any) -> None:
    """It returns when it has started: it has nothing to stop."""
    known(scope)
    if scope["type"] == "lifespan":
        await hear(receive, "lifespan.startup")
        await send(STARTED)


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
            await asyncio.sleep(0.5)

    async with asyncio.TaskGroup() as tasks:
        ticking = tasks.create_task(tick())
        await asyncio.sleep(10)
        scope.get("state", {})["ticks"] = ticks
        await send(STARTED)
        await hear(receive, "lifespan.shutdown")
        ticking.cancel()
        await asyncio.sleep(10)
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
