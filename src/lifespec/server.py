"""The lifespan protocol for a server: start an application, share its state, stop it.

    async with Lifespan(app) as lifespan:
        ...  # serve; give each request lifespan.with_state(scope)

A loop of forty lines can send startup and shutdown.  This file also handles what goes wrong: an
application without lifespan support, one that fails, crashes, returns early, answers twice or too
late, swallows its cancellation, or never ends; a server that is cancelled while it waits; Ctrl-C.
Each case has one outcome, one log record and one exception, all set in TABLE.

`StateMachine` applies TABLE.  It knows no event loop.  `Lifespan`, below the line "cut here", runs
the application in a task of its own on asyncio, and reports to the state machine what happens.

    waiting     startup was sent and is not answered
    running     the application answered lifespan.startup.complete
    stopping    shutdown was sent and is not answered
    answered    the application gave its final answer and has not ended yet
    cancelling  the application's task was cancelled; what it still sends is ignored
    ended       the application has ended, or `Lifespan` stopped waiting for it

The first transition that has an outcome sets it for good.  An application that sends
lifespan.shutdown.failed although shutdown was not sent has crashed, and the server goes on serving.
This file treats all specifications alike, installs no signal handler and closes no connection.
A name in [brackets] is the ID of the rule that the line implements.

This file is self-contained: copy it into your project.
"""

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from logging import DEBUG, ERROR, INFO, WARNING
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypeVar, overload

__all__ = [
    "Lifespan",
    "LifespanUnsupported",
    "ProtocolError",
    "ShutdownFailed",
    "ShutdownTimeout",
    "StartupFailed",
    "StartupTimeout",
]

Phase = Literal["waiting", "running", "stopping", "answered", "cancelling", "ended"]
Outcome = Literal[
    "complete", "failed", "unsupported", "crashed", "returned", "timed_out", "cancelled"
]
Application = Callable[[Any, Any, Any], Awaitable[object]]

if not TYPE_CHECKING:
    State, WithState = TypeVar("State"), dict
else:  # a checker knows defaults on every Python, so that Lifespan(app) needs no annotation
    import typing_extensions

    State = typing_extensions.TypeVar("State", bound=Mapping[str, Any], default=dict[str, Any])

    class WithState(dict[str, Any], Generic[State]):
        """Give "state" its type; at run time `with_state` returns a plain dict."""

        @overload
        def __getitem__(self, key: Literal["state"], /) -> State: ...
        @overload
        def __getitem__(self, key: str, /) -> Any: ...
        def __getitem__(self, key: str, /) -> Any: ...


HINT = "The call itself raised. For a double-callable application use double_to_single_callable."
TABLE: dict[Phase, dict[str, tuple[Phase, Outcome | None, int, str]]] = {
    # phase, then trigger: next phase, outcome, log level, log message after "The application"
    "waiting": {
        "lifespan.startup.complete": ("running", None, 0, ""),
        "lifespan.startup.failed": ("answered", "failed", ERROR, "failed to start"),
        "returned": ("ended", "unsupported", INFO, "does not support lifespan: it returned"),
        "raised": ("ended", "unsupported", INFO, "does not support lifespan"),
        "expired": ("cancelling", "timed_out", ERROR, "did not answer startup"),
        "cancelled": ("cancelling", "cancelled", 0, ""),
    },
    "running": {
        "shutdown": ("stopping", None, 0, ""),
        "lifespan.shutdown.failed": ("answered", "crashed", ERROR, "failed while running"),
        "returned": ("ended", "returned", WARNING, "returned while the server was running"),
        "raised": ("ended", "crashed", ERROR, "crashed while the server was running"),
    },
    "stopping": {
        "lifespan.shutdown.complete": ("answered", "complete", 0, ""),
        "lifespan.shutdown.failed": ("answered", "failed", ERROR, "failed to shut down"),
        "returned": ("ended", "returned", WARNING, "returned before it answered shutdown"),
        "raised": ("ended", "crashed", ERROR, "crashed before it answered shutdown"),
        "expired": ("cancelling", "timed_out", ERROR, "did not answer shutdown"),
        "cancelled": ("cancelling", "cancelled", 0, ""),
    },
    "answered": {
        "returned": ("ended", None, 0, ""),
        "raised": ("ended", None, ERROR, "raised after its final answer"),
        "expired": ("cancelling", None, 0, ""),
        "cancelled": ("cancelling", None, 0, ""),
    },
    "cancelling": {
        "returned": ("ended", None, 0, ""),
        "raised": ("ended", None, ERROR, "raised when it was cancelled"),
        "expired": ("ended", None, ERROR, "was cancelled and did not stop"),
    },
    "ended": {"raised": ("ended", None, ERROR, "raised after the server stopped waiting")},
}
# event types that an application may send: True for a failure
ANSWERS = {
    type_: type_.endswith("failed") for row in TABLE.values() for type_ in row if "." in type_
}
log = logging.getLogger(__name__)


class LifespanFailed(Exception):
    """Carry a sentence for the log as `str()`, and the application's own text as `message`."""

    def __init__(self, sentence: str, message: str = "") -> None:
        super().__init__(sentence)
        self.message = message


class StartupFailed(LifespanFailed):
    """The application must not be served."""


class LifespanUnsupported(StartupFailed):
    """The application does not support lifespan, and `strict` is set."""


class StartupTimeout(StartupFailed, TimeoutError):
    """Startup was not answered in time; `__cause__` shows where the application was."""


class ShutdownFailed(LifespanFailed):
    """The application did not shut down cleanly; the server should still exit."""


class ShutdownTimeout(ShutdownFailed, TimeoutError):
    """Shutdown was not answered in time; `__cause__` shows where the application was."""


# what startup() and shutdown() raise, by their name and the outcome; the second with `strict` only
ERRORS: dict[tuple[str, Outcome | None], type[LifespanFailed]] = {
    ("startup", "failed"): StartupFailed,
    ("startup", "timed_out"): StartupTimeout,
    ("shutdown", "failed"): ShutdownFailed,
    ("shutdown", "timed_out"): ShutdownTimeout,
}
STRICT: dict[tuple[str, Outcome | None], type[LifespanFailed]] = {
    ("startup", "unsupported"): LifespanUnsupported,
    ("shutdown", "crashed"): ShutdownFailed,
    ("shutdown", "returned"): ShutdownFailed,
}


class ProtocolError(Exception):
    """The application sent an event that is unknown, malformed or out of order.

    `send` raises it in the application.  `rule` is the ID of the rule that was broken.
    """

    def __init__(self, sentence: str, rule: str) -> None:
        super().__init__(sentence, rule)
        self.rule = rule

    def __str__(self) -> str:
        return "{} [{}]".format(*self.args)


class StateMachine(Generic[State]):
    """Apply TABLE to one lifespan, without an event loop.

    A subclass runs the application.  It calls `_on_…` methods, and overrides `_now` and
    `_on_phase_change`.
    """

    def __init__(
        self,
        app: Application,
        *,
        scope: Mapping[str, Any] | None = None,
        startup_timeout: float | None = None,
        shutdown_timeout: float | None = None,
        grace: float | None = 5.0,
        strict: bool = False,
    ) -> None:
        if not callable(app):
            raise TypeError(f"app must be callable, got {app!r}")
        self.scope = new_scope() if scope is None else copy_scope(scope)
        self.state: State | None = self.scope.get("state")
        self.phase: Phase = "waiting"
        self.outcome: Outcome | None = None
        self._application, self._grace, self._strict = app, parse_timeout(grace), strict
        self._startup_timeout = parse_timeout(startup_timeout)
        self._shutdown_timeout = parse_timeout(shutdown_timeout)
        self._inbox: list[dict[str, str]] = []
        self._stage = ""  # "startup" or "shutdown", which was sent or answered last
        self._has_answered = False
        self._message = ""  # of the last *.failed event
        self._sentence = ""  # of the first log record
        self._raised: BaseException | None = None  # by the application
        self._invalid_return: TypeError | None = None  # the call returned no awaitable
        self._receiving = False  # the application waits for an event that was not sent yet
        self._receiver_cancelled = False
        self._deadline: tuple[Phase, float, float] | None = None  # phase, time, timeout in seconds

    def __repr__(self) -> str:
        outcome = f", outcome {self.outcome}" if self.outcome else ""
        return f"<{type(self).__name__} of {safe_repr(self._application)}: {self.phase}{outcome}>"

    @property
    def supported(self) -> bool | None:
        """Whether the application supports lifespan; None until that is known."""
        return False if self.outcome == "unsupported" else self._has_answered or None

    @property
    def error(self) -> BaseException | None:
        """What the application raised before it answered startup or when it crashed, or None."""
        return self._raised if self.outcome in ("unsupported", "crashed") else None

    async def app(self, scope: Mapping[str, Any], receive: Any, send: Any) -> object:
        """Call the application with a request scope and a shallow copy of the state.

        This is an ASGI application for clients that start none.  Raises RuntimeError for a
        lifespan scope.
        """
        if scope["type"] == "lifespan":
            raise RuntimeError(
                "this application is running already and takes requests only; give the application"
                " itself to a client that starts it, such as Starlette's TestClient in a `with`"
            )
        return await self._application(self.with_state(scope), receive, send)

    def with_state(self, scope: Mapping[str, Any]) -> WithState[State]:
        """Return a copy of a request scope, with a shallow copy of the state.

        The copy has no state if the lifespan scope has none.  Raises RuntimeError if startup() was
        not called.
        """
        if not self._stage:
            raise RuntimeError("call startup() before with_state()")
        state: Any = self.state
        if state is None:
            return WithState(scope)
        return WithState(scope, state=state.copy())  # [state-shallow-copy]

    def _queue_event(self, stage: str) -> None:
        """Queue the event of a stage for the application."""
        self._stage = stage
        self._inbox.append({"type": f"lifespan.{stage}"})  # [startup-sent] [shutdown-sent]

    async def _on_send(self, message: object) -> None:
        """Apply an answer of the application, or raise ProtocolError."""
        if self._deadline:
            self._check_deadline()
        if self.phase in {"cancelling", "ended"}:
            return  # [send-after-end-does-nothing]
        event = message if isinstance(message, dict) else {}
        type_: Any = event.get("type")
        failed = ANSWERS.get(type_) if isinstance(type_, str) else None
        if failed is None:  # [send-refuses-unknown]
            raise ProtocolError(f"The application sent {safe_repr(message)}", "events-known")
        raw = message_text = ""
        if failed:
            raw = event.get("message", "")  # [failed-message-default]
            message_text = raw if isinstance(raw, str) else safe_repr(raw)
        stage = type_.split(".")[1]
        if not self._transition(type_, message_text and f": {message_text}"):
            rule = f"{stage}-answered-once" if stage == self._stage else "answers-in-order"
            early = (stage, self._stage) == ("shutdown", "startup")
            reason = "not requested yet" if early else "already answered"
            raise ProtocolError(f"{stage} was {reason}: {type_} was refused", rule)
        self._stage, self._has_answered, self._message = stage, True, message_text
        if message_text is not raw:  # after the transition: the type alone reports the failure
            raise ProtocolError(f"'message' must be a str, got {message_text}", "message-is-text")

    def _check_deadline(self) -> None:
        """Apply the timeout if its deadline has passed, even if its timer has not fired.

        A loop that was blocked finds the timer and an answer ready together, in any order.
        """
        if self._deadline and self._deadline[0] == self.phase and self._now() > self._deadline[1]:
            self._on_timeout(self.phase, self._deadline[2])

    def _phase_deadline(self, now: float, timeout: float) -> float:
        """Return when the phase times out; set that once, as a phase can be waited for twice."""
        if not self._deadline or self._deadline[0] != self.phase:
            self._deadline = self.phase, now + timeout, timeout
        return self._deadline[1]

    def _now(self) -> float:
        """Return the time of the event loop's clock."""
        raise NotImplementedError

    def _on_timeout(self, phase: Phase, timeout: float) -> None:
        """Apply the timeout of a phase, unless the phase is over."""
        if self.phase != phase:
            return
        activity = (
            "had not received the event"
            if self._inbox
            else "was waiting for another event"
            if self._receiving
            else "was still running"
        )
        detail = "" if phase == "cancelling" else f": it {activity}"
        self._transition("expired", f" within {timeout:g} s{detail}")

    def _on_app_raised(self, error: BaseException, *, cancelled: bool) -> None:
        """Handle an exception of the application; `cancelled` if it is only a cancellation."""
        if self._deadline:
            self._check_deadline()
        ended_by_us = self.phase in {"cancelling", "ended"} or self._receiver_cancelled
        if cancelled and ended_by_us:
            if self.outcome != "crashed":  # `error` is none of ours
                self._raised = error
            self._transition("returned")
            return
        self._raised = error
        if error is self._invalid_return:  # `is`: an application may run a Lifespan of its own
            self.phase = "ended"
            self._on_phase_change()
        elif isinstance(error, (KeyboardInterrupt, SystemExit)):  # they end the server, too
            self.phase, self.outcome = "ended", self.outcome or "crashed"
            self._on_phase_change()
        else:
            refused = BaseExceptionGroup("", [error]).subgroup(ProtocolError)
            used_protocol = not self._inbox or refused
            self._transition("raised", f": {safe_repr(error)}", error)
            if used_protocol and self.outcome == "unsupported":
                sentence = "The application raised during startup instead of answering it"
                self.report(ERROR, sentence, error)

    def _transition(
        self, trigger: str, detail: str = "", error: BaseException | None = None
    ) -> bool:
        """Apply the transition for `trigger`; return False if there is none."""
        row = TABLE[self.phase].get(trigger)
        if not row:
            return False
        self.phase, outcome, level, words = row
        self.outcome = self.outcome or outcome
        self._on_phase_change()
        if level:
            if error and self.outcome == "failed":  # the failure itself was logged at ERROR
                level = DEBUG
            sentence = f"The application {words}{detail}"
            self._sentence = self._sentence or sentence
            self.report(level, sentence, error if level != INFO else None)
        return True

    def _on_phase_change(self) -> None:
        """Wake whoever waits for a new phase; cancel the application in phase "cancelling"."""

    def report(self, level: int, sentence: str, error: BaseException | None) -> None:
        """Log a sentence for the operator; override this to log elsewhere or in other words.

        `level` is one of logging's, and `error` is the exception whose traceback belongs to the
        sentence, or None.
        """
        log.log(level, sentence, exc_info=error)

    def _is_started(self) -> bool:
        """Tell whether the application completed startup; asked before shutdown is sent."""
        return self.phase == "running" or self.outcome in {"crashed", "returned"}

    def _raise_for_outcome(self, stage: str) -> None:
        """Raise what a stage has to raise for the outcome."""
        if self._invalid_return:
            raise self._invalid_return
        errors = {**ERRORS, **STRICT} if self._strict else ERRORS
        if kind := errors.get((stage, self.outcome)):
            raise kind(self._sentence, self._message) from self._raised


def new_scope() -> dict[str, Any]:
    """Return a scope of lifespan 2.0 (ASGI)."""
    versions = {"version": "3.0", "spec_version": "2.0"}
    return {"type": "lifespan", "asgi": versions, "state": {}}


def copy_scope(scope: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of a lifespan scope; raise ValueError if it is none, or has state."""
    if scope.get("type") != "lifespan" or scope.get("state", {}) != {}:
        raise ValueError(f"scope must have the type 'lifespan' and no state yet, got {scope!r}")
    return {k: {**v} if isinstance(v, Mapping) else v for k, v in scope.items()}


def parse_timeout(value: float | None) -> float | None:
    """Return a timeout as a float, or None if it is infinite; raise TypeError or ValueError."""
    if value is None:
        return None
    if isinstance(value, (str, bytes)):  # float() would parse them
        raise TypeError(f"a timeout must be None or a number of seconds, got {safe_repr(value)}")
    try:
        seconds = float(value)
    except OverflowError:
        seconds = -1.0
    if not seconds >= 0:  # this way round it refuses nan, too
        raise ValueError(f"a timeout must be None or at least 0 seconds, got {safe_repr(value)}")
    return None if seconds == float("inf") else seconds + 0.0  # -0.0 becomes 0.0


def is_repeated(error: BaseException, first: BaseException | None) -> bool:
    """Tell whether anyio delivers the first cancellation again.

    Its cancel scope cancels the task at every wait, and names itself in the message.
    """
    return first is not None and "cancel scope" in str(error) and str(error) == str(first)


def safe_repr(value: object) -> str:
    """Return the repr of a value of the application, even if that repr raises."""
    try:
        return repr(value)
    except Exception:
        return object.__repr__(value)


# ---- cut here: no event loop above this line, asyncio below it --------------------------------


class Lifespan(StateMachine[State]):
    """Start an application, run the body of `async with`, and stop the application.

    `scope` is copied and gets a new state; None means lifespan 2.0 (ASGI).  The timeouts and
    `grace` are seconds; None means no timeout.  `grace` is how long the application may run after
    its final answer, and again after it was cancelled.  `strict` also raises if the application
    does not support lifespan, crashed or returned early.  Raises TypeError or ValueError if an
    argument is invalid.

    The attribute `state` is the live state, or None if the scope has none.  `outcome` says how the
    lifespan ended, and is None before.  `phase` says how far the lifespan is, and `scope` is what
    the application is called with.
    """

    _task: asyncio.Task[Any]
    _waiters: list[asyncio.Future[None]]
    _cancel_errors: tuple[type[BaseException], ...] = (asyncio.CancelledError,)

    async def startup(self) -> Self:
        """Send startup and return self when the application can be served.

        Raises StartupFailed if it must not be served, StartupTimeout if it did not answer in time,
        and RuntimeError if startup() was called before.
        """
        if self._stage:
            raise RuntimeError("startup() was already called: create a new Lifespan")
        self._queue_event("startup")
        try:
            self._start_app()
            while not self._is_started() and self.phase != "ended":  # [wait-for-startup]
                timeout = self._startup_timeout if self.phase == "waiting" else self._grace
                await self._wait_for_change(timeout)
        except self._cancel_errors as cancelled:
            if not self._is_started():
                await self._cancel_app(cancelled)
            await self._stop(cancelled)  # the answer may have come before the cancellation
            raise
        self._raise_for_outcome("startup")
        return self

    async def shutdown(self) -> None:
        """Send shutdown if the application started, and return when it has ended.

        Raises ShutdownFailed or ShutdownTimeout, again at each further call.  Raises RuntimeError
        if startup() was not called.
        """
        await self._stop(None)

    __aenter__ = startup

    def __aexit__(self, *exc_info: Any) -> Coroutine[Any, Any, None]:
        return self._stop(exc_info[1])

    async def _stop(self, error: BaseException | None) -> None:
        if self._transition("shutdown"):
            self._queue_event("shutdown")
        elif self.phase == "waiting":
            raise RuntimeError(
                "call startup() before shutdown(); to interrupt startup(), cancel it"
            )
        elif self._stage == "startup" and not self._is_started():
            return
        while self.phase in {"stopping", "answered", "cancelling"}:  # [wait-for-shutdown]
            timeout = self._shutdown_timeout if self.phase == "stopping" else self._grace
            try:
                await self._wait_for_change(timeout)
            except self._cancel_errors as cancelled:
                if not is_repeated(cancelled, error):
                    await self._cancel_app(cancelled)
                    raise
                self._check_deadline()  # the timer ended with the wait
        try:
            self._raise_for_outcome("shutdown")
        except ShutdownFailed as failure:
            if error is None:
                raise
            error.add_note(str(failure))  # raising would hide the error of the body

    async def wait_ended(self) -> None:
        """Return when the application has ended; a server can wait for this or its stop signal.

        Raises RuntimeError if startup() was not called.
        """
        if not self._stage:
            raise RuntimeError("call startup() before wait_ended()")
        while self.phase != "ended":
            lingers = self.phase in {"answered", "cancelling"}
            await self._wait_for_change(self._grace if lingers else None)

    def _start_app(self) -> None:
        self._waiters = []
        self._task = asyncio.Task(self._run_app())
        self._task.add_done_callback(self._on_task_done)

    async def _run_app(self) -> None:
        try:
            await self._call_app()
        except BaseException as error:
            self._on_app_raised(error, cancelled=isinstance(error, asyncio.CancelledError))
            if isinstance(error, (KeyboardInterrupt, SystemExit)):
                raise
        else:
            if self._deadline:
                self._check_deadline()
            self._transition("returned")
            self._task.remove_done_callback(self._on_task_done)

    def _call_app(self) -> Awaitable[object]:
        try:
            call = self._application(self.scope, self._on_receive, self._on_send)
        except BaseException as error:
            self._inbox.clear()  # so that this counts as raised during startup, and is an ERROR
            error.add_note(HINT)
            raise
        if not inspect.isawaitable(call):
            self._invalid_return = TypeError(
                f"app(scope, receive, send) must return an awaitable, got {call!r}"
            )
            raise self._invalid_return
        return call

    def _on_task_done(self, task: asyncio.Task[None]) -> None:
        """Handle a task that was cancelled before its first step, or that raised an exit."""
        if task.cancelled() and self.phase != "ended":
            self._on_app_raised(asyncio.CancelledError(), cancelled=True)
        elif not task.cancelled():
            task.exception()  # mark it as retrieved: asyncio raises exits out of the loop itself

    async def _on_receive(self) -> dict[str, str]:
        """Wait for the next event, and return it to the application."""
        while not self._inbox or self.phase in {"cancelling", "ended"}:
            self._receiving = True
            if self.phase == "answered":  # no event follows
                self._cancel_receiver()
            await self._wait_for_change()
        self._receiving = False
        return self._inbox.pop(0)

    def _cancel_receiver(self) -> None:
        """Cancel the task that waits for another event, so that a task group around it can end."""
        task = asyncio.current_task()
        if task is self._task:
            self._transition("cancelled")
        elif task and not task.cancelling():  # once: a task that swallows it must reach a wait
            self._receiver_cancelled = True
            task.cancel()

    async def _cancel_app(self, cancelled: BaseException) -> None:
        """Cancel the application because the server was cancelled, and wait for its end."""
        self._transition("cancelled")
        while self.phase == "cancelling":
            try:
                await self._wait_for_change(self._grace)
            except self._cancel_errors as again:
                if not is_repeated(again, cancelled):
                    raise
                self._check_deadline()

    def _wait_for_change(self, timeout: float | None = None, /) -> Awaitable[None]:
        """Return a future that resolves at the next phase change or timeout."""
        waiter: asyncio.Future[None] = asyncio.Future()
        if self._waiters:  # drop those whose task was cancelled
            self._waiters = [each for each in self._waiters if not each.done()]
        self._waiters.append(waiter)
        if timeout is not None:
            self._start_timer(waiter, timeout)
        return waiter

    def _start_timer(self, waiter: asyncio.Future[None], timeout: float) -> None:
        loop = waiter.get_loop()
        deadline = self._phase_deadline(loop.time(), timeout)
        timer = loop.call_at(deadline, self._on_timeout, self.phase, timeout)
        waiter.add_done_callback(lambda _: timer.cancel())

    def _now(self) -> float:
        """Return the event loop's time."""
        return asyncio.get_running_loop().time()

    def _on_phase_change(self) -> None:
        """Wake all waiters; cancel the application in phase "cancelling"."""
        if self.phase == "cancelling":
            self._task.cancel()
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
        self._waiters.clear()
