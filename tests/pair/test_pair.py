"""Our server, our validator and our application, over every complete conversation that there is.

The conversations are generated from the table: every way from `called` to `gone` on which no
rule is broken.  The server shares no line with the table, so that each is tried by the other.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from lifespec import (
    Lifespan,
    ProtocolError,
    ShutdownFailed,
    StartupFailed,
    lifespan_scope,
    validator,
    with_lifespan,
)
from lifespec.validate import EVENTS, SPECS, TRANSITIONS, State

__all__: list[str] = []

Way = tuple[str, ...]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
ENDS = ("raise", "return")


def ways(state: State = "called", before: Way = ()) -> Iterator[tuple[State, Way]]:
    """Give each state that is reached without a broken rule, and by which way."""
    yield state, before
    if state != "gone":
        for happening, step in TRANSITIONS[state].items():
            if not step.rule:
                yield from ways(step.to, (*before, happening))


COMPLETE = [way for state, way in ways() if state == "gone"]
# Where a way can be left by a step of the application that is not to be taken.
BROKEN = [
    (way, happening)
    for state, way in ways()
    for happening, step in TRANSITIONS[state].items()
    if step.rule and (happening in ENDS or EVENTS[happening].sender == "application")
]


def finished(way: Way) -> Way:
    """Return the rest of a shortest complete conversation that begins so."""
    return min((one[len(way) :] for one in COMPLETE if one[: len(way)] == way), key=len)


class Scripted:
    """An application that takes the steps it is told to take; a refusal it swallows, or not."""

    def __init__(self, *happenings: str, swallows: bool = True) -> None:
        self.happenings, self.swallows = happenings, swallows
        self.refusals: list[ProtocolError] = []
        self.stop = asyncio.Event()

    async def __call__(self, _: Any, receive: Receive, send: Send) -> None:
        """Take one step after another."""
        for happening in self.happenings:
            if happening == "raise":
                raise LookupError("as it was told")
            if happening == "return":
                break
            await self.step(happening, receive, send)
        self.stop.set()

    async def step(self, happening: str, receive: Receive, send: Send) -> None:
        """Receive an event, or send one."""
        if EVENTS[happening].sender == "server":
            if happening == "lifespan.shutdown":
                self.stop.set()
            assert (await receive())["type"] == happening
            return
        try:
            await send({"type": happening, **EVENTS[happening].defaults})
        except ProtocolError as refusal:
            self.refusals.append(refusal)
            if not self.swallows:
                self.stop.set()
                raise


async def run_validated(
    app: Scripted, offered: dict[str, Any] | None = None
) -> tuple[Any, Lifespan]:
    """Let our server run the application through the validator; return both."""
    validated = validator(app)
    lifespan = Lifespan(validated, scope=offered)
    try:
        async with lifespan:
            if lifespan.outcome is None and "lifespan.shutdown" in app.happenings:
                await app.stop.wait()
    except (StartupFailed, ShutdownFailed):
        pass
    return validated, lifespan


def test_how_many_conversations_there_are() -> None:
    """There are 28 complete conversations, and 57 ways to leave one by a wrong step."""
    assert len(COMPLETE) == len(set(COMPLETE)) == 28
    usual = ("lifespan.startup", "lifespan.startup.complete", "lifespan.shutdown")
    assert sum(way[:3] == usual for way in COMPLETE) == 4
    assert len(BROKEN) == 57


@pytest.mark.parametrize("text", SPECS)
@pytest.mark.parametrize("way", COMPLETE, ids=" ".join)
async def test_every_complete_conversation(way: Way, text: str) -> None:
    """No complete conversation has a violation; what is not specified is a warning."""
    app = Scripted(*way)
    validated, lifespan = await run_validated(app, lifespan_scope(text))
    assert validated.violations == []
    early = way[0] in {"lifespan.startup.complete", "lifespan.startup.failed"}
    failures = sum(happening.endswith("failed") for happening in way) * (text == "asgi 1.0")
    expected = ["answers-in-order"] * (early + unasked(way)) + ["events-known"] * failures
    assert sorted(warning.rule for warning in validated.warnings) == expected
    assert app.refusals == []
    assert lifespan.outcome == outcome(way)


def unasked(way: Way) -> bool:
    """Tell whether a failure of shutdown was sent and shutdown was not."""
    return "lifespan.shutdown.failed" in way and "lifespan.shutdown" not in way


def outcome(way: Way) -> str:
    """Return what became of a complete conversation, in the words of the server."""
    if unasked(way):
        return "crashed"
    if any(happening.endswith("failed") for happening in way):
        return "failed"
    if "lifespan.startup.complete" not in way:
        return "unsupported"
    if "lifespan.shutdown" not in way:
        return {"raise": "crashed", "return": "returned"}[way[-1]]
    return "complete"


@pytest.mark.parametrize("swallows", [True, False])
@pytest.mark.parametrize(("way", "broken"), BROKEN)
async def test_every_broken_step_of_an_application(
    way: Way, broken: str, *, swallows: bool
) -> None:
    """The rule of the cell is named, at the application, and no other; the server names it, too."""
    states = {one: state for state, one in ways()}
    _, rule, warning = TRANSITIONS[states[way]][broken]
    app = Scripted(*way, broken, *(() if broken in ENDS else finished(way)), swallows=swallows)
    validated, _ = await run_validated(app)
    early = ["answers-in-order"] * (way[:1] not in {(), ("lifespan.startup",)})
    early += ["answers-in-order"] * unasked(way)
    assert [found.rule for found in validated.violations] == [rule] * (not warning)
    assert [found.rule for found in validated.warnings] == early + [rule] * bool(warning)
    roles = {found.role for found in (*validated.violations, *validated.warnings)}
    assert roles == {"application"}
    if broken not in ENDS:
        assert [refusal.rule for refusal in app.refusals] == [rule]


@pytest.mark.parametrize("broken", ["nothing", "startup", "shutdown"])
async def test_our_application(broken: str) -> None:
    """What with_lifespan makes breaks no rule, whatever fails in it, and raises no warning."""

    @asynccontextmanager
    async def context(_: object) -> Any:
        if broken == "startup":
            raise OSError(broken)
        yield {"pool": 1}
        if broken == "shutdown":
            raise OSError(broken)

    async def respond(request: Any, _: Receive, __: Send) -> None:
        assert request["state"] == {"pool": 1}

    validated = validator(with_lifespan(respond, context))
    with suppress(StartupFailed, ShutdownFailed):
        async with Lifespan(validated) as lifespan:
            await validated(lifespan.with_state({"type": "http"}), None, None)  # type: ignore[arg-type]
    assert (validated.violations, validated.warnings) == ([], [])
