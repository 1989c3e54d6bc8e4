"""Check the message sequences of lifespan: tables of the protocol, and a validator for tests.

    app = validator(app)  # serve it, then read app.violations and app.warnings

The tables hold what the specifications fix: the events and who sends them, the key of each
specification in the scope, and the transitions of a message sequence.  `validator` stands between
server and application.  It follows each message in the tables and passes everything on unchanged.
A broken requirement is a violation.  A broken recommendation is a warning, and so is behaviour that
the specifications do not specify.

Every state has every step in TRANSITIONS.  A forbidden step names the rule that it breaks.  This
file shares no code with server.py, so each can be tested with the other.

    called      the application was called and has received nothing
    starting    it has received lifespan.startup
    early       it has answered startup before it received it, which is not specified
    running     it has answered lifespan.startup.complete
    failing     it has sent lifespan.shutdown.failed before shutdown, which is not specified
    stopping    it has received lifespan.shutdown
    refused     it has answered lifespan.startup.failed
    stopped     it has answered lifespan.shutdown
    gone        its call has returned or raised

This file is self-contained: copy it into your project.
"""

import asyncio
import reprlib
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping
from threading import get_ident
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

State = Literal[
    "called", "starting", "early", "running", "failing", "stopping", "refused", "stopped", "gone"
]


# What ASGI's main specification only recommends, and what ASGI does not specify.
_OPEN = frozenset(
    {
        "extra-keys-ignored",
        "returned-gets-no-events",
        "send-after-end-does-nothing",
        "send-refuses-unknown",
    }
)


class Event(NamedTuple):
    """An event: its type, who sends it, and its keys except `type` with their defaults."""

    type: str
    sender: Literal["server", "application"]
    defaults: Mapping[str, str]


class Spec(NamedTuple):
    """A specification: its title, the key of its envelope in the scope or "", and what is in it.

    `optional` may be missing in the envelope; `failures` says whether there are `*.failed`
    events, `needs_message` whether they must have a message; `open` are the rules that are no
    must of this specification: it does not state them, or only recommends them.
    """

    title: str
    envelope: str
    versions: Mapping[str, str]
    state: bool = True
    workers: bool = False
    optional: tuple[str, ...] = ("spec_version",)
    failures: bool = True
    needs_message: bool = False
    open: frozenset[str] = _OPEN


class Step(NamedTuple):
    """The state after a step, the ID of the rule that it breaks, and the ID for a warning.

    An allowed step has "" as its rule.  A step that no specification forbids has a warning.
    """

    to: State
    rule: str = ""
    warning: str = ""


def _open(to: State, rule: str) -> Step:
    """Return a step that breaks a rule, or gets a warning if the specification has no such rule."""
    return Step(to, rule, rule)


def _versions(version: str) -> Mapping[str, str]:
    return MappingProxyType({"version": version, "spec_version": version})


_NONE: Mapping[str, str] = MappingProxyType({})
_MESSAGE: Mapping[str, str] = MappingProxyType({"message": ""})

EVENTS: Mapping[str, Event] = MappingProxyType(
    {
        event.type: event
        for event in (
            Event("lifespan.startup", "server", _NONE),
            Event("lifespan.startup.complete", "application", _NONE),
            Event("lifespan.startup.failed", "application", _MESSAGE),
            Event("lifespan.shutdown", "server", _NONE),
            Event("lifespan.shutdown.complete", "application", _NONE),
            Event("lifespan.shutdown.failed", "application", _MESSAGE),
        )
    }
)

_FROM_SERVER = {event.type for event in EVENTS.values() if event.sender == "server"}
_FROM_APPLICATION = EVENTS.keys() - _FROM_SERVER
_STATE = {"scope-state", "state-keys-text", "state-shallow-copy", "state-starts-empty"}
_FAILURES = {"message-is-text", "startup-failed-never-serves"}

SPECS: Mapping[str, Spec] = MappingProxyType(
    {
        "asgi 1.0": Spec(
            "lifespan 1.0 (ASGI)",
            "",
            _NONE,
            state=False,
            failures=False,
            open=_OPEN | _STATE | _FAILURES | {"once-per-loop"},
        ),
        "asgi 2.0": Spec(
            "lifespan 2.0 (ASGI)",
            "asgi",
            MappingProxyType({"version": "3.0", "spec_version": "2.0"}),
            open=_OPEN | {"once-per-loop"},
        ),
        **{
            f"amgi {version}": Spec(
                f"AMGI {version}",
                "amgi",
                _versions(version),
                optional=(),
                needs_message=True,
                open=_OPEN | {"shutdown-after-serving"},
            )
            for version in ("1.0", "2.0")
        },
        "pagi 0.3": Spec(
            "PAGI 0.3",
            "pagi",
            _versions("0.3"),
            workers=True,
            open=frozenset({"once-per-loop", "send-after-end-does-nothing", "state-starts-empty"}),
        ),
    }
)


_ENDS = {"raise": Step("gone"), "return": Step("gone")}

# A step with a rule is forbidden by a specification, or, if it also has a warning, by lifespec.
# A step with a warning alone is allowed, but not specified.
TRANSITIONS: Mapping[State, Mapping[str, Step]] = {
    "called": {
        "lifespan.startup": Step("starting"),
        "lifespan.startup.complete": Step("early", warning="answers-in-order"),
        "lifespan.startup.failed": Step("refused", warning="answers-in-order"),
        "lifespan.shutdown": Step("called", "startup-sent"),
        "lifespan.shutdown.complete": _open("called", "answers-in-order"),
        "lifespan.shutdown.failed": _open("called", "answers-in-order"),
        **_ENDS,
    },
    "starting": {
        "lifespan.startup": Step("starting", warning="startup-sent"),
        "lifespan.startup.complete": Step("running"),
        "lifespan.startup.failed": Step("refused"),
        "lifespan.shutdown": _open("starting", "shutdown-sent"),
        "lifespan.shutdown.complete": _open("starting", "answers-in-order"),
        "lifespan.shutdown.failed": _open("starting", "answers-in-order"),
        **_ENDS,
    },
    "early": {
        "lifespan.startup": Step("running"),
        "lifespan.startup.complete": _open("early", "startup-answered-once"),
        "lifespan.startup.failed": _open("early", "startup-answered-once"),
        "lifespan.shutdown": Step("early", "startup-sent"),
        "lifespan.shutdown.complete": _open("early", "answers-in-order"),
        "lifespan.shutdown.failed": Step("failing", warning="answers-in-order"),
        **_ENDS,
    },
    "running": {
        "lifespan.startup": Step("running", warning="startup-sent"),
        "lifespan.startup.complete": _open("running", "startup-answered-once"),
        "lifespan.startup.failed": _open("running", "startup-answered-once"),
        "lifespan.shutdown": Step("stopping"),
        "lifespan.shutdown.complete": _open("running", "answers-in-order"),
        "lifespan.shutdown.failed": Step("failing", warning="answers-in-order"),
        **_ENDS,
    },
    "failing": {
        "lifespan.startup": Step("failing", warning="startup-sent"),
        "lifespan.startup.complete": _open("failing", "answers-in-order"),
        "lifespan.startup.failed": _open("failing", "answers-in-order"),
        "lifespan.shutdown": _open("failing", "crashed-gets-no-events"),
        "lifespan.shutdown.complete": _open("failing", "shutdown-answered-once"),
        "lifespan.shutdown.failed": _open("failing", "shutdown-answered-once"),
        **_ENDS,
    },
    "stopping": {
        "lifespan.startup": Step("stopping", "startup-sent"),
        "lifespan.startup.complete": _open("stopping", "answers-in-order"),
        "lifespan.startup.failed": _open("stopping", "answers-in-order"),
        "lifespan.shutdown": Step("stopping", warning="shutdown-sent"),
        "lifespan.shutdown.complete": Step("stopped"),
        "lifespan.shutdown.failed": Step("stopped"),
        "raise": _open("gone", "shutdown-answered"),
        "return": Step("gone", "shutdown-answered"),
    },
    "refused": {
        "lifespan.startup": Step("refused", warning="startup-sent"),
        "lifespan.startup.complete": _open("refused", "startup-answered-once"),
        "lifespan.startup.failed": _open("refused", "startup-answered-once"),
        "lifespan.shutdown": _open("refused", "shutdown-sent"),
        "lifespan.shutdown.complete": _open("refused", "answers-in-order"),
        "lifespan.shutdown.failed": _open("refused", "answers-in-order"),
        **_ENDS,
    },
    "stopped": {
        "lifespan.startup": Step("stopped", "startup-sent"),
        "lifespan.startup.complete": _open("stopped", "answers-in-order"),
        "lifespan.startup.failed": _open("stopped", "answers-in-order"),
        "lifespan.shutdown": Step("stopped", warning="shutdown-sent"),
        "lifespan.shutdown.complete": _open("stopped", "shutdown-answered-once"),
        "lifespan.shutdown.failed": _open("stopped", "shutdown-answered-once"),
        **_ENDS,
    },
    "gone": {
        "lifespan.startup": _open("gone", "unsupported-gets-no-events"),
        "lifespan.startup.complete": Step("gone"),
        "lifespan.startup.failed": Step("gone"),
        "lifespan.shutdown": _open("gone", "crashed-gets-no-events"),
        "lifespan.shutdown.complete": Step("gone"),
        "lifespan.shutdown.failed": Step("gone"),
        **_ENDS,
    },
}


def lifespan_scope(spec: str, *, state: bool = True, worker: int | None = None) -> dict[str, Any]:
    """Return a new lifespan scope of a specification.

    `state=False` leaves the state out.  `worker` is the number of a worker, counted from 1, in a
    specification that has workers.  Raises ValueError if SPECS does not have `spec`, or if the
    specification has no workers.
    """
    row = SPECS.get(spec)
    if row is None:
        known = ", ".join(SPECS)
        raise ValueError(f"unknown spec {spec!r} (choose from {known})")
    versions: dict[str, Any] = dict(row.versions)
    if worker is not None:
        if not row.workers or worker < 1:
            raise ValueError(f"{row.title} has no worker {worker!r}: PAGI counts them from 1 on")
        versions |= {"is_worker": 1, "worker_num": worker}
    elif row.workers:
        versions["is_worker"] = 0
    scope: dict[str, Any] = {"type": "lifespan"}
    if row.envelope:
        scope[row.envelope] = versions
    if state and row.state:
        scope["state"] = {}
    return scope


_REPR = reprlib.Repr()
_REPR.maxother = _REPR.maxstring = 80


def _repr(value: Any) -> str:
    """Return a short repr of a value, even if its own repr raises."""
    try:
        return _REPR.repr(value)
    except Exception:
        return object.__repr__(value)


class Violation(Exception):
    """A broken rule: its ID `rule`, the `role` that broke it, and a `message` that says when."""

    def __init__(self, rule: str, role: str, message: str) -> None:
        super().__init__(rule, role, message)
        self.rule, self.role, self.message = rule, role, message

    def __str__(self) -> str:
        return f"{self.message} [{self.rule}]"


Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[Any]]
Application = Callable[[Any, Receive, Send], Awaitable[Any]]
Collect = Callable[..., None]


class Fault(NamedTuple):
    """What is wrong about a scope: the rule, a sentence or its end, and whether it is a warning."""

    rule: str
    what: str
    warning: bool = False


_MOMENTS: Mapping[State, str] = MappingProxyType(
    {
        "called": "before startup was received",
        "starting": "while starting",
        "early": "before startup was received",
        "running": "while running",
        "failing": "after lifespan.shutdown.failed",
        "stopping": "while shutting down",
        "refused": "after lifespan.startup.failed",
        "stopped": "after shutdown was answered",
        "gone": "after the end of the call",
    }
)
# the rule that a request breaks in a state
_NO_REQUEST: Mapping[State, str] = MappingProxyType(
    {
        "called": "wait-for-startup",
        "starting": "wait-for-startup",
        "refused": "startup-failed-never-serves",
        "stopping": "shutdown-after-serving",
        "stopped": "shutdown-after-serving",
    }
)


def _type(value: Any) -> str:
    """Return the type of a scope, or "" if it has none."""
    if isinstance(value, (dict, Mapping)):  # dict alone is the quicker question
        kind = value.get("type")
        if isinstance(kind, str):
            return kind
    return ""


def _event(value: Any) -> str:
    """Return the type of an event, or "" if it is not a dict or has none."""
    if isinstance(value, dict):  # no other mapping: ASGI's events are dicts
        return _type(value)
    return ""


def _cancelled() -> bool:
    """Return whether the current task was cancelled."""
    try:
        task = asyncio.current_task()
    except RuntimeError:  # not asyncio: trio's cancellation cannot be swallowed
        return False
    return task is not None and task.cancelling() > 0


def _spec(scope: Any) -> Spec:
    """Find the specification that a scope follows."""
    oldest = SPECS["asgi 1.0"]
    for row in SPECS.values():
        if row.envelope and row.envelope in scope:
            break
    else:
        return oldest
    if row.envelope == "asgi":
        envelope = scope["asgi"]
        version = None
        if isinstance(envelope, Mapping):
            version = envelope.get("spec_version")
        if version in (None, "1.0"):  # the default is 1.0
            return row._replace(title=oldest.title, failures=False, open=row.open | _FAILURES)
    return row


def _faults(scope: Any, spec: Spec) -> Iterator[Fault]:
    """Yield what is wrong about a scope."""
    if spec.envelope:
        envelope, where = scope[spec.envelope], f'scope["{spec.envelope}"]'
        if not isinstance(envelope, Mapping):
            yield Fault("scope-versions", f"{where} must be a mapping, got {_repr(envelope)}")
            envelope = spec.versions
        for key in spec.versions:
            if not isinstance(envelope.get(key, ""), str):
                message = f'{where}["{key}"] must be a str, got {_repr(envelope[key])}'
                yield Fault("scope-versions", message)
            elif key not in envelope and key not in spec.optional:
                yield Fault("scope-versions", f'{where}["{key}"] is missing')
    state, must = scope.get("state", {}), 'scope["state"] must be'
    if not isinstance(state, MutableMapping):
        yield Fault("scope-state", f"{must} a mutable mapping, got {_repr(state)}")
    elif state:
        yield Fault("state-starts-empty", f"{must} empty, got {_repr(state)}")


class validator:
    """Wrap an application, pass everything on unchanged, and check both sides.

    `violations` and `warnings` collect a `Violation` for each rule that was broken, from all
    lifespans and requests.  With `raises` a violation is raised at once, too.  Create one for each
    server.  Raises TypeError if `app` is not callable.
    """

    def __init__(self, app: Application, *, raises: bool = False) -> None:
        if not callable(app):
            raise TypeError(f"app must be callable, got {app!r}")
        self.app, self.raises = app, raises
        self.violations: list[Violation] = []
        self.warnings: list[Violation] = []
        self._lifespans: dict[int, list[_Sequence]] = {}  # by thread, which has one event loop

    # a coroutine function, because servers check that an application is one
    async def __call__(self, scope: Any, receive: Receive, send: Send) -> Any:
        """Call the application; check the messages of a lifespan, or the scope of a request."""
        if _type(scope) != "lifespan":
            self._check_request(scope)
            return await self.app(scope, receive, send)
        sequence = _Sequence(self._report, scope, receive, send)
        sequence.check_scope()
        try:
            self._add(sequence)
            value = await self.app(scope, sequence.receive, sequence.send)
        except BaseException as error:
            sequence.on_raised(error)
            raise
        sequence.on_returned()
        return value

    def _report(self, violation: Violation, *, warning: bool) -> None:
        if warning:
            self.warnings.append(violation)
            return
        self.violations.append(violation)
        if self.raises:
            raise violation

    def _add(self, sequence: "_Sequence") -> None:
        running = [other for other in self._lifespans.get(get_ident(), []) if not other.ended]
        self._lifespans[get_ident()] = [*running, sequence]
        if running:
            running[-1].report("once-per-loop", "server", "began another lifespan")

    def _check_request(self, scope: Any) -> None:
        """Report a request that breaks a rule for every lifespan of this event loop.

        If there are two, a request that is right for one of them may belong to that one.
        """
        if not _type(scope):
            message = f"The server called the application with {_repr(scope)} as its scope"
            self._report(Violation("scope-type", "server", message), warning=False)
            return
        lifespans = self._lifespans.get(get_ident(), [])
        fault = None
        for lifespan in lifespans:
            fault = lifespan.request_fault(scope)
            if fault is None:
                return
        if fault is not None:
            lifespans[-1].report_request(scope, fault)


class _Sequence:
    """Follow the message sequence of one lifespan in TRANSITIONS."""

    state: State = "called"
    ended: State | None = None  # the state in which the call ended
    after_end = ""  # the rule that shutdown breaks then

    def __init__(self, collect: Collect, scope: Any, receive: Receive, send: Send) -> None:
        self._collect = collect
        self._scope = scope
        self._receive = receive
        self._send = send
        self._startup_sent = False
        self._spec = _spec(scope)
        self._state = scope.get("state")  # an application may put another one in its place
        self._kept: dict[Any, Any] = {}
        self._reported: set[str] = set()
        self._refusals: list[tuple[Exception, bool]] = []  # and whether they refused a valid answer

    def report(
        self, rule: str, role: str, what: str, when: State | None = None, *, warning: bool = False
    ) -> None:
        """Report a rule that was broken in a state, by default the current one."""
        if when is None:
            when = self.state
        message = f"The {role} {what} {_MOMENTS[when]}"
        self._collect(Violation(rule, role, message), warning=warning or rule in self._spec.open)

    def check_scope(self) -> None:
        """Report what is wrong about the scope."""
        for rule, message, _ in _faults(self._scope, self._spec):
            self._collect(Violation(rule, "server", message), warning=rule in self._spec.open)

    async def receive(self) -> Any:
        """Check an event of the server, and return it to the application."""
        event = await self._receive()
        kind = _event(event)
        if kind in _FROM_SERVER:
            self._step(kind, "server", f"sent {kind}")
        else:
            # it stands in the place of the event that should come next
            rule = "shutdown-sent"
            if not self._startup_sent:
                rule = "startup-sent"
            self.report(rule, "server", f"sent {_repr(event)}")
        return event

    async def send(self, message: Any) -> Any:
        """Check a message of the application, send it, and check whether the server accepts it."""
        before = self.state
        valid = before == "gone" or self._check_message(message)
        after = self.state
        try:
            value = await self._send(message)
        except Exception as error:
            self._refusals.append((error, valid and after != before))
            self._check_refusal(message, before)
            if self.state == after:
                self.state = before
            raise
        if not valid and before not in ("refused", "stopped"):
            self.report("send-refuses-unknown", "server", f"took {_repr(message)}", before)
        return value

    def _check_message(self, message: Any) -> bool:
        """Take the step of a message; return whether it is a valid event of an application."""
        kind, before = _event(message), self.state
        if kind not in _FROM_APPLICATION:
            self.report("events-known", "application", f"sent {_repr(message)}")
            return False
        valid = True
        if EVENTS[kind].defaults:  # a failure, with its message
            valid = self._check_failure(kind, message)
        self._step(kind, "application", f"sent {kind}")
        if self.state != before and kind == "lifespan.startup.complete":
            self._keep_state()
        return valid

    def _check_failure(self, kind: str, message: Any) -> bool:
        """Check a failed event; return whether its message is valid."""
        text = message.get("message", EVENTS[kind].defaults["message"])
        if self._spec.needs_message:
            text = message.get("message")
        valid = isinstance(text, str)
        if not valid:
            self.report("message-is-text", "application", f"sent {_repr(message)}")
        if not self._spec.failures:
            what = f"sent {kind}, which {self._spec.title} does not have,"
            self.report("events-known", "application", what, warning=True)
        return valid

    def _keep_state(self) -> None:
        """Keep what the application has put into the state at startup."""
        self._kept = {}
        if isinstance(self._state, Mapping):
            self._kept = dict(self._state)
        for key in self._kept:
            if not isinstance(key, str):
                what = f"put the key {_repr(key)} into the state"
                self.report("state-keys-text", "application", what, "starting")
        if self._scope.get("state") is not self._state:
            what = 'put another object into scope["state"], which no request gets,'
            self.report("state-shallow-copy", "application", what, "starting", warning=True)

    def _check_refusal(self, message: Any, before: State) -> None:
        """Report a server that refuses a message without a reason."""
        refused = f"refused {_repr(message)}"
        if before == "gone":
            self.report("send-after-end-does-nothing", "server", refused, before)
        elif len(self._refusals) == 1 and self._refusals[0][1]:  # the first, of a valid answer
            known = {"type", *EVENTS[message["type"]].defaults}
            if set(message) - known:
                self.report("extra-keys-ignored", "server", refused, before)

    def on_raised(self, error: BaseException) -> None:
        """End the sequence: the call raised by itself, by a refusal, or when it was cancelled."""
        did = f"raised {_repr(error)}"
        if isinstance(error, Violation) or not isinstance(error, Exception):
            self._end_call("", did, "")  # no doing of its own: ours, a cancellation, or an exit
            return
        rule = ""
        if self.state == "called":
            rule = "unsupported-gets-no-events"
        if self.state == "starting" and self._spec.failures:  # in 1.0, on the scope alone
            rule = "unsupported-gets-no-events"
        trigger = "raise"
        if any(error is refusal for refusal, _valid in self._refusals):
            trigger = ""
        self._end_call(trigger, did, rule)

    def on_returned(self) -> None:
        """End the sequence: the call returned."""
        rule = ""
        if self.state in ("called", "starting"):
            rule = "returned-gets-no-events"
        self._end_call("return", "returned", rule)

    def _end_call(self, trigger: str, did: str, rule: str) -> None:
        self.ended, self.after_end = self.state, rule
        excused = _cancelled() or any(valid for _error, valid in self._refusals)
        if trigger and not excused:
            self._step(trigger, "application", did)
        self.state = "gone"

    def _step(self, trigger: str, role: str, did: str) -> None:
        before = self.state
        self.state, rule, warning = TRANSITIONS[before][trigger]
        if trigger == "lifespan.startup":
            if not self._startup_sent:
                # the first may come after the answer, if that was too early
                if not rule:
                    warning = ""
                rule = ""
            self._startup_sent = True
        broken = rule or warning
        if self.after_end and trigger == "lifespan.shutdown":
            self.report(self.after_end, role, did)
        elif broken:
            self.report(broken, role, did, before, warning=bool(warning))

    def request_fault(self, scope: Any) -> Fault | None:
        """Return the rule that a request breaks, or None."""
        state = self.state
        if self.ended is not None:
            state = self.ended
            if state != "refused":
                return None
        rule = _NO_REQUEST.get(state)
        if rule is not None:
            return Fault(rule, "")
        if isinstance(self._state, Mapping):
            return self._state_fault(scope)
        return None

    def _state_fault(self, scope: Any) -> Fault | None:
        live = self._state
        state = scope.get("state")
        absent = object()
        if state is live:
            return Fault("state-shallow-copy", " with the state itself, not with a copy")
        if not isinstance(state, Mapping):
            return Fault("state-shallow-copy", " without the state")
        for key, value in self._kept.items():
            copied = state.get(key, absent)
            if copied is not value and live.get(key, absent) is value:
                what = f" with a state whose {_repr(key)} is not that of the lifespan"
                return Fault("state-shallow-copy", what, warning=copied is not absent)
        return None

    def report_request(self, scope: Any, fault: Fault) -> None:
        """Report the fault of a request, once for each rule: every request may have it."""
        if fault.rule not in self._reported:
            self._reported.add(fault.rule)
            what = f"called the application for {_repr(scope.get('type'))}{fault.what}"
            self.report(fault.rule, "server", what, self.ended, warning=fault.warning)
