"""Play the script of a case to an application, in real time, and keep all that was seen.

The server that is played here follows the tables of `lifespec.validate`.  Its `send` raises for an
unknown event and for one that changes no state; nothing else is raised into the application.
`judge` gives the verdicts.
"""

import difflib
import sys
import time
import traceback
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextvars import Context, ContextVar, copy_context
from itertools import groupby, islice
from typing import Any, NamedTuple

from lifespec import validate
from lifespec.conformance.app.log import (
    LONG,
    SHUTDOWN,
    Answer,
    Broken,
    Line,
    Observation,
    of_state,
    plain,
)
from lifespec.conformance.app.loops import Asyncio, Loop, Trio
from lifespec.conformance.cases import Action, Case, scope_of
from lifespec.diagnosis import busy, waits
from lifespec.diagnosis.author import described, own_modules, place, places
from lifespec.diagnosis.fact import Fact, fact
from lifespec.diagnosis.stacks import awaited, chain, is_ours, line
from lifespec.words import Told, cut, short_repr

Application = Callable[[Any, Any, Any], Awaitable[Any]]

GRACE = 1.0  # seconds for a call that was cancelled, or that has given its final answer


class NoApplication(TypeError):
    """A call of the application returned no awaitable."""


class SendRefused(Told):
    """The server of the suite refused what the application sent; `fact` says why."""


class Watch(NamedTuple):
    """What follows a call from outside of its event loop.

    `publish` is called with what was seen whenever there is more, `arm` with the seconds that the
    event loop may be blocked from now on, and `stops` before the application is told to stop.
    """

    publish: Callable[[Observation], object] = lambda _: None
    arm: Callable[[float], object] = lambda _: None
    stops: Callable[[], object] = lambda: None


def play(
    app: Application,
    case: Case,
    spec: str,
    limit: float,
    loop: type[Loop] = Asyncio,
    watch: Watch = Watch(),  # noqa: B008  it is immutable
    lines: list[Line] | None = None,
) -> "Call":
    """Play a case, a loop after another; return the last call.

    `limit` is how many seconds an answer may take.  `lines` is a log that another side writes, too.
    """
    groups = groupby(case.server or case.script, lambda each: each.verb == "loop")
    first, *others = [[*script] for is_loop, script in groups if not is_loop]
    call = Call(app, loop(), spec, limit, watch, lines)
    call.run(first)
    for script in others:
        if call.seen.awaited:
            break
        call.loop.sweep()
        call = Call(app, loop(), spec, limit, watch)
        call.run(script)
    return call


class Call:
    """A call of the application: what it receives, sends, returns and raises.

    Once the call was cancelled, or the time for an answer is over, no answer counts.
    """

    state: validate.State = "called"
    idle = late = cancelled = acted = over = got_shutdown = False
    deadline = 0.0
    requests = 0
    coroutine: Any = None
    reply = Fact("request-not-made")
    scope: Mapping[str, Any] = {}
    live: dict[Any, Any] | None = None
    provided: Mapping[Any, Any] = {}  # the state at the end of startup

    def __init__(
        self,
        app: Application,
        loop: Loop,
        spec: str,
        limit: float,
        watch: Watch,
        lines: list[Line] | None = None,
    ) -> None:
        self.app, self.loop, self.spec, self.limit, self.watch = app, loop, spec, limit, watch
        self.seen = Observation(
            actor=getattr(app, "__module__", ""), on_trio=isinstance(loop, Trio)
        )
        self.keeps = lines is not None  # events and scopes as data
        if lines is not None:
            self.seen.lines = lines
        self.inbox: list[dict[str, Any]] = []
        self.changed: Any = loop.event()
        self.handlers = waits.handlers()

    def run(self, script: Sequence[Action]) -> None:
        """Carry out the lines of a script in the loop."""
        with busy.spending(lambda: map(line, awaited(self.coroutine))) as self.spent:
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
        await self._look()
        self.over = True

    async def _look(self) -> None:
        """Look at the state and the tasks at the end."""
        seen = self.seen
        if self.scope.get("state") is not self.live:
            seen.facts.append(Fact("state-rebound"))
        keys = (key for key in self.live or () if not isinstance(key, str))
        seen.facts += [fact("key-at-end", key=short_repr(key)) for key in islice(keys, 1)]
        seen.idle = self.idle
        for phase in ("startup", "shutdown"):
            begin, end = seen.span(phase)
            at, blocks = busy.most(self.spent, begin, end)
            if at and end - begin >= LONG:
                kind = "yes-in-blocked" if blocks else "yes-in-waits"
                seen.spent[phase] = fact(kind, seconds=f"{end - begin:.1f}", place=at.fact())
        if seen.shutdown.how == "complete":
            seen.facts += await self.loop.left()
            self._note_failed_tasks("died-stopping")
        data = {"value": [plain(self.scope), plain(self.live)], **of_state(self.live)}
        self.note("over", "with state" * bool(self.live), **(data if self.keeps else {}))

    # ---- what a script does ----

    async def begin(self, action: Action) -> bool:
        """Call the application in a task of its own."""
        self.scope = scope_of(self.spec, action.keys)
        self.live = self.scope.get("state")
        data = {"value": plain(self.scope), **of_state(self.live)}
        self.note("called", self.scope["type"], **(data if self.keeps else {}))
        self.cancel_task = self.loop.start(self.called)
        return True

    async def offer(self, action: Action) -> bool:
        """Let the application receive an event, if it is still there to receive it."""
        if self.state in ("refused", "failing", "stopped", "gone"):
            return False
        event = action.event
        self.note("offered", event["type"])
        if event["type"] == SHUTDOWN:
            self.seen.facts += waits.taken(self.handlers)
            self._note_failed_tasks("died")
            self.watch.stops()
        self.inbox.append(event)
        self.idle = False
        self._change()
        return True

    def _note_failed_tasks(self, kind: str) -> None:
        """Note the tasks whose exceptions were not retrieved."""
        found = [fact(kind, task=task, error=error.fact()) for task, error in self.loop.died()]
        known = [each.parts for each in self.seen.known("died")]
        self.seen.facts += [each for each in found if each.parts not in known]

    async def wait_for(self, action: Action) -> bool:
        """Wait for a condition; when the time is over, note what the application is doing."""
        word = action.text
        limit = min(self.limit, GRACE) if word == "end" else self.limit
        if await self.until(_REACHED[word], limit):
            if word == "reaction":
                self.seen.reaction = "sent" if self.acted else self.seen.ended or "received"
            return True
        if word == "end":  # all is answered, and no specification says when to return
            self.seen.ended_when_cancelled = not self.cancelled
            return True
        self._overdue(word)
        return False

    def _overdue(self, word: str) -> None:
        """Keep what the application is doing when its time is over."""
        seen, silent = self.seen, self.idle and not self.late
        seen.awaited, seen.stack = word, tuple(places(map(line, awaited(self.coroutine))))
        seen.activity = "late" if self.late else "idle" if silent else "running"
        if self.inbox:
            seen.activity = "not-received"
        elif word == "reaction":
            seen.reaction = "silent"
        if seen.shutdown_sent or not seen.startup.how:
            seen.settle("silent" if silent else "hung", stopping=True)

    async def wait(self, action: Action) -> bool:
        """Wait some seconds, and see who works meanwhile."""
        before = busy.used()
        await self.loop.sleep(action.seconds)
        self.seen.facts += await busy.busy(before, action.seconds, self.loop.sleep)
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
        self.requests += 1
        number, done = self.requests, self.loop.event()
        self.note("called", scope["type"], call=number)
        self.loop.start(lambda: self._requested(scope, number, done))
        await self.loop.wait(done, min(self.limit, GRACE))
        self.note("replied", why=self.reply, call=number)
        return True

    async def _requested(self, scope: dict[str, Any], number: int, done: Any) -> None:
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
                self.note("sent", event["type"], status, call=number)

        self.reply = Fact("request-returned")
        try:
            await self.app(scope, receive, send)
        except Exception as error:
            found = described(error)
            self.reply = fact("request-raised", error=found.fact())
            self.note("raised", found.type, found.text, call=number)
        else:
            self.note("returned", call=number)
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
        self.idle = self.acted = False
        self.got_shutdown = self.got_shutdown or event["type"] == SHUTDOWN
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
        name, text = cut(str(kind or type(message).__name__), 100), self._text(message, kind)
        data = plain(message) if self.keeps else None
        if why := self._refusal(message, kind):
            self.note("refused", name, text, why=why, value=data)
            raise SendRefused(why)
        self.note("sent", name, text, value=data)
        self._change()

    def _note_actor(self) -> None:
        """Note the module of the innermost application that acts, which may be a framework's."""
        frames = (frame for frame, _ in traceback.walk_stack(sys._getframe(2)))  # noqa: SLF001
        frame = next(filter(_module, frames), None)
        self.seen.actor = _module(frame) if frame else self.seen.actor
        if frame and not self.seen.startup.how:
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

    def _text(self, message: Any, kind: Any) -> str:
        """Return the message of a failure, or ""."""
        event = validate.EVENTS.get(kind) if isinstance(kind, str) else None
        if event is None or not event.defaults:
            return ""
        text = message.get("message", None if self._needs_message else "")
        return cut(text if isinstance(text, str) else short_repr(text))

    @property
    def _needs_message(self) -> bool:
        return validate.SPECS[self.spec].needs_message

    def _failure(self, message: Mapping[str, Any], kind: str) -> Fact | None:
        """Keep the exception of a failure; return why its message is refused, or None."""
        if not validate.SPECS[self.spec].failures:
            self._break("events-known", fact("sent-not-in-spec", event=kind), is_open=True)
        if error := sys.exc_info()[1]:  # which a framework has caught before it sends its text
            self.seen.caught = described(error)
        text = message.get("message", None if self._needs_message else "")
        if isinstance(text, str):
            return None
        return self._break("message-is-text", fact("message-no-text", value=short_repr(text)))

    def _answered(self, kind: str, before: validate.State) -> None:
        """Note an answer."""
        phase, _, answer = kind.removeprefix("lifespan.").partition(".")
        early = phase == "shutdown" and before != "stopping"
        setattr(self.seen, phase, Answer(answer, "serving" if early else phase))
        if answer == "complete" and phase == "startup":
            self.provided = {**(self.live or {})}
            self.seen.facts += _variables(self.context)
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
        seen.ended, self.state = how, "gone"
        if error is not None:
            seen.error = described(error)
            if isinstance(error, NoApplication):
                seen.blocker = fact("no-application", value=str(error))
            first = next(chain(error))
            modules = [_module(frame) for frame, _ in traceback.walk_tb(first.__traceback__)]
            actors = [*filter(None, modules)]
            seen.actor = actors[-1] if actors else seen.actor
            is_inner = first is not error or len(actors) > 1
            seen.refuses = is_inner and modules[-1:] == actors[-1:] and "scope" in _code(first)
        if not self.is_late():
            seen.settle(how, stopping=self.got_shutdown)
        if how == "returned":
            self.note("returned")
        elif how != "cancelled":
            is_drawn = seen.error and SendRefused.__name__ in seen.error.kinds  # as the refusal
            text = seen.error.text if seen.error and not is_drawn else ""
            self.note("raised", type(error).__name__, text, ids=dict(_parts(error)))
        self._change()

    def is_late(self) -> bool:
        """Tell whether the time is over for what the script waits for."""
        return bool(self.deadline) and time.monotonic() > self.deadline

    def note(self, kind: str, type_: str = "", text: str = "", **more: Any) -> None:
        """Write down what happened, and publish it."""
        self.seen.lines.append(Line(time.monotonic(), kind, type_, text, **more))
        self.watch.publish(self.seen)

    def _change(self) -> None:
        """Wake all that wait for a change."""
        self.changed.set()
        self.changed = self.loop.event()


def _parts(error: object, name: str = "") -> Iterator[tuple[str, int]]:
    """Yield which exception it is, and which ones a group has."""
    yield name, id(error)
    for number, each in enumerate(getattr(error, "exceptions", ())):
        yield from _parts(each, f"{name}.{number}")


_ARGUMENTS = {"scope", "receive", "send"}  # of an application, wherever it was written


def _module(frame: Any) -> str:
    """Return the module of a frame that is an application's, or ""."""
    code = frame.f_code
    is_application = {*code.co_varnames} >= _ARGUMENTS and not is_ours(code.co_filename)
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
    "startup": lambda call: bool(call.seen.startup.how),
    "shutdown": lambda call: bool(call.seen.shutdown.how or call.seen.ended),
    "reaction": lambda call: (
        bool(call.seen.ended) or (not call.inbox and (call.acted or call.idle))
    ),
    "end": lambda call: (
        bool(call.seen.ended) or (call.idle and call.state in ("refused", "stopped", "failing"))
    ),
}
