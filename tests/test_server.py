"""The server on asyncio and on trio: what holds for both, and what knows no event loop.

What scripts of a few steps can show is in tests/every and in `test_libraries_agree`.
"""

import collections
import contextvars
import functools
import logging
import pickle
import re
import signal
import types
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypedDict

import pytest

from either import OnAsyncio, OnTrio, both
from lifespec.server import (
    Lifespan,
    ProtocolError,
    ShutdownFailed,
    StartupFailed,
    StartupTimeout,
    StateMachine,
)
from scripted import NOT_STARTED, NOT_STOPPED, STARTED, STOPPED

pytestmark = pytest.mark.usefixtures("said")
NO_ANSWER = "The application did not answer startup within 1 s: it had not received the event"
NOT_SUPPORTED = "The application does not support lifespan"
RAISED = ("ERROR", "The application raised during startup instead of answering it", True)


# ---- startup --------------------------------------------------------------------------------


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


@both
async def test_protocol_error_escapes_in_a_group(on: Any, said: Any) -> None:
    """A refusal that escapes in an exception group is logged as an error all the same."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await on.together(functools.partial(send, {"type": "?"}))

    async with on.Lifespan(app) as lifespan:
        assert isinstance(lifespan.error, ExceptionGroup)
    assert said() == [("INFO", f"{NOT_SUPPORTED}: {lifespan.error!r}", False), RAISED]


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


@pytest.mark.parametrize("on", [OnAsyncio(), OnTrio()])
@pytest.mark.parametrize(
    ("before", "after", "body", "outcome"),
    [
        (["receive"], [60], 0, "cancelled"),
        (["receive", STARTED], ["receive", 5, STOPPED], 60, "complete"),
        (["receive", STARTED, "receive"], [60], 0, "cancelled"),
    ],
)
def test_interrupted(
    on: Any, before: list[Any], after: list[Any], body: float, outcome: str
) -> None:
    """Ctrl-C never strikes in the application: it ends startup, the body or shutdown."""
    seen = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await on.says(*before)(scope, receive, send)
        signal.raise_signal(signal.SIGINT)
        seen.append("goes on")
        await on.says(*after)(scope, receive, send)

    lifespan = on.Lifespan(app)

    async def serve() -> None:
        async with lifespan:
            await on.sleep(body)

    with pytest.raises(KeyboardInterrupt):
        on.run(serve)
    assert (seen, lifespan.phase, lifespan.outcome) == (["goes on"], "ended", outcome)


# ---- while it is served ---------------------------------------------------------------------


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


@both
async def test_refused(on: Any) -> None:
    """What does not belong there is refused, names its rule, and changes nothing."""
    refused = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        for message in ({"type": []}, "text", STOPPED, STARTED, STARTED, STOPPED):
            try:
                await send(message)
            except ProtocolError as error:
                refused.append(str(error))
        await send(NOT_STOPPED | {"message": 7})

    lifespan = on.Lifespan(app)
    assert repr(lifespan) == f"<Lifespan of {app!r}: waiting>"
    async with lifespan:
        await lifespan.wait_ended()
    early = "shutdown was not requested yet: lifespan.shutdown.complete was refused"
    late = "startup was already answered: lifespan.startup.complete was refused"
    assert refused == [
        "The application sent {'type': []} [events-known]",
        "The application sent 'text' [events-known]",
        f"{early} [answers-in-order]",
        f"{late} [startup-answered-once]",
        f"{early} [answers-in-order]",
    ]
    sentence = "'message' must be a str, got 7 [message-is-text]"
    assert (str(lifespan.error), lifespan.outcome) == (sentence, "crashed")
    assert repr(lifespan) == f"<Lifespan of {app!r}: ended, outcome crashed>"


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
    """Where state was not provided, nothing is added to requests; they alone go to `app`."""
    request = {"type": "http"}
    async with on.Lifespan(on.correct, scope={"type": "lifespan"}) as lifespan:
        assert (lifespan.state, lifespan.supported) == (None, True)
        with pytest.raises(RuntimeError) as raised:
            await lifespan.app({"type": "lifespan"}, None, None)
        assert str(raised.value) == (
            "this application is running already and takes requests only; give the application"
            " itself to a client that starts it, such as Starlette's TestClient in a `with`"
        )
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


@pytest.mark.parametrize("scope", [{}, {"type": "http"}, {"type": "lifespan", "state": {"a": 1}}])
def test_wrong_scope(scope: dict[str, Any]) -> None:
    """A scope of another type, or with a state that is not empty, is refused."""
    with pytest.raises(ValueError, match="scope must have the type 'lifespan' and no state"):
        Lifespan(application, scope=scope)


def test_not_callable() -> None:
    """What cannot be called is refused at once."""
    with pytest.raises(TypeError, match="app must be callable, got 'main:app'"):
        Lifespan("main:app")  # type: ignore[arg-type]


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
