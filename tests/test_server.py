"""The server's half: every row of the decision table, and the door."""

import asyncio
import collections
import contextlib
import contextvars
import copy
import functools
import logging
import pickle
import re
import time
import types
from collections.abc import AsyncIterator, Awaitable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypedDict, get_args

import anyio
import pytest

from lifespec import server_trio
from lifespec.server import (
    TABLE,
    Lifespan,
    LifespanUnsupported,
    Outcome,
    Phase,
    ProtocolError,
    ShutdownFailed,
    ShutdownTimeout,
    StartupFailed,
    StartupTimeout,
    StateMachine,
)
from lifespec.testing import clock
from scripted import NOT_STARTED, NOT_STOPPED, STARTED, STOPPED, says


@pytest.fixture(autouse=True)
def _nothing_left(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """No test leaves a record of a task destroyed, or of an exception nobody saw."""
    caplog.set_level(logging.DEBUG, "lifespec.server")
    yield
    records = caplog.get_records("call")
    assert [r.getMessage() for r in records if r.name == "asyncio"] == []


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str, bool]]:
    """Return what the server logged: level, sentence, whether with a traceback."""

    class Said(list[tuple[str, str, bool]]):
        def __eq__(self, other: object) -> bool:
            records = [r for r in caplog.records if r.name == "lifespec.server"]
            return other == [(r.levelname, r.getMessage(), bool(r.exc_info)) for r in records]

        __hash__ = None

        def __repr__(self) -> str:
            return repr([(r.levelname, r.getMessage(), bool(r.exc_info)) for r in caplog.records])

    return Said()


async def correct(scope: Any, receive: Any, send: Any) -> None:
    """Answer as the texts want it."""
    while True:
        event = await receive()
        if event["type"] == "lifespan.startup":
            await send(STARTED)
        else:
            await send(STOPPED)
            return


async def within(call: Any) -> None:
    """Await a call within a limit: before Python 3.12 that makes a task of it."""
    await asyncio.wait_for(call, 9)


# ---- the table ------------------------------------------------------------------------------

ROWS = [(phase, what, *row) for phase, rows in TABLE.items() for what, row in rows.items()]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: " ".join(row[:2]))
def test_rows(row: tuple[str, str, str, str | None, int, str]) -> None:
    """A row leads from phase to phase, and has a sentence where it is logged at a level."""
    phase, _, follows, outcome, level, words = row
    assert {phase, follows} <= set(get_args(Phase))
    assert outcome in {None, *get_args(Outcome)}
    assert level in {0, logging.INFO, logging.WARNING, logging.ERROR}
    assert bool(level) == bool(words)


def test_every_phase_has_rows() -> None:
    """What happens in a phase is looked up there, whatever it is."""
    assert list(TABLE) == list(get_args(Phase))


def test_the_outcome_is_decided_once() -> None:
    """What ends waiting, running or stopping decides the outcome; nothing that follows does."""
    for phase, _, follows, outcome, *_ in ROWS:
        before = phase in {"waiting", "running", "stopping"}
        assert bool(outcome) == (before and follows not in {"running", "stopping"})


def test_what_ends_a_call() -> None:
    """A call is over when it returned or raised; else it is dismissed, and given up only then."""
    for phase, what, follows, *_ in ROWS:
        over = what in {"returned", "raised"} or (phase, what) == ("cancelling", "expired")
        assert (follows == "ended") == over
        assert (follows == "cancelling") == (what in {"expired", "cancelled"} and not over)


# ---- waiting --------------------------------------------------------------------------------


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
    assert (lifespan.outcome, lifespan.supported, lifespan.error) == ("complete", True, None)
    assert said == []


async def test_wait_for_startup() -> None:
    """The body does not run before startup was answered, however long that takes."""
    loop = asyncio.get_running_loop()
    async with Lifespan(says("receive", 3600, STARTED, "receive", STOPPED)):
        assert loop.time() == 3600


async def test_startup_failed(said: Any) -> None:
    """startup.failed raises StartupFailed with exactly the application's text."""
    lifespan = Lifespan(says("receive", NOT_STARTED | {"message": "no database"}))
    with pytest.raises(StartupFailed) as caught:
        await lifespan.startup()
    assert type(caught.value) is StartupFailed
    assert caught.value.message == "no database"
    assert str(caught.value) == "The application failed to start: no database"
    assert caught.value.__cause__ is None
    assert lifespan.outcome == "failed"
    assert said == [("ERROR", "The application failed to start: no database", False)]


async def test_startup_failed_without_message() -> None:
    """A missing message is the empty text."""
    with pytest.raises(StartupFailed) as caught:
        await Lifespan(says(NOT_STARTED)).startup()
    assert caught.value.message == ""
    assert str(caught.value) == "The application failed to start"


@pytest.mark.parametrize("message", [None, 7, b"no"])
async def test_startup_failed_message_is_not_text(message: object) -> None:
    """The type is the signal: a message that is no text fails startup, and send says so too."""
    refused = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        try:
            await send(NOT_STARTED | {"message": message})
        except ProtocolError as error:
            refused.append(error)

    with pytest.raises(StartupFailed) as caught:
        await Lifespan(app).startup()
    assert caught.value.message == repr(message)
    assert [error.rule for error in refused] == ["message-is-text"]
    assert str(refused[0]) == f"'message' must be a str, got {message!r} [message-is-text]"


async def test_failed_and_then_raises(said: Any) -> None:
    """What an application raises after startup.failed is the cause, and is not reported again."""
    error = OSError("refused")
    with pytest.raises(StartupFailed) as caught:
        await Lifespan(says(NOT_STARTED, error)).startup()
    assert caught.value.__cause__ is error
    assert said == [
        ("ERROR", "The application failed to start", False),
        ("DEBUG", "The application raised after its final answer: OSError('refused')", True),
    ]


async def test_failed_and_then_lingers() -> None:
    """An application that lingers after startup.failed is cancelled within the grace."""
    loop = asyncio.get_running_loop()
    with pytest.raises(StartupFailed):
        await Lifespan(says(NOT_STARTED, 60), grace=2).startup()
    assert loop.time() == 2


async def test_failed_and_then_receives() -> None:
    """An application that receives after startup.failed is cancelled: nothing more will come."""
    loop = asyncio.get_running_loop()
    with pytest.raises(StartupFailed):
        await Lifespan(says("receive", NOT_STARTED, "receive")).startup()
    assert loop.time() == 0


async def test_raises_at_once(said: Any) -> None:
    """An application that raises before it receives has declined, which is worth an info."""
    error = ValueError("http only")
    async with Lifespan(says(error)) as lifespan:
        assert (lifespan.supported, lifespan.outcome) == (False, "unsupported")
        assert lifespan.error is error
    assert said == [
        ("INFO", "The application does not support lifespan: ValueError('http only')", False)
    ]


async def test_raises_after_startup(said: Any) -> None:
    """An application that received startup and raised has declined, and is never swallowed."""
    async with Lifespan(says("receive", KeyError("dsn"))) as lifespan:
        assert lifespan.outcome == "unsupported"
    assert said == [
        ("INFO", "The application does not support lifespan: KeyError('dsn')", False),
        ("ERROR", "The application raised during startup instead of answering it", True),
    ]


async def test_protocol_error_escapes(said: Any) -> None:
    """A protocol error that escapes is an error in the log, though nothing was received."""
    async with Lifespan(says({"type": "lifespan.started"})) as lifespan:
        assert isinstance(lifespan.error, ProtocolError)
    assert said == [
        ("INFO", f"The application does not support lifespan: {lifespan.error!r}", False),
        ("ERROR", "The application raised during startup instead of answering it", True),
    ]


async def test_protocol_error_escapes_in_a_group(said: Any) -> None:
    """The same holds where it escapes in an exception group."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(send({"type": "?"}))

    async with Lifespan(app) as lifespan:
        assert isinstance(lifespan.error, ExceptionGroup)
    assert said == [
        ("INFO", f"The application does not support lifespan: {lifespan.error!r}", False),
        ("ERROR", "The application raised during startup instead of answering it", True),
    ]


@pytest.mark.parametrize("script", [[], ["receive"], ["receive", 5]])
async def test_returns(script: list[Any], said: Any) -> None:
    """An application that returns without an answer has declined: no server waits for it."""
    async with Lifespan(says(*script)) as lifespan:
        assert (lifespan.outcome, lifespan.error) == ("unsupported", None)
    assert said == [("INFO", "The application does not support lifespan: it returned", False)]


@pytest.mark.parametrize(
    ("script", "doing"),
    [
        ([60], "had not received the event"),
        (["receive", 60], "was still running"),
        (["receive", "receive"], "was waiting for another event"),
    ],
)
async def test_startup_times_out(script: list[Any], doing: str, said: Any) -> None:
    """An application that does not answer in time is cancelled; the message says what it did."""
    loop = asyncio.get_running_loop()
    sentence = f"The application did not answer startup within 2.5 s: it {doing}"
    lifespan = Lifespan(says(*script), startup_timeout=2.5)
    with pytest.raises(StartupTimeout) as caught:
        await lifespan.startup()
    assert loop.time() == 2.5
    assert str(caught.value) == sentence
    assert caught.value.message == ""
    assert isinstance(caught.value, TimeoutError)
    assert (lifespan.outcome, lifespan.error) == ("timed_out", None)
    assert said == [("ERROR", sentence, False)]


async def test_timeout_shows_where() -> None:
    """The cause of a timeout is the cancellation, whose traceback shows where it struck."""

    async def connect() -> None:
        await asyncio.Event().wait()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await connect()

    with pytest.raises(StartupTimeout) as caught:
        await Lifespan(app, startup_timeout=1).startup()
    cause = caught.value.__cause__
    assert isinstance(cause, asyncio.CancelledError)
    names = []
    trace = cause.__traceback__
    while trace:
        names.append(trace.tb_frame.f_code.co_name)
        trace = trace.tb_next
    assert "connect" in names


async def test_limit_of_a_phase_that_is_over() -> None:
    """A limit that passes as the answer is taken changes nothing."""
    async with Lifespan(correct) as lifespan:
        lifespan._on_timeout("waiting", 1)
        assert lifespan.phase == "running"


async def test_late_answer() -> None:
    """An answer that comes after the limit changes nothing, and send does nothing."""
    after = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        try:
            await asyncio.sleep(10)
        finally:
            await send(STARTED)
            after.append("sent")

    lifespan = Lifespan(app, startup_timeout=1)
    with pytest.raises(StartupTimeout):
        await lifespan.startup()
    assert (after, lifespan.outcome) == (["sent"], "timed_out")


async def test_receives_when_cancelled() -> None:
    """An application that was cancelled is given no event any more."""
    heard = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            heard.append(await receive())

    with pytest.raises(StartupTimeout):
        await Lifespan(app, startup_timeout=1, grace=1).startup()
    assert heard == []


async def test_no_timer_is_left() -> None:
    """A limit that was kept leaves no timer behind."""
    async with Lifespan(correct, startup_timeout=60, shutdown_timeout=60):
        pass
    timers = asyncio.get_running_loop()._scheduled  # type: ignore[attr-defined]
    assert [timer for timer in timers if not timer.cancelled()] == []


async def test_raises_when_cancelled(said: Any) -> None:
    """What an application raises instead of obeying its cancellation is in the log."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        try:
            await asyncio.sleep(10)
        finally:
            raise OSError("pool is stuck")

    with pytest.raises(StartupTimeout):
        await Lifespan(app, startup_timeout=1).startup()
    assert said == [
        (
            "ERROR",
            "The application did not answer startup within 1 s: it had not received the event",
            False,
        ),
        ("ERROR", "The application raised when it was cancelled: OSError('pool is stuck')", True),
    ]


async def test_ignores_cancellation(said: Any) -> None:
    """An application that ignores its cancellation is given up after the grace."""
    loop = asyncio.get_running_loop()
    released = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                continue

    lifespan = Lifespan(app, startup_timeout=1, grace=2)
    starting = asyncio.create_task(lifespan.startup())
    await asyncio.sleep(0)
    await lifespan.wait_ended()
    with pytest.raises(StartupTimeout):
        await starting
    assert loop.time() == 3
    assert said == [
        (
            "ERROR",
            "The application did not answer startup within 1 s: it had not received the event",
            False,
        ),
        ("ERROR", "The application was cancelled and did not stop within 2 s", False),
    ]
    released.set()
    await asyncio.sleep(0)


async def test_raises_after_it_was_given_up(said: Any) -> None:
    """What an application raises after it was given up is in the log all the same."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(60)
        await asyncio.sleep(60)
        raise OSError("at last")

    with pytest.raises(StartupTimeout):
        await Lifespan(app, startup_timeout=1, grace=1).startup()
    await asyncio.sleep(100)
    sentence = "The application did not answer startup within 1 s: it had not received the event"
    assert said == [
        ("ERROR", sentence, False),
        ("ERROR", "The application was cancelled and did not stop within 1 s", False),
        (
            "ERROR",
            "The application raised after the server stopped waiting: OSError('at last')",
            True,
        ),
    ]


async def test_given_up_and_cancelled_later(said: Any) -> None:
    """An application that was given up, and obeys a later cancellation, is not heard of again."""
    tasks = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        tasks.append(asyncio.current_task())
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(600)
        await asyncio.sleep(600)

    server = asyncio.create_task(Lifespan(app, grace=2).startup())
    asyncio.get_running_loop().call_later(1, server.cancel)
    with pytest.raises(asyncio.CancelledError):
        await server
    assert asyncio.get_running_loop().time() == 3
    tasks[0].cancel()
    await asyncio.wait(tasks)
    assert said == [("ERROR", "The application was cancelled and did not stop within 2 s", False)]


async def test_shutdown_of_what_never_ran() -> None:
    """shutdown() has nothing to do where startup failed, though the application still tidies up."""
    tidied = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send(NOT_STARTED)
        await asyncio.sleep(2)
        tidied.append(True)

    lifespan = Lifespan(app)
    server = asyncio.create_task(lifespan.startup())
    await asyncio.sleep(1)
    await lifespan.shutdown()
    assert asyncio.get_running_loop().time() == 1
    with pytest.raises(StartupFailed):
        await server
    assert tidied


async def test_cancelled_and_awaited() -> None:
    """A server that is cancelled while the application stops awaits its end all the same."""
    loop = asyncio.get_running_loop()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send(STARTED)
        await receive()
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(2)

    lifespan = Lifespan(app)
    await lifespan.startup()
    server = asyncio.create_task(lifespan.shutdown())
    loop.call_later(1, server.cancel)
    with pytest.raises(asyncio.CancelledError):
        await server
    assert (loop.time(), lifespan.outcome, lifespan.phase) == (3, "cancelled", "ended")


async def test_cancelled_in_the_grace() -> None:
    """A server that is cancelled while a late application cleans up still awaits it, once."""
    done = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(3)
            done.append(True)

    server = asyncio.create_task(Lifespan(app, startup_timeout=1).startup())
    asyncio.get_running_loop().call_later(2, server.cancel)
    with pytest.raises(asyncio.CancelledError):
        await server
    assert done == [True]


class Unspeakable(Exception):
    """An exception that cannot even be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")


async def test_repr_raises() -> None:
    """An exception or a message whose repr raises is treated as any other."""
    async with Lifespan(says("receive", Unspeakable())) as lifespan:
        assert lifespan.outcome == "unsupported"
    with pytest.raises(StartupFailed) as caught:
        await Lifespan(says(NOT_STARTED | {"message": Unspeakable()})).startup()
    assert caught.value.message.startswith(f"<{__name__}.Unspeakable object at ")


async def test_log_raises() -> None:
    """A log that raises changes nothing of the outcome."""

    def broken(record: logging.LogRecord) -> bool:
        raise OSError("the disk is full")

    log = logging.getLogger("lifespec.server")
    log.addFilter(broken)
    lifespan = Lifespan(says("receive", ValueError()))
    try:
        async with lifespan:
            pass
    finally:
        log.removeFilter(broken)
    assert lifespan.outcome == "unsupported"


async def test_cancelled_while_waiting() -> None:
    """A server that is cancelled in startup cancels the application, awaits it and goes on."""
    loop = asyncio.get_running_loop()
    ended = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        try:
            await receive()
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(1)
            ended.append(loop.time())

    lifespan = Lifespan(app)
    server = asyncio.create_task(lifespan.startup())
    loop.call_later(5, server.cancel)
    with pytest.raises(asyncio.CancelledError):
        await server
    assert (ended, lifespan.outcome) == ([6], "cancelled")
    await lifespan.shutdown()


async def test_cancelled_twice() -> None:
    """A second cancellation is obeyed: the server does not wait for the application any more."""
    loop = asyncio.get_running_loop()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(10)

    server = asyncio.create_task(Lifespan(app, grace=None).startup())
    loop.call_later(5, server.cancel)
    loop.call_later(6, server.cancel)
    with pytest.raises(asyncio.CancelledError):
        await server
    assert loop.time() == 6
    await asyncio.sleep(60)


async def test_cancelled_as_it_starts() -> None:
    """A server that is cancelled just as the application has started shuts it down in order."""
    heard: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send(STARTED)
        server.cancel()
        heard.append(await receive())
        await send(NOT_STOPPED | {"message": "late"})

    lifespan = Lifespan(app)
    server = asyncio.create_task(lifespan.startup())
    with pytest.raises(asyncio.CancelledError) as caught:
        await server
    assert heard == [{"type": "lifespan.shutdown"}]
    assert lifespan.outcome == "failed"
    assert caught.value.__notes__ == ["The application failed to shut down: late"]


# ---- running --------------------------------------------------------------------------------


async def test_crashes_while_served(said: Any) -> None:
    """An application that crashes is not told of shutdown; the body goes on; wait_ended() tells."""
    loop = asyncio.get_running_loop()
    error = RuntimeError("worker died")
    async with Lifespan(says("receive", STARTED, 5, error)) as lifespan:
        await lifespan.wait_ended()
        assert loop.time() == 5
        assert (lifespan.outcome, lifespan.error) == ("crashed", error)
    assert said == [
        (
            "ERROR",
            "The application crashed while the server was running: RuntimeError('worker died')",
            True,
        )
    ]


async def test_fails_while_served(said: Any) -> None:
    """A failure that nobody asked for is a crash; the exception that follows is the error."""
    loop = asyncio.get_running_loop()
    error = ConnectionError("no mail server")
    failed = NOT_STOPPED | {"message": "jobs lost"}
    lifespan = Lifespan(says("receive", STARTED, 5, failed, 1, error), strict=True)
    await lifespan.startup()
    await lifespan.wait_ended()
    assert loop.time() == 6
    assert (lifespan.outcome, lifespan.error) == ("crashed", error)
    with pytest.raises(ShutdownFailed) as caught:
        await lifespan.shutdown()
    assert (caught.value.message, caught.value.__cause__) == ("jobs lost", error)
    assert said == [
        ("ERROR", "The application failed while running: jobs lost", False),
        (
            "ERROR",
            "The application raised after its final answer: ConnectionError('no mail server')",
            True,
        ),
    ]


@pytest.mark.parametrize(
    ("last", "seconds"), [([], 0), (["receive"], 0), ([60], 5), ([60, OSError()], 5)]
)
async def test_fails_while_served_and_does_not_raise(last: list[Any], seconds: int) -> None:
    """It is gone within the grace, for wait_ended() and for the server that stops alike."""
    loop = asyncio.get_running_loop()
    for body in ("waits", "ends"):
        lifespan = Lifespan(says("receive", STARTED, NOT_STOPPED, *last))
        start = loop.time()
        async with lifespan:
            assert (lifespan.supported, lifespan.outcome, loop.time()) == (True, "crashed", start)
            if body == "waits":
                await lifespan.wait_ended()
        assert (lifespan.outcome, lifespan.error) == ("crashed", None)
        assert loop.time() - start == seconds


async def test_fails_while_served_in_a_framework() -> None:
    """An application that sends a failure for whatever its lifespan raises is told by that."""
    error = ConnectionError("no mail server")

    async def fails() -> None:
        raise error

    async def app(scope: Any, receive: Any, send: Any) -> None:  # as Starlette and Litestar do
        await receive()
        try:
            async with asyncio.TaskGroup() as group:
                await send(STARTED)
                group.create_task(fails())
                await receive()
        except BaseException as raised:
            await send(NOT_STOPPED | {"message": str(raised)})
            raise

    async with Lifespan(app) as lifespan:
        await lifespan.wait_ended()
    assert isinstance(lifespan.error, ExceptionGroup)
    assert lifespan.error.exceptions == (error,)


async def test_cancelled_while_a_failed_one_lingers() -> None:
    """A server that is cancelled in its startup leaves the application the grace it has anyway."""
    loop = asyncio.get_running_loop()
    done: list[float] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        server.cancel()
        await send(STARTED)
        await send(NOT_STOPPED)
        await asyncio.sleep(2)
        done.append(loop.time())

    lifespan = Lifespan(app)
    server = asyncio.create_task(lifespan.startup())
    with pytest.raises(asyncio.CancelledError):
        await server
    assert (lifespan.outcome, done) == ("crashed", [2])


async def test_completes_and_crashes_at_once() -> None:
    """An application that completes and crashes before the server wakes up did start."""
    async with Lifespan(says("receive", STARTED, OSError())) as lifespan:
        assert (lifespan.supported, lifespan.outcome) == (True, "crashed")


async def test_returns_while_served(said: Any) -> None:
    """An application that returns while it is served has left, which is worth a warning."""
    async with Lifespan(says("receive", STARTED)) as lifespan:
        await lifespan.wait_ended()
    assert (lifespan.outcome, lifespan.error) == ("returned", None)
    assert said == [("WARNING", "The application returned while the server was running", False)]


@pytest.mark.parametrize("error", [ValueError("body"), asyncio.CancelledError(), SystemExit(3)])
async def test_body_raises(error: BaseException) -> None:
    """However the body ends, shutdown is offered and the body's exception goes on."""
    with pytest.raises(type(error)) as caught:
        async with Lifespan(correct) as lifespan:
            raise error
    assert caught.value is error
    assert lifespan.outcome == "complete"


async def test_body_is_cancelled() -> None:
    """A server that is cancelled while it serves offers shutdown."""
    lifespan = Lifespan(correct)

    async def serve() -> None:
        async with lifespan:
            await asyncio.Event().wait()

    server = asyncio.create_task(serve())
    asyncio.get_running_loop().call_later(1, server.cancel)
    with pytest.raises(asyncio.CancelledError):
        await server
    assert lifespan.outcome == "complete"


# ---- stopping -------------------------------------------------------------------------------


async def test_shutdown_failed(said: Any) -> None:
    """shutdown.failed raises ShutdownFailed with exactly the application's text."""
    lifespan = Lifespan(says("receive", STARTED, "receive", NOT_STOPPED | {"message": "lost 3"}))
    await lifespan.startup()
    with pytest.raises(ShutdownFailed) as caught:
        await lifespan.shutdown()
    assert type(caught.value) is ShutdownFailed
    assert caught.value.message == "lost 3"
    assert str(caught.value) == "The application failed to shut down: lost 3"
    assert lifespan.outcome == "failed"
    assert said == [("ERROR", "The application failed to shut down: lost 3", False)]


async def test_body_raises_and_shutdown_fails() -> None:
    """Where the body raised too, its exception wins and carries a note."""
    with pytest.raises(ValueError, match="body") as caught:
        async with Lifespan(says("receive", STARTED, "receive", NOT_STOPPED)):
            raise ValueError("body")
    assert caught.value.__notes__ == ["The application failed to shut down"]


async def test_shutdown_fails_after_the_body() -> None:
    """Where only shutdown failed, `async with` raises ShutdownFailed."""
    with pytest.raises(ShutdownFailed):
        async with Lifespan(says("receive", STARTED, "receive", NOT_STOPPED)):
            pass


async def test_raises_at_shutdown(said: Any) -> None:
    """An application that raises instead of answering shutdown has crashed; nothing hangs."""
    error = OSError("disk")
    async with Lifespan(says("receive", STARTED, "receive", error)) as lifespan:
        pass
    assert (lifespan.outcome, lifespan.error) == ("crashed", error)
    assert said == [
        ("ERROR", "The application crashed before it answered shutdown: OSError('disk')", True)
    ]


async def test_returns_at_shutdown(said: Any) -> None:
    """An application that returns without an answer to shutdown has left; nothing hangs."""
    async with Lifespan(says("receive", STARTED, "receive")) as lifespan:
        pass
    assert lifespan.outcome == "returned"
    assert said == [("WARNING", "The application returned before it answered shutdown", False)]


@pytest.mark.parametrize(
    ("script", "doing"),
    [
        (["receive", STARTED, 60], "had not received the event"),
        (["receive", STARTED, "receive", 60], "was still running"),
        (["receive", STARTED, "receive", "receive"], "was waiting for another event"),
    ],
)
async def test_shutdown_times_out(script: list[Any], doing: str, said: Any) -> None:
    """An application that does not answer shutdown in time is cancelled."""
    lifespan = Lifespan(says(*script), shutdown_timeout=3)
    await lifespan.startup()
    with pytest.raises(ShutdownTimeout) as caught:
        await lifespan.shutdown()
    assert asyncio.get_running_loop().time() == 3
    assert isinstance(caught.value, TimeoutError)
    assert caught.value.message == ""
    assert lifespan.outcome == "timed_out"
    sentence = f"The application did not answer shutdown within 3 s: it {doing}"
    assert said == [("ERROR", sentence, False)]


async def test_cancelled_while_stopping() -> None:
    """A server that is cancelled in shutdown cancels the application and goes on cancelling."""
    lifespan = Lifespan(says("receive", STARTED, "receive", 60))
    await lifespan.startup()
    server = asyncio.create_task(lifespan.shutdown())
    asyncio.get_running_loop().call_later(2, server.cancel)
    with pytest.raises(asyncio.CancelledError):
        await server
    assert lifespan.outcome == "cancelled"
    assert asyncio.get_running_loop().time() == 2
    assert lifespan._task.done()


@pytest.mark.parametrize(
    ("last", "kind"), [(NOT_STOPPED | {"message": "lost 3"}, ShutdownFailed), (60, ShutdownTimeout)]
)
async def test_shutdown_again(last: Any, kind: type[ShutdownFailed]) -> None:
    """A further shutdown() raises what the first one raised."""
    lifespan = Lifespan(says("receive", STARTED, "receive", last), shutdown_timeout=1)
    await lifespan.startup()
    told = []
    for _ in range(3):
        with pytest.raises(kind) as caught:
            await lifespan.shutdown()
        told.append((type(caught.value), *caught.value.args, caught.value.message))
    assert told == told[:1] * 3
    assert lifespan.outcome in ("failed", "timed_out")


def test_what_is_public() -> None:
    """What dir() shows without an underscore is what the page of the API has."""
    methods = {"app", "report", "shutdown", "startup", "wait_ended", "with_state"}
    values = {"error", "outcome", "phase", "scope", "state", "supported"}
    for kind in (Lifespan, server_trio.Lifespan):
        assert {name for name in dir(kind(correct)) if name[0] != "_"} == methods | values


async def test_report_is_to_be_overridden() -> None:
    """A subclass that overrides report() gets each sentence with its level and its exception."""
    told: list[Any] = []

    class Told(Lifespan):
        def report(self, level: int, sentence: str, error: BaseException | None) -> None:
            told.append((level, sentence, error))

    error = OSError("disk")
    async with Told(says("receive", STARTED, error)):
        pass
    sentence = "The application crashed while the server was running: OSError('disk')"
    assert told == [(logging.ERROR, sentence, error)]


async def test_two_wait_for_shutdown() -> None:
    """Two callers of shutdown() wait for one answer."""
    lifespan = Lifespan(says("receive", STARTED, "receive", 1, STOPPED))
    await lifespan.startup()
    await asyncio.gather(lifespan.shutdown(), lifespan.shutdown(), lifespan.wait_ended())
    assert lifespan.outcome == "complete"
    assert asyncio.get_running_loop().time() == 1


# ---- answered -------------------------------------------------------------------------------


async def test_raises_after_shutdown_complete(said: Any) -> None:
    """What an application raises after shutdown.complete is an error in the log, no more."""
    async with Lifespan(says("receive", STARTED, "receive", STOPPED, OSError("late"))) as lifespan:
        pass
    assert (lifespan.outcome, lifespan.error) == ("complete", None)
    assert said == [
        ("ERROR", "The application raised after its final answer: OSError('late')", True)
    ]


async def test_works_after_shutdown_complete() -> None:
    """An application may work on after shutdown.complete, for as long as the grace."""
    done = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await correct(scope, receive, send)
        await asyncio.sleep(4)
        done.append(True)

    async with Lifespan(app):
        pass
    assert done == [True]


@pytest.mark.parametrize(("grace", "seconds"), [({"grace": 2}, 2), ({"grace": 0}, 0), ({}, 5)])
async def test_lingers_after_shutdown_complete(grace: Any, seconds: int, said: Any) -> None:
    """An application that lingers beyond the grace is cancelled; it has completed all the same."""
    async with Lifespan(says("receive", STARTED, "receive", STOPPED, 60), **grace) as lifespan:
        pass
    assert asyncio.get_running_loop().time() == seconds
    assert lifespan.outcome == "complete"
    assert lifespan._task.done()
    assert said == []


async def test_receives_after_shutdown_complete(said: Any) -> None:
    """An application that receives once more after its last answer is cancelled at once."""
    script = ["receive", STARTED, "receive", STOPPED, "receive"]
    async with Lifespan(says(*script)) as lifespan:
        pass
    assert asyncio.get_running_loop().time() == 0
    assert lifespan.outcome == "complete"
    assert said == []


async def test_another_task_receives_after_shutdown_complete() -> None:
    """A task that waits in receive does not cost its application the grace."""
    done = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        answered = asyncio.Event()

        async def pump() -> None:
            while True:
                event = await receive()
                await send({"type": f"{event['type']}.complete"})
                if event["type"] == "lifespan.shutdown":
                    answered.set()

        pumping = asyncio.create_task(pump())
        await answered.wait()
        await asyncio.sleep(1)
        done.append(True)
        pumping.cancel()

    async with Lifespan(app) as lifespan:
        pass
    assert (done, lifespan.outcome) == ([True], "complete")


async def test_two_limits(said: Any) -> None:
    """A limit ends the phase that it was set for, and no other."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        try:
            await says("receive", STARTED, "receive", 60)(scope, receive, send)
        finally:
            await asyncio.sleep(1)

    lifespan = Lifespan(app, shutdown_timeout=3)
    await lifespan.startup()
    results = await asyncio.gather(lifespan.shutdown(), lifespan.shutdown(), return_exceptions=True)
    assert [type(result) for result in results] == [ShutdownTimeout] * 2
    assert asyncio.get_running_loop().time() == 4
    sentence = "The application did not answer shutdown within 3 s: it was still running"
    assert said == [("ERROR", sentence, False)]


async def test_a_limit_is_not_for_the_grace() -> None:
    """Who calls shutdown() when it was answered waits the grace, and does not shorten it."""
    lifespan = Lifespan(says("receive", STARTED, "receive", STOPPED, 4), shutdown_timeout=1)
    await lifespan.startup()
    first = asyncio.create_task(lifespan.shutdown())
    await asyncio.sleep(0.5)
    await lifespan.shutdown()
    await first
    assert asyncio.get_running_loop().time() == 4


async def test_cancelled_after_shutdown_complete() -> None:
    """A server that is cancelled after the last answer leaves the outcome as it is."""
    lifespan = Lifespan(says("receive", STARTED, "receive", STOPPED, 60))
    await lifespan.startup()
    server = asyncio.create_task(lifespan.shutdown())
    asyncio.get_running_loop().call_later(1, server.cancel)
    with pytest.raises(asyncio.CancelledError):
        await server
    assert lifespan.outcome == "complete"


async def test_child_receives_after_the_end() -> None:
    """After the end a child task's send does nothing, and its receive never returns an event."""
    heard: list[Any] = []
    children = []

    async def child(receive: Any, send: Any) -> None:
        await asyncio.sleep(1)
        await send({"type": "nonsense"})
        heard.append("sent")
        heard.append(await receive())

    async def app(scope: Any, receive: Any, send: Any) -> None:
        children.append(asyncio.create_task(child(receive, send)))

    async with Lifespan(app) as lifespan:
        await asyncio.sleep(2)
    assert (heard, lifespan.outcome) == (["sent"], "unsupported")
    children[0].cancel()


# ---- what is sent ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "message", "rule_id"),
    [
        ([], {"type": "lifespan.started"}, "events-known"),
        ([], {"type": "lifespan.startup"}, "events-known"),
        ([], {"type": 1}, "events-known"),
        ([], {"type": []}, "events-known"),
        ([], {}, "events-known"),
        ([], "lifespan.startup.complete", "events-known"),
        ([], None, "events-known"),
        ([], STOPPED, "answers-in-order"),
        ([STARTED], STOPPED, "answers-in-order"),
        ([STARTED, NOT_STOPPED], NOT_STOPPED, "shutdown-answered-once"),
        ([STARTED, NOT_STOPPED], STOPPED, "shutdown-answered-once"),
        ([STARTED, NOT_STOPPED], STARTED, "answers-in-order"),
        ([STARTED], STARTED, "startup-answered-once"),
        ([STARTED], NOT_STARTED, "startup-answered-once"),
        ([NOT_STARTED], STARTED, "startup-answered-once"),
        ([NOT_STARTED], STOPPED, "answers-in-order"),
        ([STARTED, "stop"], STARTED, "answers-in-order"),
        ([STARTED, "stop", STOPPED], STOPPED, "shutdown-answered-once"),
        ([STARTED, "stop", STOPPED], NOT_STOPPED, "shutdown-answered-once"),
    ],
)
async def test_refused(before: list[Any], message: Any, rule_id: str) -> None:
    """What does not belong there is refused, names its rule, and leaves all as it was."""
    talk = StateMachine(correct)
    talk._queue_event("startup")
    for step in before:
        if step == "stop":
            talk._transition("shutdown")
            talk._queue_event("shutdown")
        else:
            await talk._on_send(step)
    as_it_was = dict(vars(talk))
    with pytest.raises(ProtocolError) as caught:
        await talk._on_send(message)
    assert caught.value.rule == rule_id
    if rule_id == "events-known":
        sentence = f"The application sent {message!r}"
    else:
        stage = message["type"].split(".")[1]
        early = stage == "shutdown" and not {"stop", "lifespan.shutdown.failed"} & {
            step if isinstance(step, str) else step["type"] for step in before
        }
        was = "not requested yet" if early else "already answered"
        sentence = f"{stage} was {was}: {message['type']} was refused"
    assert str(caught.value) == f"{sentence} [{rule_id}]"
    assert vars(talk) == as_it_was


async def test_refusal_swallowed() -> None:
    """An application that swallows a refusal has spoilt nothing."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        for wrong in ({"type": "?"}, STOPPED):
            with pytest.raises(ProtocolError):
                await send(wrong)
        await correct(scope, receive, send)

    async with Lifespan(app) as lifespan:
        assert lifespan.supported
    assert lifespan.outcome == "complete"


async def test_complete_before_receive() -> None:
    """The texts are silent on startup.complete before any receive: it is taken."""
    async with Lifespan(says(STARTED, "receive", "receive", STOPPED)) as lifespan:
        assert lifespan.supported
    assert lifespan.outcome == "complete"


async def test_extra_keys() -> None:
    """Extra keys are no error."""
    started = STARTED | {"took": 3}
    async with Lifespan(says("receive", started, "receive", STOPPED | {"message": 1})) as lifespan:
        pass
    assert lifespan.outcome == "complete"


async def test_an_event_is_a_dict() -> None:
    """The main specification says so: what only behaves like one is refused."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        with pytest.raises(ProtocolError, match="events-known"):
            await send(types.MappingProxyType(STARTED))
        await send(collections.OrderedDict(STARTED))
        await receive()
        await receive()
        await send(STOPPED)

    async with Lifespan(app) as lifespan:
        pass
    assert lifespan.outcome == "complete"


async def test_another_task_answers() -> None:
    """A second receive waits, for another of the application's tasks may answer."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        asyncio.get_running_loop().call_later(
            5, lambda: answers.append(loop.create_task(send(STARTED)))
        )
        await receive()
        await send(STOPPED)

    answers: list[Any] = []
    loop = asyncio.get_running_loop()
    async with Lifespan(app, startup_timeout=10) as lifespan:
        assert loop.time() == 5
    assert lifespan.outcome == "complete"


# ---- state, scope, context ------------------------------------------------------------------


async def test_state() -> None:
    """Each request gets a shallow copy of the live state; it is never cleared."""
    shared: list[int] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        scope["state"]["shared"] = shared
        await correct(scope, receive, send)
        scope["state"]["late"] = True

    request = {"type": "http", "path": "/"}
    async with Lifespan(app) as lifespan:
        one, two = lifespan.with_state(request), lifespan.with_state(request)
        one["state"]["mine"] = 1
        one["state"]["shared"].append(2)
        assert two == {"type": "http", "path": "/", "state": {"shared": [2]}}
        assert request == {"type": "http", "path": "/"}
    assert lifespan.state == {"shared": [2], "late": True}


async def test_state_named() -> None:
    """Lifespan[AppState](app) is what Lifespan(app) is, and a request's scope is a plain dict."""

    class AppState(TypedDict):
        kept: int

    async def app(scope: Any, receive: Any, send: Any) -> None:
        scope["state"]["kept"] = 1
        await correct(scope, receive, send)

    async with Lifespan[AppState](app) as lifespan:
        assert type(lifespan) is Lifespan
        request = lifespan.with_state(types.MappingProxyType({"type": "http"}))
        assert request == {"type": "http", "state": {"kept": 1}}
        assert type(request) is type(request["state"]) is dict
    assert lifespan.outcome == "complete"


async def test_state_rebound() -> None:
    """An application that rebinds scope["state"] changes nothing for requests."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        scope["state"]["kept"] = 1
        scope["state"] = {"lost": 2}
        await correct(scope, receive, send)

    async with Lifespan(app) as lifespan:
        assert lifespan.with_state({"type": "http"})["state"] == {"kept": 1}


async def test_state_of_one_that_declined() -> None:
    """What an application put into state before it declined is copied all the same."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        scope["state"]["kept"] = 1

    async with Lifespan(app) as lifespan:
        assert lifespan.with_state({})["state"] == {"kept": 1}


async def test_no_state() -> None:
    """Where state was not offered, nothing is added to requests."""
    request = {"type": "http"}
    async with Lifespan(correct, scope={"type": "lifespan"}) as lifespan:
        assert lifespan.state is None
        scope = lifespan.with_state(request)
        assert scope == {"type": "http"}
        assert scope is not request


async def test_scope_is_copied() -> None:
    """The scope that is handed in is copied, and each lifespan has a state of its own."""
    mine: dict[str, Any] = {"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}

    async def app(scope: Any, receive: Any, send: Any) -> None:
        scope["asgi"]["version"] = "0"
        scope["state"]["key"] = scope["more"] = 1
        await correct(scope, receive, send)

    for _ in range(2):
        async with Lifespan(app, scope=mine):
            pass
    assert mine == {"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}
    other = collections.UserDict(asgi=collections.UserDict(version="3.0"))
    other |= {"type": "lifespan", "state": collections.UserDict()}
    for _ in range(2):
        async with Lifespan(app, scope=other):
            pass
    assert (other["asgi"], other["state"]) == ({"version": "3.0"}, {})


async def test_default_scope() -> None:
    """By default lifespan 2.0 is offered, in a scope that no other lifespan shares."""
    seen = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append(copy.deepcopy(scope))
        scope["asgi"].clear()

    for _ in range(2):
        async with Lifespan(app):
            pass
    versions = {"version": "3.0", "spec_version": "2.0"}
    assert seen == [{"type": "lifespan", "asgi": versions, "state": {}}] * 2


async def test_one_task_and_a_context_of_its_own() -> None:
    """The application runs in one task from start to end, in a copy of the server's context."""
    name: contextvars.ContextVar[str] = contextvars.ContextVar("name", default="nobody")
    name.set("server")
    tasks, names = [], []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        for answer in (STARTED, STOPPED):
            await receive()
            names.append(name.get())
            tasks.append(asyncio.current_task())
            name.set("application")
            await send(answer)

    async with Lifespan(app):
        assert name.get() == "server"
        name.set("body")
    assert names == ["server", "application"]
    assert tasks[0] is tasks[1] is not asyncio.current_task()


# ---- at the door ----------------------------------------------------------------------------


async def test_two_callable(said: Any) -> None:
    """A call that raises has declined; the record hints at the adapter."""

    class App:
        def __init__(self, scope: Any) -> None:
            raise NotImplementedError

    async with Lifespan(App) as lifespan:  # type: ignore[arg-type]
        assert lifespan.outcome == "unsupported"
    assert isinstance(lifespan.error, TypeError)
    hint = (
        "The call itself raised. For a double-callable application use double_to_single_callable."
    )
    assert lifespan.error.__notes__ == [hint]
    assert said == [
        ("INFO", f"The application does not support lifespan: {lifespan.error!r}", False),
        ("ERROR", "The application raised during startup instead of answering it", True),
    ]


def test_call_exits() -> None:
    """A call that exits ends the server, and nothing waits for the application."""

    def app(scope: Any, receive: Any, send: Any) -> Awaitable[None]:
        raise SystemExit(3)

    lifespan = Lifespan(app)
    with pytest.raises(SystemExit):
        clock.run(lifespan.startup())
    assert (lifespan.outcome, lifespan.phase) == ("crashed", "ended")


async def test_call_raises_cancelled() -> None:
    """A call that raises CancelledError though nobody cancelled it has declined."""

    def app(scope: Any, receive: Any, send: Any) -> Awaitable[None]:
        raise asyncio.CancelledError

    async with Lifespan(app) as lifespan:
        assert lifespan.outcome == "unsupported"


async def test_eager_tasks() -> None:
    """Where tasks begin eagerly (Python 3.12 and newer), all is the same."""
    loop = asyncio.get_running_loop()
    loop.set_task_factory(getattr(asyncio, "eager_task_factory", None))
    async with Lifespan(correct) as lifespan:
        assert lifespan.supported
    assert lifespan.outcome == "complete"
    with pytest.raises(StartupFailed) as caught:
        await Lifespan(says("receive", NOT_STARTED, "receive")).startup()
    assert isinstance(caught.value.__cause__, asyncio.CancelledError)
    assert loop.time() == 0


async def test_the_task_of_the_application() -> None:
    """The application runs in the task that is the lifespan's."""
    tasks: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        tasks.extend([asyncio.current_task(), lifespan._task])
        await correct(scope, receive, send)

    lifespan = Lifespan(app, startup_timeout=1)
    async with lifespan:
        assert tasks == [lifespan._task, lifespan._task]
    assert lifespan.outcome == "complete"
    lifespan = Lifespan(says(60), startup_timeout=1)
    with pytest.raises(StartupTimeout):
        await lifespan.startup()
    assert (lifespan.outcome, asyncio.get_running_loop().time()) == ("timed_out", 1)


async def test_cancelled_before_it_starts() -> None:
    """A server whose task is cancelled already leaves no application behind."""

    async def server() -> None:
        task = asyncio.current_task()
        assert task
        task.cancel()
        await lifespan.startup()

    lifespan = Lifespan(correct)
    with pytest.raises(asyncio.CancelledError):
        await asyncio.create_task(server())
    assert lifespan.phase == "ended"


async def test_cancelled_by_its_first_step() -> None:
    """If the application cancels the task of startup() at once, startup() stops it and raises."""
    heard: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        heard.append((await receive())["type"])
        server.cancel()
        await send(STARTED)
        heard.append((await receive())["type"])
        await send(STOPPED)

    lifespan = Lifespan(app)
    server = asyncio.create_task(lifespan.startup())
    with pytest.raises(asyncio.CancelledError):
        await server
    assert heard == ["lifespan.startup", "lifespan.shutdown"]
    assert (lifespan.outcome, lifespan.phase) == ("complete", "ended")


async def test_own_task_and_context() -> None:
    """From its first line the call runs in a task of its own, in a copy of the context."""
    place = contextvars.ContextVar("place", default="nowhere")
    seen: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.extend([asyncio.current_task(), lifespan._task, place.get()])
        place.set("application")
        async with asyncio.TaskGroup() as group, asyncio.timeout(1):
            await group.create_task(correct(scope, receive, send))

    place.set("server")
    lifespan = Lifespan(app)
    async with lifespan:
        assert seen == [lifespan._task, lifespan._task, "server"]
        assert lifespan._task is not asyncio.current_task()
        assert place.get() == "server"
    assert lifespan.outcome == "complete"
    assert lifespan._task.done()


@pytest.mark.parametrize(
    ("script", "outcome"),
    [([], "unsupported"), (["receive", STARTED], "returned"), ([ValueError()], "unsupported")],
)
async def test_over_at_once(script: list[Any], outcome: str) -> None:
    """A call that is over before startup() returned has the outcome it always had."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        for step in script:
            if isinstance(step, ValueError):
                raise step
            await (receive() if step == "receive" else send(step))

    async with Lifespan(app) as lifespan:
        await lifespan.wait_ended()
        await asyncio.sleep(0)
    assert (lifespan.outcome, lifespan.phase) == (outcome, "ended")
    assert lifespan._task.done()
    assert not lifespan._task.cancelled()


async def test_blocks_past_the_limit() -> None:
    """An application that blocks until the limit has passed has answered too late."""
    for answer in (STARTED, NOT_STARTED):

        async def app(scope: Any, receive: Any, send: Any, answer: Any = answer) -> None:
            await receive()
            asyncio.get_running_loop()._now += 2  # type: ignore[attr-defined]  # as time.sleep(2)
            await send(answer)

        lifespan = Lifespan(app, startup_timeout=1)
        with pytest.raises(StartupTimeout, match="within 1 s"):
            await lifespan.startup()
        assert (lifespan.outcome, lifespan.phase) == ("timed_out", "ended")


async def test_cancels_its_server_at_once() -> None:
    """A server that is cancelled while the application answers has it shut down."""
    heard: list[str] = []

    async def serve() -> None:
        async with lifespan:
            await asyncio.sleep(1)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        server.cancel()
        await send(STARTED)
        heard.append((await receive())["type"])
        await send(STOPPED)

    lifespan = Lifespan(app)
    server = asyncio.create_task(serve())
    with pytest.raises(asyncio.CancelledError):
        await server
    assert heard == ["lifespan.shutdown"]
    assert lifespan.outcome == "complete"
    assert asyncio.get_running_loop().time() == 0


async def test_no_awaitable() -> None:
    """A call that returns no awaitable is refused with a sentence: that is no application."""

    async def generator(scope: Any, receive: Any, send: Any) -> AsyncIterator[None]:
        yield

    for app in (lambda *_: None, generator):
        lifespan = Lifespan(app)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="must return an awaitable, got"):
            await lifespan.startup()
        assert lifespan.outcome is None
        await lifespan.wait_ended()


async def test_no_awaitable_further_in(said: Any) -> None:
    """An application that in its turn calls what is none is one: it declines, or crashes."""
    for started in ([], [STARTED]):

        async def app(scope: Any, receive: Any, send: Any, first: Any = started) -> None:
            await says("receive", *first)(scope, receive, send)
            await Lifespan(lambda *_: None).startup()  # type: ignore[arg-type, return-value]

        async with Lifespan(app) as lifespan:
            await lifespan.wait_ended()
        assert lifespan.outcome == ("crashed" if started else "unsupported")
        assert isinstance(lifespan.error, TypeError)
    shown = repr(lifespan.error)
    assert said == [
        ("INFO", f"The application does not support lifespan: {shown}", False),
        ("ERROR", "The application raised during startup instead of answering it", True),
        ("ERROR", f"The application crashed while the server was running: {shown}", True),
    ]


async def test_plain_function() -> None:
    """A plain function that returns an awaitable is a legal application."""

    class Later:
        def __init__(self, *args: Any) -> None:
            self.args = args

        def __await__(self) -> Any:
            return correct(*self.args).__await__()

    @types.coroutine
    def old(*args: Any) -> Any:
        yield from correct(*args).__await__()

    for app in (functools.partial(correct), Later, old):
        async with Lifespan(app) as lifespan:
            assert lifespan.supported
        assert lifespan.outcome == "complete"


def test_not_callable() -> None:
    """What cannot be called is refused at once."""
    with pytest.raises(TypeError, match="app must be callable, got 'main:app'"):
        Lifespan("main:app")  # type: ignore[arg-type]


@pytest.mark.parametrize("scope", [{}, {"type": "http"}, {"type": "lifespan", "state": {"a": 1}}])
def test_wrong_scope(scope: dict[str, Any]) -> None:
    """A scope of another type, or with a state that is not empty, is refused."""
    with pytest.raises(ValueError, match="scope must have the type 'lifespan' and no state"):
        Lifespan(correct, scope=scope)


@pytest.mark.parametrize("last", ["answers", "returns", "raises"])
def test_late_in_a_blocked_loop(last: str) -> None:
    """What comes after the deadline is late, also if the loop notices both at once."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        time.sleep(0.01)  # noqa: ASYNC251  that is what blocks
        if last == "answers":
            await send(STARTED)
        elif last == "raises":
            raise OSError

    async def main() -> str | None:
        lifespan = Lifespan(app, startup_timeout=0.005)
        with pytest.raises(StartupTimeout):
            await lifespan.startup()
        return lifespan.outcome

    assert asyncio.run(main()) == "timed_out"


def test_no_clock() -> None:
    """What knows no event loop knows no time."""
    with pytest.raises(NotImplementedError):
        StateMachine(correct)._now()


async def test_wait_ended_waits_for_the_cleaning_up() -> None:
    """wait_ended() returns when the application is gone, not when it has been told to go."""
    loop = asyncio.get_running_loop()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send(STARTED)
        await receive()
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(2)

    lifespan = Lifespan(app, shutdown_timeout=1)
    await lifespan.startup()
    waiting = asyncio.create_task(lifespan.wait_ended())
    start = loop.time()
    with pytest.raises(ShutdownTimeout) as caught:
        await lifespan.shutdown()
    await waiting
    assert loop.time() - start == 3
    assert caught.value.message == ""


async def test_wait_ended_while_cleaning_up() -> None:
    """wait_ended() that is called while the application cleans up waits for its end, too."""
    loop = asyncio.get_running_loop()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(2)

    lifespan = Lifespan(app, startup_timeout=1)
    starting = asyncio.create_task(lifespan.startup())
    await asyncio.sleep(1.5)
    assert lifespan.phase == "cancelling"
    await lifespan.wait_ended()
    assert loop.time() == 3
    with pytest.raises(StartupTimeout):
        await starting


async def test_wait_ended_waits_as_long_as_the_application_runs() -> None:
    """No timeout applies while it serves."""
    loop = asyncio.get_running_loop()
    async with Lifespan(says("receive", STARTED, 100, OSError()), grace=2) as lifespan:
        await lifespan.wait_ended()
        assert (loop.time(), lifespan.outcome) == (100, "crashed")


async def test_wait_ended_gives_up_an_application_that_ignores_its_cancellation() -> None:
    """It has the grace to return after its last answer, and once more after it was cancelled."""
    loop = asyncio.get_running_loop()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send(STARTED)
        await send(NOT_STOPPED)
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(1000)
        await asyncio.sleep(1000)

    async with Lifespan(app, grace=2) as lifespan:
        await lifespan.wait_ended()
        assert loop.time() == 4


@pytest.mark.parametrize("last", [STOPPED, NOT_STOPPED])
async def test_a_receive_loop_in_a_task_group(last: Any) -> None:
    """A task group around a receive loop ends at once after the final answer."""
    cleaned = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        async def pump() -> None:
            await receive()
            await send(STARTED)
            await receive()
            await send(last)
            await receive()

        async with asyncio.TaskGroup() as group:
            group.create_task(pump())
        cleaned.append(asyncio.get_running_loop().time())

    lifespan = Lifespan(app)
    await lifespan.startup()
    with contextlib.suppress(ShutdownFailed):
        await lifespan.shutdown()
    assert cleaned == [0]


@pytest.mark.parametrize("wait", [asyncio.gather, asyncio.create_task, within])
async def test_a_receive_loop_that_the_call_awaits(said: Any, wait: Any) -> None:
    """The end of a receive loop is not logged as an exception of the application."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await wait(correct(scope, receive, send))
        await wait(receive())

    async with Lifespan(app) as lifespan:
        pass
    assert (asyncio.get_running_loop().time(), lifespan.outcome) == (0, "complete")
    assert said == []


async def test_a_second_cancellation_with_the_same_message() -> None:
    """Only a cancel scope repeats itself: whoever cancels twice with a reason is in a hurry."""
    app = says("receive", STARTED, "receive", 60, STOPPED)
    lifespan = Lifespan(app)
    await lifespan.startup()
    stopping = asyncio.create_task(lifespan.shutdown())
    for _ in range(3):
        await asyncio.sleep(0.1)
        stopping.cancel("stop")
    with pytest.raises(asyncio.CancelledError):
        await stopping
    assert asyncio.get_running_loop().time() < 1


async def test_a_receiver_that_swallows_its_cancellation() -> None:
    """A task that asks again and again after the final answer waits, and blocks nobody."""
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


def test_anyio_cancels_at_every_wait() -> None:
    """A cancel scope of anyio around the server lets the application clean up."""
    cleaned = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send(STARTED)
        await receive()
        await asyncio.sleep(0.01)
        cleaned.append(True)
        await send(STOPPED)

    async def main() -> None:
        lifespan = Lifespan(app, shutdown_timeout=5)
        with anyio.move_on_after(0.01) as scope:
            async with lifespan:
                await anyio.sleep(9)
        assert (cleaned, lifespan.outcome, scope.cancelled_caught) == ([True], "complete", True)

    asyncio.run(main())


def test_anyio_cancels_startup() -> None:
    """A cancel scope of anyio around startup lets the application obey its cancellation."""
    cleaned = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        try:
            await asyncio.sleep(9)
        finally:
            await asyncio.sleep(0.01)
            cleaned.append(True)

    async def main() -> None:
        lifespan = Lifespan(app)
        with anyio.move_on_after(0.01):
            await lifespan.startup()
        assert (cleaned, lifespan.outcome) == ([True], "cancelled")

    asyncio.run(main())


def test_anyio_and_an_application_that_does_not_start_or_stop() -> None:
    """A cancel scope of anyio around startup does not suspend the grace period."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        await asyncio.Event().wait()

    async def main() -> None:
        lifespan = Lifespan(app, grace=0.01)
        with anyio.move_on_after(0.01):
            await lifespan.startup()
        assert lifespan.outcome == "cancelled"

    asyncio.run(asyncio.wait_for(main(), 5))


def test_anyio_cancels_shutdown() -> None:
    """A cancel scope of anyio around shutdown lets the application obey its cancellation."""
    cleaned = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send(STARTED)
        try:
            await receive()
            await asyncio.sleep(9)
        finally:
            await asyncio.sleep(0.01)
            cleaned.append(True)

    async def main() -> None:
        lifespan = Lifespan(app)
        await lifespan.startup()
        with anyio.move_on_after(0.01):
            await lifespan.shutdown()
        assert (cleaned, lifespan.outcome) == ([True], "cancelled")

    asyncio.run(main())


def test_anyio_and_a_limit() -> None:
    """A cancel scope of anyio neither renews nor suspends the limits of shutdown and of grace."""
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


@pytest.mark.parametrize(
    ("limit", "kept"),
    [
        (Decimal(5), 5.0),
        (Fraction(1, 10), 0.1),
        (-0.0, 0.0),
        (float("inf"), None),
        (Decimal("inf"), None),
        (True, 1.0),
        (None, None),
    ],
    ids=repr,
)
async def test_odd_limits(limit: Any, kept: float | None) -> None:
    """A limit is kept as a float, so that no event loop fails at it later."""
    limits = dict.fromkeys(("startup_timeout", "shutdown_timeout", "grace"), limit)
    async with Lifespan(correct, **limits) as lifespan:
        pass
    kept_as = (lifespan._startup_timeout, lifespan._shutdown_timeout, lifespan._grace)
    assert repr(kept_as) == repr((kept,) * 3)


@pytest.mark.parametrize("limit", ["5", b"5", [5], 5j])
def test_no_number_of_seconds(limit: Any) -> None:
    """What is no number is refused at once."""
    sentence = f"a timeout must be None or a number of seconds, got {limit!r}"
    if isinstance(limit, (list, complex)):
        sentence = f"not '{type(limit).__name__}'"  # Python's own
    with pytest.raises(TypeError, match=f"{re.escape(sentence)}$"):
        Lifespan(correct, startup_timeout=limit)


@pytest.mark.parametrize("limit", ["startup_timeout", "shutdown_timeout", "grace"])
@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (-1, "-1"),
        (float("nan"), "nan"),
        pytest.param(10**400, "10000", id="large"),
        pytest.param(10**5000, "<int object", id="huge"),
    ],
)
def test_wrong_limit(limit: str, value: float, shown: str) -> None:
    """A limit below 0 is refused with a sentence."""
    sentence = f"a timeout must be None or at least 0 seconds, got {shown}"
    with pytest.raises(ValueError, match=sentence):
        Lifespan(correct, **{limit: value})  # type: ignore[arg-type]


async def test_started_twice() -> None:
    """A Lifespan starts once."""
    lifespan = Lifespan(correct)
    async with lifespan:
        with pytest.raises(
            RuntimeError, match=r"^startup\(\) was already called: create a new Lifespan$"
        ):
            await lifespan.startup()


async def test_before_startup() -> None:
    """Neither shutdown() nor with_state() nor wait_ended() comes before startup()."""
    lifespan = Lifespan(correct)
    with pytest.raises(
        RuntimeError, match=r"^call startup\(\) before shutdown\(\); to interrupt .* it$"
    ):
        await lifespan.shutdown()
    with pytest.raises(RuntimeError, match=r"^call startup\(\) before with_state\(\)$"):
        lifespan.with_state({"type": "http"})
    with pytest.raises(RuntimeError, match=r"^call startup\(\) before wait_ended\(\)$"):
        await lifespan.wait_ended()


async def test_shutdown_after_a_failed_start() -> None:
    """shutdown() after a start that failed has nothing to do."""
    for app in (says(NOT_STARTED), says(ValueError())):
        lifespan = Lifespan(app, strict=True)
        with pytest.raises(StartupFailed):
            await lifespan.startup()
        await lifespan.shutdown()


# ---- exceptions of every kind ---------------------------------------------------------------


@pytest.mark.parametrize(
    "error",
    [asyncio.CancelledError("mine"), ExceptionGroup("two", [ValueError()]), GeneratorExit()],
)
async def test_any_exception(error: BaseException) -> None:
    """An application's own CancelledError, or a group, is an exception as any other."""
    async with Lifespan(says("receive", error)) as lifespan:
        assert lifespan.outcome == "unsupported"
    async with Lifespan(says("receive", STARTED, error)) as lifespan:
        await lifespan.wait_ended()
    assert lifespan.outcome == "crashed"


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()])
@pytest.mark.parametrize("script", [[], ["receive", STARTED, 1], ["receive", STARTED, "receive"]])
def test_exits(script: list[Any], error: BaseException) -> None:
    """SystemExit and KeyboardInterrupt of an application reach whoever runs the loop."""
    lifespan = Lifespan(says(*script, error))

    async def serve() -> None:
        async with lifespan:
            await asyncio.sleep(2)

    with pytest.raises(type(error)):
        clock.run(serve())
    assert (lifespan.outcome, lifespan.error) == ("crashed", error)


def test_exit_where_strict() -> None:
    """The server's own exit is no failure that a note could describe."""
    lifespan = Lifespan(says("receive", STARTED, 1, SystemExit(3)), strict=True)
    notes: list[str] = []

    async def serve() -> None:
        try:
            async with lifespan:
                await asyncio.sleep(2)
        except asyncio.CancelledError as cancelled:
            notes.extend(getattr(cancelled, "__notes__", []))
            raise

    with pytest.raises(SystemExit):
        clock.run(serve())
    assert "".join(notes) == ""


async def test_cancelled_unbegun(said: Any) -> None:
    """Where everything is cancelled before the call began, nobody waits for its end."""
    future = asyncio.get_running_loop().create_future()
    lifespan = Lifespan(lambda *_: future, grace=None)
    server = asyncio.create_task(lifespan.startup())
    await asyncio.sleep(0)
    for task in server, lifespan._task:  # this has not begun
        task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await server
    assert (lifespan.outcome, lifespan.phase) == ("cancelled", "ended")
    assert said == []


async def test_cancelled_alone_unbegun() -> None:
    """A call that somebody else cancelled before it began has declined."""
    future = asyncio.get_running_loop().create_future()
    lifespan = Lifespan(lambda *_: future)
    server = asyncio.create_task(lifespan.startup())
    await asyncio.sleep(0)
    for task in asyncio.all_tasks() - {asyncio.current_task(), server}:
        task.cancel()
    await server
    assert lifespan.outcome == "unsupported"
    assert isinstance(lifespan.error, asyncio.CancelledError)


async def test_cancelled_and_raised() -> None:
    """What an application raises is its error, also where its task is to be cancelled just then."""
    error = OSError("mine")

    async def app(scope: Any, receive: Any, send: Any) -> None:
        asyncio.current_task().cancel()  # type: ignore[union-attr]
        raise error

    async with Lifespan(app) as lifespan:
        await asyncio.sleep(1)
        assert (lifespan.outcome, lifespan.error) == ("unsupported", error)


async def test_asked_again_and_again() -> None:
    """A server may ask again and again whether the application is gone; nothing piles up."""
    lifespan = Lifespan(correct)
    await lifespan.startup()
    for _ in range(100):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(lifespan.wait_ended(), 1)
    assert len(lifespan._waiters) < 5
    await lifespan.shutdown()


async def test_received_again_and_again() -> None:
    """An application may look from time to time whether shutdown has come; nothing piles up."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send(STARTED)
        for _ in range(100):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(receive(), 1)

    lifespan = Lifespan(app)
    await lifespan.startup()
    await asyncio.sleep(99.5)
    assert len(lifespan._waiters) < 5
    await lifespan.wait_ended()


def test_errors_travel() -> None:
    """The exceptions can be pickled, as a process pool does."""
    failed = pickle.loads(pickle.dumps(StartupFailed("It failed", "text")))
    assert (str(failed), failed.message) == ("It failed", "text")
    assert StartupFailed("It failed").message == ""
    refused = pickle.loads(pickle.dumps(ProtocolError("nothing", "rule")))
    assert (str(refused), refused.rule) == ("nothing [rule]", "rule")


# ---- the application of a started lifespan --------------------------------------------------


async def test_app_gives_a_copy_of_the_state() -> None:
    """Each request that is given to `app` gets a shallow copy of the live state."""
    seen = []

    async def app(scope: Any, receive: Any, send: Any) -> object:
        if scope["type"] == "lifespan":
            return await says("receive", STARTED, "receive", STOPPED)(scope, receive, send)
        seen.append(scope)
        return receive, send

    async with Lifespan(app) as lifespan:
        lifespan.state["pool"] = pool = object()  # type: ignore[index]
        scope = {"type": "http", "state": "another"}
        assert await lifespan.app(scope, 1, 2) == (1, 2)
    assert scope == {"type": "http", "state": "another"}
    assert seen == [{"type": "http", "state": {"pool": pool}}]
    assert seen[0]["state"] is not lifespan.state


async def test_app_runs_already() -> None:
    """A client that would start the application again is told that it runs."""
    async with Lifespan(correct) as lifespan:
        with pytest.raises(RuntimeError) as raised:
            await lifespan.app({"type": "lifespan"}, None, None)
    assert str(raised.value) == (
        "this application is running already and takes requests only; give the application"
        " itself to a client that starts it, such as Starlette's TestClient in a `with`"
    )
    assert lifespan.outcome == "complete"


async def test_supported_is_not_known_at_first() -> None:
    """Only an answer, or the end without one, tells whether the application has lifespan."""
    lifespan = Lifespan(says("receive", STARTED, "receive", STOPPED))
    assert lifespan.supported is None
    await lifespan.startup()
    assert lifespan.supported is True
    await lifespan.shutdown()
    assert lifespan.supported is True


@pytest.mark.parametrize(
    ("script", "supported"),
    [
        (["receive", NOT_STARTED], True),
        (["receive", 60], None),
        ([OSError()], False),
        (["receive", STARTED, 1], True),
    ],
    ids=["failed", "timed_out", "unsupported", "returned"],
)
async def test_supported_at_the_end(script: list[Any], supported: bool | None) -> None:
    """An application that gave no answer in time may support lifespan or not."""
    lifespan = Lifespan(says(*script), startup_timeout=1)
    with contextlib.suppress(StartupFailed):
        async with lifespan:
            pass
    assert lifespan.supported is supported


async def test_repr() -> None:
    """The repr names the application, the phase, and the outcome when there is one."""

    class Shop:
        def __call__(self, scope: Any, receive: Any, send: Any) -> Any:
            return correct(scope, receive, send)

        def __repr__(self) -> str:
            return "the shop"

    lifespan = Lifespan(Shop())
    assert repr(lifespan) == "<Lifespan of the shop: waiting>"
    async with lifespan:
        assert repr(lifespan) == "<Lifespan of the shop: running>"
    assert repr(lifespan) == "<Lifespan of the shop: ended, outcome complete>"


# ---- strict ---------------------------------------------------------------------------------


async def test_strict_declined() -> None:
    """strict: an application that declined is not served; the cause says why."""
    error = ValueError("http only")
    with pytest.raises(LifespanUnsupported) as caught:
        await Lifespan(says(error), strict=True).startup()
    assert isinstance(caught.value, StartupFailed)
    assert str(caught.value) == "The application does not support lifespan: ValueError('http only')"
    assert (caught.value.message, caught.value.__cause__) == ("", error)


@pytest.mark.parametrize(
    "script",
    [
        ["receive", STARTED],
        ["receive", STARTED, OSError()],
        ["receive", STARTED, "receive"],
        ["receive", STARTED, "receive", OSError()],
    ],
)
async def test_strict_ends_badly(script: list[Any]) -> None:
    """strict: an application that crashed, left, or left shutdown unanswered fails shutdown."""
    lifespan = Lifespan(says(*script), strict=True)
    await lifespan.startup()
    with pytest.raises(ShutdownFailed):
        await lifespan.shutdown()


async def test_strict_complete() -> None:
    """strict: an application that completes is as it should be."""
    async with Lifespan(correct, strict=True) as lifespan:
        pass
    assert lifespan.outcome == "complete"
