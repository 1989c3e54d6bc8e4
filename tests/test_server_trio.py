"""The server on trio: nurseries and receive loops; and the two libraries side by side."""

from functools import partial
from typing import Any

import pytest
import trio

from actors import KNOWN, MOVES, Actor, Script, scripts
from either import Either, OnAsyncio, OnTrio, on_trio
from lifespec.server import StartupTimeout
from lifespec.server_trio import Lifespan
from scripted import STARTED

ON = OnTrio()
says, tidies, correct = ON.says, ON.tidies, ON.correct


# ---- waiting --------------------------------------------------------------------------------


@on_trio
async def test_the_group_of_cancellations_of_a_nursery_is_no_exception(logged: Any) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            nursery.start_soon(trio.sleep_forever)

    with pytest.raises(StartupTimeout):
        await Lifespan(app, startup_timeout=1).startup()
    assert [level for level, *_ in logged()] == ["ERROR"]


@pytest.mark.parametrize("limit", [0, 1])
@on_trio
async def test_an_answer_at_the_very_moment_of_the_limit_is_in_time(limit: float) -> None:
    async with Lifespan(says("receive", *[1] * limit, STARTED), startup_timeout=limit) as lifespan:
        assert trio.current_time() == limit
    assert lifespan.outcome == "returned"


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (SystemExit(5), "The application exits after the server stopped waiting"),
        (OSError(), "The application raised after the server stopped waiting: OSError()"),
    ],
)
@on_trio
async def test_what_it_raises_after_the_server_stopped_waiting_is_in_the_log(
    logged: Any, error: BaseException, sentence: str
) -> None:
    def leave() -> None:
        raise error

    with pytest.raises(StartupTimeout):
        await Lifespan(tidies(seconds=60, then=leave), startup_timeout=1, grace=2).startup()
    await trio.sleep(100)
    assert logged()[2:] == [("ERROR", sentence, True)]


@on_trio
async def test_a_log_that_raises_does_not_end_the_run() -> None:
    """The call runs in a system task of trio, where an exception of a log handler ends all."""

    class Unlogged(Lifespan):
        def report(self, *_: Any) -> None:
            raise OSError("no space left on device")

    async with Unlogged(says("receive", STARTED, "receive", KeyError("pool"))) as lifespan:
        pass
    assert (lifespan.outcome, lifespan.phase) == ("crashed", "ended")


# ---- cancelled ------------------------------------------------------------------------------


@on_trio
async def test_shutdown_may_be_called_in_any_scope_and_task_of_the_body() -> None:
    async with Lifespan(correct) as lifespan:
        with trio.move_on_after(5):
            await lifespan.shutdown()
    assert lifespan.outcome == "complete"
    async with Lifespan(correct) as lifespan, trio.open_nursery() as nursery:
        nursery.start_soon(lifespan.shutdown)
    assert lifespan.outcome == "complete"


@on_trio
async def test_an_exit_that_comes_of_the_cancellation_of_startup_is_not_lost(logged: Any) -> None:
    def leave() -> None:
        raise SystemExit(3)

    lifespan = Lifespan(tidies("receive", 60, seconds=1, then=leave))
    with pytest.raises(SystemExit):
        await ON.cancelled(lifespan.startup, 5)
    assert (lifespan.outcome, trio.current_time()) == ("cancelled", 6)
    assert "ERROR" not in [level for level, *_ in logged()]


def test_what_nobody_shuts_down_is_cancelled_when_trio_ends_and_has_crashed() -> None:
    lifespan = Lifespan(correct)
    ON.run(lifespan.startup)
    assert (lifespan.outcome, lifespan.phase) == ("crashed", "ended")


# ---- receive loops ----------------------------------------------------------------------------


async def pump(receive: Any, send: Any) -> None:
    """Answer each event, and receive again."""
    while True:
        event = await receive()
        await send({"type": f"{event['type']}.complete"})


@on_trio
async def test_a_task_that_waits_in_receive_does_not_cost_its_application_the_grace() -> None:
    done = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(pump, receive, send)
            await trio.sleep(3)
            done.append(trio.current_time())
            nursery.cancel_scope.cancel()

    async with Lifespan(app) as lifespan:
        pass
    assert (done, lifespan.outcome) == ([3], "complete")


@on_trio
async def test_receive_loops_of_other_tasks_have_the_grace() -> None:
    """Trio cannot cancel a single task, so the application is cancelled after the grace."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(pump, receive, send)

    async with Lifespan(app, grace=7) as lifespan:
        pass
    assert (lifespan.outcome, trio.current_time()) == ("complete", 7)


# ---- the two libraries side by side -----------------------------------------------------------


async def played(on: Either, script: Script, body: float, *, swallows: bool) -> Any:
    """Play a script under `Lifespan`; return all that can be seen of it."""
    reports: list[Any] = []

    class Reporting(on.Lifespan):  # type: ignore[misc, name-defined]
        def report(self, level: int, sentence: str, error: BaseException | None) -> None:
            reports.append((level, sentence, bool(error)))

    actor = Actor(script, swallows=swallows, pause=partial(on.sleep, 1))
    lifespan = Reporting(actor, startup_timeout=2.25, shutdown_timeout=2.25, grace=0.75)
    raised: BaseException | None = None
    served, began = False, on.now()
    try:
        async with lifespan:
            served = True  # its place among the facts is a turn of the loop earlier or later
            await on.sleep(body)
    except Exception as error:
        raised = error
    end = type(raised), str(raised), getattr(raised, "message", None), on.now() - began
    facts = lifespan.outcome, lifespan.phase, repr(lifespan.error)
    return *facts, end, served, actor.facts, actor.refused, reports


@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("size", "body", "swallows"), [(5, 1.5, True), (4, 0, True), (4, 0, False), (4, 1.5, False)]
)
def test_libraries_agree(size: int, body: float, swallows: bool) -> None:
    """Each application of a few actions fares alike under both: outcome, events, log."""

    async def all_of(on: Either) -> Any:
        plays = [
            each
            for each in scripts(size, KNOWN if size == 5 else MOVES)
            if len(each) < size or each[-1] == "return"
        ]
        return {each: await played(on, each, body, swallows=swallows) for each in plays}

    asyncios, trios = (on.run(partial(all_of, on)) for on in (OnAsyncio(), ON))
    assert len(trios) > 600
    assert [script for script in trios if trios[script] != asyncios[script]] == []
    if size == 5:
        outcomes = {"complete", "failed", "unsupported", "crashed", "returned", "timed_out"}
        assert {outcome for outcome, *_ in trios.values()} == outcomes
