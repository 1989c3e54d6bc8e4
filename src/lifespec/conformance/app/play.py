"""Play the script of a case to an application, in real time, and keep all that was seen.

The server that is played here follows the tables of `lifespec.validate`.  Its `send` raises for an
unknown event and for one that changes no state; nothing else is raised into the application.
`judge` gives the verdicts.
"""

import difflib
import sys
import time
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import Context, ContextVar, copy_context
from copy import copy
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple

from lifespec import validate
from lifespec.conformance.app.loops import Asyncio, Loop, Trio
from lifespec.conformance.cases import Action, Case, scope_of
from lifespec.conformance.words import Told, cut, short_repr
from lifespec.diagnosis import waits
from lifespec.diagnosis.author import chain, described, is_lifespec, own_modules, place, places
from lifespec.diagnosis.busy import busy, used
from lifespec.diagnosis.fact import Error, Fact, Place, fact
from lifespec.diagnosis.logged import Logged
from lifespec.diagnosis.stacks import awaited, line
from lifespec.testing import trace

Application = Callable[[Any, Any, Any], Awaitable[Any]]

GRACE = 1.0  # seconds for a call that was cancelled, or that has given its final answer


class NoApplication(TypeError):
    """A call of the application returned no awaitable."""


class SendRefused(Told):
    """The server of the suite refused what the application sent; `fact` says why."""


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
    and what began then: "serving", "request", "stopping".  `unrun` are the lifespans that never
    ran.  `compared` is what came of the comparisons of middleware.  `complete` is True once there
    is no more to see.
    """

    startup: str = ""
    shutdown: str = ""
    reaction: str = ""
    ended: str = ""  # how the call ended: returned, raised, exited, cancelled
    received: bool = False  # at least one event
    shutdown_sent: bool = False  # lifespan.shutdown was sent to it
    obeyed: bool = True  # it ended in time when it was cancelled
    waited: str = ""
    doing: str = ""
    stack: tuple[Place, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)
    sent: list[str] = field(default_factory=list)  # types of events
    message: str = ""  # of the last failed event
    refused: list[Fact] = field(default_factory=list)  # why `send` raised
    broken: list[Broken] = field(default_factory=list)
    error: Error | None = None
    refuses: bool = False  # it was raised by an inner application, which refuses the scope
    caught: Error | None = None
    actor: str = ""  # the module of the innermost application that acted last
    framework: str = ""  # the installed package that has this module
    idle: bool = False  # it waits for an event
    cost: float = 0.0  # seconds of the processor
    memory: int = 0  # bytes that its process shares with no other
    obstacle: Fact | None = None  # why nothing can be judged
    exited: Fact | str = ""  # how its process ended by itself
    wrong_key: str = ""  # of the state at the end, if one is not a str
    has_state: bool = False  # the state has keys at the end
    rebound: bool = False  # scope["state"] is another object at the end
    lingers: bool = False  # its process did not end in time
    on_trio: bool = False
    answerer: Fact | None = None  # the author's line that answered startup
    entries: list[trace.Entry] = field(default_factory=list)
    leftovers: list[Fact] = field(default_factory=list)
    logged: list[Logged] = field(default_factory=list)
    marks: list[tuple[float, str]] = field(default_factory=list)
    died: list[Fact] = field(default_factory=list)  # tasks that raised while it served
    unrun: list[Fact] = field(default_factory=list)
    given: list[Fact] = field(default_factory=list)  # of lifespans and the state that they yield
    busy: list[Fact] = field(default_factory=list)  # what uses a processor while nothing happens
    cut_off: list[Fact] = field(default_factory=list)  # of the clean-up
    variables: list[Fact] = field(default_factory=list)  # of the context, that no request sees
    handlers: list[Fact] = field(default_factory=list)  # of signals, in the place of the server's
    compared: dict[tuple[str, str], Any] = field(default_factory=dict)
    complete: bool = False

    @property
    def errors(self) -> list[Error]:
        """The exceptions that were seen, that which a framework had caught first."""
        return [each for each in (self.caught, self.error) if each]


class Watch(NamedTuple):
    """What follows a call from outside of its event loop.

    `publish` is called with what was seen whenever there is more, `arm` with the seconds that the
    event loop may be blocked from now on, and `stops` before the application is told to stop.
    """

    publish: Callable[[Seen], object] = lambda _: None
    arm: Callable[[float], object] = lambda _: None
    stops: Callable[[], object] = lambda: None


def play(
    app: Application,
    case: Case,
    spec: str,
    limit: float,
    loop: type[Loop] = Asyncio,
    watch: Watch = Watch(),  # noqa: B008  it is immutable
) -> "Call":
    """Play a case, a loop after another; return the last call.

    `limit` is how many seconds an answer may take.
    """
    groups = groupby(case.server or case.script, lambda each: each.verb == "loop")
    first, *others = [[*lines] for is_loop, lines in groups if not is_loop]
    call = Call(app, loop(), spec, limit, watch)
    call.run(first)
    for lines in others:
        if call.seen.waited:
            break
        call.loop.sweep()
        call = Call(app, loop(), spec, limit, watch)
        call.run(lines)
    return call


class Call:
    """A call of the application: what it receives, sends, returns and raises.

    Once the call was cancelled, or the time for an answer is over, no answer counts.
    """

    state: validate.State = "called"
    idle = late = cancelled = acted = over = got_shutdown = False
    deadline = began = phase_began = 0.0
    coroutine: Any = None
    reply = Fact("request-not-made")
    scope: Mapping[str, Any] = {}
    live: dict[Any, Any] | None = None
    provided: Mapping[Any, Any] = {}  # the state at the end of startup

    def __init__(self, app: Application, loop: Loop, spec: str, limit: float, watch: Watch) -> None:
        self.app, self.loop, self.spec, self.limit, self.watch = app, loop, spec, limit, watch
        self.seen = Seen(actor=getattr(app, "__module__", ""), on_trio=isinstance(loop, Trio))
        self.inbox: list[dict[str, Any]] = []
        self.messages: list[Any] = []
        self.raised: BaseException | None = None
        self.changed: Any = loop.event()
        self.handlers = waits.handlers()

    def run(self, script: Sequence[Action]) -> None:
        """Carry out the lines of a script in the loop."""
        try:
            self.loop.run(lambda: self.play(script))
        except (SystemExit, KeyboardInterrupt) as error:
            self.end("exited", error)

    async def play(self, script: Sequence[Action]) -> None:
        """Carry out the lines of a script until the application does not go on."""
        for action in script:
            self.watch.arm(self.limit)
            if not await _STEPS[action.verb](self, action):
                break
        self.watch.arm(self.limit)
        if self.state in ("refused", "failing"):  # what it raises then says why
            await self.until(_REACHED["end"], min(self.limit, GRACE))
        self.seen.rebound = self.scope.get("state") is not self.live
        keys = (key for key in self.live or () if not isinstance(key, str))
        self.seen.wrong_key = next(map(short_repr, keys), "")
        self.seen.has_state, self.seen.idle = bool(self.live), self.idle
        if self.seen.shutdown == "complete":
            self.seen.leftovers = await self.loop.left()
            self.note_died("died-stopping")
        self.watch.publish(self.seen)
        self.over = True

    # ---- what a script does ----

    async def begin(self, action: Action) -> bool:
        """Call the application in a task of its own."""
        self.scope = scope_of(self.spec, action.keys)
        self.live = self.scope.get("state")
        self.offered = {key: copy(value) for key, value in self.scope.items()}
        self.began = self.phase_began = time.monotonic()
        self.note("called", self.scope["type"])
        self.cancel_task = self.loop.start(self.called)
        return True

    async def offer(self, action: Action) -> bool:
        """Let the application receive an event, if it is still there to receive it."""
        if self.state in ("refused", "failing", "stopped", "gone"):
            return False
        event = action.event
        if event["type"] == "lifespan.shutdown":
            self.seen.shutdown_sent, self.phase_began = True, time.monotonic()
            self.mark("stopping")
            self.seen.handlers = waits.taken(self.handlers)
            self.note_died("died")
            self.watch.stops()
        self.inbox.append(event)
        self.idle = False
        self._change()
        return True

    def note_died(self, kind: str) -> None:
        """Note the tasks whose exceptions were not retrieved."""
        found = [fact(kind, task=task, error=error.fact()) for task, error in self.loop.died()]
        known = [each.parts for each in self.seen.died]
        self.seen.died += [each for each in found if each.parts not in known]

    async def wait_for(self, action: Action) -> bool:
        """Wait for a condition; when the time is over, note what the application is doing."""
        word = action.text
        limit = min(self.limit, GRACE) if word == "end" else self.limit
        if await self.until(_REACHED[word], limit):
            if word == "reaction":
                self.seen.reaction = "sent" if self.acted else self.seen.ended or "received"
            return True
        if word == "end":  # all is answered, and no specification says when to return
            self.seen.obeyed = not self.cancelled
            return True
        self._overdue(word)
        return False

    def _overdue(self, word: str) -> None:
        """Keep what the application is doing when its time is over."""
        seen, silent = self.seen, self.idle and not self.late
        seen.waited, seen.stack = word, tuple(places(map(line, awaited(self.coroutine))))
        seen.doing = "late" if self.late else "idle" if silent else "running"
        if self.inbox:
            seen.doing = "not-received"
        elif word == "reaction":
            seen.reaction = "silent"
        answer = "silent" if silent else "hung"
        seen.startup = seen.startup or answer
        if seen.shutdown_sent:
            seen.shutdown = seen.shutdown or answer

    async def wait(self, action: Action) -> bool:
        """Wait some seconds, and see who works meanwhile."""
        before = used()
        await self.loop.sleep(action.seconds)
        self.seen.busy = await busy(before, action.seconds, self.loop.sleep)
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
        scope = _message(self.spec) if self.spec.startswith("amgi") else _http(self.spec)
        if self.live is not None:
            scope["state"] = self.live.copy()
        self.note("called", scope["type"])
        done = self.loop.event()
        self.mark("request")
        self.loop.start(lambda: self._requested(scope, done))
        await self.loop.wait(done, min(self.limit, GRACE))
        self.mark("serving")
        return True

    async def _requested(self, scope: dict[str, Any], done: Any) -> None:
        requests = [{"type": f"{scope['type']}.request"}]

        async def receive() -> Any:
            if requests:
                return requests.pop()
            await self.loop.sleep(GRACE / 10)
            return {"type": f"{scope['type']}.disconnect"}

        async def send(event: Any) -> None:
            if event["type"] != "http.response.body":
                status = str(event.get("status", ""))
                self.reply = fact("request-answered", status=status)
                self.note("sent", event["type"], status)

        self.reply = Fact("request-returned")
        try:
            await self.app(scope, receive, send)
        except Exception as error:
            found = described(error)
            self.reply = fact("request-raised", error=found.fact())
            self.note("raised", found.type, found.text)
        else:
            self.note("returned")
        finally:
            done.set()

    async def until(self, reached: Callable[["Call"], bool], limit: float) -> bool:
        """Wait until a condition is true or the time is over; return whether it is true."""
        self.deadline = time.monotonic() + limit
        while not reached(self) and (seconds := self.deadline - time.monotonic()) > 0:
            await self.loop.wait(self.changed, seconds)
        self.deadline = 0.0
        return reached(self)

    # ---- what the application does ----

    async def called(self) -> None:
        """Call the application, and note how the call ends."""
        try:
            await self._awaitable()
        except (SystemExit, KeyboardInterrupt) as error:
            self.end("exited", error)
        except BaseException as error:
            is_cancelled = type(error).__name__ in ("CancelledError", "Cancelled")
            self.end("cancelled" if self.cancelled and is_cancelled else "raised", error)
            if self.seen.on_trio and is_cancelled:
                raise
        else:
            self.end("returned")

    async def _awaitable(self) -> None:
        self.context = copy_context()
        self.coroutine = self.app(self.scope, self._receive, self._send)
        if not hasattr(type(self.coroutine), "__await__"):
            raise NoApplication(short_repr(self.coroutine))
        await self.coroutine

    async def _receive(self) -> Any:
        self._note_actor()
        while not self.inbox:
            self.idle = True
            self._change()
            await self.changed.wait()
        event = self.inbox.pop(0)
        self.idle, self.acted, self.seen.received = False, False, True
        self.got_shutdown = self.got_shutdown or event["type"] == "lifespan.shutdown"
        self.note("received", event["type"])
        if event["type"] in validate.EVENTS:
            self.state = validate.TRANSITIONS[self.state][event["type"]].to
        self._change()
        return event

    async def _send(self, message: Any) -> None:
        if self.state == "gone" or self.cancelled or self.over:
            return
        if self.is_late():
            self.late = True
            return
        self.acted = True
        self._note_actor()
        kind = message.get("type") if isinstance(message, dict) else None
        name = cut(str(kind or type(message).__name__), 100)
        self.seen.sent.append(name)
        self.messages.append(message)
        if why := self._refusal(message, kind):
            self.seen.refused.append(why)
            self.note("refused", name, why)
            raise SendRefused(why)
        self.note("sent", name, self.seen.message if name.endswith(".failed") else "")
        self._change()

    def _note_actor(self) -> None:
        """Note the module of the innermost application that acts, which may be a framework's."""
        frames = (frame for frame, _ in traceback.walk_stack(sys._getframe(2)))  # noqa: SLF001
        frame = next(filter(_module, frames), None)
        self.seen.actor = _module(frame) if frame else self.seen.actor
        if frame and not self.seen.startup:
            at = place([line(frame)])
            self.seen.answerer = at.fact() if at else None

    def _refusal(self, message: Any, kind: Any) -> Fact | None:
        """Take a step in the table of transitions; return why the message is refused, or None."""
        event = validate.EVENTS.get(kind) if isinstance(kind, str) else None
        if event is None or event.sender == "server":
            return self._break("events-known", _unknown(kind, message))
        no_text = self._failure(message, kind) if event.defaults else None
        before, step = self.state, validate.TRANSITIONS[self.state][kind]
        moment = fact(f"moment-{before}")
        if rule := step.rule or step.warning:
            observed = fact("sent-when", event=kind, moment=moment)
            self._break(rule, observed, is_open=bool(step.warning))
        if step.to == before:
            return fact("refused-answer", event=kind, moment=moment)
        self.state = step.to
        self._answered(kind, before)
        return no_text

    def _failure(self, message: Mapping[str, Any], kind: str) -> Fact | None:
        """Keep the message of a failure, and its exception; return why it is refused, or None."""
        spec = validate.SPECS[self.spec]
        if not spec.failures:
            self._break("events-known", fact("sent-not-in-spec", event=kind), is_open=True)
        text = message.get("message", None if spec.needs_message else "")
        self.seen.message = cut(text if isinstance(text, str) else short_repr(text))
        if error := sys.exc_info()[1]:  # which a framework has caught before it sends its text
            self.seen.caught = described(error)
        if isinstance(text, str):
            return None
        return self._break("message-is-text", fact("message-no-text", value=short_repr(text)))

    def _answered(self, kind: str, before: validate.State) -> None:
        """Note an answer, and how long it took."""
        phase, _, answer = kind.removeprefix("lifespan.").partition(".")
        early = " early" * (phase == "shutdown" and before != "stopping")
        setattr(self.seen, phase, answer + early)
        self.seen.seconds[phase] = time.monotonic() - self.phase_began
        if answer == "complete" and phase == "startup":
            self.mark("serving")
            self.provided = {**(self.live or {})}
            self.seen.variables = _variables(self.context)
            for key in self.live or ():
                if not isinstance(key, str):
                    self._break("state-keys-text", fact("key-at-startup", key=short_repr(key)))

    def _break(self, rule: str, observed: Fact, *, is_open: bool = False) -> Fact:
        """Note that a message broke a rule; return what was observed."""
        is_open = is_open or rule in validate.SPECS[self.spec].open
        self.seen.broken.append(Broken(rule, observed, is_open))
        return observed

    def end(self, how: str, error: BaseException | None = None) -> None:
        """Note how the call ended, unless it is noted already or the script is over."""
        seen = self.seen
        if seen.ended or self.over:
            return
        seen.ended, self.state, self.raised = how, "gone", error
        if error is not None:
            seen.error = described(error)
            if isinstance(error, NoApplication):
                seen.obstacle = fact("no-application", value=str(error))
            first = next(chain(error))
            modules = [_module(frame) for frame, _ in traceback.walk_tb(first.__traceback__)]
            actors = [*filter(None, modules)]
            seen.actor = actors[-1] if actors else seen.actor
            is_inner = first is not error or len(actors) > 1
            seen.refuses = is_inner and modules[-1:] == actors[-1:] and "scope" in _code(first)
        if not self.is_late():
            seen.startup = seen.startup or how
            if seen.startup == "complete":
                seen.shutdown = seen.shutdown or (how if self.got_shutdown else f"{how} early")
        if how == "returned":
            self.note("returned")
        elif how != "cancelled":
            is_drawn = seen.error and SendRefused.__name__ in seen.error.kinds  # as the refusal
            text = seen.error.text if seen.error and not is_drawn else ""
            self.note("raised", type(error).__name__, text)
        self._change()

    def is_late(self) -> bool:
        """Tell whether the time is over for what the script waits for."""
        return bool(self.deadline) and time.monotonic() > self.deadline

    def note(self, kind: trace.Kind, type_: str = "", detail: Any = "") -> None:
        """Write down what happened, for the diagram, and publish it."""
        seconds = round(time.monotonic() - self.began, 3)
        self.seen.entries.append(trace.Entry(seconds, kind, type_, detail))
        self.watch.publish(self.seen)

    def mark(self, what: str) -> None:
        """Note what begins now."""
        self.seen.marks.append((time.monotonic(), what))

    def _change(self) -> None:
        """Wake all that wait for a change."""
        self.changed.set()
        self.changed = self.loop.event()


_ARGUMENTS = {"scope", "receive", "send"}  # of an application, wherever it was written


def _module(frame: Any) -> str:
    """Return the module of a frame that is an application's, or ""."""
    code = frame.f_code
    is_application = {*code.co_varnames} >= _ARGUMENTS and not is_lifespec(code.co_filename)
    return str(frame.f_globals.get("__name__", "")) if is_application else ""


def _code(error: BaseException) -> str:
    """Return the line of code that raised an exception, "" if it is not known."""
    return "".join(each.line or "" for each in traceback.extract_tb(error.__traceback__, -1))


def _variables(before: Context) -> list[Fact]:
    """Return the context variables in the author's modules that this context has set."""
    own = [vars(module) for module, _file in own_modules()]
    named = {
        value: name for each in own for name, value in each.items() if type(value) is ContextVar
    }
    found = [
        each for each, value in copy_context().items() if before.get(each, before) is not value
    ]
    return [fact("context-variable", name=named[each]) for each in found if each in named]


def _unknown(kind: object, message: object) -> Fact:
    """Return that there is no such event, and which one may have been meant."""
    if not isinstance(kind, str):
        return fact("no-event", value=short_repr(message))
    known = [each.type for each in validate.EVENTS.values() if each.sender == "application"]
    if meant := difflib.get_close_matches(kind, known, n=1):
        return fact("unknown-event-but", event=cut(kind, 100), meant=meant[0])
    return fact("unknown-event", event=cut(kind, 100))


def _http(spec: str) -> dict[str, Any]:
    return {
        "type": "http",
        validate.SPECS[spec].envelope or "asgi": {"version": "3.0", "spec_version": "2.5"},
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


_STEPS: Mapping[str, Callable[[Call, Action], Awaitable[bool]]] = {
    "call": Call.begin,
    "offer": Call.offer,
    "await": Call.wait_for,
    "wait": Call.wait,
    "cancel": Call.cancel,
    "request": Call.request,
}
_REACHED: Mapping[str, Callable[[Call], bool]] = {  # by the word after `await`
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
