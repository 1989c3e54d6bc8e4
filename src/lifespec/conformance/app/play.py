"""Play the script of a case to an application, in real time, and keep all that was seen.

The server that is played here obeys the tables of `lifespec.validate`.  It refuses what is no
event, and what leads nowhere, by raising out of `send`.  Nothing else is raised into an
application, and nothing here says who is right: `judge` does.
"""

from __future__ import annotations

import difflib
import sys
import time
import traceback
from copy import copy
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from lifespec import validate
from lifespec.conformance.app.loops import Asyncio, Trio
from lifespec.conformance.cases import scope_of
from lifespec.conformance.report import Fact, fact
from lifespec.conformance.words import cut, shown
from lifespec.testing import left, places, trace

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from lifespec.conformance.cases import Action, Case

    Application = Callable[[Any, Any, Any], Awaitable[Any]]
    Tell = Callable[["Seen"], object]

__all__ = ["GRACE", "Broken", "Call", "NoApplication", "Seen", "SendRefused", "play"]

GRACE = 1.0  # seconds for a call that was cancelled, or that has given its final answer


class NoApplication(TypeError):
    """What was called as an application returned no awaitable."""


class SendRefused(Exception):
    """The server of the suite refused what the application sent; `fact` says why."""

    def __init__(self, why: Fact) -> None:
        super().__init__(_plain(why))
        self.fact = why


def _plain(why: Fact) -> str:
    """Return a refusal for the application's own log: the kind, and the parts that are strings."""
    return " ".join([why.kind, *(each for each in why.parts.values() if isinstance(each, str))])


class Broken(NamedTuple):
    """A rule that a message broke, what was sent, and whether no specification forbids it."""

    rule: str
    observed: Fact
    open: bool


@dataclass(slots=True)
class Seen:
    """All that was seen of an application in one call.

    `startup` and `shutdown` say what came of that event: "complete", "failed", "raised",
    "returned", "exited", "cancelled"; "failed early" for a failure before shutdown; where the time
    was over "silent" (it called `receive` again) or "hung"; "" if nothing came of it.  `reaction`
    says so of what no application can know: also "sent" and "received".  `waited` is what the
    suite waited for when the time was over, `doing` what the application did then, and `stack`
    where.  `error` is what the call raised, `caught` what a framework had caught when it sent
    `failed`.  `seconds` is how long an answer took.  `marks` are moments of the monotonic clock,
    and what began then: "serving", "request", "stopping".  `behind` is what was left behind,
    `unrun` the lifespans that never ran.  `compared` is what came of the comparisons of middleware.
    """

    startup: str = ""
    shutdown: str = ""
    reaction: str = ""
    ended: str = ""
    received: bool = False
    asked: bool = False
    obeyed: bool = True
    waited: str = ""
    doing: str = ""
    stack: tuple[places.Place, ...] = ()
    sources: dict[places.Place, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    sent: list[str] = field(default_factory=list)
    message: str = ""
    refused: list[Fact] = field(default_factory=list)
    broken: list[Broken] = field(default_factory=list)
    error: left.Error | None = None
    caught: left.Error | None = None
    actor: str = ""
    framework: str = ""
    idle: bool = False
    cost: float = 0.0
    obstacle: Fact | None = None
    exited: str = ""
    wrong_key: str = ""
    has_state: bool = False
    rebound: bool = False
    lingers: bool = False
    on_trio: bool = False
    entries: list[trace.Entry] = field(default_factory=list)
    behind: list[Fact] = field(default_factory=list)
    logged: list[left.Logged] = field(default_factory=list)
    marks: list[tuple[float, str]] = field(default_factory=list)
    died: list[Fact] = field(default_factory=list)
    unrun: list[Fact] = field(default_factory=list)
    given: list[Fact] = field(default_factory=list)
    compared: dict[tuple[str, str], Any] = field(default_factory=dict)


def play(
    app: Application,
    case: Case,
    spec: str,
    limit: float,
    *,
    own: str = "",
    trio: bool = False,
    tell: Tell = lambda _: None,
    arm: Callable[[float], object] = lambda _: None,
) -> list[Call]:
    """Play a case; return a call for each lifespan, in their order.

    `limit` is how many seconds an answer may take.  `own` is the package that is checked.  `tell`
    is called with what was seen whenever there is more.  `arm` is called with the seconds that the
    event loop may be blocked from now on.
    """
    calls: list[Call] = []
    script = case.server or case.script
    parts = [
        [*part]
        for is_loop, part in groupby(script, lambda each: each.verb == "loop")
        if not is_loop
    ]
    for part in parts:
        loop = Trio(own) if trio else Asyncio(own)
        calls.append(Call(app, loop, spec, limit, tell, arm))
        try:
            loop.run(lambda: calls[-1].play(part))  # noqa: B023  it is called here
        except (SystemExit, KeyboardInterrupt) as error:
            calls[-1].gone("exited", error)
        if part is not parts[-1]:
            loop.sweep()
        if calls[-1].seen.waited:
            break
    return calls


class Call:
    """The call, with the application's end of it: what it receives, sends, returns and raises.

    Once the call was cancelled, or the time for an answer is over, no answer counts.
    """

    state: validate.State = "called"
    idle = late = cancelled = acted = over = False
    deadline = began = phase_began = 0.0
    coroutine: Any = None

    def __init__(
        self,
        app: Application,
        loop: Asyncio | Trio,
        spec: str,
        limit: float,
        tell: Tell = lambda _: None,
        arm: Callable[[float], object] = lambda _: None,
    ) -> None:
        self.app, self.loop, self.spec, self.limit = app, loop, spec, limit
        self.tell, self.arm = tell, arm
        self.seen = Seen(actor=getattr(app, "__module__", ""), on_trio=isinstance(loop, Trio))
        self.inbox: list[dict[str, Any]] = []
        self.scope: dict[str, Any] = {}
        self.messages: list[Any] = []
        self.raised: BaseException | None = None
        self._waiters: list[Any] = []

    async def play(self, actions: Sequence[Action]) -> None:
        """Carry out the lines of a script, as far as the application goes along."""
        for action in actions:
            self.arm(self.limit)
            if not await _DEEDS[action.verb](self, action):
                break
        self.arm(self.limit)
        if self.state in ("refused", "failing"):  # what it raises then says why
            await self.until(lambda: WORDS["end"](self), min(self.limit, GRACE))
        self.seen.rebound = self.scope.get("state") is not self.live
        keys = (key for key in self.live or () if not isinstance(key, str))
        self.seen.wrong_key = next(map(shown, keys), "")
        self.seen.has_state, self.seen.idle = bool(self.live), self.idle
        if self.seen.shutdown == "complete":
            self.seen.behind = await self.loop.left()
        self.tell(self.seen)
        self.over = True

    # ---- what a script does ----

    async def begin(self, action: Action) -> bool:
        """Call the application in a task of its own."""
        self.scope = scope_of(self.spec, action.keys)
        self.live = self.scope.get("state")
        self.offered = {key: copy(value) for key, value in self.scope.items()}
        self.began = self.phase_began = self.loop.now()
        self.note("called", self.scope["type"])
        self.cancel_task = self.loop.start(self._called)
        return True

    async def offer(self, action: Action) -> bool:
        """Let the application receive an event, if it is still there to receive it."""
        if self.state in ("refused", "failing", "stopped", "gone"):
            return False
        event = action.event
        if event["type"] == "lifespan.shutdown":
            self.seen.asked, self.phase_began = True, self.loop.now()
            self.mark("stopping")
            self.seen.died = [
                fact("died", task=task, error=error.fact())
                for task, error in self.loop.tasks.died()
            ]
        self.inbox.append(event)
        self.idle = False
        self._change()
        return True

    async def wait_for(self, action: Action) -> bool:
        """Wait until something is so, and else keep what the application is doing."""
        word = action.text
        limit = min(self.limit, GRACE) if word == "end" else self.limit
        if await self.until(lambda: WORDS[word](self), limit):
            if word == "reaction":
                self.seen.reaction = "sent" if self.acted else self.seen.ended or "received"
            return True
        if word == "end":  # all is answered, and no specification says when to return
            self.seen.obeyed = not self.cancelled
            return True
        seen, frames = self.seen, places.waiting(self.coroutine)
        seen.waited, seen.stack = word, tuple(places.places(frames, self.loop.own))
        silent = self.idle and not self.late
        seen.doing = "late" if self.late else "idle" if silent else "running"
        if self.inbox:
            seen.doing = "not-received"
        how = "silent" if silent else "hung"
        seen.startup = seen.startup or how
        if seen.asked:
            seen.shutdown = seen.shutdown or how
        if word == "reaction" and not self.inbox:
            seen.reaction = "silent"
        return False

    async def wait(self, action: Action) -> bool:
        """Wait some seconds."""
        self.loop.look()
        await self.loop.sleep(action.seconds)
        self.loop.look()
        return True

    async def cancel(self, _: Action) -> bool:
        """Cancel the call: from here on nothing counts but its end."""
        if not self.seen.ended:
            self.cancelled = True
            self.note("cancelled")
            self.cancel_task()
        return True

    async def request(self, _: Action) -> bool:
        """Call the application for a request, with its copy of the state."""
        if self.state != "running":
            return False
        scope = _http(self.spec) if self.spec.startswith(("asgi", "pagi")) else _message(self.spec)
        if self.live is not None:
            scope["state"] = self.live.copy()
        self.note("called", scope["type"])
        done = self.loop.event()

        async def requested() -> None:
            try:
                await self.app(scope, _hears(scope, self.loop), _says(self.note))
            except Exception as error:
                self.note("raised", type(error).__name__, str(error)[:500])
            else:
                self.note("returned")
            finally:
                done.set()

        self.mark("request")
        self.loop.start(requested)
        await self.loop.wait(done, min(self.limit, GRACE))
        self.mark("serving")
        return True

    async def until(self, condition: Callable[[], bool], limit: float) -> bool:
        """Wait until something is so, or until the time is over; return whether it is so."""
        self.deadline = self.loop.now() + limit
        while not condition() and self.loop.now() < self.deadline:
            waiter = self.loop.event()
            self._waiters.append(waiter)
            await self.loop.wait(waiter, self.deadline - self.loop.now())
            self.loop.look()
        self.deadline = 0.0
        return condition()

    # ---- the application's end ----

    async def _called(self) -> None:
        try:
            await self._awaitable()
        except (SystemExit, KeyboardInterrupt) as error:
            self.gone("exited", error)
        except BaseException as error:
            self.gone("cancelled" if self.cancelled and _is_cancelled(error) else "raised", error)
            if self.seen.on_trio and _is_cancelled(error):
                raise
        else:
            self.gone("returned")

    async def _awaitable(self) -> None:
        self.coroutine = self.app(self.scope, self._receive, self._send)
        if not hasattr(type(self.coroutine), "__await__"):
            raise NoApplication(shown(self.coroutine))
        await self.coroutine

    async def _receive(self) -> Any:
        self._act()
        while not self.inbox:
            self.idle = True
            self._change()
            await self._wake()
        event = self.inbox.pop(0)
        self.idle, self.acted, self.seen.received = False, False, True
        self.note("received", event["type"])
        if event["type"] in validate.EVENTS:
            self.state = validate.TRANSITIONS[self.state][event["type"]].to
        self._change()
        return event

    async def _wake(self) -> None:
        waiter = self.loop.event()
        self._waiters.append(waiter)
        await waiter.wait()

    async def _send(self, message: Any) -> None:
        if self.state == "gone" or self.cancelled or self.over:
            return
        if self.is_late():
            self.late = True
            return
        self.acted = True
        self._act()
        kind = message.get("type") if isinstance(message, dict) else None
        name = cut(str(kind or type(message).__name__), 100)
        self.seen.sent.append(name)
        self.messages.append(message)
        if why := self._taken(message, kind):
            self.seen.refused.append(why)
            self.note("refused", name, why)
            raise SendRefused(why)
        self.note("sent", name, self.seen.message if name.endswith(".failed") else "")
        self._change()

    def _act(self) -> None:
        """Note the module of the innermost application that acts, which may be a framework's."""
        frames = (frame for frame, _ in traceback.walk_stack(sys._getframe(2)))  # noqa: SLF001
        self.seen.actor = next(filter(None, map(_module, frames)), self.seen.actor)

    def _taken(self, message: Any, kind: Any) -> Fact | None:
        """Take a step in the table of transitions; return why the message is refused, or None."""
        spec, moment = validate.SPECS[self.spec], fact(f"moment-{self.state}")
        event = validate.EVENTS.get(kind) if isinstance(kind, str) else None
        if event is None or event.sender == "server":
            why = _unknown(kind, message)
            self._break("events-known", why)
            return why
        if event.defaults:
            if not spec.failures:
                self._break("events-known", fact("sent-not-in-spec", event=kind), is_open=True)
            text = message.get("message", None if spec.needs_message else "")
            self.seen.message = cut(text if isinstance(text, str) else shown(text))
            error = sys.exc_info()[1]  # what a framework has caught before it sends only its text
            self.seen.caught = left.described(error, self.loop.own) if error else self.seen.caught
            if not isinstance(text, str):
                why = fact("message-no-text", value=shown(text))
                self._break("message-is-text", why)
        before, step = self.state, validate.TRANSITIONS[self.state][kind]
        if step.rule or step.warning:
            observed = fact("sent-when", event=kind, moment=moment)
            self._break(step.rule or step.warning, observed, is_open=bool(step.warning))
        if step.to == before:
            return fact("refused-answer", event=kind, moment=moment)
        self.state = step.to
        self._answered(kind, before)
        if event.defaults and not isinstance(text, str):
            return why
        return None

    def _answered(self, kind: str, before: validate.State) -> None:
        """Note an answer, and how long it took."""
        phase, _, answer = kind.removeprefix("lifespan.").partition(".")
        early = " early" * (phase == "shutdown" and before != "stopping")
        setattr(self.seen, phase, answer + early)
        self.seen.seconds[phase] = self.loop.now() - self.phase_began
        if answer == "complete" and phase == "startup":
            self.mark("serving")
            for key in self.live or ():
                if not isinstance(key, str):
                    self._break("state-keys-text", fact("key-at-startup", key=shown(key)))

    def _break(self, rule: str, observed: Fact, *, is_open: bool = False) -> None:
        is_open = is_open or rule in validate.SPECS[self.spec].open
        self.seen.broken.append(Broken(rule, observed, is_open))

    def gone(self, how: str, error: BaseException | None = None) -> None:
        """Take it that the call is over."""
        seen = self.seen
        if seen.ended or self.over:
            return
        seen.ended, self.state, self.raised = how, "gone", error
        if error is not None:
            seen.error = left.described(error, self.loop.own)
            if isinstance(error, NoApplication):
                seen.obstacle = fact("no-application", value=str(error))
            frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
            seen.actor = next(filter(None, map(_module, reversed(frames))), seen.actor)
        if not self.is_late():
            seen.startup = seen.startup or how
            if seen.startup == "complete":
                seen.shutdown = seen.shutdown or (how if seen.asked else f"{how} early")
        if how == "returned":
            self.note("returned")
        elif how != "cancelled":
            self.note("raised", type(error).__name__, seen.error.text if seen.error else "")
        self._change()

    def is_late(self) -> bool:
        """Tell whether the time is over for what the script waits for."""
        return bool(self.deadline) and self.loop.now() > self.deadline

    def note(self, kind: trace.Kind, type_: str = "", detail: Any = "") -> None:
        """Write down what happened, for the diagram, and tell."""
        seconds = round(self.loop.now() - self.began, 3)
        self.seen.entries.append(trace.Entry(seconds, kind, type_, detail))
        self.tell(self.seen)

    def mark(self, what: str) -> None:
        """Note what begins now."""
        self.seen.marks.append((time.monotonic(), what))

    def _change(self) -> None:
        for waiter in self._waiters:
            waiter.set()
        self._waiters.clear()


_ARGUMENTS = {"scope", "receive", "send"}  # of an application, wherever it was written


def _module(frame: Any) -> str:
    named = {*frame.f_code.co_varnames} >= _ARGUMENTS and not places.is_ours(
        frame.f_code.co_filename
    )
    return str(frame.f_globals.get("__name__", "")) if named else ""


def _is_cancelled(error: BaseException) -> bool:
    return type(error).__name__ in ("CancelledError", "Cancelled")


def _unknown(kind: object, message: object) -> Fact:
    """Return that there is no such event, and which one may have been meant."""
    if not isinstance(kind, str):
        return fact("no-event", value=shown(message))
    known = [each.type for each in validate.EVENTS.values() if each.sender == "application"]
    if meant := difflib.get_close_matches(kind, known, n=1):
        return fact("unknown-event-but", event=cut(kind, 100), meant=meant[0])
    return fact("unknown-event", event=cut(kind, 100))


def _hears(scope: Mapping[str, Any], loop: Asyncio | Trio) -> Callable[[], Awaitable[Any]]:
    kinds = iter(("request", "disconnect"))

    async def receive() -> dict[str, Any]:
        kind = next(kinds, "")
        if not kind:
            await loop.sleep(GRACE)  # so that one that never stops asking does not spin
        return {"type": f"{scope['type']}.{kind or 'disconnect'}"}

    return receive


def _says(note: Callable[..., None]) -> Callable[[Any], Awaitable[None]]:
    async def send(event: Any) -> None:
        if event["type"] != "http.response.body":
            note("sent", event["type"], str(event.get("status", "")))

    return send


def _http(spec: str) -> dict[str, Any]:
    envelope = validate.SPECS[spec].envelope or "asgi"
    return {
        "type": "http",
        envelope: {"version": "3.0", "spec_version": "2.5"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": "/",
        "raw_path": b"/",
        "query_string": b"",
        "root_path": "",
        "headers": [(b"host", b"127.0.0.1")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }


def _message(spec: str) -> dict[str, Any]:
    versions = {validate.SPECS[spec].envelope: dict(validate.SPECS[spec].versions)}
    return {"type": "message", **versions, "address": "lifespec", "headers": []}


_DEEDS: Mapping[str, Callable[[Call, Action], Awaitable[bool]]] = {
    "call": Call.begin,
    "offer": Call.offer,
    "await": Call.wait_for,
    "wait": Call.wait,
    "cancel": Call.cancel,
    "request": Call.request,
}
WORDS: Mapping[str, Callable[[Call], bool]] = {
    "received": lambda call: call.seen.received or bool(call.seen.ended),
    "startup": lambda call: bool(call.seen.startup),
    "shutdown": lambda call: bool(call.seen.shutdown or call.seen.ended),
    "reaction": lambda call: (
        bool(call.seen.ended) or (not call.inbox and (call.acted or call.idle))
    ),
    "end": lambda call: (
        bool(call.seen.ended) or (call.idle and call.state in ("refused", "stopped", "failing"))
    ),
}
