"""The server's half on trio: the rows of the decision table, and the two drivers side by side."""

import asyncio
import contextvars
import functools
import itertools
import logging
import signal
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
import trio
from trio.testing import MockClock

import scripted
from lifespec import server
from lifespec.server import ProtocolError, ShutdownFailed, StartupFailed, StartupTimeout
from lifespec.server_trio import Lifespan
from lifespec.testing import clock
from scripted import NOT_STARTED, NOT_STOPPED, STARTED, STOPPED

HANG = 10**6  # seconds of a clock that jumps

Records = list[tuple[str, str, bool]]


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> Callable[[], Records]:
    """Return what tells the log so far: level, sentence, whether with a traceback."""
    caplog.set_level(logging.DEBUG, "lifespec.server")
    return lambda: [(r.levelname, r.getMessage(), bool(r.exc_info)) for r in caplog.records]


def run(main: Callable[[], Awaitable[Any]]) -> Any:
    """Run on trio, on a clock that jumps; what hangs raises TooSlowError."""

    async def limited() -> Any:
        with trio.fail_after(HANG):
            return await main()

    return trio.run(limited, clock=MockClock(autojump_threshold=0))


def on_trio(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Make a test of an async function."""

    @functools.wraps(test)
    def running(**arguments: Any) -> None:
        run(functools.partial(test, **arguments))

    return running


says = functools.partial(scripted.says, sleep=trio.sleep)
correct = says("receive", STARTED, "receive", STOPPED)


def tidies(*script: Any, seconds: float, then: Callable[[], None] = lambda: None) -> Any:
    """Make an application that shields some seconds of tidying up at its end."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        try:
            await says(*script)(scope, receive, send)
        finally:
            with trio.CancelScope(shield=True):
                await trio.sleep(seconds)
                then()

    return app


async def cancelled(main: Callable[[], Awaitable[Any]], after: float) -> None:
    """Run something, and cancel it after some seconds; it must let the cancellation through."""
    with trio.move_on_after(after) as scope:
        await main()
    assert scope.cancelled_caught


# ---- waiting --------------------------------------------------------------------------------


@on_trio
async def test_complete(said: Any) -> None:
    """An application that completes startup is served, told of shutdown, and nothing is logged."""
    heard = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        heard.append(await receive())
        await send(STARTED)
        heard.append(await receive())
        await send(STOPPED)

    async with Lifespan(app) as lifespan:
        assert (lifespan.outcome, lifespan.supported, lifespan.error) == (None, True, None)
        assert heard == [{"type": "lifespan.startup"}]
    assert heard == [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]
    assert (lifespan.outcome, lifespan.phase) == ("complete", "ended")
    assert said() == []


@on_trio
async def test_halves() -> None:
    """startup() and shutdown() need no nursery, and may be called in different tasks."""
    lifespan = Lifespan(correct)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lifespan.startup)
    assert lifespan.phase == "running"
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lifespan.shutdown)
        nursery.start_soon(lifespan.shutdown)
        nursery.start_soon(lifespan.wait_ended)
    assert lifespan.outcome == "complete"


@on_trio
async def test_wait_for_startup() -> None:
    """The body does not run before startup was answered, however long that takes."""
    async with Lifespan(says("receive", 3600, STARTED, "receive", STOPPED)):
        assert trio.current_time() == 3600


@on_trio
async def test_startup_failed(said: Any) -> None:
    """startup.failed raises StartupFailed with exactly the application's text."""
    lifespan = Lifespan(says("receive", NOT_STARTED | {"message": "no database"}))
    with pytest.raises(StartupFailed) as caught:
        await lifespan.startup()
    assert caught.value.message == "no database"
    assert lifespan.outcome == "failed"
    assert said() == [("ERROR", "The application failed to start: no database", False)]


@on_trio
async def test_failed_and_then_lingers() -> None:
    """An application that lingers after startup.failed is cancelled within the grace."""
    with pytest.raises(StartupFailed):
        await Lifespan(says(NOT_STARTED, 60), grace=2).startup()
    assert trio.current_time() == 2


@on_trio
async def test_declines(said: Any) -> None:
    """An application that raises or returns instead of answering startup has declined."""
    error = ValueError("http only")
    for app, raised in ((says(error), error), (says("receive"), None)):
        async with Lifespan(app) as lifespan:
            assert (lifespan.supported, lifespan.outcome) == (False, "unsupported")
            assert lifespan.error is raised
    assert said() == [
        ("INFO", "The application does not support lifespan: ValueError('http only')", False),
        ("INFO", "The application does not support lifespan: it returned", False),
    ]


@on_trio
async def test_declines_out_of_a_nursery(said: Any) -> None:
    """An exception that comes in a nursery's group is an exception as any other."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(send, {"type": "?"})

    async with Lifespan(app) as lifespan:
        assert isinstance(lifespan.error, ExceptionGroup)
        assert lifespan.error.subgroup(ProtocolError)
    assert [level for level, *_ in said()] == ["INFO", "ERROR"]


@on_trio
async def test_startup_times_out(said: Any) -> None:
    """An application that does not answer in time is cancelled; the cause shows where it was."""

    async def connect() -> None:
        await trio.sleep_forever()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await connect()

    sentence = "The application did not answer startup within 2.5 s: it was still running"
    lifespan = Lifespan(app, startup_timeout=2.5)
    with pytest.raises(StartupTimeout, match=sentence) as caught:
        await lifespan.startup()
    assert trio.current_time() == 2.5
    assert (lifespan.outcome, lifespan.error) == ("timed_out", None)
    assert said() == [("ERROR", sentence, False)]
    names = []
    assert isinstance(caught.value.__cause__, trio.Cancelled)
    trace = caught.value.__cause__.__traceback__
    while trace:
        names.append(trace.tb_frame.f_code.co_name)
        trace = trace.tb_next
    assert "connect" in names


@on_trio
async def test_nurseries_obey(said: Any) -> None:
    """The group of cancellations that an application's nursery raises is no exception of its."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            nursery.start_soon(trio.sleep_forever)

    with pytest.raises(StartupTimeout):
        await Lifespan(app, startup_timeout=1).startup()
    assert [level for level, *_ in said()] == ["ERROR"]


@on_trio
async def test_raises_when_cancelled(said: Any) -> None:
    """What an application raises instead of obeying its cancellation is in the log."""

    def stuck() -> None:
        raise OSError("pool is stuck")

    with pytest.raises(StartupTimeout):
        await Lifespan(tidies(60, seconds=0, then=stuck), startup_timeout=1).startup()
    assert said()[1:] == [
        ("ERROR", "The application raised when it was cancelled: OSError('pool is stuck')", True)
    ]


@pytest.mark.parametrize("limit", [0, 1])
@on_trio
async def test_answers_as_the_limit_passes(limit: float) -> None:
    """An answer at the very moment of the limit is in time."""
    async with Lifespan(says("receive", *[1] * limit, STARTED), startup_timeout=limit) as lifespan:
        assert trio.current_time() == limit
    assert lifespan.outcome == "returned"


@on_trio
async def test_ignores_cancellation(said: Any) -> None:
    """An application that ignores its cancellation is given up after the grace."""
    lifespan = Lifespan(tidies(seconds=60), startup_timeout=1, grace=2)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lifespan_fails, lifespan)
        await trio.sleep(0.5)
        await lifespan.wait_ended()
    assert trio.current_time() == 3
    assert said()[1:] == [
        ("ERROR", "The application was cancelled and did not stop within 2 s", False)
    ]


async def lifespan_fails(lifespan: Lifespan) -> None:
    """Start what is too late."""
    with pytest.raises(StartupTimeout):
        await lifespan.startup()


def test_the_end_waits_for_one_that_was_given_up() -> None:
    """trio.run ends when an application that was given up has ended, and not before."""
    times = []

    async def main() -> None:
        app = tidies(seconds=60, then=lambda: times.append(trio.current_time()))
        await lifespan_fails(Lifespan(app, startup_timeout=1, grace=2))
        times.append(trio.current_time())

    run(main)
    assert times == [3, 60]


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (OSError(5), "The application raised after the server stopped waiting: OSError(5)"),
        (SystemExit(5), "The application exits after the server stopped waiting"),
    ],
)
@on_trio
async def test_raises_after_it_was_given_up(error: BaseException, sentence: str, said: Any) -> None:
    """What an application raises after it was given up is in the log all the same."""

    def fail() -> None:
        raise error

    app = tidies(seconds=60, then=fail)
    await lifespan_fails(Lifespan(app, startup_timeout=1, grace=2))
    await trio.sleep(100)
    assert said()[2:] == [("ERROR", sentence, True)]


@on_trio
async def test_log_raises() -> None:
    """A log that raises changes nothing of the outcome."""

    def broken(record: logging.LogRecord) -> bool:
        raise OSError("the disk is full")

    log = logging.getLogger("lifespec.server")
    log.addFilter(broken)
    try:
        async with Lifespan(says("receive", ValueError())) as lifespan:
            pass
    finally:
        log.removeFilter(broken)
    assert lifespan.outcome == "unsupported"


# ---- cancelled ------------------------------------------------------------------------------


@on_trio
async def test_cancelled_while_waiting() -> None:
    """A server that is cancelled in startup cancels the application, awaits it and goes on."""
    ended: list[float] = []
    app = tidies("receive", 60, seconds=1, then=lambda: ended.append(trio.current_time()))
    lifespan = Lifespan(app)
    await cancelled(lifespan.startup, 5)
    assert (ended, lifespan.outcome, lifespan.phase) == ([6], "cancelled", "ended")
    await lifespan.shutdown()


@on_trio
async def test_cancelled_before_it_starts() -> None:
    """A server that is cancelled already awaits the application all the same."""
    lifespan = Lifespan(says("receive", 60, STARTED))
    await cancelled(lifespan.startup, 0)
    assert (lifespan.outcome, lifespan.phase, trio.current_time()) == ("cancelled", "ended", 0)


@on_trio
async def test_stopped_within_the_body() -> None:
    """shutdown() may be called in any scope and task of the body."""
    async with Lifespan(correct) as lifespan:
        with trio.move_on_after(5):
            await lifespan.shutdown()
    assert lifespan.outcome == "complete"
    async with Lifespan(correct) as lifespan, trio.open_nursery() as nursery:
        nursery.start_soon(lifespan.shutdown)
    assert lifespan.outcome == "complete"


@on_trio
async def test_exits_when_startup_is_cancelled() -> None:
    """An exit that comes of the cancellation of startup is not lost."""

    def leave() -> None:
        raise SystemExit(3)

    lifespan = Lifespan(tidies("receive", 60, seconds=1, then=leave))
    with pytest.raises(SystemExit):
        await cancelled(lifespan.startup, 5)
    assert (lifespan.outcome, trio.current_time()) == ("cancelled", 6)


@on_trio
async def test_cancelled_in_the_grace() -> None:
    """The wait of a cancelled server is as long as the grace, and no longer."""
    lifespan = Lifespan(tidies(60, seconds=60), grace=3)
    await cancelled(lifespan.startup, 5)
    assert (trio.current_time(), lifespan.phase) == (8, "ended")


@on_trio
async def test_cancelled_as_it_starts() -> None:
    """A server that is cancelled just as the application has started shuts it down in order."""
    heard: list[Any] = []
    scope = trio.CancelScope()
    notes = []

    async def app(_: Any, receive: Any, send: Any) -> None:
        await receive()
        scope.cancel()
        await send(STARTED)
        heard.append(await receive())
        await trio.sleep(1)
        await send(NOT_STOPPED | {"message": "late"})

    lifespan = Lifespan(app)
    with scope:
        try:
            await lifespan.startup()
        except trio.Cancelled as error:
            notes += error.__notes__
            raise
    assert heard == [{"type": "lifespan.shutdown"}]
    assert (lifespan.outcome, notes) == ("failed", ["The application failed to shut down: late"])


@on_trio
async def test_body_is_cancelled() -> None:
    """A cancellation of the body does not cut short the shutdown that follows."""
    lifespan = Lifespan(says("receive", STARTED, "receive", 30, STOPPED, 2))

    async def serve() -> None:
        async with lifespan:
            await trio.sleep_forever()

    await cancelled(serve, 1)
    assert (lifespan.outcome, lifespan.phase) == ("complete", "ended")
    assert trio.current_time() == 33


@on_trio
async def test_body_outlasts_its_deadline() -> None:
    """Nor does a deadline that passed in the body and was not noticed there."""
    lifespan = Lifespan(says("receive", STARTED, "receive", 30, STOPPED))
    with trio.move_on_after(1):
        async with lifespan:
            trio.lowlevel.current_clock().jump(1)  # type: ignore[attr-defined]
    assert lifespan.outcome == "complete"


@on_trio
async def test_cancelled_while_stopping() -> None:
    """A server that is cancelled in shutdown cancels the application, and awaits it."""
    lifespan = Lifespan(tidies("receive", STARTED, "receive", 60, seconds=1))
    await lifespan.startup()
    await cancelled(lifespan.shutdown, 2)
    assert (lifespan.outcome, lifespan.phase) == ("cancelled", "ended")
    assert trio.current_time() == 3


@on_trio
async def test_wait_ended_is_cancelled() -> None:
    """A server may ask again and again whether the application is gone."""
    async with Lifespan(correct) as lifespan:
        for _ in range(3):
            await cancelled(lifespan.wait_ended, 1)
    assert lifespan.outcome == "complete"


@pytest.mark.parametrize(
    ("before", "after", "body", "outcome"),
    [
        (["receive"], [60], 0, "cancelled"),
        (["receive", STARTED], ["receive", 5, STOPPED], 60, "complete"),
        (["receive", STARTED, "receive"], [60], 0, "cancelled"),
    ],
)
def test_interrupted(before: list[Any], after: list[Any], body: float, outcome: str) -> None:
    """Ctrl-C never strikes in the application: it ends startup, the body or shutdown."""
    seen = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await says(*before)(scope, receive, send)
        signal.raise_signal(signal.SIGINT)
        seen.append("goes on")
        await says(*after)(scope, receive, send)

    lifespan = Lifespan(app)

    async def serve() -> None:
        async with lifespan:
            await trio.sleep(body)

    with pytest.raises(KeyboardInterrupt):
        run(serve)
    assert (seen, lifespan.phase, lifespan.outcome) == (["goes on"], "ended", outcome)


def test_end_of_the_run() -> None:
    """An application that nobody shuts down is cancelled when trio ends, and has crashed."""
    lifespan = Lifespan(correct)
    run(lifespan.startup)
    assert (lifespan.outcome, lifespan.phase) == ("crashed", "ended")


# ---- running --------------------------------------------------------------------------------


@on_trio
async def test_crashes_while_served(said: Any) -> None:
    """An application that crashes is not told of shutdown; the body goes on; wait_ended() tells."""
    error = RuntimeError("worker died")
    async with Lifespan(says("receive", STARTED, 5, error)) as lifespan:
        await lifespan.wait_ended()
        assert trio.current_time() == 5
        await trio.sleep(1)
        assert (lifespan.outcome, lifespan.error) == ("crashed", error)
    sentence = "The application crashed while the server was running: RuntimeError('worker died')"
    assert said() == [("ERROR", sentence, True)]


@pytest.mark.parametrize(
    ("last", "seconds"), [([OSError("jobs")], 0), (["receive"], 0), ([60], 5), ([1, OSError()], 1)]
)
@on_trio
async def test_fails_while_served(last: list[Any], seconds: int, said: Any) -> None:
    """A failure that nobody asked for is a crash; the application is gone within the grace."""
    for body in ("waits", "ends"):
        before = trio.current_time()
        async with Lifespan(says("receive", STARTED, NOT_STOPPED, *last)) as lifespan:
            assert (lifespan.outcome, trio.current_time()) == ("crashed", before)
            if body == "waits":
                await lifespan.wait_ended()
        error = last[-1] if isinstance(last[-1], OSError) else None
        assert (lifespan.outcome, lifespan.error) == ("crashed", error)
        assert trio.current_time() - before == seconds
    assert said()[0] == ("ERROR", "The application failed while running", False)


@on_trio
async def test_wait_ended_of_a_server_that_is_cancelled() -> None:
    """wait_ended() ends at once where its scope is cancelled already."""
    async with Lifespan(correct) as lifespan:
        with trio.CancelScope() as scope:
            scope.cancel()
            await lifespan.wait_ended()
        assert (scope.cancelled_caught, trio.current_time()) == (True, 0)


@on_trio
async def test_returns_while_served(said: Any) -> None:
    """An application that returns while it is served has left, which is worth a warning."""
    async with Lifespan(says("receive", STARTED)) as lifespan:
        await lifespan.wait_ended()
    assert (lifespan.outcome, lifespan.error) == ("returned", None)
    assert said() == [("WARNING", "The application returned while the server was running", False)]


@pytest.mark.parametrize("error", [ValueError("body"), SystemExit(3), KeyboardInterrupt()])
@on_trio
async def test_body_raises(error: BaseException) -> None:
    """However the body ends, shutdown is offered, and the body's exception goes on as it is."""
    with pytest.raises(type(error)) as caught:
        async with Lifespan(correct) as lifespan:
            raise error
    assert caught.value is error
    assert lifespan.outcome == "complete"


# ---- stopping, answered ---------------------------------------------------------------------


@on_trio
async def test_shutdown_failed() -> None:
    """shutdown.failed raises ShutdownFailed, or is a note to what the body raised."""
    app = says("receive", STARTED, "receive", NOT_STOPPED | {"message": "lost 3"})
    with pytest.raises(ShutdownFailed) as caught:
        async with Lifespan(app):
            pass
    assert caught.value.message == "lost 3"
    lifespan = Lifespan(app)
    await lifespan.startup()
    for _ in range(2):  # a further shutdown() raises the same
        with pytest.raises(ShutdownFailed, match="failed to shut down: lost 3"):
            await lifespan.shutdown()
    with pytest.raises(ValueError, match="body") as raised:
        async with Lifespan(app):
            raise ValueError("body")
    assert raised.value.__notes__ == ["The application failed to shut down: lost 3"]


@on_trio
async def test_lingers_after_shutdown_complete(said: Any) -> None:
    """An application that lingers beyond the grace is cancelled; it has completed all the same."""
    async with Lifespan(says("receive", STARTED, "receive", STOPPED, 60), grace=2) as lifespan:
        pass
    assert (trio.current_time(), lifespan.outcome) == (2, "complete")
    assert said() == []


@on_trio
async def test_receives_after_shutdown_complete() -> None:
    """An application that receives once more after its last answer is cancelled at once."""
    async with Lifespan(says("receive", STARTED, "receive", STOPPED, "receive")) as lifespan:
        pass
    assert (trio.current_time(), lifespan.outcome) == (0, "complete")


@on_trio
async def test_another_task_receives_after_shutdown_complete() -> None:
    """A task that waits in receive does not cost its application the grace."""
    done = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        async def pump() -> None:
            while True:
                event = await receive()
                await send({"type": f"{event['type']}.complete"})

        async with trio.open_nursery() as nursery:
            nursery.start_soon(pump)
            await trio.sleep(3)
            done.append(trio.current_time())
            nursery.cancel_scope.cancel()

    async with Lifespan(app) as lifespan:
        pass
    assert (done, lifespan.outcome) == ([3], "complete")


@on_trio
@pytest.mark.parametrize("last", ["complete", "failed"])
async def test_a_receive_loop_in_nurseries(last: str) -> None:
    """An application whose tasks only wait for another event ends at once, without the grace."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        async def pump() -> None:
            while True:
                event = await receive()
                await send({"type": f"{event['type']}.{last}"})

        async with trio.open_nursery(), trio.open_nursery() as inner:
            inner.start_soon(pump)

    if last == "complete":
        async with Lifespan(app):
            pass
    else:
        with pytest.raises(StartupFailed):
            await Lifespan(app).startup()
    assert trio.current_time() == 0


@on_trio
async def test_no_limit() -> None:
    """None as limit and grace waits for ever."""
    app = says("receive", 9999, STARTED, "receive", 9999, STOPPED, 9999)
    async with Lifespan(app, grace=None) as lifespan:
        pass
    assert (lifespan.outcome, trio.current_time()) == ("complete", 3 * 9999)


# ---- exits ----------------------------------------------------------------------------------


async def out_of_a_nursery(error: BaseException) -> None:
    """Raise something as a nursery does: in a group, beside what else was raised."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(says(ValueError()), None, None, None)
        raise error


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()])
@pytest.mark.parametrize("nursery", [False, True])
@pytest.mark.parametrize("body", [0, 60])
@pytest.mark.parametrize(
    ("script", "seconds"),
    [
        ([], {0: 0, 60: 0}),
        (["receive", STARTED, 1], {0: 1, 60: 1}),
        (["receive", STARTED, "receive", 1], {0: 1, 60: 61}),
    ],
)
@on_trio
async def test_exits(
    *,
    script: list[Any],
    seconds: dict[int, int],
    body: int,
    nursery: bool,
    error: BaseException,
    said: Any,
) -> None:
    """SystemExit and KeyboardInterrupt of an application end the body, and go on bare."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await says(*script)(scope, receive, send)
        if nursery:
            await out_of_a_nursery(error)
        raise error

    lifespan = Lifespan(app)
    with pytest.raises(type(error)) as caught:
        async with lifespan:
            await trio.sleep(body)
    assert caught.value is error
    assert (lifespan.outcome, lifespan.error) == ("crashed", error)
    assert (trio.current_time(), said()) == (seconds[body], [])


@on_trio
async def test_exits_between_the_halves() -> None:
    """Who calls shutdown() himself gets the application's exit there."""
    lifespan = Lifespan(says("receive", STARTED, 1, SystemExit(3)))
    await lifespan.startup()
    await lifespan.wait_ended()
    with pytest.raises(SystemExit):
        await lifespan.shutdown()


# ---- scope, context, the door ---------------------------------------------------------------


@on_trio
async def test_one_task_and_a_context_of_its_own() -> None:
    """The application runs in one task from start to end, in a copy of the server's context."""
    name: contextvars.ContextVar[str] = contextvars.ContextVar("name", default="nobody")
    name.set("server")
    tasks, names = [], []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        for answer in (STARTED, STOPPED):
            await receive()
            names.append(name.get())
            tasks.append(trio.lowlevel.current_task())
            name.set("application")
            await send(answer)

    async with Lifespan(app):
        assert name.get() == "server"
        name.set("body")
    assert names == ["server", "application"]
    assert tasks[0] is tasks[1] is not trio.lowlevel.current_task()


@on_trio
async def test_state() -> None:
    """Requests get the state that the application has set."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        scope["state"]["pool"] = 7
        await correct(scope, receive, send)

    async with Lifespan(app) as lifespan:
        assert lifespan.with_state({"type": "http"}) == {"type": "http", "state": {"pool": 7}}


@on_trio
async def test_the_door() -> None:
    """What is no application, or too early, or too late, is refused as with asyncio."""
    with pytest.raises(TypeError, match="must return an awaitable, got"):
        await Lifespan(lambda *_: None).startup()  # type: ignore[arg-type,return-value]
    lifespan = Lifespan(correct)
    for early in (lifespan.shutdown, lifespan.wait_ended):
        with pytest.raises(RuntimeError, match=r"call startup\(\) before"):
            await early()
    async with lifespan:
        with pytest.raises(RuntimeError, match="already called"):
            await lifespan.startup()


@on_trio
async def test_strict() -> None:
    """strict: what is not complete raises."""
    with pytest.raises(StartupFailed):
        await Lifespan(says(ValueError()), strict=True).startup()
    with pytest.raises(ShutdownFailed):
        async with Lifespan(says(STARTED), strict=True) as lifespan:
            await lifespan.wait_ended()


# ---- the two drivers side by side -----------------------------------------------------------


ACTIONS: dict[str, Any] = {
    "receive": None,
    "sleep": None,
    "started": STARTED,
    "not started": NOT_STARTED | {"message": "no"},
    "stopped": STOPPED,
    "not stopped": NOT_STOPPED | {"message": "no"},
    "unknown": {"type": "lifespan.paused"},
    "malformed": ["lifespan.startup.complete"],
}
Script = tuple[str, ...]


def scripts(length: int) -> Iterator[Script]:
    """Give each sequence of up to so many actions; what raises or returns ends one."""
    for number in range(length):
        for script in itertools.product(ACTIONS, repeat=number):
            yield from ((*script, "raise"), (*script, "return"))
    yield from itertools.product(ACTIONS, repeat=length)


def scripted(script: Script, seen: list[Any], sleep: Any, *, stubborn: bool) -> Any:
    """Make an application of names of actions; a stubborn one goes on when it was refused."""

    async def act(action: str, receive: Any, send: Any) -> None:
        if action == "raise":
            raise ValueError("raised")
        if action == "receive":
            seen.append(await receive())
        elif action == "sleep":
            await sleep(1)
        elif action != "return":
            await send(ACTIONS[action])

    async def app(scope: Any, receive: Any, send: Any) -> None:
        try:
            for action in script:
                try:
                    await act(action, receive, send)
                except ProtocolError as error:
                    seen.append(str(error))
                    if not stubborn:
                        raise
        finally:
            seen.append("gone")

    return app


async def played(
    kind: type[server.Lifespan], script: Script, sleep: Any, body: float, *, stubborn: bool
) -> Any:
    """Play a script under a driver; return all that can be seen of it."""
    seen: list[Any] = []
    app = scripted(script, seen, sleep, stubborn=stubborn)
    lifespan = kind(app, startup_timeout=2.25, shutdown_timeout=2.25, grace=0.75)
    raised: BaseException | None = None
    served = False
    try:
        async with lifespan:
            served = True  # its place in `seen` is a turn of the loop earlier or later
            await sleep(body)
    except Exception as error:
        raised = error
    end = type(raised), str(raised), getattr(raised, "message", None)
    facts = lifespan.outcome, lifespan.phase, repr(lifespan.error), lifespan._inbox
    return *facts, end, served, seen


class Heard(logging.Handler):
    """What the log of both drivers was told."""

    def __init__(self) -> None:
        super().__init__()
        self.records: Records = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep level, sentence, and whether there is a traceback."""
        self.records.append((record.levelname, record.getMessage(), bool(record.exc_info)))


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Heard:
    """Listen to the log instead of pytest, which keeps too much of it."""
    handler, log = Heard(), logging.getLogger("lifespec.server")
    monkeypatch.setattr(log, "handlers", [handler])
    monkeypatch.setattr(log, "propagate", False)
    monkeypatch.setattr(log, "level", logging.DEBUG)
    return handler


@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("length", "body", "stubborn"), [(4, 1.5, True), (3, 0, True), (3, 0, False), (3, 1.5, False)]
)
def test_drivers_agree(length: int, body: float, heard: Heard, *, stubborn: bool) -> None:
    """Each application of up to four actions fares alike under both: outcome, events, log."""

    async def all_of(kind: type[server.Lifespan], sleep: Any, now: Callable[[], float]) -> Any:
        results = {}
        for script in scripts(length):
            heard.records.clear()
            began = now()
            result = await played(kind, script, sleep, body, stubborn=stubborn)
            results[script] = *result, now() - began, *heard.records
        return results

    async def on_asyncio() -> Any:
        loop = asyncio.get_running_loop()
        return await all_of(server.Lifespan, asyncio.sleep, loop.time)

    async def on_trio() -> Any:
        return await all_of(Lifespan, trio.sleep, trio.current_time)

    asyncios, trios = clock.run(on_asyncio()), run(on_trio)
    assert len(trios) == {3: 658, 4: 5266}[length]
    assert [script for script in trios if trios[script] != asyncios[script]] == []
    if length == 4:
        outcomes = {"complete", "failed", "unsupported", "crashed", "returned", "timed_out"}
        assert {outcome for outcome, *_ in trios.values()} == outcomes


BLOCKED = 30  # runs: trio shuffles the tasks that run at one moment


@pytest.mark.parametrize("last", ["answers", "returns", "raises"])
def test_late_in_a_blocked_loop(last: str) -> None:
    """What comes after the deadline is late, also if the loop notices both at once."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await trio.sleep(0.005)
        if last == "answers":
            await send(STARTED)
        elif last == "raises":
            raise OSError

    async def main() -> str | None:
        lifespan = Lifespan(app, startup_timeout=0.002)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(block)
            with pytest.raises(StartupTimeout):
                await lifespan.startup()
        return lifespan.outcome

    async def block() -> None:
        await trio.sleep(0.001)
        time.sleep(0.01)  # noqa: ASYNC251  that is what blocks

    assert {trio.run(main) for _ in range(BLOCKED)} == {"timed_out"}
