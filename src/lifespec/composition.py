"""Several lifespans as one: what an application needs that has others mounted in it.

Each part lives under a `Lifespan` of its own, so in one task from start to end.  Parts are
started in order and stopped in reverse; where one fails to start, those before it are stopped.
The state is one namespace: each part sees what it has set itself, requests see it all.
"""

from asyncio import CancelledError
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, MutableMapping
from contextlib import AsyncExitStack, asynccontextmanager
from logging import DEBUG
from typing import Any, Self

from lifespec.server import Lifespan, ShutdownFailed, StartupFailed, log

__all__ = ["compose"]

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
Application = Callable[[Any, Receive, Send], Awaitable[object]]


def compose(app: Application, *others: Application) -> Application:
    """Return `app` with the lifespans of the others joined to its own.

    They start in order and stop in reverse.  Every scope but lifespan goes to `app`.  A part
    that declines does not matter to the rest.  A state key that two of them set fails startup.
    Raises TypeError for what cannot be called.
    """
    parts = (app, *others)
    for part in parts:
        if not callable(part):
            raise TypeError(f"an application is a callable, not {part!r}")
    if not others:
        return app

    async def composed(scope: Any, receive: Receive, send: Send) -> object:
        if scope["type"] != "lifespan":
            return await app(scope, receive, send)
        await _live(parts, scope, receive, send)
        return None

    return composed


async def _live(parts: tuple[Application, ...], scope: Any, receive: Receive, send: Send) -> None:
    await receive()
    failures: list[str] = []
    lifespans: list[_Part] = []
    try:
        async with AsyncExitStack() as stack:
            for lifespan in _lifespans(parts, scope):
                lifespans.append(lifespan)
                await stack.enter_async_context(_part(lifespan, failures))
            if not any(lifespan.supported for lifespan in lifespans):
                return  # all of them declined, and so does the whole
            await send({"type": "lifespan.startup.complete"})
            await receive()
    except StartupFailed as failure:
        await send({"type": "lifespan.startup.failed", "message": failure.message})
        raise
    except CancelledError:  # the server takes no answer any more
        for lifespan in lifespans:
            if lifespan.outcome == "failed":
                log.error(lifespan.sentence)
        raise
    if failures:
        await send({"type": "lifespan.shutdown.failed", "message": "; ".join(failures)})
    else:
        await send({"type": "lifespan.shutdown.complete"})


def _lifespans(parts: tuple[Application, ...], scope: Any) -> Iterator["_Part"]:
    owners: dict[str, str] = {}
    for number, part in enumerate(parts, 1):
        if "state" not in scope:
            yield _Part(part, scope)
            continue
        name = getattr(part, "__name__", type(part).__name__)
        lifespan = _Part(part, {**scope, "state": {}})
        share = _Share(f"{number} ({name})", scope["state"], owners)
        lifespan.state = lifespan.scope["state"] = share
        yield lifespan


@asynccontextmanager
async def _part(lifespan: "_Part", failures: list[str]) -> AsyncIterator["_Part"]:
    try:
        async with lifespan:
            if isinstance(lifespan.state, _Share) and lifespan.state.conflict:
                raise StartupFailed(lifespan.state.conflict, lifespan.state.conflict)
            yield lifespan
    except ShutdownFailed as failure:
        failures.append(failure.message or str(failure))


class _Part(Lifespan):
    """One of several: the whole reports its failures, and has the server's grace."""

    def happened(self, what: str, detail: str = "", error: BaseException | None = None) -> bool:
        if what == "cancelled" and self.phase in ("waiting", "stopping"):
            self.grace = None  # it is the whole that was cancelled
        return super().happened(what, detail, error)

    def note(self, level: int, sentence: str, error: BaseException | None) -> None:
        failed = self.phase == "answered" and error is None
        super().note(DEBUG if failed else level, sentence, error)


class _Share(dict[str, Any]):
    """One part's view of the state: what it sets is set in the whole."""

    def __init__(self, name: str, whole: MutableMapping[str, Any], owners: dict[str, str]) -> None:
        super().__init__()
        self.name, self.whole, self.owners = name, whole, owners
        self.conflict = ""

    def __setitem__(self, key: str, value: Any) -> None:
        owner = self.owners.setdefault(key, self.name)
        if owner != self.name:
            self.conflict = f"the state key {key!r} is set by {owner} and by {self.name}"
            raise ValueError(self.conflict)
        super().__setitem__(key, value)
        self.whole[key] = value

    def __delitem__(self, key: str) -> None:
        super().__delitem__(key)
        del self.whole[key], self.owners[key]

    def popitem(self) -> tuple[str, Any]:
        key, value = super().popitem()
        del self.whole[key], self.owners[key]
        return key, value

    def __ior__(self, other: Any) -> Self:  # type: ignore[override, misc]
        self.update(other)
        return self

    # dict's own would pass the two methods above by
    clear = MutableMapping.clear
    pop = MutableMapping.pop
    setdefault = MutableMapping.setdefault
    update = MutableMapping.update
