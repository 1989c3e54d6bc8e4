"""Middleware is checked: what the application or the server sends has to reach the other."""

import asyncio
import functools
from collections import ChainMap
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.middleware.httpsredirect import HTTPSRedirectMiddleware
from starlette.routing import Mount

from lifespec import validator
from lifespec.conformance import Report, check_middleware
from lifespec.conformance.app.check import cases_for
from lifespec.conformance.text import Words

__all__: list[str] = []

Application = Callable[[Any, Any, Any], Awaitable[Any]]
Middleware = Callable[[Application], Application]
FAULTS = ("fail", "warn", "info")
LIMIT = 4.0  # seconds that some of these let pass, on a machine that may be busy


def check(middleware: Middleware, spec: str = "asgi 2.0") -> Report:
    """Check middleware."""
    return check_middleware(middleware, spec, strict=True, timeout=LIMIT)


def faults(middleware: Middleware, spec: str = "asgi 2.0") -> set[str]:
    """Name the rules that the suite finds broken."""
    findings = check(middleware, spec).findings
    return {finding.rule for finding in findings if finding.verdict in FAULTS}


def wrapping(call: Callable[..., Awaitable[None]]) -> Middleware:
    """Make middleware of a function that takes the application first."""

    @functools.wraps(call)
    def middleware(app: Application) -> Application:
        return functools.partial(call, app)

    return middleware


@wrapping
async def in_a_group(app: Any, scope: Any, receive: Any, send: Any) -> None:
    """Run the application in a group of tasks."""
    async with asyncio.TaskGroup() as outer, asyncio.TaskGroup() as inner:
        outer.create_task(asyncio.sleep(0))
        inner.create_task(app(scope, receive, send))  # type: ignore[arg-type]


@wrapping
async def in_a_thread_first(app: Any, scope: Any, receive: Any, send: Any) -> None:
    """Have something done in a thread before."""
    await asyncio.to_thread(lambda: None)
    await app(scope, receive, send)


RIGHT = [lambda app: app, validator, in_a_group, in_a_thread_first]


@pytest.mark.parametrize("middleware", RIGHT, ids=lambda each: each.__name__)
def test_what_is_right(middleware: Middleware) -> None:
    """It conforms in every case."""
    found = check(middleware)
    assert found.status == 0
    assert faults(middleware) == set()
    assert {each.case for each in found.findings} == {*cases_for("middleware", "asgi 2.0")}


@wrapping
async def eats_lifespan(app: Any, scope: Any, receive: Any, send: Any) -> None:
    """Answer all by itself."""
    if scope["type"] == "lifespan":
        for name in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{name}.complete"})
    else:
        await app(scope, receive, send)


@wrapping
async def holds_answers_back(app: Any, scope: Any, receive: Any, send: Any) -> None:
    """Send when the application has returned."""
    held: list[Any] = []

    async def keep(event: Any) -> None:
        held.append(event)

    await app(scope, receive, keep if scope["type"] == "lifespan" else send)
    for event in held:
        await send(event)


@wrapping
async def hangs_at_shutdown(app: Any, scope: Any, receive: Any, send: Any) -> None:
    """Keep the answer to shutdown until it is too late."""

    async def said(event: Any) -> None:
        if "lifespan.shutdown" in event["type"]:
            await asyncio.sleep(1e6)
        await send(event)

    await app(scope, receive, said)


@wrapping
async def starts_twice(app: Any, scope: Any, receive: Any, send: Any) -> None:
    """Give the application its first event again."""
    events: list[Any] = []

    async def heard() -> Any:
        events.append(events[0] if len(events) == 1 else await receive())
        return events[-1]

    await app(scope, heard, send)


@wrapping
async def hides_the_state(app: Any, scope: Any, receive: Any, send: Any) -> None:
    """Know nothing of a state."""
    scope = {key: value for key, value in scope.items() if key != "state"}
    await app(scope, receive, send)


@wrapping
async def deafens(app: Any, scope: Any, receive: Any, send: Any) -> None:
    """Let no event through."""
    await app(scope, asyncio.Event().wait, send)


@wrapping
async def lacks_the_values(app: Any, scope: Any, receive: Any, send: Any) -> None:
    """Give requests a state of their own."""
    await app(scope if scope["type"] == "lifespan" else {**scope, "state": {}}, receive, send)


@wrapping
async def own_failure(app: Any, scope: Any, receive: Any, send: Any) -> None:
    """Say of a failure whose it is."""

    async def said(event: Any) -> None:
        if "message" in event:
            event = {**event, "message": f"shop: {event['message']}"}
        await send(event)

    await app(scope, receive, said)


@wrapping
async def knows_types_only(app: Any, scope: Any, receive: Any, send: Any) -> None:
    """Make events and answers anew, without keys that no specification has."""

    def known(event: Any) -> Any:
        return {key: value for key, value in event.items() if key != "hello"}

    async def heard() -> Any:
        return known(await receive())

    async def said(event: Any) -> None:
        await send(known(event))

    await app(known(scope), heard, said)


@wrapping
async def views_the_state(app: Any, scope: Any, receive: Any, send: Any) -> None:
    """Hand on a view, which writes through."""
    if "state" in scope:
        scope = {**scope, "state": ChainMap(scope["state"])}
    await app(scope, receive, send)


@wrapping
async def reads_the_path(app: Any, scope: Any, receive: Any, send: Any) -> None:
    """Take every scope for a request."""
    if scope["path"]:
        await app(scope, receive, send)


@wrapping
async def waits_for_ever(app: Any, scope: Any, receive: Any, send: Any) -> None:
    """Wait for something before it goes on."""
    await asyncio.Event().wait()


@wrapping
async def lacks_settings(app: Any, scope: Any, receive: Any, send: Any) -> None:
    """Read a key that a framework puts into the scope of a request."""
    if scope["type"] == "http":
        scope["app"].state.limiter()
    await app(scope, receive, send)


@wrapping
async def drops_requests(app: Any, scope: Any, receive: Any, send: Any) -> None:
    """Answer none."""
    if scope["type"] != "http":
        await app(scope, receive, send)


@wrapping
async def by_type(app: Any, scope: Any, receive: Any, send: Any) -> None:
    """Choose an application by the type of the scope, as channels' router does."""
    await {"http": app, "lifespan": app}[scope["type"]](scope, receive, send)


@pytest.mark.parametrize(
    ("middleware", "rule_ids"),
    [
        (
            holds_answers_back,
            {"startup-answered", "failed-to-prevent-start", "send-refuses-unknown"},
        ),
        (hangs_at_shutdown, {"shutdown-answered"}),
        (starts_twice, {"startup-sent"}),
        (hides_the_state, {"state-untouched", "state-shallow-copy"}),
        (lacks_the_values, {"state-shallow-copy"}),
        (deafens, {"startup-sent"}),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_what_is_wrong(middleware: Middleware, rule_ids: set[str]) -> None:
    """The suite names what breaks several rules; tests/mutants has one for each of them alone."""
    assert faults(middleware) == rule_ids


def test_a_difference_that_no_specification_forbids_fails_nobody() -> None:
    """Another text of a failure, an event without a key of its own, a view of the state."""
    for middleware, rules in (
        (own_failure, {"failed-to-prevent-start", "shutdown-answered"}),
        (knows_types_only, {"scope-type", "startup-sent", "startup-answered", "shutdown-sent"}),
        (views_the_state, {"state-untouched"}),
    ):
        found = check(middleware)
        assert {each.rule for each in found.findings if each.verdict == "info"} == rules
        assert found.status == 0


@pytest.mark.parametrize(
    ("middleware", "instead"),
    [
        (eats_lifespan, "It answers startup in the application's place."),
        (reads_the_path, "It raised KeyError: 'path'"),
        (waits_for_ever, "It did not answer startup in time."),
        (lambda app: Starlette(routes=[Mount("/", app)]), "It answers startup in the appl"),
    ],
)
def test_who_does_not_pass_lifespan_on(middleware: Middleware, instead: str) -> None:
    """That is the one fault: what it hides is not checked."""
    found = check(middleware)
    failed = [each for each in found.findings if each.verdict == "fail"]
    assert [each.rule for each in failed] == ["startup-sent"]
    text = " ".join(str(found).split())
    assert f"It does not pass the lifespan scope on. {instead}" in text


@pytest.mark.parametrize(
    ("middleware", "reason"),
    [
        (HTTPSRedirectMiddleware, "the middleware answered it with status 307"),
        (lacks_settings, "the middleware raised KeyError: 'app'"),
        (drops_requests, "the middleware returned"),
    ],
)
def test_who_answers_requests_alone_is_not_accused(middleware: Any, reason: str) -> None:
    """The request did not reach the application, so its state is not checked."""
    found = check(middleware)
    assert found.status == 0
    (skipped,) = [each for each in found.findings if each.kind.startswith("request-")]
    assert skipped.verdict == "skip"
    said = Words().say(skipped.observed)
    assert said.startswith("The request did not reach the application: ")
    assert reason in said


def test_who_raises_on_an_unknown_scope_is_not_accused() -> None:
    """An unknown scope is no lifespan: raising there is what ASGI asks for."""
    assert faults(by_type) == set()


def test_a_specification_without_state() -> None:
    """Nothing is said of what it does not have."""
    assert not [each for each in check(validator, "asgi 1.0").findings if "state" in each.rule]
