"""The lifespan protocol for a server: start an application, share its state, stop it.

    async with Lifespan(app) as lifespan:
        ...  # serve; give each request lifespan.with_state(scope)

A loop of forty lines can send startup and shutdown.  This file also handles what goes wrong: an
application without lifespan support, one that fails, crashes, returns early, answers twice or too
late, swallows its cancellation, or never ends; a server that is cancelled while it waits; Ctrl-C.
Each of these is a row of TABLE: the next phase, the outcome, and what is logged.  These are not
in TABLE:

    `supported` is True from the first answer on, and False with the outcome "unsupported".
    A record has the traceback of what the application raised, unless its level is INFO.
    What it raises after the outcome "failed" is logged as DEBUG: the failure was logged already.
    If it raised during startup, except on the scope, "unanswered" logs that as a second record.
    `send` refuses an event that is unknown, malformed or not in the row of the phase.

The first row that has an outcome sets it for good.  An application that sends
lifespan.shutdown.failed although shutdown was not sent has crashed, and the server goes on serving.
A name in [brackets] is the ID of the rule that the line implements.

This file is self-contained: copy it into your project.
"""

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from logging import DEBUG, ERROR, INFO, WARNING
from typing import Any, Literal, Self

Phase = Literal["new", "waiting", "running", "stopping", "answered", "cancelling", "ended"]
Outcome = Literal[
    "complete", "failed", "unsupported", "crashed", "returned", "timed_out", "cancelled"
]

TABLE: dict[Phase, dict[str, tuple[Phase, Outcome | None, int, str]]] = {
    # phase, then trigger: next phase, outcome, log level, log message after "The application"
    "new": {"startup": ("waiting", None, 0, "")},
    "waiting": {  # startup was sent and is not answered; for startup_timeout
        "lifespan.startup.complete": ("running", None, 0, ""),
        "lifespan.startup.failed": ("answered", "failed", ERROR, "failed to start"),
        "returned": ("ended", "unsupported", INFO, "does not support lifespan: it returned"),
        "raised": ("ended", "unsupported", INFO, "does not support lifespan"),
        "exited": ("ended", "crashed", 0, ""),
        "expired": ("cancelling", "timed_out", ERROR, "did not answer startup"),
        "cancelled": ("cancelling", "cancelled", 0, ""),
    },
    "running": {  # the application answered lifespan.startup.complete
        "shutdown": ("stopping", None, 0, ""),
        "lifespan.shutdown.failed": ("answered", "crashed", ERROR, "failed while running"),
        "returned": ("ended", "returned", WARNING, "returned while the server was running"),
        "raised": ("ended", "crashed", ERROR, "crashed while the server was running"),
        "exited": ("ended", "crashed", 0, ""),
    },
    "stopping": {  # shutdown was sent and is not answered; for shutdown_timeout
        "lifespan.shutdown.complete": ("answered", "complete", 0, ""),
        "lifespan.shutdown.failed": ("answered", "failed", ERROR, "failed to shut down"),
        "returned": ("ended", "returned", WARNING, "returned before it answered shutdown"),
        "raised": ("ended", "crashed", ERROR, "crashed before it answered shutdown"),
        "exited": ("ended", "crashed", 0, ""),
        "expired": ("cancelling", "timed_out", ERROR, "did not answer shutdown"),
        "cancelled": ("cancelling", "cancelled", 0, ""),
    },
    "answered": {  # the application gave its final answer; for grace
        "returned": ("ended", None, 0, ""),
        "raised": ("ended", None, ERROR, "raised after its final answer"),
        "exited": ("ended", None, 0, ""),
        "expired": ("cancelling", None, 0, ""),
        "cancelled": ("cancelling", None, 0, ""),
    },
    "cancelling": {  # its task was cancelled, and what it still sends is ignored; for grace again
        "returned": ("ended", None, 0, ""),
        "raised": ("ended", None, ERROR, "raised when it was cancelled"),
        "exited": ("ended", None, 0, ""),
        "expired": ("ended", None, ERROR, "was cancelled and did not stop"),
    },
    "ended": {  # the application has ended, or `Lifespan` stopped waiting for it
        "unanswered": ("ended", None, ERROR, "raised during startup instead of answering it"),
        "raised": ("ended", None, ERROR, "raised after the server stopped waiting"),
    },
}
EXITS = KeyboardInterrupt, SystemExit  # they end the server, too
ANSWERS = {  # by the type of the event, what it answers
    "lifespan.startup.complete": "startup",
    "lifespan.startup.failed": "startup",
    "lifespan.shutdown.complete": "shutdown",
    "lifespan.shutdown.failed": "shutdown",
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


# what startup() and shutdown() raise for an outcome, and what they raise with `strict`
ERRORS: dict[str, dict[Outcome | None, type[LifespanFailed]]] = {
    "startup": {"failed": StartupFailed, "timed_out": StartupTimeout},
    "shutdown": {"failed": ShutdownFailed, "timed_out": ShutdownTimeout},
}
STRICT: dict[str, dict[Outcome | None, type[LifespanFailed]]] = {
    "startup": {**ERRORS["startup"], "unsupported": LifespanUnsupported},
    "shutdown": {**ERRORS["shutdown"], "crashed": ShutdownFailed, "returned": ShutdownFailed},
}


class ProtocolError(Exception):
    """`send` refused an event that is unknown, malformed or out of order: it breaks `rule`."""

    def __init__(self, sentence: str, rule: str) -> None:
        super().__init__(sentence, rule)
        self.rule = rule

    def __str__(self) -> str:
        return "{} [{}]".format(*self.args)


def new_scope() -> dict[str, Any]:
    """Return a scope of lifespan 2.0 (ASGI)."""
    return {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}, "state": {}}


def copy_scope(scope: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of a lifespan scope; raise TypeError or ValueError if it is none."""
    if not isinstance(scope, Mapping):
        raise TypeError(f"scope must be a mapping, got {scope!r}")
    if scope.get("type") != "lifespan" or scope.get("state", {}) != {}:
        raise ValueError(f"scope must have the type 'lifespan' and no state yet, got {scope!r}")
    copy = dict(scope)
    for key, value in scope.items():
        if isinstance(value, Mapping):  # versions, extensions and the empty state
            copy[key] = dict(value)
    return copy


def parse_timeout(seconds: float | None) -> float | None:
    """Return a timeout as a float or None; raise TypeError or ValueError for anything else."""
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise TypeError(f"a timeout must be None or a number of seconds, got {safe_repr(seconds)}")
    if not seconds >= 0:  # this way round it refuses nan, too
        raise ValueError(f"a timeout must be None or at least 0 seconds, got {seconds!r}")
    return float(seconds)


def is_repeated(error: BaseException, first: BaseException | None) -> bool:
    """Tell whether a cancel scope of anyio (4.16) repeats its cancellation; each wait gets it."""
    text = str(error)
    if "cancel scope" not in text:
        return False
    return text == str(first)


def safe_repr(value: object) -> str:
    """Return the repr of a value of the application, even if that repr raises."""
    try:
        return repr(value)
    except Exception:
        return object.__repr__(value)


class Lifespan:
    """Start an application, run the body of `async with`, and stop the application.

    `scope` is copied and gets a new state; None means lifespan 2.0 (ASGI).  The timeouts and
    `grace` are seconds; None means no timeout.  `grace` is how long the application may run after
    its final answer, and again after it was cancelled.  `strict` also raises if the application
    does not support lifespan, crashed or returned early: servers call it ``--lifespan on``, and
    the default ``auto``.  For ``off``, call the application without a `Lifespan`.  Invalid
    arguments raise TypeError or ValueError, and methods called before startup(), or in another
    event loop, RuntimeError.

    `scope` is what the application is called with, and `state` its live state, or None.  `phase`
    says how far the lifespan is, `outcome` how it ended, and `supported` whether the application
    supports lifespan.  `outcome` and `supported` are None until that is known.
    """

    def __init__(
        self,
        app: Callable[[Any, Any, Any], Awaitable[object]],
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
            self.scope = new_scope()
        else:
            self.scope = copy_scope(scope)
        self.state: Any = self.scope.get("state")
        self.phase: Phase = "new"
        self.outcome: Outcome | None = None
        self.supported: bool | None = None
        self._app = app
        self._errors = ERRORS
        if strict:
            self._errors = STRICT
        grace = parse_timeout(grace)
        self._timeouts: dict[Phase, float | None] = {
            "waiting": parse_timeout(startup_timeout),
            "stopping": parse_timeout(shutdown_timeout),
            "answered": grace,
            "cancelling": grace,
        }
        self._inbox: list[dict[str, str]] = []
        self._stage = ""  # "startup" or "shutdown", which was sent or answered last
        self._message = ""  # of the last *.failed event
        self._sentence = ""  # of the first log record
        self._raised: BaseException | None = None  # by the application
        self._cancelled: BaseException | None = None  # what ended startup() or the body
        self._called = False  # the application, and it returned an awaitable
        self._receiving = False  # the application waits for an event that was not sent yet
        self._receiver_cancelled = False

    def __repr__(self) -> str:
        how: str = self.phase
        if self.outcome:
            how = f"{self.phase}, outcome {self.outcome}"
        return f"<{type(self).__name__} of {safe_repr(self._app)}: {how}>"

    @property
    def error(self) -> BaseException | None:
        """What the application raised before it answered startup or when it crashed, or None."""
        if self.outcome in ("unsupported", "crashed"):
            return self._raised
        return None

    async def app(self, scope: Mapping[str, Any], receive: Any, send: Any) -> object:
        """Call the application with a request: an ASGI application for clients that start none."""
        if scope["type"] == "lifespan":
            raise RuntimeError(
                "this application is running already and takes requests only; give the application"
                " itself to a client that starts it, such as Starlette's TestClient in a `with`"
            )
        return await self._app(self.with_state(scope), receive, send)

    def with_state(self, scope: Mapping[str, Any]) -> dict[str, Any]:
        """Return a copy of a request scope, with a shallow copy of the state if there is one."""
        if self.phase == "new":
            raise RuntimeError("call startup() before with_state()")
        if self.state is None:
            return dict(scope)
        return {**scope, "state": self.state.copy()}  # [state-shallow-copy]

    def report(self, level: int, sentence: str, error: BaseException | None) -> None:
        """Log a sentence and the traceback of `error`, if any; override this to log elsewhere."""
        log.log(level, sentence, exc_info=error)

    def entered(self, phase: Phase) -> None:
        """Note that a phase began; override this to log that the server waits, or to show it."""

    def __aenter__(self) -> Coroutine[Any, Any, Self]:
        return self.startup()

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._cancelled = error
        try:
            await self.shutdown()
        except ShutdownFailed as failure:
            if error is None:
                raise
            BaseException.add_note(error, str(failure))  # raising would hide the error of the body

    async def startup(self) -> Self:
        """Send startup and return self when the application can be served.

        Raises StartupFailed if it must not be served, StartupTimeout if it did not answer in time,
        and RuntimeError if startup() was called before.
        """
        if not self._on("startup"):
            raise RuntimeError("startup() was already called: create a new Lifespan")
        self._stage = "startup"
        self._inbox.append({"type": "lifespan.startup"})  # [startup-sent]
        try:
            while self.phase not in {"running", "ended"} and self.outcome != "crashed":
                await self._wait()  # [wait-for-startup]
        except self._cancellations as cancelled:
            if self._is_started():  # the answer came before the cancellation
                await self.__aexit__(type(cancelled), cancelled, None)
            else:
                await self._cancel_app(cancelled)
            raise
        self._raise_for_outcome("startup")
        return self

    async def shutdown(self) -> None:
        """Send shutdown if the application started, and return when it has ended.

        Raises ShutdownFailed or ShutdownTimeout, again at each further call.
        """
        if self.phase in {"new", "waiting"}:
            raise RuntimeError("call startup() before shutdown(); to stop startup(), cancel it")
        self._check_loop()
        if self._on("shutdown"):
            self._stage = "shutdown"
            self._inbox.append({"type": "lifespan.shutdown"})  # [shutdown-sent]
        elif self._stage == "startup" and not self._is_started():
            return
        while self.phase in {"stopping", "answered", "cancelling"}:  # [wait-for-shutdown]
            try:
                await self._wait()
            except self._cancellations as cancelled:
                if not is_repeated(cancelled, self._cancelled):
                    await self._cancel_app(cancelled)
                    raise
        self._raise_for_outcome("shutdown")

    async def wait_ended(self) -> None:
        """Return when the application has ended; a server can wait for this or its stop signal.

        Never returns if the application does not support lifespan, because nothing of it can end.
        """
        if self.phase == "new":
            raise RuntimeError("call startup() before wait_ended()")
        self._check_loop()
        while self.phase != "ended" or self.supported is False:
            await self._wait()

    async def _cancel_app(self, cancelled: BaseException) -> None:
        """Cancel the application because the server was cancelled, and wait for its end."""
        self._on("cancelled")
        while self.phase == "cancelling":
            try:
                await self._wait()
            except self._cancellations as again:
                if not is_repeated(again, cancelled):
                    raise

    def _is_started(self) -> bool:
        """Tell whether the application completed startup; only valid before shutdown is sent."""
        return self.phase == "running" or self.outcome in {"crashed", "returned"}

    def _raise_for_outcome(self, stage: str) -> None:
        kind = self._errors[stage].get(self.outcome)
        if kind is not None:
            raise kind(self._sentence, self._message) from self._raised

    def _call_app(self) -> Awaitable[object]:
        call = self._app(self.scope, self._receive, self._send)
        if not inspect.isawaitable(call):
            raise TypeError(f"app(scope, receive, send) must return an awaitable, got {call!r}")
        self._called = True
        return call

    async def _receive(self) -> dict[str, str]:
        while not self._inbox or self.phase in {"cancelling", "ended"}:
            self._receiving = True
            if self.phase == "answered":  # no event follows
                self._cancel_receiver()
            await self._wait()
        self._receiving = False
        return self._inbox.pop(0)

    async def _send(self, message: Any) -> None:
        if self.phase in {"cancelling", "ended"}:
            return  # [send-after-end-does-nothing]
        trigger = ""
        if isinstance(message, dict):
            trigger = message.get("type", "")
        if not isinstance(trigger, str) or trigger not in ANSWERS:  # [send-refuses-unknown]
            raise ProtocolError(f"The application sent {safe_repr(message)}", "events-known")
        if trigger not in TABLE[self.phase]:
            raise self._out_of_order(trigger)
        value: Any = ""
        if trigger.endswith("failed"):
            value = message.get("message", "")  # [failed-message-default]
        text = value
        if not isinstance(value, str):  # also None, 0 and b"", which are as false as no message
            text = safe_repr(value)
        detail = ""
        if text:
            detail = f": {text}"
        self._stage = ANSWERS[trigger]
        self._message = text
        self.supported = True
        self._on(trigger, detail)
        if not isinstance(value, str):  # after the transition: the type alone reports the failure
            raise ProtocolError(f"'message' must be a str, got {text}", "message-is-text")

    def _out_of_order(self, trigger: str) -> ProtocolError:
        """Return what `send` raises for an answer that the phase does not have."""
        stage = ANSWERS[trigger]
        rule = "answers-in-order"
        if stage == self._stage:
            rule = f"{stage}-answered-once"
        reason = "already answered"
        if (self._stage, stage) == ("startup", "shutdown"):
            reason = "not requested yet"
        return ProtocolError(f"{stage} was {reason}: {trigger} was refused", rule)

    def _on_raised(self, error: BaseException, *, cancelled: bool) -> None:
        """Handle an exception of the application; `cancelled` if it is only a cancellation."""
        if cancelled and (self.phase in {"cancelling", "ended"} or self._receiver_cancelled):
            if self.outcome != "crashed":  # keep what the application raised: that is its crash
                self._raised = error
            self._on("returned")
            return
        self._raised = error
        trigger = "raised"
        if isinstance(error, EXITS):
            trigger = "exited"
        self._on(trigger, f": {safe_repr(error)}", error)
        if self.outcome == "unsupported" and not self._is_on_the_scope(error):
            self._on("unanswered", error=error)

    def _is_on_the_scope(self, error: BaseException) -> bool:
        """Tell whether an application without lifespan raised on the scope, as ASGI asks it to."""
        if BaseExceptionGroup("", [error]).subgroup(ProtocolError):
            return False  # it has sent something
        return self._called and bool(self._inbox)  # it has not received startup

    def _on_timeout(self, seconds: float) -> None:
        detail = f" within {seconds:g} s"
        if self.phase == "cancelling":
            pass  # the first timeout said already what it was doing
        elif self._inbox:
            detail += ": it had not received the event"
        elif self._receiving:
            detail += ": it was waiting for another event"
        else:
            detail += ": it was still running"
        self._on("expired", detail)

    def _on(self, trigger: str, detail: str = "", error: BaseException | None = None) -> bool:
        """Apply the row of TABLE for a trigger; return False if there is none."""
        row = TABLE[self.phase].get(trigger)
        if row is None:
            return False
        before = self.phase
        self.phase, outcome, level, words = row
        if self.outcome is None:
            self.outcome = outcome
        if outcome == "unsupported":
            self.supported = False
        self._enter()
        if self.phase != before:
            self.entered(self.phase)
        if level:
            self._log(level, f"The application {words}{detail}", error)
        return True

    def _log(self, level: int, sentence: str, error: BaseException | None) -> None:
        if not self._sentence:
            self._sentence = sentence
        if level == INFO:
            error = None
        elif error is not None and self.outcome == "failed":
            level = DEBUG  # the failure itself was an ERROR
        self.report(level, sentence, error)

    # ---- cut here: no event loop above this line, asyncio below it -------------------------------

    _cancellations: tuple[type[BaseException], ...] = (asyncio.CancelledError,)

    async def _run_app(self) -> None:
        try:
            await self._call_app()
        except BaseException as error:
            self._on_raised(error, cancelled=isinstance(error, asyncio.CancelledError))
            if isinstance(error, EXITS):
                raise
        else:
            self._on("returned")
            self._task.remove_done_callback(self._on_task_done)

    def _on_task_done(self, task: asyncio.Task[None]) -> None:
        """Handle a task that was cancelled before its first step, or that raised an exit."""
        if not task.cancelled():
            task.exception()  # mark it as retrieved: asyncio raises exits out of the loop itself
        elif self.phase != "ended":
            self._on_raised(asyncio.CancelledError(), cancelled=True)

    def _check_loop(self) -> None:
        if asyncio.get_running_loop() is not self._loop and self.phase != "ended":
            raise RuntimeError("startup() was called in another event loop: stay in that one")

    def _enter(self) -> None:
        """Start or cancel the application if the phase begins with that; wake all that wait."""
        if self.phase == "waiting":
            self._loop: Any = asyncio.get_running_loop()
            self._waiters: list[asyncio.Future[None]] = []
            self._timer: asyncio.TimerHandle | None = None
            # not loop.create_task: an eager task factory of Python 3.12 would begin the application
            # here, before `_task` is set, and inside of startup()
            self._task: Any = asyncio.Task(self._run_app(), name="lifespan")
            self._task.add_done_callback(self._on_task_done)
        elif self.phase == "cancelling":
            self._task.cancel()
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
        self._waiters.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wait(self) -> Awaitable[None]:
        """Return a future that resolves at the next phase; start the timer of this one."""
        waiter: asyncio.Future[None] = asyncio.Future()
        if self._waiters:  # drop those whose task was cancelled
            self._waiters = [other for other in self._waiters if not other.done()]
        self._waiters.append(waiter)
        seconds = self._timeouts.get(self.phase)
        if seconds is not None and self._timer is None:
            self._timer = self._loop.call_later(seconds, self._on_timeout, seconds)
        return waiter

    def _cancel_receiver(self) -> None:
        """Cancel the task that waits for another event, so that a task group around it can end."""
        task = asyncio.current_task()
        if task is self._task:
            self._on("cancelled")
        elif task and not task.cancelling():  # once: a task that swallows it must reach a wait
            self._receiver_cancelled = True
            task.cancel()
