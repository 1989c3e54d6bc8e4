"""The same applications against the drivers that servers and tools have, and what the texts say.

A driver is started as its own server starts it, on the virtual clock, and stopped when everything
waits. What follows is checked by the specifications alone, where they bind a server (must, must
not). Where they are silent, and from the moment at which the application itself broke a rule,
nothing is held against anyone.
"""

import asyncio
import contextlib
import logging
import math
import warnings
from collections.abc import AsyncIterator, Callable
from importlib import import_module
from typing import Any, Literal, NamedTuple

from actors import ENDS, MOVES, Actor, Said, Script, below
from lifespec import Lifespan
from lifespec.testing.clock import Deadlock, VirtualLoop
from lifespec.validate import TRANSITIONS, State

__all__ = ["DRIVERS", "VERDICTS", "Reader", "Seen", "run", "verdicts_of"]

Verdict = Literal["as the texts say", "unspecified", "otherwise", "waits for ever"]
Driver = Callable[[Any], contextlib.AbstractAsyncContextManager[Any]]
CORRECT = ("receive", "startup.complete", "receive", "shutdown.complete", "return")
GONE = {"return", "raise", "cancelled"}


class NotServed(Exception):
    """The driver does not serve this application."""


@contextlib.asynccontextmanager
async def uvicorn(app: Any) -> AsyncIterator[None]:
    """Start and stop as uvicorn.Server does, with `lifespan="auto"`, the default."""
    config = import_module("uvicorn").Config(app, interface="asgi3", log_config=None)
    config.loaded, config.loaded_app = True, app
    lifespan = import_module("uvicorn.lifespan.on").LifespanOn(config)
    await lifespan.startup()
    if lifespan.should_exit:
        raise NotServed
    yield
    await lifespan.shutdown()


@contextlib.asynccontextmanager
async def hypercorn(app: Any) -> AsyncIterator[None]:
    """Start and stop as hypercorn.asyncio.run does."""

    async def wrapped(scope: Any, receive: Any, send: Any, *_: Any) -> None:
        await app(scope, receive, send)

    config = import_module("hypercorn.config").Config()
    config.errorlog = None
    loop = asyncio.get_running_loop()
    lifespan = import_module("hypercorn.asyncio.lifespan").Lifespan(wrapped, config, loop, {})
    task = loop.create_task(lifespan.handle_lifespan())
    await lifespan.wait_for_startup()
    if task.done() and (error := task.exception()) is not None:
        raise error
    yield
    await lifespan.wait_for_shutdown()
    task.cancel()
    await task


@contextlib.asynccontextmanager
async def starlette(app: Any) -> AsyncIterator[None]:
    """Start and stop as TestClient does, in a task instead of a thread."""
    anyio, stapled = import_module("anyio"), import_module("anyio.streams.stapled")
    client = import_module("starlette.testclient").TestClient(app)
    ends = [anyio.create_memory_object_stream[Any](math.inf) for _ in range(2)]
    client.stream_send, client.stream_receive = (stapled.StapledObjectStream(*end) for end in ends)
    client.task = asyncio.ensure_future(client.lifespan())
    try:
        await client.wait_startup()
        yield
        await client.wait_shutdown()
    finally:
        for end in ends:
            for stream in end:
                stream.close()


def manager(app: Any) -> Any:
    """Start and stop as the readme of asgi-lifespan has it."""
    return import_module("asgi_lifespan").LifespanManager(app)


def amgi(app: Any) -> Any:
    """Start and stop as the servers of AMGI do."""
    return import_module("amgi_common").Lifespan(app)


DRIVERS: dict[str, Driver] = {  # by the name and version of the distribution
    "lifespec": Lifespan,
    "uvicorn": uvicorn,
    "hypercorn": hypercorn,
    "asgi-lifespan": manager,
    "starlette": starlette,
    "amgi-common": amgi,
}
VERDICTS: tuple[Verdict, ...] = ("as the texts say", "unspecified", "otherwise", "waits for ever")


class Seen(NamedTuple):
    """What one run showed: facts of the application, with `served` and `ended` among them."""

    facts: list[Said]
    waited: bool  # a limit of the driver's has passed
    begun: int


def run(driver: Driver, script: Script) -> Seen:
    """Run one application until the driver ends it or everything waits for ever."""
    loop, actor = VirtualLoop(), Actor(script)
    loop.set_exception_handler(lambda *_: None)

    async def serve() -> None:
        try:
            async with driver(actor):
                actor.facts.append(Said("served"))
                await loop.settle()
                actor.facts.append(Said("asked to stop"))
        finally:
            actor.facts.append(Said("ended"))

    task = loop.create_task(serve())
    with contextlib.suppress(Deadlock, Exception, asyncio.CancelledError):
        loop.run_until_complete(task)
    seen = Seen(list(actor.facts), waited=loop.time() > 0, begun=actor.begun)
    while left := asyncio.all_tasks(loop):
        for each in left:
            each.cancel()
        loop.run_until_complete(asyncio.wait(left))
    loop.close()
    return seen


class Reader:
    """Reads one run along the texts: lifespan 2.0, and what AMGI takes over from it."""

    def __init__(self, seen: Seen) -> None:
        self.seen = seen
        self.state: State = "called"
        self.raised = self.served = False

    def verdict(self) -> Verdict:
        """Say what the texts say of it."""
        verdict = next((v for fact in self.seen.facts if (v := self.reads(fact))), None)
        if "ended" not in {fact.what for fact in self.seen.facts}:
            if self.said_all():
                return "waits for ever"
            if self.state == "running" and not verdict:
                return "otherwise"  # shutdown-sent
        return verdict or "as the texts say"

    def said_all(self) -> bool:
        """Whether nothing more can be waited for: the last word was said, or the call is over."""
        kinds = {fact.what for fact in self.seen.facts}
        return bool(kinds & GONE) or self.state in {"refused", "stopped"}

    def reads(self, fact: Said) -> Verdict | None:
        """Read the next fact; return a verdict where that is the last that matters."""
        if fact.what == "sent" and self.state == "called":
            return "unspecified"  # an answer before the event: the texts are silent
        if fact.what in {"heard", "sent"}:
            step = TRANSITIONS[self.state].get(fact.of)
            if step is None or step.rule:
                return "otherwise" if fact.what == "heard" else "unspecified"
            self.state = step.to
        elif fact.what == "served":
            self.served = True
            return self.serves()
        elif fact.what == "ended":
            return self.ends()
        elif fact.what in GONE:
            return self.goes(fact.what)
        return None

    def serves(self) -> Verdict | None:
        """wait-for-startup, startup-failed-never-serves."""
        return "otherwise" if self.state in {"called", "starting", "refused"} else None

    def goes(self, how: str) -> Verdict | None:
        """unsupported-by-raising: the one departure of an application that the texts speak of."""
        if self.state in {"called", "starting"} and how == "raise":
            self.state, self.raised = "gone", True
        elif self.state not in {"refused", "stopped"}:
            return "unspecified"  # it left without an answer, or was told to
        return None

    def ends(self) -> Verdict | None:
        """only-failed-stops where it raised; shutdown-sent, wait-for-shutdown."""
        if self.seen.waited:
            return "unspecified"  # no text knows a limit
        right = self.served if self.raised else self.state in {"refused", "stopped"}
        return None if right else "otherwise"


def verdicts_of(name: str, size: int) -> dict[str, int]:
    """Try every application that lets pass what `send` raises, and count the verdicts."""
    logging.disable()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        facts = run(DRIVERS[name], CORRECT).facts
        if Said("served") not in facts:
            raise RuntimeError(f"{name} does not serve a correct application: is it installed?")
        counts = _counts(DRIVERS[name], size)
    logging.disable(logging.NOTSET)
    return counts


def _counts(driver: Driver, size: int) -> dict[str, int]:
    counts: dict[str, int] = dict.fromkeys(VERDICTS, 0)
    begins: list[Script] = [()]
    while begins:
        begin = begins.pop()
        seen = [run(driver, (*begin, end)) for end in ENDS]
        if all(each.begun <= len(begin) for each in seen):  # all below cannot be told apart
            counts[Reader(seen[0]).verdict()] += below(size - len(begin))
            continue
        for each in seen:
            counts[Reader(each).verdict()] += 1
        if len(begin) + 1 < size:
            begins += [(*begin, move) for move in MOVES]
    return counts
