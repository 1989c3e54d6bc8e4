"""Play the script of a case to an application, in real time, and keep all that was seen.

The server that is played here follows the tables of `lifespec.validate`.  Its `send` raises for an
unknown event and for one that changes no state; nothing else is raised into the application.
`answers` has what becomes of a message, and `judge` gives the verdicts.
"""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import copy_context
from functools import partial
from typing import Any

from lifespec import validate
from lifespec.conformance.app.answers import REFUSED, Answers, NoApplication, SendRefused
from lifespec.conformance.app.loops import Asyncio, Loop, Trio
from lifespec.conformance.app.observation import (
    LONG_ANSWER,
    Observation,
    Supervisor,
    parts_of,
    plain,
)
from lifespec.conformance.app.reached import Reached
from lifespec.conformance.app.request import PlayedRequest, patience, request_scope
from lifespec.conformance.app.routes import paths
from lifespec.conformance.cases import Action, Case, scope_of
from lifespec.conformance.log import SHUTDOWN, Log, LogLine
from lifespec.conformance.probe import state_of
from lifespec.diagnosis import busy, leftovers
from lifespec.diagnosis.author import innermost, place_of
from lifespec.diagnosis.exits import noting_exits
from lifespec.diagnosis.fact import Fact, Place, fact
from lifespec.diagnosis.generators import Begun
from lifespec.diagnosis.guard import keeping, listed
from lifespec.diagnosis.stacks import is_cancellation
from lifespec.words import cut, short_repr

Application = Callable[[Any, Any, Any], Awaitable[Any]]

GRACE = 1.0  # seconds in which a call ends that was cancelled, or that has given its final answer
BLOCKS_END = 5.0  # that such a call may block the loop; the looks at the end have their own time
FINAL: tuple[validate.State, ...] = ("refused", "stopped", "failing")  # no answer is due any more


def play(
    app: Application,
    case: Case,
    spec: str,
    limit: float,
    loop: type[Loop] = Asyncio,
    supervisor: Supervisor = Supervisor(),  # noqa: B008  it is immutable
    log: Log | None = None,
) -> "PlayedCall":
    """Play a case, in several event loops if its script has them; return the call in the last.

    `limit` is how many seconds an answer may take.  If another side of the same case writes `log`,
    too, events and scopes stand in it as data, by which the sides are compared.
    """
    scripts: list[list[Action]] = [[]]  # of each loop
    for action in case.server or case.script:
        if action.verb == "loop":
            scripts.append([])
        else:
            scripts[-1].append(action)
    call = PlayedCall(app, loop(), spec, limit, supervisor, log)
    call.run(scripts[0])
    for script in scripts[1:]:
        if call.seen.awaited:  # it still waits, and another loop would tell of something else
            break
        call.loop.sweep()
        before = call.seen
        call = PlayedCall(app, loop(), spec, limit, supervisor)
        call.seen.before = before
        call.run(script)
    return call


class PlayedCall(Answers):
    """A call of the application: what it receives, sends, returns and raises.

    Once the call was cancelled, or the time for an answer is over, no answer counts.
    """

    idle = False  # it waits in `receive`
    acted = False  # it has sent something since it received the last event
    late = False  # it has sent an answer after its time
    cancelled = False  # by the script
    over = False  # the script is, and what happens then is no part of it
    deadline = 0.0  # of what the script waits for; 0 if it waits for nothing
    requests = 0
    coroutine: Any = None
    scope: Mapping[str, Any] = {}

    def __init__(
        self,
        app: Application,
        loop: Loop,
        spec: str,
        limit: float,
        supervisor: Supervisor,
        log: Log | None = None,
    ) -> None:
        seen = Observation(actor=getattr(app, "__module__", ""), on_trio=isinstance(loop, Trio))
        super().__init__(spec, seen)
        self.app = app
        self.loop = loop
        self.limit = limit
        self.supervisor = supervisor
        self.logs_data = log is not None
        if log is not None:
            seen.log = log
        self.inbox: list[dict[str, Any]] = []
        self.changed: Any = loop.event()

    def run(self, script: Sequence[Action]) -> None:
        """Run the loop, in which the lines of a script are carried out."""
        looking = busy.spending(lambda: self.coroutine)
        with noting_exits(self._note_exit), looking as self.spending:
            try:
                self.loop.run(lambda: self.carry_out(script))
            except (SystemExit, KeyboardInterrupt) as error:
                self.end("exited", error)

    def _note_exit(self, at: Place | None, status: int) -> None:
        """Keep that the process is about to end, and where: nothing is seen afterwards."""
        with keeping():
            self.seen.exited = fact("exit-status", status=status).at(at)
            self.supervisor.publish(self.seen)

    async def carry_out(self, script: Sequence[Action]) -> None:
        """Carry out the lines of a script until the application does not go on."""
        for action in script:
            self._arm()
            if not await self.do(action):
                break
        self.supervisor.arm(self.limit)
        if self.state in ("refused", "failing"):  # what it raises then says why
            await self.until("end", min(self.limit, GRACE))
        await self._note_end()
        self.over = True

    async def do(self, action: Action) -> bool:
        """Carry out a line; return whether the script goes on."""
        match action.verb:
            case "call":
                self.begin(action)
            case "offer":
                return self.offer(action)
            case "await":
                return await self.wait_for(action.text)
            case "wait":
                await self.wait(action.seconds)
            case "cancel":
                self.cancel()
            case _:  # "request"
                return await self.request()
        return True

    def _arm(self) -> None:
        """Give the event loop its time to be blocked: little after the last answer."""
        seconds = self.limit
        if self.cancelled or self.state in FINAL:
            seconds = min(seconds, BLOCKS_END)
        self.supervisor.arm(seconds)

    async def _note_end(self) -> None:
        """Note what is there at the end: the state, the tasks, and where the time went."""
        seen = self.seen
        self._note_state()
        seen.idle = self.idle
        seen.routes = paths(self.app)
        seen.task_sources = self.loop.task_sources
        self._note_long_phases()
        if not seen.awaited:  # else it is told with what it waits for
            slept_at = innermost(self.spending.looks.slept)
            if slept_at:
                seen.facts.append(fact("due", place=slept_at.fact()))
        # else its clean-up, which may end them, has not run or was cut off
        if seen.shutdown.how == "complete":
            seen.facts += await self.loop.tasks_left()
            self._note_failed_tasks("died-stopping")
            if seen.ended == "returned":
                seen.facts += listed(self.begun.unfinished)
        self.note("over", "with state" if self.live else "", **self.as_data())

    def _note_state(self) -> None:
        """Note a state that is not what the scope had, or that has a key which is no text."""
        if self.scope.get("state") is not self.live:
            self.seen.facts.append(Fact("state-rebound"))
        for key in self.live or ():
            if not isinstance(key, str):
                self.seen.facts.append(fact("key-at-end", key=short_repr(key)))
                break

    def _note_long_phases(self) -> None:
        """Note where most of a startup or a shutdown went that took long."""
        for phase in ("startup", "shutdown"):
            begin, end = self.seen.span(phase)
            at, blocks = self.spending.most(begin, end)
            if at and end - begin >= LONG_ANSWER:
                kind = "yes-in-blocked" if blocks else "yes-in-waits"
                seconds = f"{end - begin:.1f}"
                self.seen.spent[phase] = fact(kind, seconds=seconds, place=at.fact())

    def as_data(self) -> dict[str, Any]:
        """Return scope and state as parts of a line, if another side writes the log, too."""
        if not self.logs_data:
            return {}
        event = [plain(self.scope), plain(self.live)]
        return {"event": event, **state_of({"state": self.live}, plain)}

    # ---- what a script does ----

    def begin(self, action: Action) -> None:
        """Call the application in a task of its own."""
        self.scope = scope_of(self.spec, action.keys)
        self.live = self.scope.get("state")
        self.handlers = leftovers.handlers()  # in its event loop: trio has one for SIGINT
        self.seen.course.happens("called")
        self.note("called", self.scope["type"], **self.as_data())
        self.cancel_task = self.loop.start(self.call)

    def offer(self, action: Action) -> bool:
        """Let the application receive an event, if it is still there to receive it."""
        if self.state in ("refused", "failing", "stopped", "gone"):
            return False
        event = action.event
        self.note("offered", event["type"])
        if event["type"] == SHUTDOWN:
            self.seen.facts += leftovers.taken(self.handlers)
            self._note_failed_tasks("died")
            self.seen.running = self.loop.tasks_running()
            self.supervisor.stops()
        self.inbox.append(event)
        self.idle = False
        self._wake()
        return True

    def _note_failed_tasks(self, kind: str) -> None:
        """Note the tasks whose exceptions were not retrieved."""
        known = [died.parts for died in self.seen.facts_of("died")]
        failed = self.loop.failed_tasks(kind)
        self.seen.facts += [task for task in failed if task.parts not in known]

    async def wait_for(self, word: str) -> bool:
        """Wait for a condition; when the time is over, note what the application is doing."""
        if word == "end":
            is_over = await self.until(word, min(self.limit, GRACE))
            # if it was not cancelled all is answered, and no specification says when to return
            if self.cancelled and not is_over:
                self.seen.ended_when_cancelled = False
            return True
        if not await self.until(word, self.limit):
            self._overdue(word)
            return False
        if word == "reaction":
            self.seen.reaction = self.seen.ended or "received"
            if self.acted:
                self.seen.reaction = "sent"
        return True

    def _overdue(self, word: str) -> None:
        """Keep what the application is doing when its time is over."""
        seen = self.seen
        silent = self.idle and not self.late
        seen.awaited = word
        with keeping():
            self._note_where()
        if self.inbox:
            seen.activity = "not-received"
        else:
            if silent:
                seen.activity = "idle"
            if word == "reaction":
                seen.reaction = "silent"
        if seen.shutdown_sent:  # also if the application has not received it yet
            seen.course.happens("shutdown")
        if seen.shutdown_sent or not seen.startup.how:
            seen.settle("silent" if silent else "hung")

    def _note_where(self) -> None:
        """Note what the application waits for, and where."""
        lines, awaits = self.spending.where(self.coroutine, late=self.late)
        self.seen.stack = tuple(map(place_of, lines))
        if self.late and awaits != "due":
            self.seen.activity = "late"
        elif awaits:
            self.seen.activity = f"awaits-{awaits}"
        else:
            self.seen.activity = "running"

    async def wait(self, seconds: float) -> None:
        """Wait some seconds, and see who works meanwhile."""
        before = busy.used()
        await self.loop.sleep(seconds)
        self.seen.facts += await busy.busy(before, seconds, self.loop.sleep)

    def cancel(self) -> None:
        """Cancel the call: from here on nothing counts but its end."""
        if not self.seen.ended:
            self.cancelled = True
            self.note("cancelled")
            self.cancel_task()

    async def request(self) -> bool:
        """Call the application for a request, with its copy of the state."""
        if self.state != "running":
            return False
        self.requests += 1
        done = self.loop.event()
        note = partial(self.note, call=self.requests)
        request = PlayedRequest(request_scope(self.spec, self.live), self.loop.sleep, note)
        note("called", request.scope["type"])
        self.loop.start(lambda: request.make(self.app, done))
        await self.loop.wait(done, patience(self.limit, self.seen.before))
        self.seen.reply = request.reply
        note("replied", why=request.reply)
        return True

    async def until(self, word: str, limit: float) -> bool:
        """Wait until a condition is true or the time is over; return whether it is true."""
        self.deadline = time.monotonic() + limit
        while not self.has_reached(word):
            seconds = self.deadline - time.monotonic()
            if seconds <= 0:
                break
            await self.loop.wait(self.changed, seconds)
        self.deadline = 0.0
        return self.has_reached(word)

    def has_reached(self, word: str) -> bool:
        """Tell whether the condition is true that follows `await` in a script."""
        seen = self.seen
        if word == "startup":  # also of one that has ended: an end settles the answer
            return bool(seen.startup.how)
        if seen.ended:
            return True
        match word:
            case "received":
                return seen.received
            case "shutdown":
                return bool(seen.shutdown.how)
            case "reaction":
                return not self.inbox and (self.acted or self.idle)
            case _:  # "end": many do not return, but wait in `receive` for what never comes
                return self.idle and self.state in FINAL

    # ---- what the application does ----

    async def call(self) -> None:
        """Call the application, and note how the call ends."""
        try:
            await self._call_application()
        except (SystemExit, KeyboardInterrupt) as error:
            self.end("exited", error)
        except BaseException as error:
            is_cancelled = is_cancellation(error)
            if is_cancelled and self.cancelled:
                self.end("cancelled", error)
            else:
                self.end("raised", error)
            if self.seen.on_trio and is_cancelled:  # trio counts its own, and wants it back
                raise
        else:
            self.end("returned")
        finally:
            self.look_no_more()

    async def _call_application(self) -> None:
        self.context = copy_context()
        self.reached = Reached(self.seen)
        self.begun = Begun(PlayedCall.call.__code__)
        self.begun.begin()
        self.coroutine = self.app(self.scope, self._receive, self._send)
        if not hasattr(type(self.coroutine), "__await__"):
            raise NoApplication(short_repr(self.coroutine))
        await self.coroutine

    async def _receive(self) -> Any:
        self.acts(receives=True)
        while not self.inbox:
            self.idle = True
            self._wake()
            await self.changed.wait()
        event = self.inbox.pop(0)
        self.idle = self.acted = False
        self.seen.course.happens("received")
        if event["type"] == SHUTDOWN:
            self.seen.course.happens("shutdown")
        self.note("received", event["type"])
        if event["type"] in validate.EVENTS:
            self.state = validate.TRANSITIONS[self.state][event["type"]].to
        self._wake()
        return event

    async def _send(self, message: Any) -> None:
        if self.state == "gone" or self.cancelled or self.over:
            return
        if self.is_late():
            self.late = True
            return
        self.acted = True
        self.acts()
        kind = message.get("type") if isinstance(message, dict) else None
        name = cut(str(kind or type(message).__name__), 100)
        text = self.text(message, kind)
        data = plain(message) if self.logs_data else None
        why = self.refusal(message, kind)
        if why:
            self.note("refused", name, text, why=why, event=data)
            raise SendRefused(why)
        self.note("sent", name, text, event=data)
        self._wake()
        if self.state in FINAL:
            self._arm()

    def end(self, how: str, error: BaseException | None = None) -> None:
        """Note how the call ended, unless it is noted already or the script is over."""
        seen = self.seen
        if seen.ended or self.over:
            return
        seen.ended = how
        self.state = "gone"
        if error is not None:
            self.raised(error)
        if not self.is_late():
            seen.settle(how)
        if how == "returned":
            self.note("returned")
        elif how != "cancelled":
            text = ""
            if seen.error and not seen.error.of(REFUSED):  # its text is in the log: `refused`
                text = seen.error.text
            self.note("raised", "", text, error=type(error).__name__, ids=dict(parts_of(error)))
        self._wake()

    def is_late(self) -> bool:
        """Tell whether the time is over for what the script waits for."""
        return bool(self.deadline) and time.monotonic() > self.deadline

    def note(self, kind: str, type_: str = "", text: str = "", **more: Any) -> None:
        """Write down what happened, and publish it."""
        self.seen.log.append(LogLine(time.monotonic(), kind, type_, text, **more))
        self.supervisor.publish(self.seen)

    def _wake(self) -> None:
        """Wake all that wait for a change."""
        self.changed.set()
        self.changed = self.loop.event()
