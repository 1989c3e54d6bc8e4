"""The server on asyncio and on trio: what holds for both, and what knows no event loop.

What scripts of a few steps can show is in tests/every and in `test_libraries_agree`.
"""

import collections
import contextlib
import contextvars
import copy
import functools
import logging
import pickle
import re
import types
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypedDict, get_args

import pytest

from either import both
from lifespec.server import (
    TABLE,
    Lifespan,
    Outcome,
    Phase,
    ProtocolError,
    ShutdownFailed,
    ShutdownTimeout,
    StartupFailed,
    StartupTimeout,
    StateMachine,
)
from scripted import NOT_STARTED, NOT_STOPPED, STARTED, STOPPED

pytestmark = pytest.mark.usefixtures("said")
NO_ANSWER = "The application did not answer startup within 1 s: it had not received the event"
NOT_SUPPORTED = "The application does not support lifespan"
RAISED = ("ERROR", "The application raised during startup instead of answering it", True)


# ---- the table ------------------------------------------------------------------------------

ROWS = [(phase, what, *row) for phase, rows in TABLE.items() for what, row in rows.items()]


def test_every_phase_has_rows() -> None:
    """What happens in a phase is looked up there, whatever it is, and has words if it is logged."""
    assert list(TABLE) == list(get_args(Phase))
    for phase, _, follows, outcome, level, words in ROWS:
        assert {phase, follows} <= set(get_args(Phase))
        assert outcome in {None, *get_args(Outcome)}
        assert level in {0, logging.INFO, logging.WARNING, logging.ERROR}
        assert bool(level) == bool(words)


def test_the_outcome_is_decided_once() -> None:
    """What ends waiting, running or stopping decides the outcome; nothing that follows does."""
    for phase, _, follows, outcome, *_ in ROWS:
        before = phase in {"waiting", "running", "stopping"}
        assert bool(outcome) == (before and follows not in {"running", "stopping"})


def test_what_ends_a_call() -> None:
    """A call is over when it returned or raised; else it is cancelled, and given up only then."""
    for phase, what, follows, *_ in ROWS:
        over = what in {"returned", "raised"} or (phase, what) == ("cancelling", "expired")
        assert (follows == "ended") == over
        assert (follows == "cancelling") == (what in {"expired", "cancelled"} and not over)


# ---- startup --------------------------------------------------------------------------------


@pytest.mark.parametrize("message", [None, 7, b"no"])
@both
async def test_startup_failed_message_is_not_text(on: Any, message: object) -> None:
    """The type is the signal: a message that is no text fails startup, and send says so too."""
    refused = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        try:
            await send(NOT_STARTED | {"message": message})
        except ProtocolError as error:
            refused.append(error)

    with pytest.raises(StartupFailed) as caught:
        await on.Lifespan(app).startup()
    assert caught.value.message == repr(message)
    assert [error.rule for error in refused] == ["message-is-text"]
    assert str(refused[0]) == f"'message' must be a str, got {message!r} [message-is-text]"


@both
async def test_failed_and_then_raises(on: Any, said: Any) -> None:
    """What an application raises after startup.failed is the cause, and is not reported again."""
    error = OSError("refused")
    with pytest.raises(StartupFailed) as caught:
        await on.Lifespan(on.says(NOT_STARTED, error)).startup()
    assert caught.value.__cause__ is error
    assert said() == [
        ("ERROR", "The application failed to start", False),
        ("DEBUG", "The application raised after its final answer: OSError('refused')", True),
    ]


@pytest.mark.parametrize(
    ("script", "seconds"), [([NOT_STARTED, 60], 2), (["receive", NOT_STARTED, "receive"], 0)]
)
@both
async def test_failed_and_then_stays(on: Any, script: list[Any], seconds: int) -> None:
    """After startup.failed it is cancelled within the grace, or at once if it receives."""
    with pytest.raises(StartupFailed):
        await on.Lifespan(on.says(*script), grace=2).startup()
    assert on.now() == seconds


@pytest.mark.parametrize(
    ("script", "records"),
    [
        ([], ["it returned"]),
        (["receive", 5], ["it returned"]),
        ([ValueError("http only")], ["ValueError('http only')"]),
        (["receive", KeyError("dsn")], ["KeyError('dsn')", RAISED]),
        (
            [{"type": "x"}],
            [
                repr(ProtocolError(f"The application sent { ({'type': 'x'})!r}", "events-known")),
                RAISED,
            ],
        ),
    ],
    ids=["returns", "returns later", "raises", "raises after startup", "was refused"],
)
@both
async def test_unsupported(on: Any, script: list[Any], records: list[Any], said: Any) -> None:
    """Without lifespan is who returns or raises; an exception after startup is never swallowed."""
    async with on.Lifespan(on.says(*script)) as lifespan:
        assert (lifespan.supported, lifespan.outcome) == (False, "unsupported")
    errors = [step for step in script if isinstance(step, Exception)]
    assert [lifespan.error] == (errors or [lifespan.error])
    assert (lifespan.error is None) == (records == ["it returned"])
    assert said() == [("INFO", f"{NOT_SUPPORTED}: {records[0]}", False), *records[1:]]


@both
async def test_protocol_error_escapes_in_a_group(on: Any, said: Any) -> None:
    """A refusal that escapes in an exception group is logged as an error all the same."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await on.together(functools.partial(send, {"type": "?"}))

    async with on.Lifespan(app) as lifespan:
        assert isinstance(lifespan.error, ExceptionGroup)
    assert said() == [("INFO", f"{NOT_SUPPORTED}: {lifespan.error!r}", False), RAISED]


LATE = [
    ([60], "had not received the event"),
    (["receive", 60], "was still running"),
    (["receive", "receive"], "was waiting for another event"),
]


@pytest.mark.parametrize(("script", "doing"), LATE)
@both
async def test_startup_times_out(on: Any, script: list[Any], doing: str, said: Any) -> None:
    """An application that does not answer in time is cancelled; the message says what it did."""
    sentence = f"The application did not answer startup within 2.5 s: it {doing}"
    lifespan = on.Lifespan(on.says(*script), startup_timeout=2.5)
    with pytest.raises(StartupTimeout) as caught:
        await lifespan.startup()
    assert on.now() == 2.5
    assert (str(caught.value), caught.value.message) == (sentence, "")
    assert isinstance(caught.value, TimeoutError)
    assert (lifespan.outcome, lifespan.error) == ("timed_out", None)
    assert said() == [("ERROR", sentence, False)]


@both
async def test_timeout_shows_where(on: Any) -> None:
    """The cause of a timeout is the cancellation, whose traceback shows where it struck."""

    async def connect() -> None:
        await on.sleep(60)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await connect()

    with pytest.raises(StartupTimeout) as caught:
        await on.Lifespan(app, startup_timeout=1).startup()
    cause = caught.value.__cause__
    assert isinstance(cause, on.Cancelled)
    names = []
    trace = cause.__traceback__
    while trace:
        names.append(trace.tb_frame.f_code.co_name)
        trace = trace.tb_next
    assert "connect" in names


@both
async def test_after_it_was_cancelled(on: Any) -> None:
    """What it sends then changes nothing, and it is given no event any more."""
    seen = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        try:
            await on.sleep(10)
        finally:
            await send(STARTED)
            seen.append("sent")
            seen.append(await receive())

    lifespan = on.Lifespan(app, startup_timeout=1, grace=1)
    with pytest.raises(StartupTimeout):
        await lifespan.startup()
    assert (seen, lifespan.outcome) == (["sent"], "timed_out")


def fails(error: BaseException) -> Any:
    """Make a function that raises."""

    def fail() -> None:
        raise error

    return fail


@both
async def test_raises_when_cancelled(on: Any, said: Any) -> None:
    """What an application raises instead of obeying its cancellation is in the log."""
    app = on.tidies(60, seconds=0, then=fails(OSError("pool is stuck")))
    with pytest.raises(StartupTimeout):
        await on.Lifespan(app, startup_timeout=1).startup()
    sentence = "The application raised when it was cancelled: OSError('pool is stuck')"
    assert said() == [("ERROR", NO_ANSWER, False), ("ERROR", sentence, True)]


async def too_late(lifespan: Lifespan) -> None:
    """Start what does not start in time."""
    with pytest.raises(StartupTimeout):
        await lifespan.startup()


@both
async def test_ignores_cancellation(on: Any, said: Any) -> None:
    """It is given up after the grace; what it raises then is in the log all the same."""
    app = on.tidies(60, seconds=60, then=fails(OSError("at last")))
    lifespan = on.Lifespan(app, startup_timeout=1, grace=2)
    await on.together(
        functools.partial(too_late, lifespan), functools.partial(on.after, 0.5, lifespan.wait_ended)
    )
    assert on.now() == 3
    await on.sleep(100)
    after = "The application raised after the server stopped waiting: OSError('at last')"
    assert said() == [
        ("ERROR", NO_ANSWER, False),
        ("ERROR", "The application was cancelled and did not stop within 2 s", False),
        ("ERROR", after, True),
    ]


@both
async def test_shutdown_after_a_failed_start(on: Any) -> None:
    """shutdown() after a start that failed has nothing to do."""
    for app in (on.says(NOT_STARTED), on.says(ValueError())):
        lifespan = on.Lifespan(app, strict=True)
        with pytest.raises(StartupFailed):
            await lifespan.startup()
        await lifespan.shutdown()


class Unspeakable(Exception):
    """An exception that cannot even be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")


@both
async def test_repr_raises(on: Any) -> None:
    """An exception or a message whose repr raises is treated as any other."""
    async with on.Lifespan(on.says("receive", Unspeakable())) as lifespan:
        assert lifespan.outcome == "unsupported"
    with pytest.raises(StartupFailed) as caught:
        await on.Lifespan(on.says(NOT_STARTED | {"message": Unspeakable()})).startup()
    assert caught.value.message.startswith(f"<{__name__}.Unspeakable object at ")


@both
async def test_log_raises(on: Any) -> None:
    """A log that raises changes nothing of the outcome."""

    def broken(record: logging.LogRecord) -> bool:
        raise OSError("the disk is full")

    log = logging.getLogger("lifespec.server")
    log.addFilter(broken)
    try:
        async with on.Lifespan(on.says("receive", ValueError())) as lifespan:
            pass
    finally:
        log.removeFilter(broken)
    assert lifespan.outcome == "unsupported"


# ---- the server is cancelled ----------------------------------------------------------------


@both
async def test_cancelled_before_it_starts(on: Any) -> None:
    """A server that is cancelled already leaves no application behind."""
    lifespan = on.Lifespan(on.says("receive", 60, STARTED))

    async def serve() -> None:
        on.cancel()
        await lifespan.startup()

    await on.cancelled(serve)
    assert (lifespan.outcome, lifespan.phase, on.now()) == ("cancelled", "ended", 0)


@pytest.mark.parametrize("begin", ["startup", "shutdown"])
@both
async def test_cancelled_in_the_grace(on: Any, begin: str) -> None:
    """A server that is cancelled while a late application cleans up still awaits it, once."""
    done: list[float] = []
    script = [] if begin == "startup" else ["receive", STARTED, "receive"]
    app = on.tidies(*script, 60, seconds=3, then=lambda: done.append(on.now()))
    lifespan = on.Lifespan(app, startup_timeout=1, shutdown_timeout=1)
    if script:
        await lifespan.startup()
    await on.cancelled(getattr(lifespan, begin), 2)
    assert (done, lifespan.phase, lifespan.outcome) == ([4], "ended", "timed_out")


@both
async def test_cancelled_as_it_starts(on: Any) -> None:
    """A server that is cancelled just as the application has started shuts it down in order."""
    heard: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        on.cancel()
        await send(STARTED)
        heard.append(await receive())
        await on.sleep(1)
        await send(NOT_STOPPED | {"message": "late"})

    lifespan = on.Lifespan(app)
    error = await on.cancelled(lifespan.startup)
    assert heard == [{"type": "lifespan.shutdown"}]
    assert (lifespan.outcome, on.now()) == ("failed", 1)
    assert error.__notes__ == ["The application failed to shut down: late"]


@both
async def test_cancelled_in_shutdown(on: Any) -> None:
    """A server that is cancelled in shutdown cancels the application, and awaits it."""
    lifespan = on.Lifespan(on.tidies("receive", STARTED, "receive", 60, seconds=2))
    await lifespan.startup()
    await on.cancelled(lifespan.shutdown, 1)
    assert (on.now(), lifespan.outcome, lifespan.phase) == (3, "cancelled", "ended")


# ---- while it is served ---------------------------------------------------------------------


@both
async def test_crashes_while_served(on: Any, said: Any) -> None:
    """An application that crashes is not told of shutdown; the body goes on; wait_ended() tells."""
    error = RuntimeError("worker died")
    async with on.Lifespan(on.says("receive", STARTED, 100, error), grace=2) as lifespan:
        await lifespan.wait_ended()  # no timeout applies while it serves
        assert on.now() == 100
        await on.sleep(1)
        assert (lifespan.outcome, lifespan.error) == ("crashed", error)
    sentence = "The application crashed while the server was running: RuntimeError('worker died')"
    assert said() == [("ERROR", sentence, True)]


@both
async def test_fails_while_served(on: Any, said: Any) -> None:
    """A failure that nobody asked for is a crash; the exception that follows is the error."""
    error = ConnectionError("no mail server")
    failed = NOT_STOPPED | {"message": "jobs lost"}
    lifespan = on.Lifespan(on.says("receive", STARTED, 5, failed, 1, error), strict=True)
    await lifespan.startup()
    await lifespan.wait_ended()
    assert on.now() == 6
    assert (lifespan.outcome, lifespan.error) == ("crashed", error)
    with pytest.raises(ShutdownFailed) as caught:
        await lifespan.shutdown()
    assert (caught.value.message, caught.value.__cause__) == ("jobs lost", error)
    after = "The application raised after its final answer: ConnectionError('no mail server')"
    assert said() == [
        ("ERROR", "The application failed while running: jobs lost", False),
        ("ERROR", after, True),
    ]


@pytest.mark.parametrize(
    ("last", "seconds"), [([], 0), (["receive"], 0), ([60], 5), ([60, OSError()], 5)]
)
@both
async def test_fails_while_served_and_does_not_raise(
    on: Any, last: list[Any], seconds: int
) -> None:
    """It is gone within the grace, for wait_ended() and for the server that stops alike."""
    for body in ("waits", "ends"):
        start = on.now()
        async with on.Lifespan(on.says("receive", STARTED, NOT_STOPPED, *last)) as lifespan:
            assert (lifespan.supported, lifespan.outcome, on.now()) == (True, "crashed", start)
            if body == "waits":
                await lifespan.wait_ended()
        assert (lifespan.outcome, lifespan.error) == ("crashed", None)
        assert on.now() - start == seconds


# ---- shutdown -------------------------------------------------------------------------------


@both
async def test_shutdown_failed(on: Any, said: Any) -> None:
    """shutdown.failed raises ShutdownFailed, at each call, or is a note to the body's error."""
    app = on.says("receive", STARTED, "receive", NOT_STOPPED | {"message": "lost 3"})
    sentence = "The application failed to shut down: lost 3"
    lifespan = on.Lifespan(app)
    await lifespan.startup()
    for _ in range(3):
        with pytest.raises(ShutdownFailed) as caught:
            await lifespan.shutdown()
        assert type(caught.value) is ShutdownFailed
        assert (str(caught.value), caught.value.message) == (sentence, "lost 3")
    assert lifespan.outcome == "failed"
    assert said() == [("ERROR", sentence, False)]
    with pytest.raises(ShutdownFailed):
        async with on.Lifespan(app):
            pass
    with pytest.raises(ValueError, match="body") as raised:
        async with on.Lifespan(app):
            raise ValueError("body")
    assert raised.value.__notes__ == [sentence]


@pytest.mark.parametrize(
    ("script", "outcome", "record"),
    [
        ([], "returned", ("WARNING", "returned while the server was running", False)),
        (["receive"], "returned", ("WARNING", "returned before it answered shutdown", False)),
        (
            ["receive", OSError("disk")],
            "crashed",
            ("ERROR", "crashed before it answered shutdown: OSError('disk')", True),
        ),
    ],
)
@both
async def test_no_answer_to_shutdown(
    on: Any, script: list[Any], outcome: str, record: tuple[str, str, bool], said: Any
) -> None:
    """An application that returns or raises instead is reported; nothing hangs; strict raises."""
    for strict in (False, True):
        lifespan = on.Lifespan(on.says("receive", STARTED, *script), strict=strict)
        await lifespan.startup()
        with pytest.raises(ShutdownFailed) if strict else contextlib.nullcontext():
            await lifespan.shutdown()
        error = script[-1] if outcome == "crashed" else None
        assert (lifespan.outcome, lifespan.error) == (outcome, error)
    level, words, traceback = record
    assert said() == [(level, f"The application {words}", traceback)] * 2


@pytest.mark.parametrize(("script", "doing"), [([60], LATE[0][1]), *LATE[1:]])
@both
async def test_shutdown_times_out(on: Any, script: list[Any], doing: str, said: Any) -> None:
    """An application that does not answer shutdown in time is cancelled."""
    sentence = f"The application did not answer shutdown within 3 s: it {doing}"
    lifespan = on.Lifespan(on.says("receive", STARTED, *script), shutdown_timeout=3)
    await lifespan.startup()
    for _ in range(2):  # a further shutdown() raises the same
        with pytest.raises(ShutdownTimeout) as caught:
            await lifespan.shutdown()
        assert (str(caught.value), caught.value.message) == (sentence, "")
        assert isinstance(caught.value, TimeoutError)
    assert (on.now(), lifespan.outcome) == (3, "timed_out")
    assert said() == [("ERROR", sentence, False)]


@both
async def test_report_is_to_be_overridden(on: Any) -> None:
    """A subclass that overrides report() gets each sentence with its level and its exception."""
    told: list[Any] = []

    class Told(on.Lifespan):  # type: ignore[name-defined,misc]
        def report(self, level: int, sentence: str, error: BaseException | None) -> None:
            told.append((level, sentence, error))

    error = OSError("disk")
    async with Told(on.says("receive", STARTED, error)):
        pass
    sentence = "The application crashed while the server was running: OSError('disk')"
    assert told == [(logging.ERROR, sentence, error)]


@pytest.mark.parametrize(
    ("last", "grace", "seconds"),
    [
        (4, {}, 4),
        (60, {}, 5),
        (60, {"grace": 2}, 2),
        (60, {"grace": 0}, 0),
        (9999, {"grace": None}, 9999),
        ("receive", {}, 0),
    ],
)
@both
async def test_stays_after_shutdown_complete(
    on: Any, last: Any, grace: Any, seconds: int, said: Any
) -> None:
    """An application that stays beyond the grace, or receives, is cancelled; it has completed."""
    app = on.says("receive", STARTED, "receive", STOPPED, last)
    async with on.Lifespan(app, **grace) as lifespan:
        pass
    assert (on.now(), lifespan.outcome, lifespan.phase) == (seconds, "complete", "ended")
    assert said() == []


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
    talk = StateMachine(application)
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


@both
async def test_another_task_answers(on: Any) -> None:
    """A second receive waits, for another of the application's tasks may answer."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()

        async def answer() -> None:
            await receive()
            await send(STOPPED)

        await on.together(answer, functools.partial(on.after, 5, functools.partial(send, STARTED)))

    async with on.Lifespan(app, startup_timeout=10) as lifespan:
        assert on.now() == 5
    assert lifespan.outcome == "complete"


# ---- state, scope, context ------------------------------------------------------------------


class AppState(TypedDict):
    """What a server names as its state."""

    shared: list[int]


@both
async def test_state(on: Any) -> None:
    """Each request gets a shallow copy of the live state; it is never cleared."""
    shared: list[int] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        scope["state"]["shared"] = shared
        state, scope["state"] = scope["state"], {"lost": 2}  # to bind it anew changes nothing
        await on.correct(scope, receive, send)
        state["late"] = True

    request = {"type": "http", "path": "/"}
    async with on.Lifespan[AppState](app) as lifespan:
        assert type(lifespan) is on.Lifespan
        one, two = (lifespan.with_state(types.MappingProxyType(request)) for _ in range(2))
        assert type(one) is type(one["state"]) is dict
        one["state"]["mine"] = 1
        one["state"]["shared"].append(2)
        assert two == {"type": "http", "path": "/", "state": {"shared": [2]}}
        assert request == {"type": "http", "path": "/"}
    assert lifespan.state == {"shared": [2], "late": True}


@both
async def test_no_state(on: Any) -> None:
    """Where state was not provided, nothing is added to requests."""
    request = {"type": "http"}
    async with on.Lifespan(on.correct, scope={"type": "lifespan"}) as lifespan:
        assert lifespan.state is None
        scope = lifespan.with_state(request)
        assert scope == {"type": "http"}
        assert scope is not request


@both
async def test_scope_is_copied(on: Any) -> None:
    """The scope that is handed in is copied, and each lifespan has a state of its own."""
    mine: dict[str, Any] = {"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}

    async def app(scope: Any, receive: Any, send: Any) -> None:
        scope["asgi"]["version"] = "0"
        scope["state"]["key"] = scope["more"] = 1
        await on.correct(scope, receive, send)

    other = collections.UserDict(asgi=collections.UserDict(version="3.0"))
    other |= {"type": "lifespan", "state": collections.UserDict()}
    for scope in (mine, mine, other, other):
        async with on.Lifespan(app, scope=scope):
            pass
    assert mine == {"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}
    assert (other["asgi"], other["state"]) == ({"version": "3.0"}, {})


@both
async def test_default_scope(on: Any) -> None:
    """By default lifespan 2.0 is offered, in a scope that no other lifespan shares."""
    seen = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append(copy.deepcopy(scope))
        scope["asgi"].clear()

    for _ in range(2):
        async with on.Lifespan(app):
            pass
    versions = {"version": "3.0", "spec_version": "2.0"}
    assert seen == [{"type": "lifespan", "asgi": versions, "state": {}}] * 2


@both
async def test_one_task_and_a_context_of_its_own(on: Any) -> None:
    """The application runs in one task from start to end, in a copy of the server's context."""
    name: contextvars.ContextVar[str] = contextvars.ContextVar("name", default="nobody")
    name.set("server")
    tasks, names = [], []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        for answer in (STARTED, STOPPED):
            await receive()
            names.append(name.get())
            tasks.append(on.task())
            name.set("application")
            await send(answer)

    async with on.Lifespan(app):
        assert name.get() == "server"
        name.set("body")
    assert names == ["server", "application"]
    assert tasks[0] is tasks[1] is not on.task()


@both
async def test_app_gives_a_copy_of_the_state(on: Any) -> None:
    """Each request that is given to `app` gets a shallow copy of the live state."""
    seen = []

    async def app(scope: Any, receive: Any, send: Any) -> object:
        if scope["type"] == "lifespan":
            return await on.correct(scope, receive, send)
        seen.append(scope)
        return receive, send

    async with on.Lifespan(app) as lifespan:
        lifespan.state["pool"] = pool = object()
        scope = {"type": "http", "state": "another"}
        assert await lifespan.app(scope, 1, 2) == (1, 2)
        with pytest.raises(RuntimeError) as raised:
            await lifespan.app({"type": "lifespan"}, None, None)
    assert str(raised.value) == (
        "this application is running already and takes requests only; give the application"
        " itself to a client that starts it, such as Starlette's TestClient in a `with`"
    )
    assert scope == {"type": "http", "state": "another"}
    assert seen == [{"type": "http", "state": {"pool": pool}}]
    assert seen[0]["state"] is not lifespan.state


@pytest.mark.parametrize(
    ("script", "supported"),
    [
        (["receive", STARTED, "receive", STOPPED], True),
        (["receive", NOT_STARTED], True),
        (["receive", 60], None),
        ([OSError()], False),
        (["receive", STARTED, 1], True),
    ],
    ids=["complete", "failed", "timed_out", "unsupported", "returned"],
)
@both
async def test_supported(on: Any, script: list[Any], supported: bool | None) -> None:
    """Only an answer, or the end without one, tells whether the application has lifespan."""
    lifespan = on.Lifespan(on.says(*script), startup_timeout=1)
    assert lifespan.supported is None
    with contextlib.suppress(StartupFailed):
        async with lifespan:
            assert lifespan.supported is supported
    assert lifespan.supported is supported


@both
async def test_repr(on: Any) -> None:
    """The repr names the application, the phase, and the outcome when there is one."""

    class Shop:
        def __call__(self, scope: Any, receive: Any, send: Any) -> Any:
            return on.correct(scope, receive, send)

        def __repr__(self) -> str:
            return "the shop"

    lifespan = on.Lifespan(Shop())
    assert repr(lifespan) == "<Lifespan of the shop: waiting>"
    async with lifespan:
        assert repr(lifespan) == "<Lifespan of the shop: running>"
    assert repr(lifespan) == "<Lifespan of the shop: ended, outcome complete>"


# ---- arguments and calls that are refused ---------------------------------------------------


async def application(scope: Any, receive: Any, send: Any) -> None:
    """Be an application that is not called."""


@both
async def test_double_callable(on: Any, said: Any) -> None:
    """If the call itself raises, lifespan is not supported; the record hints at the adapter."""

    class App:
        def __init__(self, scope: Any) -> None:
            raise NotImplementedError

    async with on.Lifespan(App) as lifespan:
        assert lifespan.outcome == "unsupported"
    assert isinstance(lifespan.error, TypeError)
    hint = (
        "The call itself raised. For a double-callable application use double_to_single_callable."
    )
    assert lifespan.error.__notes__ == [hint]
    assert said() == [("INFO", f"{NOT_SUPPORTED}: {lifespan.error!r}", False), RAISED]


@both
async def test_no_awaitable(on: Any) -> None:
    """A call that returns no awaitable is refused with a sentence: that is no application."""

    async def generator(scope: Any, receive: Any, send: Any) -> Any:
        yield

    for app in (lambda *_: None, generator):
        lifespan = on.Lifespan(app)
        with pytest.raises(TypeError, match="must return an awaitable, got"):
            await lifespan.startup()
        assert lifespan.outcome is None
        await lifespan.wait_ended()


def test_not_callable() -> None:
    """What cannot be called is refused at once."""
    with pytest.raises(TypeError, match="app must be callable, got 'main:app'"):
        Lifespan("main:app")  # type: ignore[arg-type]


@pytest.mark.parametrize("scope", [{}, {"type": "http"}, {"type": "lifespan", "state": {"a": 1}}])
def test_wrong_scope(scope: dict[str, Any]) -> None:
    """A scope of another type, or with a state that is not empty, is refused."""
    with pytest.raises(ValueError, match="scope must have the type 'lifespan' and no state"):
        Lifespan(application, scope=scope)


def test_no_clock() -> None:
    """What knows no event loop knows no time."""
    with pytest.raises(NotImplementedError):
        StateMachine(application)._now()


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
def test_odd_limits(limit: Any, kept: float | None) -> None:
    """A limit is kept as a float, so that no event loop fails at it later."""
    limits = dict.fromkeys(("startup_timeout", "shutdown_timeout", "grace"), limit)
    lifespan = Lifespan(application, **limits)
    kept_as = (lifespan._startup_timeout, lifespan._shutdown_timeout, lifespan._grace)
    assert repr(kept_as) == repr((kept,) * 3)


@pytest.mark.parametrize("limit", ["5", b"5", [5], 5j])
def test_no_number_of_seconds(limit: Any) -> None:
    """What is no number is refused at once."""
    sentence = f"a timeout must be None or a number of seconds, got {limit!r}"
    if isinstance(limit, (list, complex)):
        sentence = f"not '{type(limit).__name__}'"  # Python's own
    with pytest.raises(TypeError, match=f"{re.escape(sentence)}$"):
        Lifespan(application, startup_timeout=limit)


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
        Lifespan(application, **{limit: value})  # type: ignore[arg-type]


@both
async def test_calls_in_order(on: Any) -> None:
    """startup() comes once, and before shutdown(), with_state() and wait_ended()."""
    lifespan = on.Lifespan(on.correct)
    with pytest.raises(
        RuntimeError, match=r"^call startup\(\) before shutdown\(\); to interrupt .* it$"
    ):
        await lifespan.shutdown()
    with pytest.raises(RuntimeError, match=r"^call startup\(\) before with_state\(\)$"):
        lifespan.with_state({"type": "http"})
    with pytest.raises(RuntimeError, match=r"^call startup\(\) before wait_ended\(\)$"):
        await lifespan.wait_ended()
    async with lifespan:
        with pytest.raises(
            RuntimeError, match=r"^startup\(\) was already called: create a new Lifespan$"
        ):
            await lifespan.startup()


def test_errors_travel() -> None:
    """The exceptions can be pickled, as a process pool does."""
    failed = pickle.loads(pickle.dumps(StartupFailed("It failed", "text")))
    assert (str(failed), failed.message) == ("It failed", "text")
    assert StartupFailed("It failed").message == ""
    refused = pickle.loads(pickle.dumps(ProtocolError("nothing", "rule")))
    assert (str(refused), refused.rule) == ("nothing [rule]", "rule")


# ---- wait_ended, exceptions, strict ---------------------------------------------------------


@both
async def test_wait_ended_waits_for_the_cleaning_up(on: Any) -> None:
    """wait_ended() returns when the application is gone, not when it has been told to go."""
    app = on.tidies("receive", 60, seconds=2)
    lifespan = on.Lifespan(app, startup_timeout=1)
    phases = []

    async def wait() -> None:
        phases.append(lifespan.phase)
        await lifespan.wait_ended()
        assert on.now() == 3

    await on.together(
        functools.partial(too_late, lifespan),
        functools.partial(on.after, 0.5, wait),
        functools.partial(on.after, 1.5, wait),
    )
    assert phases == ["waiting", "cancelling"]


@both
async def test_wait_ended_gives_up(on: Any) -> None:
    """It has the grace to return after its last answer, and once more after it was cancelled."""
    app = on.tidies("receive", STARTED, NOT_STOPPED, 1000, seconds=1000)
    async with on.Lifespan(app, grace=2) as lifespan:
        await lifespan.wait_ended()
        assert on.now() == 4


@pytest.mark.parametrize("error", [ExceptionGroup("two", [ValueError()]), GeneratorExit()])
@both
async def test_any_exception(on: Any, error: BaseException) -> None:
    """A group, or what is no Exception, is an exception as any other."""
    async with on.Lifespan(on.says("receive", error)) as lifespan:
        assert lifespan.outcome == "unsupported"
    async with on.Lifespan(on.says("receive", STARTED, error)) as lifespan:
        await lifespan.wait_ended()
    assert lifespan.outcome == "crashed"
