"""The laws of several lifespans as one."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from either import both
from lifespec.application import with_lifespan
from lifespec.composition import combine_lifespans
from lifespec.server import Lifespan, ShutdownFailed, StartupFailed
from scripted import NOT_STOPPED, STARTED


def part(log: list[str], name: str, fail: str = "", state: Any = None) -> Any:
    """Make an application that notes its start and stop, and fails where it is told."""

    @contextlib.asynccontextmanager
    async def context(_: object) -> AsyncIterator[Mapping[str, Any] | None]:
        task = asyncio.current_task()
        if fail == "start":
            raise OSError(f"{name} cannot start")
        log.append(f"+{name}")
        yield state
        log.append(f"-{name}")
        assert asyncio.current_task() is task
        if fail == "stop":
            raise OSError(f"{name} cannot stop")

    async def app(scope: Any, receive: Any, send: Any) -> str:
        return name

    return with_lifespan(app, context)


async def test_a_failure_to_start_is_raised_and_one_in_unwinding_is_a_note_on_it() -> None:
    app = combine_lifespans(part([], "a", "stop"), part([], "b", "start"))
    with pytest.raises(StartupFailed) as caught:
        await Lifespan(app).startup()
    cause = caught.value.__cause__
    assert isinstance(cause, StartupFailed)
    assert cause.message == caught.value.message == "b cannot start"
    assert cause.__notes__ == ["The application failed to shut down: a cannot stop"]


@pytest.mark.parametrize("by_hand", [True, False])
async def test_a_key_that_two_parts_set_is_an_error_that_names_both(by_hand: bool) -> None:
    async def careless(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        with contextlib.suppress(ValueError):
            scope["state"]["pool"] = 2
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})

    second = careless if by_hand else part([], "b", state={"pool": 2})
    log: list[str] = []
    app = combine_lifespans(part(log, "a", state={"pool": 1}), second)
    with pytest.raises(StartupFailed) as caught:
        await Lifespan(app).startup()
    name = "careless" if by_hand else "application"
    expected = f"the state key 'pool' is set by 1 (application) and by 2 ({name})"
    assert caught.value.message == expected
    assert log == ["+a", "-a"]


async def test_of_one_it_is_that_one_and_each_must_be_callable() -> None:
    app = part([], "a")
    assert combine_lifespans(app) is app
    with pytest.raises(TypeError, match="app must be callable, got 'app'"):
        combine_lifespans(app, "app")  # type: ignore[arg-type]


@pytest.mark.parametrize("fail", ["", "start", "stop"])
async def test_it_does_not_matter_how_the_parts_are_grouped(fail: str) -> None:
    groupings = [
        combine_lifespans,
        lambda a, b, c: combine_lifespans(combine_lifespans(a, b), c),
        lambda a, b, c: combine_lifespans(a, combine_lifespans(b, c)),
    ]
    results: list[Any] = []
    for grouping in groupings:
        log: list[str] = []
        app = grouping(*(part(log, name, fail if name != "b" else "") for name in "abc"))
        lifespan = Lifespan(app)
        try:
            async with lifespan:
                pass
        except (StartupFailed, ShutdownFailed) as failure:
            log.append(failure.message)
        results.append((log, lifespan.outcome, await app({"type": "http"}, None, None)))
    assert results[0] == results[1] == results[2]


async def test_a_failure_that_a_cancelled_server_does_not_hear_is_in_the_log(logged: Any) -> None:
    started = asyncio.Event()

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        started.set()
        await asyncio.sleep(60)

    server = asyncio.create_task(Lifespan(combine_lifespans(part([], "a", "stop"), slow)).startup())
    await started.wait()
    server.cancel()
    with pytest.raises(asyncio.CancelledError):
        await server
    assert logged()[0] == ("ERROR", "The application failed to shut down: a cannot stop", False)


@both
async def test_a_part_that_raises_after_it_received_startup(on: Any) -> None:
    """Alone it would be served without its startup; here the others would be, too."""
    with pytest.raises(StartupFailed, match="no pool") as caught:
        await on.Lifespan(
            combine_lifespans(on.correct, on.says("receive", OSError("no pool")))
        ).startup()
    assert caught.value.message == "no pool"
    # before it received, without raising, or once it had answered: the others are served
    for steps in ([OSError("on the scope")], ["receive"], ["receive", STARTED, OSError("burst")]):
        async with on.Lifespan(combine_lifespans(on.correct, on.says(*steps))) as lifespan:
            assert lifespan.supported


CRASHED = "The application crashed before it answered shutdown: OSError('disk full')"


@pytest.mark.parametrize(
    ("last", "message"),
    [(NOT_STOPPED, "The application failed to shut down"), (OSError("disk full"), CRASHED)],
)
@both
async def test_a_failure_without_a_text_is_a_sentence(on: Any, last: Any, message: str) -> None:
    fails = on.says("receive", STARTED, "receive", last)
    lifespan = await on.Lifespan(combine_lifespans(on.correct, fails)).startup()
    with pytest.raises(ShutdownFailed) as caught:
        await lifespan.shutdown()
    assert caught.value.message == message


async def test_a_part_that_ignores_its_cancellation_is_given_up_with_an_error_in_the_log(
    logged: Any,
) -> None:
    async def stubborn(scope: Any, receive: Any, send: Any) -> None:
        await part([], "b")(scope, receive, send)
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(60)
        await asyncio.sleep(60)

    async with Lifespan(combine_lifespans(part([], "a"), stubborn), grace=60):
        pass
    sentence = "The application was cancelled and did not stop within 5 s"
    assert logged() == [("ERROR", sentence, False)]


@both
async def test_a_server_without_state_starts_all(on: Any) -> None:
    app = combine_lifespans(on.correct, on.correct)
    async with on.Lifespan(app, scope={"type": "lifespan"}) as lifespan:
        assert (lifespan.supported, lifespan.state) == (True, None)


@both
async def test_a_part_that_crashes_while_it_runs_does_not_fail_shutdown(on: Any) -> None:
    app = combine_lifespans(on.correct, on.says("receive", STARTED, OSError("while serving")))
    lifespan = await on.Lifespan(app).startup()
    await on.sleep(1)
    await lifespan.shutdown()
    assert lifespan.outcome == "complete"
