"""The tables are consistent with rules.toml; what the validator finds in a message sequence.

A sequence is a script: words of WORDS, types of events, other messages, and functions of the talk.
"""

import asyncio
import contextlib
import pickle
import re
from collections import UserDict
from collections.abc import Awaitable, Callable
from threading import Thread
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from lifespec.conformance.rules import rules
from lifespec.testing import clock
from lifespec.validate import (
    EVENTS,
    SPECS,
    TRANSITIONS,
    State,
    Violation,
    lifespan_scope,
    validator,
)

STARTED, STOPPED = {"type": "lifespan.startup.complete"}, {"type": "lifespan.shutdown.complete"}
FAILED = {"type": "lifespan.startup.failed", "message": 0}
ENDS = ("raise", "return")
RUNNING, STOPPING = "startup started", "startup started shutdown"


def run(call: Awaitable[Any]) -> Any:
    """Run what waits for nothing, without any event loop."""
    try:
        call.__await__().send(None)  # type: ignore[attr-defined]
    except StopIteration as stop:
        return stop.value
    raise RuntimeError("it waits")


class Refused(NamedTuple):
    """A step in which the server refuses a message, and whether that ends the call."""

    step: Any
    escapes: bool


class Talk:
    """A server and an application that follow a script, with the validator between them.

    The server refuses a word with "!", and with "!!" that ends the call.
    """

    def __init__(self, *script: Any, spec: str = "asgi 2.0", scope: Any = None) -> None:
        parts = (part.split() if isinstance(part, str) else [part] for part in script)
        self.script = [step_of(word) for part in parts for word in part]
        self.scope = lifespan_scope(spec) if scope is None else scope
        self.live = self.scope.get("state", {})
        self.sent: list[Any] = []
        self.refuses = False
        self.validated = validator(self.app)

    @property
    def found(self) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """What was found, as pairs of rule and role: the violations, the warnings."""
        found = self.validated.violations, self.validated.warnings
        violations, warnings = ([(each.rule, each.role) for each in one] for one in found)
        return violations, warnings

    @property
    def sentences(self) -> list[str]:
        """What a reader sees of violations and warnings."""
        return [str(each) for each in (*self.validated.violations, *self.validated.warnings)]

    async def app(self, scope: Any, receive: Any, send: Any) -> Any:
        """Follow the script until the call ends; a child of the call would do what is left."""
        if scope is not self.scope or scope["type"] != "lifespan":
            return None
        self.child = receive, send
        while self.script:
            step = self.script.pop(0)
            if step == "return":
                return self
            if step == "raise":
                raise LookupError("raised")
            if isinstance(step, BaseException):
                raise step
            await self.happen(step)
        raise asyncio.CancelledError  # nobody is at fault

    async def happen(self, step: Any) -> None:
        """Receive what is an event of the server, send all else; a refusal is swallowed."""
        receive, send = self.child
        if callable(step):
            if (waits := step(self)) is not None:
                await waits
            return
        self.refuses = isinstance(step, Refused)
        self.event = step.step if isinstance(step, Refused) else step
        if isinstance(self.event, str):
            self.event = {"type": self.event, **EVENTS[self.event].defaults}
        if isinstance(step, str) and EVENTS[step].sender == "server":
            assert await receive() is self.event
            return
        try:
            assert await send(self.event) is self.sent
        except OSError:
            if step.escapes:
                raise

    async def receive(self) -> Any:
        return self.event

    async def send(self, message: Any) -> Any:
        assert message is self.event
        if self.refuses:
            raise OSError("refused")
        self.sent.append(message)
        return self.sent

    def call(self) -> Any:
        """Call the application."""
        return self.validated(self.scope, self.receive, self.send)

    def run(self) -> "Talk":
        """Play it to the end; what is left after the end of the call, a child does."""
        with contextlib.suppress(LookupError, OSError, asyncio.CancelledError):
            run(self.call())
        for step in self.script:
            run(self.happen(step))
        return self


def play(*script: Any, spec: str = "asgi 2.0", scope: Any = None) -> Talk:
    """Play a script."""
    return Talk(*script, spec=spec, scope=scope).run()


def gives(event: Any) -> Callable[[Talk], Awaitable[None]]:
    """Return a step in which the server gives this event, whatever it is."""

    async def step(talk: Talk) -> None:
        talk.event = event
        assert await talk.child[0]() is event

    return step


def request(state: Any = "a copy") -> Callable[[Talk], Awaitable[None]]:
    """Return a step in which the server calls the application for a request."""

    async def step(talk: Talk) -> None:
        offered = {"a copy": {**talk.live}, "itself": talk.live}.get(str(state), state)
        await talk.validated({"type": "http", "state": offered}, talk.receive, talk.send)

    return step


def writes(*pairs: tuple[Any, Any], **state: Any) -> Callable[[Talk], None]:
    """Return a step in which the application writes into its state."""
    return lambda talk: talk.live.update(dict(pairs), **state)


def again(talk: Talk, script: str = "startup") -> None:
    """Begin another lifespan of the same validator."""
    inner = Talk(script)
    inner.validated = talk.validated
    talk.validated.app = inner.app
    inner.run()
    talk.validated.app = talk.app


WORDS: dict[str, Any] = {
    "startup": "lifespan.startup",
    "started": STARTED,
    "shutdown": "lifespan.shutdown",
    "stopped": STOPPED,
    "failed": "lifespan.startup.failed",
    "failed-with-0": FAILED,
    "failed-with-None": {**FAILED, "message": None},
    "failed-with-bytes": {**FAILED, "message": b""},
    "started-with-5": {**STARTED, "message": 5},
    "not-stopped-with-0": {"type": "lifespan.shutdown.failed", "message": 0},
    "not-stopped": "lifespan.shutdown.failed",
    "not-stopped-untold": {"type": "lifespan.shutdown.failed"},
    "unknown": {"type": "?"},
    "cancelled": asyncio.CancelledError(),
    "odd": gives({"type": "?"}),
    "more": {"more": 1, **STARTED},
    "request": request(),
    "request-without-state": request(None),
    "request-with-2": request({"pool": 2}),
    "request-with-nothing": request({}),
    "again": again,
    "writes": writes(pool=1),
    "writes-0": writes((0, 1)),
    "rebinds": lambda talk: talk.scope.update(state={"pool": 1}),
}


def step_of(word: Any) -> Any:
    """Return the step of a word."""
    if not isinstance(word, str):
        return word
    name = word.rstrip("!")
    step = WORDS.get(name, name)
    return step if name == word else Refused(step, word.endswith("!!"))


# ---- the tables ---------------------------------------------------------------------------------


def test_refused_arguments() -> None:
    titles = "lifespan 1.0 (ASGI), lifespan 2.0 (ASGI), AMGI 1.0, AMGI 2.0, PAGI 0.3"
    assert ", ".join(spec.title for spec in SPECS.values()) == titles
    known = "asgi 1.0, asgi 2.0, amgi 1.0, amgi 2.0, pagi 0.3"
    with pytest.raises(ValueError, match=rf"^unknown spec 'asgi' \(choose from {known}\)$"):
        lifespan_scope("asgi")
    for spec, worker in ("asgi 2.0", 1), ("pagi 0.3", 0):
        with pytest.raises(ValueError, match=f"has no worker {worker}: PAGI counts them from 1"):
            lifespan_scope(spec, worker=worker)
    with pytest.raises(TypeError, match="app must be callable"):
        validator("app")  # type: ignore[arg-type]


# A way to each state without a broken rule; a step to `early` or `failing` is worth a warning.
WAYS: dict[State, str] = {
    "called": "",
    "starting": "startup",
    "early": "started",
    "running": RUNNING,
    "failing": "startup started not-stopped",
    "stopping": STOPPING,
    "refused": "startup failed",
    "stopped": "startup started shutdown stopped",
    "gone": "startup started return",
}
CELLS = [
    (state, happening)
    for state, row in TRANSITIONS.items()
    for happening in row
    if state != "gone" or happening not in ENDS  # a call ends once
]


@pytest.mark.parametrize(("state", "happening"), CELLS)
def test_every_cell(state: State, happening: str) -> None:
    _, rule, warning = TRANSITIONS[state][happening]
    role = EVENTS[happening].sender if happening in EVENTS else "application"
    for spec in SPECS:
        before, after = (play(WAYS[state], step, spec=spec) for step in ("", happening))
        violations = [(rule, role)] if rule and not warning else []
        warnings = [(warning, role)] if warning else []
        if happening.endswith("failed") and spec == "asgi 1.0" and state != "gone":
            warnings.insert(0, ("events-known", "application"))
        of_way = (state in {"early", "failing"}) + (
            spec == "asgi 1.0" and state in {"refused", "failing"}
        )
        assert (before.found[0], len(before.found[1])) == ([], of_way), spec
        assert after.found == (violations, before.found[1] + warnings), spec


# ---- calls --------------------------------------------------------------------------------------


def test_a_violation_can_be_pickled() -> None:
    (found,) = play(STOPPING, "return").validated.violations
    assert str(found) == "The application returned while shutting down [shutdown-answered]"
    again = pickle.loads(pickle.dumps(found))
    assert (vars(again), again.args) == (vars(found), (found.rule, found.role, found.message))


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("cancelled", [True, False])
def test_no_rule_covers_what_a_cancelled_call_does(cancelled: bool, end: str) -> None:
    async def sleeps(_: Talk) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(60)

    async def serve() -> None:
        call = asyncio.create_task(talk.call())
        await asyncio.sleep(0)
        if cancelled:
            call.cancel()
        await asyncio.wait([call])

    talk = Talk(STOPPING, sleeps, end)
    clock.run(serve())
    assert (talk.found == ([], [])) is cancelled


def test_a_call_outside_of_a_task_was_not_cancelled() -> None:
    talk = Talk(STOPPING, "return")
    loop = clock.VirtualLoop()
    loop.call_soon(talk.run)
    loop.call_soon(loop.stop)
    loop.run_forever()
    loop.close()
    assert talk.found == ([("shutdown-answered", "application")], [])


def test_everything_is_passed_on_unchanged() -> None:
    """Events, messages, and what `send` returns are compared by the talk."""
    talk, error = Talk("startup", {**STARTED, "mine": 1}, "return"), OSError()
    assert run(talk.call()) is talk
    assert (talk.scope, talk.sent) == (lifespan_scope("asgi 2.0"), [{**STARTED, "mine": 1}])
    with pytest.raises(OSError) as caught:  # noqa: PT011
        run(Talk(error).call())
    assert caught.value is error


@pytest.mark.parametrize(
    "script", ["startup unknown", f"{STOPPING} return", f"{STOPPING} unknown return"]
)
def test_with_raises_a_violation_is_raised_at_once(script: str) -> None:
    talk = Talk(script)
    talk.validated.raises = True
    with pytest.raises(Violation) as caught:
        run(talk.call())
    assert talk.validated.violations == [caught.value]
    assert {"type": "?"} not in talk.sent
    assert talk.validated.warnings == []  # what was raised here is not the application's own


def test_with_raises_a_warning_is_not_raised() -> None:
    talk = Talk("started startup shutdown stopped return")
    talk.validated.raises = True
    run(talk.call())
    assert talk.found == ([], [("answers-in-order", "application")])


# ---- the scope ----------------------------------------------------------------------------------

PAGI_03 = {"version": "0.3", "spec_version": "0.3"}


@pytest.mark.parametrize(
    ("spec", "worker", "scope"),
    [
        ("asgi 1.0", None, {}),
        ("asgi 2.0", None, {"asgi": {"version": "3.0", "spec_version": "2.0"}, "state": {}}),
        ("amgi 1.0", None, {"amgi": {"version": "1.0", "spec_version": "1.0"}, "state": {}}),
        ("pagi 0.3", None, {"pagi": {**PAGI_03, "is_worker": 0}, "state": {}}),
        ("pagi 0.3", 1, {"pagi": {**PAGI_03, "is_worker": 1, "worker_num": 1}, "state": {}}),
    ],
)
def test_the_scope_of_a_specification_has_no_fault(
    spec: str, worker: int | None, scope: dict[str, Any]
) -> None:
    without = {key: scope[key] for key in scope if key != "state"}
    for state, keys in (True, scope), (False, without):
        offered = lifespan_scope(spec, worker=worker, state=state)
        assert offered == {"type": "lifespan", **keys}
        assert play("return", scope=offered).found == ([], [])


ASGI, AMGI, PAGI = ({key: {"version": "1"}} for key in ("asgi", "amgi", "pagi"))


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"state": UserDict()},
        {"more": 1},
        {"asgi": MappingProxyType({"version": "2.0"})},
        {"asgi": {"version": "4.0", "spec_version": "3.1", "more": 1}},
        {**ASGI, **PAGI},
        PAGI,
    ],
)
def test_scopes_without_a_fault(more: dict[str, Any]) -> None:
    assert play("return", scope={"type": "lifespan", **more}).found == ([], [])


@pytest.mark.parametrize(
    ("more", "rule_id", "sentence"),
    [
        ({"asgi": "3.0"}, "scope-versions", "[asgi] must be a mapping, got '3.0'"),
        ({"asgi": {}}, "scope-versions", "[asgi][version] is missing"),
        ({"asgi": {"version": 3}}, "scope-versions", "[asgi][version] must be a str, got 3"),
        (
            {"asgi": {"version": "3.0", "spec_version": None}},
            "scope-versions",
            "[asgi][spec_version] must be a str, got None",
        ),
        (AMGI, "scope-versions", "[amgi][spec_version] is missing"),
        ({"pagi": {"version": 0.3}}, "scope-versions", "[pagi][version] must be a str, got 0.3"),
        ({**ASGI, "state": None}, "scope-state", "[state] must be a mutable mapping, got None"),
        (
            {**ASGI, "state": MappingProxyType({})},
            "scope-state",
            "[state] must be a mutable mapping, got mappingproxy({})",
        ),
        ({**ASGI, "state": {1: 2}}, "state-starts-empty", "[state] must be empty, got {1: 2}"),
    ],
)
def test_a_fault_of_a_scope_is_the_server_s(
    more: dict[str, Any], rule_id: str, sentence: str
) -> None:
    talk = play("return", scope={"type": "lifespan", **more})
    quoted = re.sub(r"\[([a-z_]+)\]", r'["\1"]', sentence)
    assert talk.sentences == [f"scope{quoted} [{rule_id}]"]
    assert talk.found == ([(rule_id, "server")], [])


@pytest.mark.parametrize("scope", [5, {}, {"type": 5}])
def test_a_scope_that_is_no_mapping_is_passed_on_and_reported(scope: Any) -> None:
    async def app(*call: Any) -> Any:
        return call

    checked, receive, send = validator(app), object(), object()
    assert run(checked(scope, receive, send)) == (scope, receive, send)  # type: ignore[arg-type]
    message = f"The server called the application with {scope} as its scope [scope-type]"
    assert [(str(each), each.role) for each in checked.violations] == [(message, "server")]


# ---- messages -----------------------------------------------------------------------------------


@pytest.mark.parametrize("event", [None, {}, {"type": 5}, {"type": "http.request"}, STARTED])
def test_another_event_than_startup_or_shutdown_breaks_the_rule_of_that_event(event: Any) -> None:
    talk = play(gives(event), "startup", gives(event))
    assert talk.found == ([("startup-sent", "server"), ("shutdown-sent", "server")], [])
    assert talk.sentences == [
        f"The server sent {event!r} before startup was received [startup-sent]",
        f"The server sent {event!r} while starting [shutdown-sent]",
    ]


@pytest.mark.parametrize(
    "message",
    [
        None,
        {},
        {"type": 5},
        {"type": "lifespan.ready"},
        {"type": "lifespan.shutdown"},
        MappingProxyType({**STARTED, "more": 1}),
    ],
)
def test_what_is_no_event_of_an_application_is_unknown(message: Any) -> None:
    found = [("events-known", "application")], [("send-refuses-unknown", "server")]
    assert play("startup", message).found == found


# A script; what it breaks, as a rule or as the sentence that ends with it.  A rule is a violation
# where a specification has it as a must, and else a warning; with "?" it is a warning everywhere.
SEQUENCES = """
# what a server or an application sends
shutdown; startup-sent
startup odd; shutdown-sent
startup startup; server sent lifespan.startup while starting [startup-sent]?
startup started shutdown startup; startup-sent
startup started shutdown stopped startup; startup-sent
started; application sent STARTED before startup was received [answers-in-order]?
startup stopped; answers-in-order
startup started started; application sent STARTED while running [startup-answered-once]
startup started shutdown stopped stopped; shutdown-answered-once
startup started shutdown return; shutdown-answered
startup started shutdown raise; application raised LookupError('raised') while shutting down [shutdown-answered]?
startup failed-with-0; application sent ZERO while starting [message-is-text]; server took ZERO while starting [send-refuses-unknown]
startup failed-with-0!; message-is-text
startup failed-with-None!; message-is-text
startup failed-with-bytes!; message-is-text
startup started shutdown not-stopped-with-0! return; message-is-text; shutdown-answered
startup started-with-5;
startup more! started return; server refused MORE while starting [extra-keys-ignored]
return stopped!; send-after-end-does-nothing

# a refusal shows nothing of what follows, and of the answers that are owed
startup unknown! more! started return; events-known
startup started shutdown stopped! unknown! return; events-known
startup started shutdown stopped! unknown! raise; events-known
startup started shutdown failed! return; answers-in-order?; shutdown-answered

# a refusal that escapes is no exception of the application
startup started shutdown unknown!!; events-known
startup started shutdown unknown! raise; events-known; shutdown-answered?

# an unknown message is to be refused, except at the end
startup unknown; events-known; send-refuses-unknown
startup unknown! started shutdown stopped; events-known
startup started shutdown stopped unknown; events-known
startup failed unknown; events-known
return unknown;

# an application without support gets no events, and startup may have been sent before
raise shutdown; server sent lifespan.shutdown after the end of the call [unsupported-gets-no-events]
startup return shutdown; returned-gets-no-events
startup started raise shutdown; crashed-gets-no-events
startup started return shutdown; crashed-gets-no-events
raise startup; unsupported-gets-no-events?
startup raise startup; unsupported-gets-no-events?
failed startup return; answers-in-order?
started shutdown; answers-in-order?; server sent lifespan.shutdown before startup was received [startup-sent]

# an application is served while it runs and after its call, unless its startup failed
request; CALLED before startup was received [wait-for-startup]
startup request; CALLED while starting [wait-for-startup]
startup failed request; CALLED after lifespan.startup.failed [startup-failed-never-serves]
startup failed return request; CALLED after lifespan.startup.failed [startup-failed-never-serves]
startup started shutdown request; CALLED while shutting down [shutdown-after-serving]
startup started shutdown stopped request; CALLED after shutdown was answered [shutdown-after-serving]
return request;
startup started return request;
startup started shutdown stopped return request;

# one lifespan in a loop lets the requests pass
startup started again request; server began another lifespan while running [once-per-loop]
startup started return again;
startup started cancelled again;

# keys are checked at startup, and a value that is another one may be a later one
startup writes-0 started; application put the key 0 into the state while starting [state-keys-text]
startup started writes-0 shutdown stopped;
startup rebinds started; application put another object into scope["state"], which no request gets, while starting [state-shallow-copy]?
startup writes started request-without-state; state-shallow-copy
startup started writes started request-with-nothing; startup-answered-once
startup writes started request-with-2; state-shallow-copy?
"""  # noqa: E501  a row is a line
CALLED = "server called the application for 'http'"
ZERO = {"message": 0, "type": "lifespan.startup.failed"}
SHORT = {"CALLED": CALLED, "ZERO": ZERO, "STARTED": STARTED["type"], "MORE": WORDS["more"]}
SCOPES: dict[str, Callable[[str], dict[str, Any]]] = {
    "scope-type": lambda _: {"type": None},
    "scope-versions": lambda spec: {SPECS[spec].envelope or "x": 0},
    "scope-state": lambda _: {"state": 0},
    "state-starts-empty": lambda _: {"state": {"a": 1}},
}
# They ask for a lifespan in each process or worker, and do not say that there is no second one.
NOT_TWICE = {("asgi 1.0", "once-per-loop"), ("pagi 0.3", "once-per-loop")}
OWED = {
    (spec, rule_id)
    for rule_id, rule in rules().items()
    for spec in SPECS
    if rule.level(spec) in ("must", "must not")
} - NOT_TWICE


@pytest.mark.parametrize("row", [row for row in SEQUENCES.splitlines() if ";" in row])
def test_a_sequence_breaks_these_rules_at_the_level_of_each_specification(row: str) -> None:
    for word, text in SHORT.items():
        row = row.replace(word, str(text))
    script, *found = filter(None, (part.strip() for part in row.split(";")))
    rule_ids = [re.findall(r"[\w-]+", each)[-1] for each in found]
    for spec in SPECS:
        owed = [
            rule_id
            for rule_id, text in zip(rule_ids, found, strict=True)
            if (spec, rule_id) in OWED and not text.endswith("?")
        ]
        failures = re.findall("failed|not-stopped", script) if spec == "asgi 1.0" else []
        talk = play(script, spec=spec, scope={"state": {}, **lifespan_scope(spec)})
        violations, warnings = ([rule_id for rule_id, _role in each] for each in talk.found)
        assert violations == owed, spec
        assert sorted(violations + warnings) == sorted(rule_ids + ["events-known"] * len(failures))
    sentences = {f"The {each.rstrip('?')}" for each in found if " " in each}
    assert sentences <= {*play(script).sentences}


@pytest.mark.parametrize("rule_id", SCOPES)
@pytest.mark.parametrize("spec", SPECS)
def test_a_scope_breaks_a_rule_at_the_level_of_its_specification(spec: str, rule_id: str) -> None:
    scope = {"state": {}, **lifespan_scope(spec), **SCOPES[rule_id](spec)}
    violations, warnings = play(scope=scope).found
    assert ((rule_id, "server") in violations) is ((spec, rule_id) in OWED)
    assert [*violations, *warnings] == [(rule_id, "server")] or spec not in rules()[rule_id].specs


@pytest.mark.parametrize(
    ("spec", "script", "violations", "warnings"),
    [
        ("asgi 1.0", "startup raise shutdown", "", "crashed-gets-no-events"),
        ("asgi 2.0", "startup raise shutdown", "unsupported-gets-no-events", ""),
        # AMGI requires the message of a failure
        ("amgi 1.0", f"{STOPPING} not-stopped-untold", "message-is-text", "send-refuses-unknown"),
        ("asgi 2.0", f"{STOPPING} not-stopped-untold", "", ""),
        # where there is no state requests have none
        ("asgi 1.0", "startup started request-without-state", "", ""),
    ],
)
def test_what_one_specification_says(
    spec: str, script: str, violations: str, warnings: str
) -> None:
    found = [[rule for rule, _role in each] for each in play(script, spec=spec).found]
    assert found == [violations.split(), warnings.split()]


@pytest.mark.parametrize("box", [{"version": "3.0"}, {"version": "3.0", "spec_version": "1.0"}])
def test_a_failure_is_a_warning_without_spec_version(box: dict[str, str]) -> None:
    scope = {"type": "lifespan", "asgi": box}
    failed = play("startup failed request", scope=scope)
    assert failed.found[0] == []
    assert [rule for rule, _ in failed.found[1]] == ["events-known", "startup-failed-never-serves"]
    sentence = (
        "sent lifespan.startup.failed, which lifespan 1.0 (ASGI) does not have, while starting"
    )
    assert sentence in failed.sentences[0]
    warnings = [(rule, "application") for rule in ("message-is-text", "events-known")]
    assert play("startup failed-with-0!", scope=scope).found == ([], warnings)


def test_a_refusal_takes_back_the_step_of_its_message() -> None:
    async def send(message: Any) -> Any:
        if message is STARTED:
            await talk.happen("lifespan.shutdown")
            raise OSError
        return talk.sent

    talk = Talk("startup started! stopped")
    talk.send = send  # type: ignore[method-assign]
    assert talk.run().found == ([], [])


async def test_a_call_with_a_wrong_scope_that_was_raised_is_no_lifespan_that_runs() -> None:
    async def returns(_scope: Any, _receive: Any, _send: Any) -> None:
        pass

    checked = validator(returns, raises=True)
    with pytest.raises(Violation):
        await checked(lifespan_scope("asgi 2.0") | {"state": None}, None, None)  # type: ignore[arg-type]
    await checked(lifespan_scope("asgi 2.0"), None, None)  # type: ignore[arg-type]
    assert checked.warnings == []


def test_a_value_is_shown_in_short_even_if_it_has_no_repr() -> None:
    class Odd:
        def __repr__(self) -> str:
            raise ValueError

    def sent(value: object) -> str:
        return play("startup", {"type": value}).sentences[0]

    long = sent("x" * 100).removeprefix("The application sent {'type': ").partition("}")[0]
    assert len(long) == 80
    assert "x...x" in long
    assert "<Odd instance at 0x" in sent(Odd())
    # Python 3.14 says of a number too long to be written what it is, as of what has no repr
    assert re.search("sent (<dict object|{'type': <int instance .*) at 0x", sent(10**5000))


# ---- requests -----------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", SPECS)
def test_a_request_has_a_copy_of_the_state_made_now_or_at_startup(spec: str) -> None:
    early = {"pool": [], "name": None}
    talk = play(
        *("startup", writes(**early), "started", request(early)),
        *(writes(pool=[], late=1), request(early), "request"),
        *(lambda talk: talk.live.pop("name"), "request"),
        spec=spec,
    )
    assert talk.found == ([], [])


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        (None, "without the state"),
        ({"pool": 0}, "with a state whose 'name' is not that of the lifespan"),
        ({}, "with a state whose 'pool' is not that of the lifespan"),
        ("itself", "with the state itself, not with a copy"),
    ],
)
@pytest.mark.parametrize("spec", [spec for spec in SPECS if spec != "asgi 1.0"])
def test_a_request_without_the_state_is_reported_once(state: Any, sentence: str, spec: str) -> None:
    requests = request(state), request(state)
    talk = play("startup", writes(pool=0, name=""), "started", *requests, spec=spec)
    assert talk.sentences == [f"The {CALLED} {sentence} while running [state-shallow-copy]"]
    assert talk.found[1] == []


def test_each_thread_has_its_own_lifespan() -> None:
    def in_a_thread(talk: Talk) -> None:
        def serve() -> None:
            run(request(None)(talk))  # no lifespan of this thread has a state
            again(talk, "startup request")

        thread = Thread(target=serve)
        thread.start()
        thread.join()

    assert play(RUNNING, in_a_thread, "request").found == ([("wait-for-startup", "server")], [])
