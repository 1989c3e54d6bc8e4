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

The first transition that has an outcome sets it for good.  This file treats all specifications
alike, installs no signal handler and closes no connection.  A name in [brackets] is the ID of the
rule that the line implements.

This file is self-contained: copy it into your project.
"""

import asyncio
import inspect
import logging
import sys
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from logging import DEBUG, ERROR, INFO, WARNING
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypeVar, cast, overload

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

    A subclass runs the application.  It calls `on_…` methods, and overrides `now` and
    `on_phase_change`.
    """

    sentence = ""  # of the first log record
    has_answered = False
    raised: BaseException | None = None  # by the application
    invalid_return: TypeError | None = None  # the call returned no awaitable

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
        if scope is None:
            versions = {"version": "3.0", "spec_version": "2.0"}
            scope = {"type": "lifespan", "asgi": versions, "state": {}}
        elif scope.get("type") != "lifespan" or scope.get("state", {}) != {}:
            raise ValueError(f"scope must have the type 'lifespan' and no state yet, got {scope!r}")
        else:
            scope = {k: {**v} if isinstance(v, Mapping) else v for k, v in scope.items()}
        self.application, self.grace, self.strict = app, parse_timeout(grace), strict
        self.startup_timeout = parse_timeout(startup_timeout)
        self.shutdown_timeout = parse_timeout(shutdown_timeout)
        self.scope: dict[str, Any] = scope
        self.state: State | None = scope.get("state")
        self.phase: Phase = "waiting"
        self.outcome: Outcome | None = None
        self.inbox: list[dict[str, str]] = []
        self.last_event = ""  # the type of the event that was sent last
        self.message = ""  # of the last *.failed event
        self.receiving = False  # the application waits for an event that was not sent yet
        self.receiver_cancelled = False
        self.deadline: tuple[Phase, float, float] | None = None  # phase, time, timeout in seconds

    def __repr__(self) -> str:
        outcome = f", outcome {self.outcome}" if self.outcome else ""
        return f"<{type(self).__name__} of {safe_repr(self.application)}: {self.phase}{outcome}>"

    @property
    def supported(self) -> bool | None:
        """Whether the application supports lifespan; None until that is known."""
        return False if self.outcome == "unsupported" else self.has_answered or None

    @property
    def error(self) -> BaseException | None:
        """What the application raised before it answered startup or when it crashed, or None."""
        return self.raised if self.outcome in ("unsupported", "crashed") else None

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
        return await self.application(self.with_state(scope), receive, send)

    def with_state(self, scope: Mapping[str, Any]) -> WithState[State]:
        """Return a copy of a request scope, with a shallow copy of the state.

        The copy has no state if the lifespan scope has none.  Raises RuntimeError if startup() was
        not called.
        """
        if not self.last_event:
            raise RuntimeError("call startup() before with_state()")
        state: Any = self.state
        if state is None:
            return WithState(scope)
        return WithState(scope, state=state.copy())  # [state-shallow-copy]

    def queue_event(self, event: str) -> None:
        """Queue an event for the application."""
        self.last_event = event
        self.inbox.append({"type": event})  # [startup-sent] [shutdown-sent]

    async def on_send(self, message: object) -> None:
        """Apply an answer of the application, or raise ProtocolError."""
        if self.deadline:
            self.check_deadline()
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
        if not self.transition(type_, message_text and f": {message_text}"):
            stage = type_.split(".")[1]
            rule = f"{stage}-answered-once" if stage in self.last_event else "answers-in-order"
            early = stage == "shutdown" and stage not in self.last_event
            reason = "not requested yet" if early else "already answered"
            raise ProtocolError(f"{stage} was {reason}: {type_} was refused", rule)
        self.has_answered = True
        self.message = message_text
        if message_text is not raw:  # after the transition: the type alone reports the failure
            raise ProtocolError(f"'message' must be a str, got {message_text}", "message-is-text")

    def check_deadline(self) -> None:
        """Apply the timeout if its deadline has passed, even if its timer has not fired.

        A loop that was blocked finds the timer and an answer ready together, in any order.
        """
        if self.deadline and self.deadline[0] == self.phase and self.now() > self.deadline[1]:
            self.on_timeout(self.phase, self.deadline[2])

    def phase_deadline(self, now: float, timeout: float) -> float:
        """Return when the phase times out; set that once, as a phase can be waited for twice."""
        if not self.deadline or self.deadline[0] != self.phase:
            self.deadline = self.phase, now + timeout, timeout
        return self.deadline[1]

    def now(self) -> float:
        """Return the time of the event loop's clock."""
        raise NotImplementedError

    def on_timeout(self, phase: Phase, timeout: float) -> None:
        """Apply the timeout of a phase, unless the phase is over."""
        if self.phase != phase:
            return
        activity = "was waiting for another event" if self.receiving else "was still running"
        activity = "had not received the event" if self.inbox else activity
        detail = "" if self.phase == "cancelling" else f": it {activity}"
        self.transition("expired", f" within {timeout:g} s{detail}")

    def on_app_raised(self, error: BaseException, *, cancelled: bool) -> None:
        """Handle an exception of the application; `cancelled` if it is only a cancellation."""
        if self.deadline:
            self.check_deadline()
        self.raised = error
        ended_by_us = self.phase in {"cancelling", "ended"} or self.receiver_cancelled
        if cancelled and ended_by_us:
            self.transition("returned")
        elif error is self.invalid_return:  # `is`: an application may run a Lifespan of its own
            self.phase = "ended"
            self.on_phase_change()
        elif isinstance(error, (KeyboardInterrupt, SystemExit)):  # they end the server, too
            self.phase, self.outcome = "ended", self.outcome or "crashed"
            self.on_phase_change()
        else:
            refused = BaseExceptionGroup("", [error]).subgroup(ProtocolError)
            used_protocol = not self.inbox or refused
            self.transition("raised", f": {safe_repr(error)}", error)
            if used_protocol and self.outcome == "unsupported":
                sentence = "The application raised during startup instead of answering it"
                self.report(ERROR, sentence, error)

    def transition(
        self, trigger: str, detail: str = "", error: BaseException | None = None
    ) -> bool:
        """Apply the transition for `trigger`; return False if there is none."""
        row = TABLE[self.phase].get(trigger)
        if not row:
            return False
        self.phase, outcome, level, words = row
        self.outcome = self.outcome or outcome
        self.on_phase_change()
        if level:
            if error and self.outcome == "failed":  # the failure itself was logged at ERROR
                level = DEBUG
            sentence = f"The application {words}{detail}"
            self.sentence = self.sentence or sentence
            self.report(level, sentence, error if level != INFO else None)
        return True

    def on_phase_change(self) -> None:
        """Wake whoever waits for a new phase; cancel the application in phase "cancelling"."""

    def report(self, level: int, sentence: str, error: BaseException | None) -> None:
        """Log a sentence for the operator of the server."""
        log.log(level, sentence, exc_info=error)

    def raise_for_outcome(
        self,
        failure: type[LifespanFailed],
        timeout: type[LifespanFailed],
        *if_strict: Outcome,
    ) -> None:
        """Raise the exception for a failure or a timeout, and if strict for these outcomes."""
        if self.invalid_return:
            raise self.invalid_return
        if self.outcome in ("failed", "timed_out") or (self.strict and self.outcome in if_strict):
            kind = timeout if self.outcome == "timed_out" else failure
            kind = LifespanUnsupported if self.outcome == "unsupported" else kind
            raise kind(self.sentence, self.message) from self.raised


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
    """

    task: asyncio.Task[Any]
    waiters: list[asyncio.Future[None]]
    eager: Any = {"eager_start": True} if sys.version_info >= (3, 12) else {}  # options of Task
    cancel_errors: tuple[type[BaseException], ...] = (asyncio.CancelledError,)

    async def startup(self) -> Self:
        """Send startup and return self when the application can be served.

        Raises StartupFailed if it must not be served, StartupTimeout if it did not answer in time,
        and RuntimeError if startup() was called before.
        """
        if self.last_event:
            raise RuntimeError("startup() was already called: create a new Lifespan")
        self.queue_event("lifespan.startup")
        try:
            if self.eager:
                await self._start_eagerly()
            else:
                self._start_app()
            while self.phase in {"waiting", "answered", "cancelling"}:  # [wait-for-startup]
                timeout = self.startup_timeout if self.phase == "waiting" else self.grace
                await self._wait_for_change(timeout)
        except self.cancel_errors as cancelled:
            await self._cancel_app(cancelled)
            await self._stop(cancelled)  # the answer may have come before the cancellation
            raise
        if self.phase != "running":
            self.raise_for_outcome(StartupFailed, StartupTimeout, "unsupported")
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
        if self.transition("shutdown"):
            self.queue_event("lifespan.shutdown")
        elif self.phase == "waiting":
            raise RuntimeError(
                "call startup() before shutdown(); to interrupt startup(), cancel it"
            )
        elif self.last_event != "lifespan.shutdown" and self.outcome not in {"crashed", "returned"}:
            return  # the application did not start
        while self.phase in {"stopping", "answered", "cancelling"}:  # [wait-for-shutdown]
            timeout = self.shutdown_timeout if self.phase == "stopping" else self.grace
            try:
                await self._wait_for_change(timeout)
            except self.cancel_errors as cancelled:
                if not is_repeated(cancelled, error):
                    await self._cancel_app(cancelled)
                    raise
                self.check_deadline()  # the timer ended with the wait
        if self.outcome == "complete":
            return
        try:
            self.raise_for_outcome(ShutdownFailed, ShutdownTimeout, "crashed", "returned")
        except ShutdownFailed as failure:
            if error is None:
                raise
            error.add_note(str(failure))  # raising would hide the error of the body

    async def wait_ended(self) -> None:
        """Return when the application has ended; a server can wait for this or its stop signal.

        Raises RuntimeError if startup() was not called.
        """
        if not self.last_event:
            raise RuntimeError("call startup() before wait_ended()")
        while self.phase != "ended":
            await self._wait_for_change()

    def _start_app(self) -> None:
        self.waiters = []
        self.task = asyncio.Task(self._run_app())
        self.task.add_done_callback(self._on_task_done)

    async def _start_eagerly(self) -> None:
        """Run the application up to its first wait at once, which saves a turn of the loop."""
        loop, server = asyncio.get_running_loop(), asyncio.current_task()
        self.waiters = []
        if self.startup_timeout is not None:  # now, as the application may block the event loop
            self.phase_deadline(loop.time(), self.startup_timeout)
        try:
            self.task = asyncio.Task(self._run_app(), loop=loop, **self.eager)
        finally:  # an eager task raises SystemExit and KeyboardInterrupt right here
            self.task.add_done_callback(self._on_task_done)
        if server and server.cancelling():  # the application may have cancelled it: raise that here
            await asyncio.sleep(0)

    async def _run_app(self) -> None:
        if self.eager:  # this runs before `_start_eagerly` has the task
            self.task = cast("asyncio.Task[None]", asyncio.current_task())
        try:
            await self._call_app()
        except BaseException as error:
            self.on_app_raised(error, cancelled=isinstance(error, asyncio.CancelledError))
            if isinstance(error, (KeyboardInterrupt, SystemExit)):
                raise
        else:
            if self.deadline:
                self.check_deadline()
            self.transition("returned")
            self.task.remove_done_callback(self._on_task_done)

    def _call_app(self) -> Awaitable[object]:
        try:
            call = self.application(self.scope, self.on_receive, self.on_send)
        except BaseException as error:
            self.inbox.clear()  # so that this counts as raised during startup, and is an ERROR
            error.add_note(HINT)
            raise
        if not inspect.isawaitable(call):
            self.invalid_return = TypeError(
                f"app(scope, receive, send) must return an awaitable, got {call!r}"
            )
            raise self.invalid_return
        return call

    def _on_task_done(self, task: asyncio.Task[None]) -> None:
        """Handle a task that was cancelled before its first step, or that raised an exit."""
        if task.cancelled() and self.phase != "ended":
            self.on_app_raised(asyncio.CancelledError(), cancelled=True)
        elif not task.cancelled():
            task.exception()  # mark it as retrieved: asyncio raises exits out of the loop itself

    async def on_receive(self) -> dict[str, str]:
        """Wait for the next event, and return it to the application."""
        while not self.inbox or self.phase in {"cancelling", "ended"}:
            self.receiving = True
            if self.phase == "answered":  # no event follows
                self._cancel_receiver()
            await self._wait_for_change()
        self.receiving = False
        return self.inbox.pop(0)

    def _cancel_receiver(self) -> None:
        """Cancel the task that waits for another event, so that a task group around it can end."""
        task = asyncio.current_task()
        if task is self.task:
            self.transition("cancelled")
        elif task and not task.cancelling():  # once: a task that swallows it must reach a wait
            self.receiver_cancelled = True
            task.cancel()

    async def _cancel_app(self, cancelled: BaseException) -> None:
        """Cancel the application because the server was cancelled, and wait for its end."""
        self.transition("cancelled")
        while self.phase == "cancelling":
            try:
                await self._wait_for_change(self.grace)
            except self.cancel_errors as again:
                if not is_repeated(again, cancelled):
                    raise
                self.check_deadline()

    def _wait_for_change(self, timeout: float | None = None, /) -> Awaitable[None]:
        """Return a future that resolves at the next phase change or timeout."""
        waiter: asyncio.Future[None] = asyncio.Future()
        if self.waiters:  # drop those whose task was cancelled
            self.waiters = [each for each in self.waiters if not each.done()]
        self.waiters.append(waiter)
        if timeout is not None:
            self._start_timer(waiter, timeout)
        return waiter

    def _start_timer(self, waiter: asyncio.Future[None], timeout: float) -> None:
        loop = waiter.get_loop()
        deadline = self.phase_deadline(loop.time(), timeout)
        timer = loop.call_at(deadline, self.on_timeout, self.phase, timeout)
        waiter.add_done_callback(lambda _: timer.cancel())

    def now(self) -> float:
        """Return the event loop's time."""
        return asyncio.get_running_loop().time()

    def on_phase_change(self) -> None:
        """Wake all waiters; cancel the application in phase "cancelling"."""
        if self.phase == "cancelling":
            self.task.cancel()
        for waiter in self.waiters:
            if not waiter.done():
                waiter.set_result(None)
        self.waiters.clear()
