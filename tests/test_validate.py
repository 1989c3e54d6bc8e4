"""The tables: complete, consistent with one another and with rules.toml; scopes; the validator."""

import asyncio
import contextlib
import pickle
import re
from collections import UserDict
from collections.abc import Awaitable, Callable, Iterator
from threading import Thread
from types import MappingProxyType
from typing import Any

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

__all__: list[str] = []

MUST = {"must", "must not"}


def test_each_event_out_of_turn_and_a_return_without_an_answer_are_forbidden() -> None:
    forbidden = {
        (state, happening)
        for state, row in TRANSITIONS.items()
        for happening, step in row.items()
        if step.rule and not step.warning
    }
    again = {"starting", "running", "failing", "stopping", "refused", "stopped"}
    too_soon, twice = {"called", "early"}, {"stopping", "stopped"}
    assert forbidden == {
        *((state, "lifespan.startup") for state in again),
        *((state, "lifespan.shutdown") for state in too_soon | twice),
        ("stopping", "return"),
    }


def test_an_unknown_specification_is_refused_with_all_keys() -> None:
    titles = "lifespan 1.0 (ASGI), lifespan 2.0 (ASGI), AMGI 1.0, AMGI 2.0, PAGI 0.3"
    assert ", ".join(spec.title for spec in SPECS.values()) == titles
    known = "asgi 1.0, asgi 2.0, amgi 1.0, amgi 2.0, pagi 0.3"
    with pytest.raises(ValueError, match=rf"^unknown spec 'asgi' \(choose from {known}\)$"):
        lifespan_scope("asgi")
    failed = [event for event in EVENTS.values() if event.type.endswith("failed")]
    assert [event.defaults for event in failed] == [{"message": ""}] * 2


# ---- the validator ----------------------------------------------------------------------------

STARTUP, SHUTDOWN = {"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}
STARTED, STOPPED = {"type": "lifespan.startup.complete"}, {"type": "lifespan.shutdown.complete"}
ALL = ("lifespan.startup", STARTED["type"], "lifespan.shutdown", STOPPED["type"])
ENDS = ("raise", "return")
SPEC_NAMES = list(SPECS)
PAGI_03 = {"version": "0.3", "spec_version": "0.3"}


def run(call: Awaitable[Any]) -> Any:
    """Run what waits for nothing, without any event loop."""
    try:
        call.__await__().send(None)  # type: ignore[attr-defined]
    except StopIteration as stop:
        return stop.value
    raise RuntimeError("it waits")


def event_of(name: str) -> dict[str, str]:
    """Return an event; a failure has a message, which AMGI requires."""
    return {"type": name, **(EVENTS[name].defaults if name in EVENTS else {})}


class Talk:
    """A server and an application that do what they are told, with the validator between them."""

    def __init__(self, *happenings: Any, spec: str = "asgi 2.0", **more: Any) -> None:
        self.happenings, self.received, self.sent = list(happenings), [], []
        self.refuses: Any = ()
        self.escapes = False
        self.scope = lifespan_scope(spec)
        self.validated = validator(self.app, **more)

    @property
    def rule_ids(self) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """What was found, as pairs of rule and role: the violations, the warnings."""
        found = self.validated.violations, self.validated.warnings
        violations, warnings = ([(each.rule, each.role) for each in one] for one in found)
        return violations, warnings

    async def app(self, scope: Any, receive: Any, send: Any) -> Any:
        """Do what comes next, until the call ends; then what a child of the call would do."""
        self.child = receive, send
        if scope["type"] != "lifespan":
            return None
        while self.happenings:
            happening = self.happenings.pop(0)
            if happening == "return":
                return self
            if happening == "raise":
                raise LookupError("raised")
            if isinstance(happening, BaseException):
                raise happening
            await self.happen(happening)
        raise asyncio.CancelledError  # nobody is at fault

    async def happen(self, happening: Any) -> None:
        """Receive what is an event of the server, send all else; a refusal is swallowed."""
        receive, send = self.child
        name = happening if isinstance(happening, str) else ""
        self.event = event_of(name) if name else happening
        if name in EVENTS and EVENTS[name].sender == "server":
            assert await receive() is self.event
            return
        try:
            assert await send(self.event) is self.sent
        except OSError:
            assert self.refuses
            if self.escapes:
                raise

    async def receive(self) -> Any:
        return self.event

    async def send(self, message: Any) -> Any:
        assert message is self.event
        if self.refuses and self.event in self.refuses:
            raise OSError("refused")
        self.sent.append(message)
        return self.sent

    def run(self, scope: Any = None) -> "Talk":
        """Play it to the end; what is left after the end of the call, a child does."""
        with contextlib.suppress(LookupError, OSError, asyncio.CancelledError):
            run(self.validated(self.scope if scope is None else scope, self.receive, self.send))
        for happening in self.happenings:
            run(self.happen(happening))
        return self


# A way to each state without a broken rule; a step to `early` or `failing` is worth a warning.
WAYS: dict[State, list[str]] = {
    "called": [],
    "starting": [*ALL[:1]],
    "early": [STARTED["type"]],
    "running": [*ALL[:2]],
    "failing": [*ALL[:2], "lifespan.shutdown.failed"],
    "stopping": [*ALL[:3]],
    "refused": [STARTUP["type"], "lifespan.startup.failed"],
    "stopped": [*ALL],
    "gone": [*ALL[:2], "return"],
}
CELLS = [
    (state, happening)
    for state, row in TRANSITIONS.items()
    for happening in row
    if state != "gone" or happening not in ENDS  # a call ends once
]


@pytest.mark.parametrize("spec", SPEC_NAMES)
@pytest.mark.parametrize(("state", "happening"), CELLS)
def test_every_cell(state: State, happening: str, spec: str) -> None:
    before = Talk(*WAYS[state], spec=spec).run()
    after = Talk(*WAYS[state], happening, spec=spec).run()
    _, rule, warning = TRANSITIONS[state][happening]
    role = EVENTS[happening].sender if happening in EVENTS else "application"
    violations, warnings = ([(rule_id, role)] if rule_id else [] for rule_id in (rule, warning))
    if happening.endswith("failed") and spec == "asgi 1.0" and state != "gone":
        warnings.insert(0, ("events-known", "application"))
    if warning:
        violations = []
    silent = (state in {"early", "failing"}) + (
        spec == "asgi 1.0" and state in {"refused", "failing"}
    )
    assert (before.rule_ids[0], len(before.rule_ids[1])) == ([], silent)
    assert after.rule_ids == (violations, before.rule_ids[1] + warnings)


def told(found: list[Violation]) -> list[str]:
    """Return what a reader sees of violations or warnings."""
    return [str(each) for each in found]


def test_a_violation_can_be_pickled() -> None:
    (found,) = Talk(*ALL[:3], "return").run().validated.violations
    assert str(found) == "The application returned while shutting down [shutdown-answered]"
    assert vars(pickle.loads(pickle.dumps(found))) == vars(found)


@pytest.mark.parametrize("raises", [True, False], ids=["raises", "returns"])
def test_no_rule_covers_what_a_cancelled_call_does(raises: bool) -> None:
    talk = Talk()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        talk.child = receive, send
        for happening in ALL[:3]:
            await talk.happen(happening)
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(60)
        if raises:
            raise OSError("the pool is gone")

    async def serve(*, cancels: bool) -> None:
        call = asyncio.create_task(talk.validated(talk.scope, talk.receive, talk.send))
        await asyncio.sleep(0)
        if cancels:
            call.cancel()
        await asyncio.wait([call])

    talk.validated.app = app
    clock.run(serve(cancels=True))
    assert talk.rule_ids == ([], [])
    clock.run(serve(cancels=False))
    assert talk.rule_ids != ([], [])


def test_a_call_outside_of_a_task_was_not_cancelled() -> None:
    talk = Talk(*ALL[:3], "return")
    loop = clock.VirtualLoop()
    loop.call_soon(talk.run)
    loop.call_soon(loop.stop)
    loop.run_forever()
    loop.close()
    assert talk.rule_ids == ([("shutdown-answered", "application")], [])


def test_everything_is_passed_on_unchanged() -> None:
    talk, error = Talk(STARTUP["type"], {**STARTED, "mine": 1}), OSError()

    async def app(scope: Any, receive: Any, send: Any) -> Any:
        assert scope is talk.scope
        await talk.app(scope, receive, send)

    talk.happenings.append("return")
    talk.validated.app = app
    assert run(talk.validated(talk.scope, talk.receive, talk.send)) is None
    assert (talk.scope, talk.sent) == (lifespan_scope("asgi 2.0"), [{**STARTED, "mine": 1}])
    talk = Talk("return")
    assert run(talk.validated(talk.scope, talk.receive, talk.send)) is talk
    talk = Talk(error)
    with pytest.raises(OSError) as caught:  # noqa: PT011
        run(talk.validated(talk.scope, talk.receive, talk.send))
    assert caught.value is error


def test_with_raises_a_violation_is_raised_at_once() -> None:
    talk = Talk({"type": "lifespan.ready"}, raises=True)
    with pytest.raises(Violation) as caught:
        run(talk.validated(talk.scope, talk.receive, talk.send))
    assert talk.validated.violations == [caught.value]
    assert talk.sent == []
    talk = Talk(*ALL[:3], "return", raises=True)
    with pytest.raises(Violation, match="returned while shutting down"):
        run(talk.validated(talk.scope, talk.receive, talk.send))
    talk = Talk(*ALL[:3], {"type": "lifespan.ready"}, raises=True)
    with pytest.raises(Violation):
        run(talk.validated(talk.scope, talk.receive, talk.send))
    assert talk.validated.warnings == []  # what was raised here is not the application's own


@pytest.mark.parametrize(
    ("spec", "worker", "scope"),
    [
        ("asgi 1.0", None, {}),
        ("asgi 2.0", None, {"asgi": {"version": "3.0", "spec_version": "2.0"}, "state": {}}),
        ("amgi 1.0", None, {"amgi": {"version": "1.0", "spec_version": "1.0"}, "state": {}}),
        ("pagi 0.3", None, {"pagi": {**PAGI_03, "is_worker": 0}, "state": {}}),
        ("pagi 0.3", 2, {"pagi": {**PAGI_03, "is_worker": 1, "worker_num": 2}, "state": {}}),
    ],
)
def test_the_scope_of_a_specification_has_no_fault(
    spec: str, worker: int | None, scope: dict[str, Any]
) -> None:
    without = {key: scope[key] for key in scope if key != "state"}
    for state, keys in (True, scope), (False, without):
        offered = lifespan_scope(spec, worker=worker, state=state)
        assert offered == {"type": "lifespan", **keys}
        assert Talk("return").run(offered).rule_ids == ([], [])


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
    assert Talk("return").run({"type": "lifespan", **more}).rule_ids == ([], [])


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
def test_a_fault_of_a_scope_is_the_server_s_and_a_warning_in_lifespan_1(
    more: dict[str, Any], rule_id: str, sentence: str
) -> None:
    talk = Talk("return").run({"type": "lifespan", **more})
    quoted = re.sub(r"\[([a-z_]+)\]", r'["\1"]', sentence)
    assert told(talk.validated.violations) == [f"scope{quoted} [{rule_id}]"]
    assert talk.rule_ids == ([(rule_id, "server")], [])
    if "state" in more:
        talk = Talk("return").run({"type": "lifespan", "state": more["state"]})
        assert talk.rule_ids == ([], [(rule_id, "server")])


@pytest.mark.parametrize("event", [None, {}, {"type": 5}, {"type": "http.request"}, STARTED])
def test_another_event_than_startup_or_shutdown_breaks_the_rule_of_that_event(event: Any) -> None:
    talk = Talk()

    async def app(_: Any, receive: Any, __: Any) -> None:
        assert await receive() is event
        talk.event = STARTUP
        await receive()
        talk.event = event
        await receive()

    talk.event, talk.validated.app = event, app
    run(talk.validated(talk.scope, talk.receive, talk.send))
    assert talk.rule_ids == ([("startup-sent", "server"), ("shutdown-sent", "server")], [])
    assert told(talk.validated.violations) == [
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
        SHUTDOWN,
        MappingProxyType({**STARTED, "more": 1}),
    ],
)
def test_what_is_no_event_of_an_application_is_unknown(message: Any) -> None:
    found = [("events-known", "application")], [("send-refuses-unknown", "server")]
    assert Talk(ALL[0], message).run().rule_ids == found


FAILED = {"type": "lifespan.startup.failed", "message": 5}
MORE = {"more": 1, **STARTED}
FIVE = "{'message': 5, 'type': 'lifespan.startup.failed'} while starting"


WORDS = {
    "startup": ALL[0],
    "started": STARTED,
    "shutdown": ALL[2],
    "stopped": STOPPED,
    "failed": event_of("lifespan.startup.failed"),
    "failed-with-5": FAILED,
    "started-with-5": {**STARTED, "message": 5},
    "not-stopped": {"type": "lifespan.shutdown.failed"},
    "unknown": {"type": "?"},
    "more": MORE,
}


def talk(script: str, spec: str = "asgi 2.0") -> Talk:
    """Play a script; the server refuses a word with "!", and with "!!" that ends the call."""
    words = script.split()
    played = Talk(*(WORDS.get(word.rstrip("!"), word) for word in words), spec=spec)
    played.refuses = [WORDS[word.rstrip("!")] for word in words if word.endswith("!")]
    played.escapes = "!!" in script
    return played.run()


SENT = "application sent lifespan.startup.complete"
ENDED = "server sent lifespan.shutdown after the end of the call"


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ("startup failed-with-5", f"application sent {FIVE} [message-is-text]"),
        ("startup failed-with-5", f"server took {FIVE} [send-refuses-unknown]"),
        ("startup startup", "server sent lifespan.startup while starting [startup-sent]"),
        ("raise shutdown", f"{ENDED} [unsupported-gets-no-events]"),
        ("startup started started", f"{SENT} while running [startup-answered-once]"),
        (
            "startup started shutdown raise",
            "application raised LookupError('raised') while shutting down [shutdown-answered]",
        ),
        ("started", f"{SENT} before startup was received [answers-in-order]"),
        (
            "started shutdown",
            "server sent lifespan.shutdown before startup was received [startup-sent]",
        ),
        (
            "startup more! started return",
            f"server refused {MORE} while starting [extra-keys-ignored]",
        ),
    ],
)
def test_a_sentence_names_what_was_done_and_when(script: str, sentence: str) -> None:
    validated = talk(script).validated
    assert f"The {sentence}" in told([*validated.violations, *validated.warnings])


# the specification, a script, the violations, and the warnings
SEQUENCES = """
asgi 2.0; startup failed-with-5; message-is-text; send-refuses-unknown
asgi 2.0; startup more! started return; ; extra-keys-ignored
asgi 2.0; return stopped!; ; send-after-end-does-nothing

# AMGI requires the message of a failure
asgi 2.0; startup started shutdown not-stopped return; ;
amgi 1.0; startup started shutdown not-stopped return; message-is-text; send-refuses-unknown
asgi 2.0; startup started-with-5 ; ;

# a refusal shows nothing of what follows, and of the answers that are owed
asgi 2.0; startup unknown! more! started return; events-known;
asgi 2.0; startup started shutdown stopped! unknown! return; events-known;
asgi 2.0; startup started shutdown stopped! unknown! raise; events-known;
asgi 2.0; startup started shutdown failed! return; shutdown-answered; answers-in-order

# a refusal that escapes is no exception of the application
asgi 2.0; startup started shutdown unknown!!; events-known;
asgi 2.0; startup started shutdown unknown! raise; events-known; shutdown-answered

# an unknown message is to be refused, except at the end
asgi 2.0; startup unknown; events-known; send-refuses-unknown
asgi 2.0; startup unknown! started shutdown stopped; events-known;
asgi 2.0; startup started shutdown stopped unknown; events-known;
asgi 2.0; startup failed unknown; events-known;
asgi 2.0; return unknown; ;

# an application without support gets no events, and startup may have been sent before
asgi 2.0; startup raise shutdown; unsupported-gets-no-events;
asgi 1.0; startup raise shutdown; ; crashed-gets-no-events
asgi 2.0; startup return shutdown; ; returned-gets-no-events
pagi 0.3; startup return shutdown; returned-gets-no-events;
asgi 2.0; raise startup; ; unsupported-gets-no-events
asgi 2.0; startup raise startup; ; unsupported-gets-no-events
asgi 2.0; startup started return shutdown; ; crashed-gets-no-events
"""


@pytest.mark.parametrize("row", [row for row in SEQUENCES.splitlines() if ";" in row])
def test_a_sequence_breaks_these_rules(row: str) -> None:
    spec, script, violations, warnings = row.split(";")
    validated = talk(script, spec).validated
    assert [each.rule for each in validated.violations] == violations.split()
    assert [each.rule for each in validated.warnings] == warnings.split()


@pytest.mark.parametrize("box", [{"version": "3.0"}, {"version": "3.0", "spec_version": "1.0"}])
def test_a_failure_is_a_warning_without_spec_version(box: dict[str, str]) -> None:
    scope = {"type": "lifespan", "asgi": box}
    failed = Talk(ALL[0], "lifespan.startup.failed").run(scope)
    run(failed.validated({"type": "http"}, failed.receive, failed.send))
    assert failed.rule_ids[0] == []
    rules_ = [each.rule for each in failed.validated.warnings]
    assert rules_ == ["events-known", "startup-failed-never-serves"]
    sentence = (
        "sent lifespan.startup.failed, which lifespan 1.0 (ASGI) does not have, while starting"
    )
    assert sentence in str(failed.validated.warnings[0])
    odd = Talk(ALL[0], FAILED)
    odd.refuses = [FAILED]
    warnings = [(rule, "application") for rule in ("message-is-text", "events-known")]
    assert odd.run(scope).rule_ids == ([], warnings)


def test_a_refusal_takes_back_the_step_of_its_message() -> None:
    talk = Talk()

    async def app(_: Any, receive: Any, send: Any) -> None:
        talk.child = receive, send
        await talk.happen(STARTUP["type"])
        with contextlib.suppress(OSError):
            await send(STARTED)
        await talk.happen(STOPPED)

    async def send(message: Any) -> Any:
        if message is STARTED:
            await talk.happen(SHUTDOWN["type"])
            raise OSError
        return talk.sent

    talk.validated.app = app
    run(talk.validated(talk.scope, talk.receive, send))
    assert talk.rule_ids == ([], [])


class Forever:
    """What never is done."""

    def __await__(self) -> Iterator[None]:
        """Wait and wait."""
        while True:
            yield


class Serving(Talk):
    """An application that does what it is told, and then waits while requests come."""

    async def app(self, scope: Any, receive: Any, send: Any) -> Any:
        """Put its state where that belongs, and begin."""
        if scope["type"] != "lifespan":
            return
        self.child, self.live = (receive, send), scope.get("state", {})
        self.live.update(self.state)
        for happening in self.happenings:
            await self.happen(happening)
        await Forever()

    def begin(self, validated: Any = None, **state: Any) -> "Serving":
        """Call it, and leave it where it waits."""
        self.state = state
        self.validated = validated or self.validated
        self.validated.app = self.app
        self.call = self.validated(self.scope, self.receive, self.send)
        self.call.send(None)
        return self

    def request(self, **scope: Any) -> tuple[list[str], list[str]]:
        """Call for a request; return what was found by now."""
        scope = {"type": "http", **scope}
        run(self.validated(scope, self.receive, self.send))
        return told(self.validated.violations), told(self.validated.warnings)


def serving(*happenings: Any, spec: str = "asgi 2.0", **state: Any) -> Serving:
    """Return an application in the middle of its lifespan, by default while running."""
    return Serving(*(happenings or ALL[:2]), spec=spec).begin(**state)


@pytest.mark.parametrize("spec", SPEC_NAMES)
def test_a_request_has_a_copy_of_the_state_made_now_or_at_startup(spec: str) -> None:
    talk, pool = serving(spec=spec, pool=[], name=None), []
    state = {**talk.live}
    assert talk.request(state=state) == ([], [])
    talk.live["pool"] = pool
    talk.live["late"] = 1
    assert talk.request(state=state) == ([], [])
    assert talk.request(state={**talk.live, "mine": 1}) == ([], [])
    del talk.live["name"]
    assert talk.request(state={**talk.live}) == ([], [])


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        (None, "without the state"),
        ({"pool": 1}, "with a state whose 'name' is not that of the lifespan"),
        ({}, "with a state whose 'pool' is not that of the lifespan"),
    ],
)
@pytest.mark.parametrize("spec", SPEC_NAMES[1:])
def test_a_request_without_the_state_is_reported_once(state: Any, sentence: str, spec: str) -> None:
    talk = serving(spec=spec, pool=1, name="x")
    expected = f"The server called the application for 'http' {sentence} while running"
    talk.request(state=state)
    assert talk.request(state=state) == ([f"{expected} [state-shallow-copy]"], [])


def test_a_request_with_the_state_itself() -> None:
    talk = serving(pool=1)
    sentence = "The server called the application for 'http' with the state itself, not with a copy"
    assert talk.request(state=talk.live)[0] == [f"{sentence} while running [state-shallow-copy]"]


@pytest.mark.parametrize(
    ("happenings", "rule_id", "moment"),
    [
        ((), "wait-for-startup", "before startup was received"),
        (ALL[:1], "wait-for-startup", "while starting"),
        (WAYS["refused"], "startup-failed-never-serves", "after lifespan.startup.failed"),
        (ALL[:3], "shutdown-after-serving", "while shutting down"),
        (ALL, "shutdown-after-serving", "after shutdown was answered"),
    ],
)
def test_a_request_before_startup_or_after_shutdown_is_named_with_the_moment(
    happenings: tuple[str, ...], rule_id: str, moment: str
) -> None:
    found = Serving(*happenings).begin().request(state={})
    assert found == ([f"The server called the application for 'http' {moment} [{rule_id}]"], [])


def test_a_scope_that_is_no_mapping_is_passed_on_and_reported() -> None:
    async def app(*given: Any) -> Any:
        return given

    for scope in (5, {}, {"type": 5}):
        checked, receive, send = validator(app), object(), object()
        assert run(checked(scope, receive, send)) == (scope, receive, send)  # type: ignore[arg-type]
        message = f"The server called the application with {scope} as its scope [scope-type]"
        assert told(checked.violations) == [message]


def test_an_application_whose_startup_failed_is_never_served() -> None:
    talk = Talk(ALL[0], "lifespan.startup.failed", "return").run()
    run(talk.validated({"type": "http"}, talk.receive, talk.send))
    assert talk.rule_ids == ([("startup-failed-never-serves", "server")], [])
    for happenings in ((), ALL[:2], ALL):
        talk = Talk(*happenings, "return").run()
        run(talk.validated({"type": "http"}, talk.receive, talk.send))
        assert talk.rule_ids == ([], [])


@pytest.mark.parametrize("offered", [{}, {"state": {}}])
def test_another_object_as_the_state_is_a_warning(offered: dict[str, Any]) -> None:
    talk = Serving(ALL[0])
    talk.scope.pop("state", None)
    talk.scope |= offered
    talk.begin()
    talk.scope["state"] = {"pool": 1}
    run(talk.happen(STARTED))
    assert talk.rule_ids == ([], [("state-shallow-copy", "application")])
    what = 'put another object into scope["state"], which no request gets, while starting'
    assert told(talk.validated.warnings) == [f"The application {what} [state-shallow-copy]"]


def test_keys_are_checked_when_startup_is_complete() -> None:
    talk = serving(a=1)
    talk.live[5] = 1
    for happening in ALL[2:]:
        run(talk.happen(happening))
    assert talk.rule_ids == ([], [])


def test_a_second_lifespan_in_a_loop_is_a_warning() -> None:
    one, two = serving(), Serving(ALL[0])
    two.begin(one.validated)
    assert one.request(state={})[0] == []
    sentence = "The server began another lifespan while running [once-per-loop]"
    assert told(one.validated.warnings) == [sentence]
    one.validated.app = one.app
    run(one.happen(SHUTDOWN["type"]))
    assert len(one.request(state={})[0]) == 1
    one.call.close()
    Serving().begin(one.validated)
    assert len(one.validated.warnings) == 2


def test_each_thread_has_its_own_lifespan() -> None:
    one = serving()
    found: list[Any] = []

    def serve() -> None:
        found.append(one.request())
        two = Serving(ALL[0]).begin(one.validated)
        found.append(two.request())

    thread = Thread(target=serve)
    thread.start()
    thread.join()
    assert found[0] == ([], [])
    assert [violation.rule for violation in one.validated.violations] == ["wait-for-startup"]
    assert one.request(state={})[1] == []


def test_a_value_is_shown_in_short_even_if_it_has_no_repr() -> None:
    class Odd:
        def __repr__(self) -> str:
            raise ValueError

    def sent(value: object) -> str:
        return str(Talk(ALL[0], {"type": value}).run().validated.violations[0])

    long = sent("x" * 100).removeprefix("The application sent {'type': ").partition("}")[0]
    assert len(long) == 80
    assert "x...x" in long
    assert "<Odd instance at 0x" in sent(Odd())
    # Python 3.14 says of a number too long to be written what it is, as of what has no repr
    assert re.search("sent (<dict object|{'type': <int instance .*) at 0x", sent(10**5000))


def refused(*happenings: Any, spec: str) -> Talk:
    """Let the server refuse the last of these."""
    talk = Talk(*happenings, spec=spec)
    last = happenings[-1]
    talk.refuses = [event_of(last) if isinstance(last, str) else last]
    return talk.run()


def offering(spec: str, **more: Any) -> Talk:
    """Offer a scope that is not as it is wanted."""
    return Talk("return").run({**lifespan_scope(spec), **more})


def requested(*happenings: Any, spec: str, **scope: Any) -> Talk:
    """Call for a request when these have happened."""
    talk = Serving(*happenings, spec=spec)
    talk.scope.setdefault("state", {})
    talk.begin(a=1)
    talk.request(**{"state": dict(talk.live), **scope})
    return talk


def keyed(spec: str) -> Talk:
    """Put a key that is no text into the state."""
    talk = Serving(ALL[0], spec=spec)
    talk.scope["state"] = {}
    talk.begin().live[5] = 1
    run(talk.happen(STARTED))
    return talk


def typeless(spec: str) -> Talk:
    """Call with a scope that has no type."""
    return Talk("return", spec=spec).run({**lifespan_scope(spec), "type": None})


def doubled(spec: str) -> Talk:
    """Begin a second lifespan beside the first."""
    one = serving(spec=spec)
    Serving(ALL[0], spec=spec).begin(one.validated)
    return one


UNKNOWN = {"type": "lifespan.ready"}
# For each rule that the validator knows a conversation that breaks it, and no other way to do so is
# forbidden by a specification that does not forbid this one.
CHECKED: dict[str, Callable[[str], Talk]] = {
    "scope-type": typeless,
    "scope-versions": lambda spec: offering(spec, **{SPECS[spec].envelope or "x": 5}),
    "scope-state": lambda spec: offering(spec, state=5),
    "state-starts-empty": lambda spec: offering(spec, state={"a": 1}),
    "once-per-loop": doubled,
    "startup-sent": lambda spec: Talk(ALL[0], ALL[0], spec=spec).run(),
    "shutdown-sent": lambda spec: Talk(*ALL[:3], ALL[2], spec=spec).run(),
    "wait-for-startup": lambda spec: requested(ALL[0], spec=spec),
    "startup-failed-never-serves": lambda spec: requested(ALL[0], FAILED["type"], spec=spec),
    "shutdown-after-serving": lambda spec: requested(*ALL[:3], spec=spec),
    "state-shallow-copy": lambda spec: requested(*ALL[:2], spec=spec, state={}),
    "state-keys-text": keyed,
    "events-known": lambda spec: refused(ALL[0], UNKNOWN, spec=spec),
    "send-refuses-unknown": lambda spec: Talk(ALL[0], UNKNOWN, spec=spec).run(),
    "message-is-text": lambda spec: refused(ALL[0], FAILED, spec=spec),
    "extra-keys-ignored": lambda spec: refused(ALL[0], {**STARTED, "more": 1}, spec=spec),
    "send-after-end-does-nothing": lambda spec: refused("return", STOPPED, spec=spec),
    "unsupported-gets-no-events": lambda spec: Talk("raise", ALL[2], spec=spec).run(),
    "returned-gets-no-events": lambda spec: Talk("return", ALL[2], spec=spec).run(),
    "crashed-gets-no-events": lambda spec: Talk(*ALL[:2], "raise", ALL[2], spec=spec).run(),
    "startup-answered-once": lambda spec: Talk(*ALL[:2], ALL[1], spec=spec).run(),
    "answers-in-order": lambda spec: Talk(ALL[0], STOPPED, spec=spec).run(),
    "shutdown-answered": lambda spec: Talk(*ALL[:3], "return", spec=spec).run(),
    "shutdown-answered-once": lambda spec: Talk(*ALL, ALL[3], spec=spec).run(),
}


# They ask for a lifespan in each process or worker, and do not say that there is no second one.
NOT_TWICE = {("asgi 1.0", "once-per-loop"), ("pagi 0.3", "once-per-loop")}


def owed(spec: str) -> set[str]:
    """Return the rules that are a must of a specification, by rules.toml."""
    return {
        rule_id
        for rule_id, rule in rules().items()
        if rule.level(spec) in MUST and (spec, rule_id) not in NOT_TWICE
    }


@pytest.mark.parametrize("spec", SPEC_NAMES)
@pytest.mark.parametrize("rule_id", CHECKED)
def test_the_validator_goes_by_the_levels_of_the_specifications(rule_id: str, spec: str) -> None:
    validated = CHECKED[rule_id](spec).validated
    violated, warned = (
        {each.rule for each in one} for one in (validated.violations, validated.warnings)
    )
    assert (rule_id in violated) is (rule_id in owed(spec))
    assert rule_id not in violated & warned
    assert rule_id in violated | warned or spec not in rules()[rule_id].specs


def test_arguments_that_are_refused() -> None:
    with pytest.raises(TypeError, match="app must be callable"):
        validator("app")  # type: ignore[arg-type]
    for spec, worker in ("asgi 2.0", 1), ("pagi 0.3", 0):
        with pytest.raises(ValueError, match=f"has no worker {worker}: PAGI counts them from 1"):
            lifespan_scope(spec, worker=worker)
