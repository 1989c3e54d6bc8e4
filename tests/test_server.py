"""`Lifespan` on asyncio and on trio: what holds for both.

What an application of a few steps can do, and a server that is cancelled at each moment, is in
tests/every and in `test_libraries_agree`, and what a page says in the blocks of docs/api.rst and
docs/edge-cases.md.
"""

import asyncio
import collections
import contextlib
import contextvars
import functools
import logging
import pickle
import re
import signal
from collections.abc import Awaitable
from typing import Any

import pytest
import trio

from either import OnAsyncio, OnTrio, both
from lifespec.server import (
    Lifespan,
    LifespanUnsupported,
    ProtocolError,
    ShutdownFailed,
    StartupFailed,
    StartupTimeout,
)
from scripted import NOT_STARTED, NOT_STOPPED, STARTED, STOPPED

pytestmark = pytest.mark.usefixtures("logged")
NOT_SUPPORTED = "The application does not support lifespan"
RAISED = ("ERROR", "The application raised during startup instead of answering it", True)


# ---- startup --------------------------------------------------------------------------------


@both
@pytest.mark.parametrize(
    ("script", "says"),
    [
        (["receive", STOPPED], "shutdown was not requested yet"),
        (["receive", STARTED, STARTED], "startup was already answered"),
        (["receive", STARTED, STOPPED], "shutdown was not requested yet"),
        (["receive", STARTED, "receive", STARTED], "startup was already answered"),
    ],
)
async def test_an_answer_out_of_its_phase_is_refused(on: Any, script: list[Any], says: str) -> None:
    refused = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        for step in script:
            try:
                await (receive() if step == "receive" else send(step))
            except ProtocolError as error:
                refused.append(str(error))
                raise

    lifespan = on.Lifespan(app)
    with contextlib.suppress(Exception):
        async with lifespan:
            await on.sleep(0)
    assert [text.partition(":")[0] for text in refused] == [says]


@both
async def test_a_refusal_that_escapes_in_a_group_is_logged_as_an_error(
    on: Any, logged: Any
) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await on.together(functools.partial(send, {"type": "?"}))

    async with on.Lifespan(app) as lifespan:
        assert isinstance(lifespan.error, ExceptionGroup)
    assert logged() == [("INFO", f"{NOT_SUPPORTED}: {lifespan.error!r}", False), RAISED]


@pytest.mark.parametrize("seconds", [0, 1])
@both
async def test_what_it_raises_when_nobody_waits_any_more_is_logged_and_changes_nothing(
    on: Any, logged: Any, seconds: float
) -> None:
    def fail() -> None:
        raise LookupError

    app = on.tidies("receive", 60, seconds=9, then=fail)
    lifespan = on.Lifespan(app, startup_timeout=seconds, grace=1)
    with pytest.raises(StartupTimeout):
        await lifespan.startup()
    await on.sleep(20)
    assert (lifespan.phase, lifespan.outcome) == ("ended", "timed_out")
    last = "The application raised after the server stopped waiting: LookupError()"
    assert logged()[-1] == ("ERROR", last, True)


class Unspeakable(Exception):
    """An exception that cannot even be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")


@both
async def test_an_exception_or_message_whose_repr_raises_is_treated_as_any_other(on: Any) -> None:
    async with on.Lifespan(on.says("receive", Unspeakable())) as lifespan:
        assert lifespan.outcome == "unsupported"
    with pytest.raises(StartupFailed) as caught:
        await on.Lifespan(on.says(NOT_STARTED | {"message": Unspeakable()})).startup()
    assert caught.value.message.startswith(f"<{__name__}.Unspeakable object at ")


@both
async def test_a_log_that_raises_changes_nothing_of_the_outcome(on: Any) -> None:
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


@both
async def test_a_timeout_says_where_the_application_was(on: Any) -> None:
    lifespan = on.Lifespan(on.says(60), startup_timeout=1)
    with pytest.raises(
        StartupTimeout, match=r"^The .* within 1 s: it had not received the event$"
    ) as caught:
        await lifespan.startup()
    assert isinstance(caught.value.__cause__, on.Cancelled)
    await lifespan.shutdown()  # there is none, as after each startup that failed


@both
async def test_returned_while_running_is_no_shutdown_if_strict(on: Any) -> None:
    lifespan = on.Lifespan(on.says(STARTED), strict=True)
    await lifespan.startup()
    await lifespan.wait_ended()
    with pytest.raises(ShutdownFailed, match=r"^The application returned while the server was run"):
        await lifespan.shutdown()


# ---- the server is cancelled ----------------------------------------------------------------


@pytest.mark.parametrize("begin", ["startup", "shutdown"])
@both
async def test_a_server_that_is_cancelled_in_the_grace_still_awaits_it_once(
    on: Any, begin: str
) -> None:
    done: list[float] = []
    script = [] if begin == "startup" else ["receive", STARTED, "receive"]
    app = on.tidies(*script, 60, seconds=3, then=lambda: done.append(on.now()))
    lifespan = on.Lifespan(app, startup_timeout=1, shutdown_timeout=1)
    if script:
        await lifespan.startup()
    await on.cancelled(getattr(lifespan, begin), 2)
    assert (done, lifespan.phase, lifespan.outcome) == ([4], "ended", "timed_out")


@both
async def test_a_server_that_is_cancelled_just_as_it_has_started_stops_it_in_order(on: Any) -> None:
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
async def test_the_exception_of_the_body_is_raised_whatever_its_methods_do(on: Any) -> None:
    class Closed(Exception):
        def add_note(self, note: str) -> None:
            raise OSError(note)

    with pytest.raises(Closed) as caught:
        async with on.Lifespan(on.says("receive", STARTED, "receive", NOT_STOPPED)):
            raise Closed
    assert caught.value.__notes__ == ["The application failed to shut down"]


@pytest.mark.parametrize("on", [OnAsyncio(), OnTrio()])
@pytest.mark.parametrize(
    ("before", "after", "body", "outcome"),
    [
        (["receive"], [60], 0, "cancelled"),
        (["receive", STARTED], ["receive", 5, STOPPED], 60, "complete"),
        (["receive", STARTED, "receive"], [60], 0, "cancelled"),
    ],
)
def test_ctrl_c_ends_startup_the_body_or_shutdown_and_never_strikes_in_the_application(
    on: Any, before: list[Any], after: list[Any], body: float, outcome: str
) -> None:
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


def at_the_door(error: BaseException) -> Any:
    """Make an application whose call exits."""

    def app(scope: Any, receive: Any, send: Any) -> Awaitable[None]:
        raise error

    return app


WARM, COLD = ("receive", STARTED), ("receive", NOT_STARTED)
EXITS: dict[str, tuple[tuple[Any, ...] | None, str, float]] = {  # script, outcome and seconds
    "at the door": (None, "crashed", 0),
    "at once": ((), "crashed", 0),
    "waiting": (("receive", 0.5), "crashed", 0.5),
    "waiting, too late": (("receive", 60), "timed_out", 1),
    "failed": (COLD, "failed", 0),
    "failed and lingering": ((*COLD, 1), "failed", 1),
    "running": ((*WARM, 1), "crashed", 1),
    "running, in the same breath": (WARM, "crashed", 0),
    "stopping": ((*WARM, "receive", 0.5), "crashed", 3.5),
    "stopping, too late": ((*WARM, "receive", 60), "timed_out", 4),
    "stopped": ((*WARM, "receive", STOPPED), "complete", 3),
    "stopped and lingering": ((*WARM, "receive", STOPPED, 1), "complete", 4),
    "stopped and receiving": ((*WARM, "receive", STOPPED, "receive"), "complete", 3),
    "not stopped": ((*WARM, "receive", NOT_STOPPED), "failed", 3),
}


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()], ids=repr)
@pytest.mark.parametrize("phase", EXITS)
@pytest.mark.parametrize("on", [OnAsyncio(), OnTrio()])
def test_who_runs_the_loop_gets_an_exit_and_the_outcome_stays_what_it_was(
    on: Any, phase: str, error: BaseException, logged: Any
) -> None:
    script, outcome, seconds = EXITS[phase]
    ended: list[float] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        with contextlib.suppress(on.Cancelled):
            await on.says(*script)(scope, receive, send)
        raise error

    called = at_the_door(error) if script is None else app
    lifespan = on.Lifespan(called, startup_timeout=1, shutdown_timeout=1, strict=True)

    async def serve() -> None:
        try:
            async with lifespan:
                await on.sleep(3)
        finally:
            ended.append(on.now())

    with pytest.raises(type(error)) as caught:
        on.run(serve)
    assert caught.value is error
    assert (lifespan.outcome, lifespan.phase, ended) == (outcome, "ended", [seconds])
    levels = [level for level, *_ in logged()]
    assert levels == ["ERROR"] * (outcome in ("timed_out", "failed"))  # the exit was not swallowed
    if outcome == "crashed":
        assert lifespan.error is error
        with pytest.raises((ShutdownFailed, type(error))) as caught:
            on.run(lifespan.shutdown)
        assert str(caught.value) in ("", str(error))


# ---- what is sent ---------------------------------------------------------------------------


@both
async def test_refused(on: Any) -> None:
    """A type that cannot be looked up is refused; no text makes a failure undone."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send(STARTED | {"message": 8})  # which no such event has
        with pytest.raises(ProtocolError, match=r"The application sent {'type': \[]} \[events-kn"):
            await send({"type": []})
        await send(NOT_STOPPED | {"message": 7})

    lifespan = on.Lifespan(app)
    assert repr(lifespan) == f"<Lifespan of {app!r}: new>"
    async with lifespan:
        await lifespan.wait_ended()
    sentence = "'message' must be a str, got 7 [message-is-text]"
    assert (str(lifespan.error), lifespan.outcome) == (sentence, "crashed")
    assert repr(lifespan) == f"<Lifespan of {app!r}: ended, outcome crashed>"


# ---- state, scope, context ------------------------------------------------------------------


@both
async def test_the_scope_is_copied_and_each_lifespan_has_a_state_of_its_own(on: Any) -> None:
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
    async with on.Lifespan(on.correct, scope={"type": "lifespan"}) as lifespan:
        assert lifespan.with_state(request := {"type": "http"}) is not request
    assert mine == {"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}
    assert (other["asgi"], other["state"]) == ({"version": "3.0"}, {})


@both
async def test_it_runs_in_one_task_in_a_copy_of_the_context_of_the_server(on: Any) -> None:
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


NO_NUMBER = "a timeout must be None or a number of seconds, got "
NO_TIME = "a timeout must be None or at least 0 seconds, got "
NO_MAPPING = "scope must be a mapping, got "
NO_SCOPE = "scope must have the type 'lifespan' and no state yet, got "


@pytest.mark.parametrize(
    ("error", "sentence", "name", "value"),
    [
        *((TypeError, NO_NUMBER, "startup_timeout", each) for each in ("5", b"5", [5], 5j, True)),
        *((ValueError, NO_TIME, "grace", each) for each in (-1, float("nan"))),
        *((TypeError, NO_MAPPING, "scope", each) for each in ("x", 5, [("type", "lifespan")])),
        (ValueError, NO_SCOPE, "scope", {}),
        (ValueError, NO_SCOPE, "scope", {"type": "http"}),
        (ValueError, NO_SCOPE, "scope", {"type": "lifespan", "state": {"a": 1}}),
        (TypeError, "app must be callable, got ", "app", "app"),
    ],
)
def test_refused_arguments(error: type[Exception], sentence: str, name: str, value: Any) -> None:
    with pytest.raises(error, match=f"^{re.escape(f'{sentence}{value!r}')}$"):
        Lifespan(**{"app": application, name: value})


@pytest.mark.parametrize("seconds", [float("inf"), 1e300])
@both
async def test_a_timeout_without_end(on: Any, seconds: float) -> None:
    timeouts = dict.fromkeys(("startup_timeout", "shutdown_timeout", "grace"), seconds)
    async with on.Lifespan(on.says("receive", 9e5, STARTED), **timeouts) as lifespan:
        assert lifespan.supported


@both
async def test_calls_out_of_order(on: Any) -> None:
    lifespan = on.Lifespan(on.correct)
    assert (lifespan.outcome, lifespan.supported) == (None, None)
    versions = {"version": "3.0", "spec_version": "2.0"}
    assert lifespan.scope == {"type": "lifespan", "asgi": versions, "state": {}}
    with pytest.raises(RuntimeError, match=r"^call startup\(\) before with_state\(\)$"):
        lifespan.with_state({})
    instead = r"shutdown\(\); to stop startup\(\), cancel it"
    for call, name in (lifespan.shutdown, instead), (lifespan.wait_ended, r"wait_ended\(\)"):
        with pytest.raises(RuntimeError, match=rf"^call startup\(\) before {name}$"):
            await call()
    async with lifespan:
        with pytest.raises(RuntimeError, match=r"^startup\(\) was already called: create a new L"):
            await lifespan.startup()


@both
async def test_app_gives_requests_the_state(on: Any) -> None:
    calls: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> Any:
        if scope["type"] == "lifespan":
            return await on.correct(scope, receive, send)
        calls.append((scope, receive, send))
        return "returned"

    async with on.Lifespan(app) as lifespan:
        lifespan.state["pool"] = 1
        assert await lifespan.app({"type": "http"}, "receive", "send") == "returned"
        assert calls == [({"type": "http", "state": {"pool": 1}}, "receive", "send")]
        with pytest.raises(RuntimeError) as caught:
            await lifespan.app({"type": "lifespan"}, None, None)
    assert str(caught.value) == (
        "this application is running already and takes requests only; give the application"
        " itself to a client that starts it, such as Starlette's TestClient in a `with`"
    )


@both
async def test_shutdown_does_not_interrupt_startup(on: Any) -> None:
    async def shutdown() -> None:
        await on.sleep(1)
        with pytest.raises(RuntimeError, match="to stop startup"):
            await lifespan.shutdown()

    lifespan = on.Lifespan(on.says("receive", 2, STARTED, "receive", STOPPED))
    await on.together(lifespan.startup, shutdown)
    await lifespan.shutdown()
    assert lifespan.outcome == "complete"


@both
async def test_what_reports_sees_the_state_after_the_transition(on: Any) -> None:
    class Reports(on.Lifespan):  # type: ignore[misc, name-defined]
        def report(self, *_: object) -> None:
            found.append((self.phase, self.outcome, self.supported))

    found: list[Any] = []
    with pytest.raises(StartupFailed):
        await Reports(on.says("receive", NOT_STARTED)).startup()
    assert found[0] == ("answered", "failed", True)


def test_another_event_loop_is_refused() -> None:
    first, other = asyncio.new_event_loop(), asyncio.new_event_loop()
    lifespan = Lifespan(OnAsyncio().correct)
    first.run_until_complete(lifespan.startup())
    for call in lifespan.shutdown, lifespan.wait_ended:
        with pytest.raises(
            RuntimeError, match=r"^startup\(\) was called in another event loop: stay in"
        ):
            other.run_until_complete(asyncio.wait_for(call(), 1))
    first.run_until_complete(lifespan.shutdown())
    assert lifespan.outcome == "complete"
    other.run_until_complete(lifespan.shutdown())  # there is nothing to wait for any more
    first.close()
    other.close()


def test_another_run_of_trio_is_refused() -> None:
    on = OnTrio()

    async def main() -> None:
        lifespan = await on.Lifespan(on.correct).startup()
        with pytest.raises(RuntimeError, match=r"another trio\.run"):
            await trio.to_thread.run_sync(trio.run, lifespan.shutdown)
        await lifespan.shutdown()

    trio.run(main)


# ---- the call itself --------------------------------------------------------------------------


def no_call(scope: Any, receive: Any) -> Awaitable[None]:
    raise NotImplementedError


@pytest.mark.parametrize(
    ("app", "sentence"),
    [
        (no_call, "takes 2 positional arguments but 3 were given"),
        (lambda *_: "hello", r"app\(scope, receive, send\) must return an awaitable, got 'hello'"),
    ],
)
@both
async def test_a_call_that_fails(on: Any, app: Any, sentence: str, logged: Any) -> None:
    """It counts as raising, and is an error in the log: no author means that."""
    async with on.Lifespan(app) as lifespan:
        assert (lifespan.outcome, lifespan.supported) == ("unsupported", False)
        assert re.search(sentence, str(lifespan.error))
    assert logged() == [("INFO", f"{NOT_SUPPORTED}: {lifespan.error!r}", False), RAISED]
    with pytest.raises(LifespanUnsupported, match=sentence):
        await on.Lifespan(app, strict=True).startup()


def test_the_exceptions_can_be_pickled_as_a_process_pool_does() -> None:
    failed = pickle.loads(pickle.dumps(StartupFailed("It failed", "text")))
    assert (str(failed), failed.message) == ("It failed", "text")
    assert StartupFailed("It failed").message == ""
    refused = pickle.loads(pickle.dumps(ProtocolError("nothing", "rule")))
    assert (str(refused), refused.rule) == ("nothing [rule]", "rule")
