"""The server's half of the lifespan protocol.  COPY ME: a server needs this file alone.

    async with Lifespan(app) as lifespan:
        ...  # serve; give each request lifespan.with_state(scope)

Theory of operation.  `Conversation` knows what happened, and by TABLE what follows; it knows
no event loop.  `Lifespan`, below the line, is the conversation on asyncio: it runs the
application in one task of its own, tells what happens there, and decides nothing.

    waiting     startup was offered and is not answered
    running     lifespan.startup.complete was taken
    stopping    shutdown was offered and is not answered
    answered    the application's last word was taken; its call still runs
    dismissed   the call was cancelled; what the application still says counts for nothing
    ended       the call is over, or was given up

The first fact that decides the outcome latches it.  This file names no specification (all share one
conduct), installs no signal handler and closes no connection: those are the server's part.  A
word in [brackets] is the rule of the specification that the line obeys.
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

Phase = Literal["waiting", "running", "stopping", "answered", "dismissed", "ended"]
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
        """What with_state returns is a plain dict; of its "state" a checker knows the type."""

        @overload
        def __getitem__(self, key: Literal["state"], /) -> State: ...
        @overload
        def __getitem__(self, key: str, /) -> Any: ...
        def __getitem__(self, key: str, /) -> Any: ...


HINT = "The call itself raised. For a double-callable application use double_to_single_callable."
TABLE: dict[Phase, dict[str, tuple[Phase, Outcome | None, int, str]]] = {
    # phase, and what happens: the phase that follows, what it decides, log level, log sentence
    "waiting": {
        "lifespan.startup.complete": ("running", None, 0, ""),
        "lifespan.startup.failed": ("answered", "failed", ERROR, "failed to start"),
        "returned": ("ended", "unsupported", INFO, "does not support lifespan: it returned"),
        "raised": ("ended", "unsupported", INFO, "does not support lifespan"),
        "expired": ("dismissed", "timed_out", ERROR, "did not answer startup"),
        "cancelled": ("dismissed", "cancelled", 0, ""),
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
        "expired": ("dismissed", "timed_out", ERROR, "did not answer shutdown"),
        "cancelled": ("dismissed", "cancelled", 0, ""),
    },
    "answered": {
        "returned": ("ended", None, 0, ""),
        "raised": ("ended", None, ERROR, "raised after its final answer"),
        "expired": ("dismissed", None, 0, ""),
        "cancelled": ("dismissed", None, 0, ""),
    },
    "dismissed": {
        "returned": ("ended", None, 0, ""),
        "raised": ("ended", None, ERROR, "raised when it was cancelled"),
        "expired": ("ended", None, ERROR, "was cancelled and did not stop"),
    },
    "ended": {"raised": ("ended", None, ERROR, "raised after the server stopped waiting")},
}
# what an application may send, and whether that is a failure
ANSWERS = {what: what.endswith("failed") for row in TABLE.values() for what in row if "." in what}
log = logging.getLogger(__name__)


class LifespanFailed(Exception):
    """`str()` is a sentence for the log, `message` exactly the application's text."""

    def __init__(self, sentence: str, message: str = "") -> None:
        super().__init__(sentence)
        self.message = message


class StartupFailed(LifespanFailed):
    """The application is not to be served."""


class LifespanUnsupported(StartupFailed):
    """The application has no lifespan support, and `strict` asked for it."""


class StartupTimeout(StartupFailed, TimeoutError):
    """Startup was not answered in time; the cause shows where the application was."""


class ShutdownFailed(LifespanFailed):
    """The application did not shut down cleanly; the server ends all the same."""


class ShutdownTimeout(ShutdownFailed, TimeoutError):
    """Shutdown was not answered in time; the cause shows where the application was."""


class ProtocolError(Exception):
    """The application sent what does not belong there; `rule` names the rule."""

    def __init__(self, sentence: str, rule: str) -> None:
        super().__init__(sentence, rule)
        self.rule = rule

    def __str__(self) -> str:
        return "{} [{}]".format(*self.args)


class Conversation(Generic[State]):
    """One lifespan: what happened so far, and what follows from it."""

    sentence = ""
    has_answered = False
    raised: BaseException | None = None
    unfit: TypeError | None = None

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
            scope = {key: {**of} if isinstance(of, Mapping) else of for key, of in scope.items()}
        self.application, self.grace, self.strict = app, seconds(grace), strict
        self.startup_timeout = seconds(startup_timeout)
        self.shutdown_timeout = seconds(shutdown_timeout)
        self.scope: dict[str, Any] = scope
        self.state: State | None = scope.get("state")
        self.phase: Phase = "waiting"
        self.outcome: Outcome | None = None
        self.inbox: list[dict[str, str]] = []
        self.asked = self.message = ""
        self.idle = self.receiver_ended = False
        self.limit: tuple[Phase, float, float] | None = None  # phase, deadline, seconds

    def __repr__(self) -> str:
        outcome = f", outcome {self.outcome}" if self.outcome else ""
        return f"<{type(self).__name__} of {shown(self.application)}: {self.phase}{outcome}>"

    @property
    def supported(self) -> bool | None:
        """False where the application has no lifespan support, None until that is known."""
        return False if self.outcome == "unsupported" else self.has_answered or None

    @property
    def error(self) -> BaseException | None:
        """The exception that the application raised at startup or crashed with, or None."""
        return self.raised if self.outcome in ("unsupported", "crashed") else None

    async def app(self, scope: Mapping[str, Any], receive: Any, send: Any) -> object:
        """Call the application with a request; its scope gets a shallow copy of the state."""
        if scope["type"] == "lifespan":
            raise RuntimeError(
                "this application is running already and takes requests only; give the application"
                " itself to a client that starts it, such as Starlette's TestClient in a `with`"
            )
        return await self.application(self.with_state(scope), receive, send)

    def with_state(self, scope: Mapping[str, Any]) -> WithState[State]:
        """Return a new scope whose state is a shallow copy of the live one."""
        if not self.asked:
            raise RuntimeError("call startup() before with_state()")
        state: Any = self.state
        if state is None:
            return WithState(scope)
        return WithState(scope, state=state.copy())  # [state-shallow-copy]

    def offer(self, event: str) -> None:
        """Put an event before the application."""
        self.asked = event
        self.inbox.append({"type": event})  # [startup-sent] [shutdown-sent]

    async def sent(self, message: object) -> None:
        """Take what the application sent, or raise ProtocolError."""
        if self.limit:
            self.expire_if_late()
        if self.phase in {"dismissed", "ended"}:
            return  # [send-after-end-does-nothing]
        event = message if isinstance(message, dict) else {}
        kind: Any = event.get("type")
        failed = ANSWERS.get(kind) if isinstance(kind, str) else None
        if failed is None:  # [send-refuses-unknown]
            raise ProtocolError(f"The application sent {shown(message)}", "events-known")
        text = said = ""
        if failed:
            text = event.get("message", "")  # [failed-message-default]
            said = text if isinstance(text, str) else shown(text)
        if not self.happened(kind, said and f": {said}"):
            stage = kind.split(".")[1]
            rule = f"{stage}-answered-once" if stage in self.asked else "answers-in-order"
            early = stage == "shutdown" and stage not in self.asked
            told = "not requested yet" if early else "already answered"
            raise ProtocolError(f"{stage} was {told}: {kind} was refused", rule)
        self.has_answered = True
        self.message = said
        if said is not text:  # it has failed all the same
            raise ProtocolError(f"'message' must be a str, got {said}", "message-is-text")

    def expire_if_late(self) -> None:
        """Let the limit strike if its deadline has passed, though its timer has not been heard.

        A loop that was blocked notices the timer and an answer at once, in any order.
        """
        if self.limit and self.limit[0] == self.phase and self.now() > self.limit[1]:
            self.expired(self.phase, self.limit[2])

    def deadline(self, now: float, limit: float) -> float:
        """Return until when this phase may last: a wait that is taken up again goes on."""
        if not self.limit or self.limit[0] != self.phase:
            self.limit = self.phase, now + limit, limit
        return self.limit[1]

    def now(self) -> float:
        """Return the time of the clock that the deadline is on: that is the event loop's part."""
        raise NotImplementedError

    def expired(self, phase: Phase, limit: float) -> None:
        """Take it that a phase has lasted `limit` seconds, unless it is over."""
        if self.phase != phase:
            return
        doing = "was waiting for another event" if self.idle else "was still running"
        doing = "had not received the event" if self.inbox else doing
        detail = "" if self.phase == "dismissed" else f": it {doing}"
        self.happened("expired", f" within {limit:g} s{detail}")

    def over(self, error: BaseException, *, obeyed: bool) -> None:
        """Take it that the call raised, perhaps only as it was told to."""
        if self.limit:
            self.expire_if_late()
        self.raised = error
        ended_by_us = self.phase in {"dismissed", "ended"} or self.receiver_ended
        if obeyed and ended_by_us:
            self.happened("returned")
        elif error is self.unfit:  # and not that of another one, further in
            self.phase = "ended"
            self.changed()
        elif isinstance(error, (KeyboardInterrupt, SystemExit)):  # these end the server itself
            self.phase, self.outcome = "ended", self.outcome or "crashed"
            self.changed()
        else:
            told = not self.inbox or BaseExceptionGroup("", [error]).subgroup(ProtocolError)
            self.happened("raised", f": {shown(error)}", error)
            if told and self.outcome == "unsupported":
                sentence = "The application raised during startup instead of answering it"
                self.note(ERROR, sentence, error)

    def happened(self, what: str, detail: str = "", error: BaseException | None = None) -> bool:
        """Go where the table leads, or return False: it leads nowhere."""
        row = TABLE[self.phase].get(what)
        if not row:
            return False
        self.phase, decided, level, words = row
        self.outcome = self.outcome or decided
        self.changed()
        if level:
            level = DEBUG if error and self.outcome == "failed" else level  # one report, not two
            sentence = f"The application {words}{detail}"
            self.sentence = self.sentence or sentence
            self.note(level, sentence, error if level != INFO else None)
        return True

    def changed(self) -> None:
        """Do what follows from a new phase: that is the event loop's part."""

    def note(self, level: int, sentence: str, error: BaseException | None) -> None:
        """Log what a server's operator has to know."""
        log.log(level, sentence, exc_info=error)

    def judge(self, failed: type[LifespanFailed], late: type[LifespanFailed], *no: Outcome) -> None:
        """Raise what a server has to know: a failure, a limit, and if strict any of `no`."""
        if self.unfit:
            raise self.unfit
        if self.outcome in ("failed", "timed_out") or (self.strict and self.outcome in no):
            kind = late if self.outcome == "timed_out" else failed
            kind = LifespanUnsupported if self.outcome == "unsupported" else kind
            raise kind(self.sentence, self.message) from self.raised


def seconds(limit: float | None) -> float | None:
    """Return a limit as a float, or None where it is infinite; raise TypeError or ValueError."""
    if limit is None:
        return None
    if isinstance(limit, (str, bytes)):
        raise TypeError(f"a timeout must be None or a number of seconds, got {shown(limit)}")
    try:
        number = float(limit)
    except OverflowError:
        number = -1.0
    if not number >= 0:
        raise ValueError(f"a timeout must be None or at least 0 seconds, got {shown(limit)}")
    return None if number == float("inf") else number + 0.0  # -0.0 becomes 0.0


def repeats(error: BaseException, first: BaseException | None) -> bool:
    """Tell whether a cancellation is the same one as the first, delivered again.

    A cancel scope of anyio cancels its task at every wait, and names itself in the message.
    """
    return first is not None and "cancel scope" in str(error) and str(error) == str(first)


def shown(value: object) -> str:
    """Return the repr of what an application handed over, whatever that does."""
    try:
        return repr(value)
    except Exception:
        return object.__repr__(value)


# ---- cut here: no event loop above this line, asyncio below it --------------------------------


class Lifespan(Conversation[State]):
    """Start an application, run the body of `async with`, and stop the application.

    `scope` is copied and its state made anew; None offers lifespan 2.0 (ASGI).  Limits and
    `grace` are seconds, None waits for ever.  `strict` raises also where an application
    has no lifespan support, crashed or returned, which lies outside the protocol.
    """

    task: asyncio.Task[Any]
    waiters: list[asyncio.Future[None]]
    cancelled: tuple[type[BaseException], ...] = (asyncio.CancelledError,)

    async def startup(self) -> Self:
        """Offer startup; return where the application can be served, else raise StartupFailed."""
        if self.asked:
            raise RuntimeError("startup() was already called: create a new Lifespan")
        self.offer("lifespan.startup")
        self._begin()
        try:
            while self.phase in {"waiting", "answered", "dismissed"}:  # [wait-for-startup]
                await self._change(self.startup_timeout if self.phase == "waiting" else self.grace)
        except self.cancelled as cancelled:
            await self._break_off(cancelled)
            await self._stop(cancelled)  # it may have started meanwhile
            raise
        if self.phase != "running":
            self.judge(StartupFailed, StartupTimeout, "unsupported")
        return self

    async def shutdown(self) -> None:
        """Offer shutdown to an application that runs; raise ShutdownFailed where that fails."""
        await self._stop(None)

    __aenter__ = startup

    def __aexit__(self, *exc_info: Any) -> Coroutine[Any, Any, None]:
        return self._stop(exc_info[1])

    async def _stop(self, error: BaseException | None) -> None:
        if self.happened("shutdown"):
            self.offer("lifespan.shutdown")
        elif self.phase == "waiting":
            raise RuntimeError(
                "call startup() before shutdown(); to interrupt startup(), cancel it"
            )
        elif self.asked != "lifespan.shutdown" and self.outcome not in {"crashed", "returned"}:
            return  # it never ran
        while self.phase in {"stopping", "answered", "dismissed"}:  # [wait-for-shutdown]
            limit = self.shutdown_timeout if self.phase == "stopping" else self.grace
            try:
                await self._change(limit)
            except self.cancelled as cancelled:
                if not repeats(cancelled, error):
                    await self._break_off(cancelled)
                    raise
        if self.outcome == "complete":
            return
        try:
            self.judge(ShutdownFailed, ShutdownTimeout, "crashed", "returned")
        except ShutdownFailed as failure:
            if error is None:
                raise
            error.add_note(str(failure))

    async def wait_ended(self) -> None:
        """Return when the application is gone: a server races this with its stop signal."""
        if not self.asked:
            raise RuntimeError("call startup() before wait_ended()")
        while self.phase != "ended":
            await self._change()

    def _begin(self) -> None:
        self.waiters = []
        self.task = asyncio.Task(self._run())  # never an eager one: it needs its name
        self.task.add_done_callback(self._gone)

    async def _run(self) -> None:
        try:
            await self._call()
        except BaseException as error:
            self.over(error, obeyed=isinstance(error, asyncio.CancelledError))
            if isinstance(error, (KeyboardInterrupt, SystemExit)):
                raise
        else:
            if self.limit:
                self.expire_if_late()
            self.happened("returned")
            self.task.remove_done_callback(self._gone)

    def _call(self) -> Awaitable[object]:
        try:
            call = self.application(self.scope, self._receive, self.sent)
        except BaseException as error:
            self.inbox.clear()  # nobody is there to receive it
            error.add_note(HINT)
            raise
        if not inspect.isawaitable(call):
            self.unfit = TypeError(
                f"app(scope, receive, send) must return an awaitable, got {call!r}"
            )
            raise self.unfit
        return call

    def _gone(self, task: asyncio.Task[None]) -> None:
        """See what `_run` could not: a call cancelled before it began, an exit that went on."""
        if task.cancelled() and self.phase != "ended":
            self.over(asyncio.CancelledError(), obeyed=True)
        elif not task.cancelled():
            task.exception()

    async def _receive(self) -> dict[str, str]:
        while not self.inbox or self.phase in {"dismissed", "ended"}:
            self.idle = True
            if self.phase == "answered":  # nothing more will come
                self._end_receiver()
            await self._change()
        self.idle = False
        return self.inbox.pop(0)

    def _end_receiver(self) -> None:
        """Cancel the task that asks for another event, so that a task group around it can end."""
        task = asyncio.current_task()
        if task is self.task:
            self.happened("cancelled")
        elif task and not task.cancelling():  # once: a loop that swallows it would never wait
            self.receiver_ended = True
            task.cancel()

    async def _break_off(self, cancelled: BaseException) -> None:
        """Dismiss the application, as the wait was cancelled, and wait for its end."""
        self.happened("cancelled")
        while self.phase == "dismissed":
            try:
                await self._change(self.grace)
            except self.cancelled as again:
                if not repeats(again, cancelled):
                    raise

    def _change(self, limit: float | None = None, /) -> Awaitable[None]:
        """Return what is done when the phase has changed, if only because of the limit."""
        waiter: asyncio.Future[None] = asyncio.Future()
        if self.waiters:  # perhaps given up, each by who awaited it
            self.waiters = [each for each in self.waiters if not each.done()]
        self.waiters.append(waiter)
        if limit is not None:
            self._set_timer(waiter, limit)
        return waiter

    def _set_timer(self, waiter: asyncio.Future[None], limit: float) -> None:
        loop = waiter.get_loop()
        deadline = self.deadline(loop.time(), limit)
        timer = loop.call_at(deadline, self.expired, self.phase, limit)
        waiter.add_done_callback(lambda _: timer.cancel())

    def now(self) -> float:
        """Return the event loop's time."""
        return asyncio.get_running_loop().time()

    def changed(self) -> None:
        """Cancel the call that was dismissed, and tell who waits."""
        if self.phase == "dismissed":
            self.task.cancel()
        for waiter in self.waiters:
            if not waiter.done():
                waiter.set_result(None)
        self.waiters.clear()
