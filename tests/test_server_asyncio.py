"""The server on asyncio: tasks, timers, exits and anyio's cancel scopes, which trio has not."""

import asyncio
import contextlib
import gc
from typing import Any

import anyio
import pytest

from either import OnAsyncio
from lifespec.server import Lifespan, ProtocolError, StartupTimeout
from scripted import STARTED, STOPPED, says

pytestmark = pytest.mark.usefixtures("logged")
correct = says("receive", STARTED, "receive", STOPPED)
tidies = OnAsyncio().tidies


async def within(call: Any) -> None:
    """Await a call within a limit: before Python 3.12 that makes a task of it."""
    await asyncio.wait_for(call, 9)


async def in_a_group(call: Any) -> None:
    """Await a call in a task group."""
    async with asyncio.TaskGroup() as group:
        group.create_task(call)


@pytest.mark.parametrize("wait", [asyncio.gather, asyncio.create_task, within, in_a_group])
async def test_the_end_of_a_receive_loop_is_no_exception_of_the_application(
    logged: Any, wait: Any
) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await wait(correct(scope, receive, send))
        await wait(receive())

    async with Lifespan(app) as lifespan:
        pass
    assert (asyncio.get_running_loop().time(), lifespan.outcome) == (0, "complete")
    assert logged() == []


async def test_a_second_cancellation_with_the_same_message() -> None:
    """Only a cancel scope repeats itself: whoever cancels twice with a reason is in a hurry."""
    lifespan = Lifespan(tidies("receive", STARTED, "receive", 60, seconds=60), grace=None)
    await lifespan.startup()
    stopping = asyncio.create_task(lifespan.shutdown())
    for _ in range(3):
        await asyncio.sleep(0.1)
        stopping.cancel("stop")
    with pytest.raises(asyncio.CancelledError):
        await stopping
    assert asyncio.get_running_loop().time() < 1


async def test_a_task_that_receives_again_after_the_final_answer_waits_and_blocks_nobody() -> None:
    loop, swallowed = asyncio.get_running_loop(), []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        async def pump() -> None:
            while True:
                with contextlib.suppress(asyncio.CancelledError):
                    await receive()
                    continue
                swallowed.append(loop.time())
                if len(swallowed) > 1:
                    return

        await receive()
        await send(STARTED)
        await receive()
        await send(STOPPED)
        pumping = asyncio.create_task(pump())
        await asyncio.sleep(3)
        pumping.cancel()

    async with Lifespan(app) as lifespan:
        pass
    assert swallowed == [0, 3]  # the second time by `app`, not by `receive`
    assert (loop.time(), lifespan.outcome) == (3, "complete")


@pytest.mark.parametrize(
    ("stage", "seconds", "cleaned"),
    [("startup", 0.01, [True]), ("startup", 9, []), ("shutdown", 0.01, [True])],
)
def test_a_scope_of_anyio_lets_it_clean_up_and_does_not_suspend_the_grace(
    stage: str, seconds: float, cleaned: list[bool]
) -> None:
    done: list[bool] = []
    script = [] if stage == "startup" else ["receive", STARTED, "receive"]
    app = tidies(*script, 9, seconds=seconds, then=lambda: done.append(True))

    async def main() -> None:
        lifespan = Lifespan(app, grace=5 if cleaned else 0.01)
        if script:
            await lifespan.startup()
        with anyio.move_on_after(0.01):
            await getattr(lifespan, stage)()
        assert (done, lifespan.outcome) == (cleaned, "cancelled")

    asyncio.run(asyncio.wait_for(main(), 5))


def test_a_scope_of_anyio_neither_renews_nor_suspends_the_limits() -> None:
    cancelled = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send(STARTED)
        await receive()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(True)
        await asyncio.Event().wait()

    async def main() -> None:
        lifespan = Lifespan(app, shutdown_timeout=0.05, grace=0.01)
        with anyio.move_on_after(0.01):
            async with lifespan:
                await anyio.sleep(9)
        assert (lifespan.outcome, cancelled) == ("timed_out", [True])

    asyncio.run(asyncio.wait_for(main(), 5))


@pytest.mark.parametrize(("alone", "outcome"), [(False, "cancelled"), (True, "unsupported")])
async def test_cancelled_before_the_call_began(logged: Any, alone: bool, outcome: str) -> None:
    """Nobody waits for its end; if somebody else cancelled the call alone, it has declined."""
    future = asyncio.get_running_loop().create_future()
    lifespan = Lifespan(lambda *_: future, grace=None)
    server = asyncio.create_task(lifespan.startup())
    await asyncio.sleep(0)
    (call,) = asyncio.all_tasks() - {asyncio.current_task(), server}
    for task in [call] if alone else [server, call]:
        task.cancel()
    await asyncio.wait([server])
    assert (server.cancelled(), lifespan.outcome, lifespan.phase) == (not alone, outcome, "ended")
    assert isinstance(lifespan.error, asyncio.CancelledError) is alone
    assert [level for level, *_ in logged()] == ["INFO", "ERROR"] * alone


@pytest.mark.parametrize("seconds", [0, 60])
async def test_no_event_comes_after_the_end_or_the_cancellation_not_even_startup(
    seconds: float,
) -> None:
    receivers: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(seconds)
        receivers.append(asyncio.ensure_future(receive()))
        if seconds:
            await asyncio.sleep(0.5)

    with contextlib.suppress(StartupTimeout):
        await Lifespan(app, startup_timeout=1).startup()
    await asyncio.sleep(9)
    assert not receivers[0].done()
    receivers[0].cancel()


async def test_what_it_raises_is_its_error_also_where_its_task_is_to_be_cancelled_just_then() -> (
    None
):
    error = OSError("mine")

    async def app(scope: Any, receive: Any, send: Any) -> None:
        asyncio.current_task().cancel()  # type: ignore[union-attr]
        raise error

    async with Lifespan(app) as lifespan:
        await asyncio.sleep(1)
        assert (lifespan.outcome, lifespan.error) == ("unsupported", error)


async def test_nothing_piles_up_if_a_server_asks_again_and_again_whether_it_is_gone() -> None:
    def futures() -> int:
        gc.collect()
        return sum(isinstance(each, asyncio.Future) for each in gc.get_objects())

    lifespan = Lifespan(correct)
    await lifespan.startup()
    before = futures()
    for _ in range(100):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(lifespan.wait_ended(), 1)
    assert futures() - before < 50
    await lifespan.shutdown()


async def test_what_is_sent_after_the_end_has_no_effect() -> None:
    async def app(_scope: Any, _receive: Any, send: Any) -> None:
        kept.append(send)
        with pytest.raises(ProtocolError):
            await send("ready")

    kept: list[Any] = []
    lifespan = await Lifespan(app).startup()
    for message in {"type": "lifespan.startup.complete"}, "ready":
        await kept[0](message)
    assert (lifespan.outcome, lifespan.supported) == ("unsupported", False)


async def test_an_eager_task_factory_does_not_begin_the_application_before_its_event(
    logged: Any,
) -> None:
    """What it raises then is raised on the scope, also where tasks begin at once (3.12)."""
    factory = getattr(asyncio, "eager_task_factory", None)
    asyncio.get_running_loop().set_task_factory(factory)
    async with Lifespan(says(OSError("no lifespan"))) as lifespan:
        assert lifespan.supported is False
    assert [record[0] for record in logged()] == ["INFO"]
