"""Middleware is checked: whatever the two at its sides see of each other stays the same."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from lifespec import validator
from lifespec.conformance.app.middleware import Probe, cases_for, check, run_case
from lifespec.conformance.cases import Unchecked
from lifespec.validate import SPECS

__all__: list[str] = []

Application = Callable[[Any, Any, Any], Awaitable[Any]]
Middleware = Callable[[Application], Application]
FAULTS = ("fail", "warn", "info")


def faults(middleware: Middleware, spec: str = "asgi 2.0") -> set[str]:
    """Name the rules that the suite finds broken."""
    findings = check(middleware, spec).findings
    return {finding.rule for finding in findings if finding.verdict in FAULTS}


def adds_to_scope(app: Application) -> Application:
    """Add to a copy of the scope."""

    async def middleware(scope: Any, receive: Any, send: Any) -> None:
        await app({**scope, "service": "shop"}, receive, send)

    return middleware


def in_a_group(app: Application) -> Application:
    """Run the application in a group of tasks."""

    async def middleware(scope: Any, receive: Any, send: Any) -> None:
        async with asyncio.TaskGroup() as outer, asyncio.TaskGroup() as inner:
            outer.create_task(asyncio.sleep(0))
            inner.create_task(app(scope, receive, send))  # type: ignore[arg-type]

    return middleware


def in_a_thread_first(app: Application) -> Application:
    """Have something done in a thread before."""

    async def middleware(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.to_thread(lambda: None)
        await app(scope, receive, send)

    return middleware


RIGHT = [lambda app: app, validator, adds_to_scope, in_a_group, in_a_thread_first]


@pytest.mark.parametrize("middleware", RIGHT, ids=lambda each: each.__name__)
def test_what_is_right(middleware: Middleware) -> None:
    """It conforms in every case."""
    found = check(middleware)
    assert found.status(strict=True) == 0
    assert faults(middleware) == set()
    assert {each.case for each in found.findings} == {case.name for case in cases_for("asgi 2.0")}


@pytest.mark.parametrize("spec", SPECS)
def test_every_text(spec: str) -> None:
    """Cases and requests are those of the text."""
    assert faults(adds_to_scope, spec) == set()


def eats_lifespan(app: Application) -> Application:
    """Answer all by itself."""

    async def middleware(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            for name in ("startup", "shutdown"):
                await receive()
                await send({"type": f"lifespan.{name}.complete"})
        else:
            await app(scope, receive, send)

    return middleware


def refuses_lifespan(app: Application) -> Application:
    """Take it that there are requests alone."""

    async def middleware(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "lifespan":
            await app(scope, receive, send)

    return middleware


def replaces_the_state(app: Application) -> Application:
    """Put another state into the server's scope."""

    async def middleware(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            scope["state"] = {}
        await app(scope, receive, send)

    return middleware


def loses_events(app: Application) -> Application:
    """Make events anew, with what it knows of."""

    async def middleware(scope: Any, receive: Any, send: Any) -> None:
        async def heard() -> Any:
            return {"type": (await receive())["type"]}

        await app(scope, heard, send)

    return middleware


def loses_messages(app: Application) -> Application:
    """Take messages out of answers."""

    async def middleware(scope: Any, receive: Any, send: Any) -> None:
        async def said(event: Any) -> None:
            await send({**event, "message": "see the log"} if "message" in event else event)

        await app(scope, receive, said)

    return middleware


def swallows_exceptions(app: Application) -> Application:
    """Log and go on, as for requests."""

    async def middleware(scope: Any, receive: Any, send: Any) -> None:
        with contextlib.suppress(Exception):
            await app(scope, receive, send)

    return middleware


def raises_its_own(app: Application) -> Application:
    """Put another exception in the place of the application's."""

    async def middleware(scope: Any, receive: Any, send: Any) -> None:
        try:
            await app(scope, receive, send)
        except Exception:
            raise RuntimeError("it failed") from None

    return middleware


@pytest.mark.parametrize(
    ("middleware", "rule_ids"),
    [
        (replaces_the_state, {"middleware-copies-scope", "state-untouched"}),
        (loses_events, {"startup-sent", "shutdown-sent"}),
        (loses_messages, {"failed-to-prevent-start", "shutdown-answered"}),
        (swallows_exceptions, {"middleware-passes-on", "unknown-scope-rejected"}),
        (raises_its_own, {"middleware-passes-on", "unknown-scope-rejected"}),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_what_is_wrong(middleware: Middleware, rule_ids: set[str]) -> None:
    """The suite names the rules that it breaks; tests/mutants has one for each of them alone."""
    assert faults(middleware) == rule_ids


@pytest.mark.parametrize("middleware", [eats_lifespan, refuses_lifespan])
def test_who_does_not_pass_lifespan_on(middleware: Middleware) -> None:
    """The application beneath never hears of startup: all is broken that goes with it."""
    found = faults(middleware)
    assert found >= {"startup-sent", "shutdown-sent", "startup-answered", "failed-to-prevent-start"}
    assert found >= {"scope-type", "state-untouched", "shutdown-answered"}
    assert "unknown-scope-rejected" not in found


def test_what_is_said() -> None:
    """A finding says what was seen without and with the middleware."""
    case = next(case for case in cases_for("asgi 2.0") if case.name == "through-unsupported")
    (found,) = run_case(swallows_exceptions, case, "asgi 2.0").findings
    assert found.actual == (
        "Without it: the application's own ProbeError('http only')."
        " With it: It does not support lifespan: on the scope it returned."
    )
    assert found.conversation.splitlines()[0].endswith("middleware")
    (found,) = run_case(adds_to_scope, case, "asgi 2.0").findings
    assert found.actual == "As without it: the application's own ProbeError('http only')."


def fails(app: Application) -> Application:
    """Be no middleware."""
    raise KeyError("settings")


@pytest.mark.parametrize(
    ("middleware", "said"),
    [
        (fails, "called with an application, it raised KeyError: 'settings'; middleware takes"),
        (lambda _: 42, "called with an application, it returned 42; middleware takes"),
        (
            lambda _: lambda *_: 42,
            "what it returned is not an application: a call of it returned 42",
        ),
        (lambda: 42, "called with an application, it raised TypeError"),
    ],
)
def test_what_is_no_middleware(middleware: Any, said: str) -> None:
    """What takes no application, or returns none, is refused with a sentence."""
    with pytest.raises(Unchecked) as error:
        check(middleware)
    assert str(error.value).startswith(said)


def test_a_probe_waits_where_its_script_says_so() -> None:
    """The application of the suite plays each verb that its scripts have."""
    verbs = {action.verb for case in cases_for("asgi 2.0") for action in case.script}
    assert verbs == {"receive", "send", "state", "raise", "return", "wait"}
    case = next(case for case in cases_for("asgi 2.0") if case.name == "through-a-crash")
    assert Probe(case).events == []


def test_the_specification_that_is_checked() -> None:
    """It is named in full or by its family; one that there is not is no empty report."""
    found = check(lambda app: app, "amgi")
    assert found.spec == "amgi 2.0"
    assert found.findings == check(lambda app: app, "amgi 2.0").findings != ()
    with pytest.raises(Unchecked, match="there is no specification 'wsgi'"):
        check(lambda app: app, "wsgi")
