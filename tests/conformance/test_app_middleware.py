"""Middleware is checked: what the application or the server sends has to reach the other.

tests/mutants has a wrong middleware for each rule alone; here are those that break several, and
those that have an answer of their own.
"""

import asyncio
from collections import ChainMap
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.middleware.httpsredirect import HTTPSRedirectMiddleware
from starlette.routing import Mount

from lifespec import validator
from lifespec.conformance import Report, check_middleware
from lifespec.conformance.app.check import cases_for
from lifespec.conformance.text import Words
from middlewares import Middleware, changing, without, wrapping

LIMIT = 4.0  # seconds that some of these let pass, on a machine that may be busy


def check(middleware: Middleware, spec: str = "asgi 2.0") -> Report:
    """Check middleware."""
    return check_middleware(middleware, spec, strict=True, timeout=LIMIT)


def rules(report: Report, *verdicts: str) -> set[str]:
    """Name the rules with these verdicts."""
    return {each.rule for each in report.findings if each.verdict in verdicts}


@wrapping
async def in_a_group(app: Any, scope: Any, receive: Any, send: Any) -> None:
    async with asyncio.TaskGroup() as outer, asyncio.TaskGroup() as inner:
        outer.create_task(asyncio.to_thread(lambda: None))
        inner.create_task(app(scope, receive, send))  # type: ignore[arg-type]


@wrapping
async def by_type(app: Any, scope: Any, receive: Any, send: Any) -> None:
    """Choose an application by the type of the scope, as channels' router does."""
    await {"http": app, "lifespan": app}[scope["type"]](scope, receive, send)


# where `by_type` raises, at an unknown scope, ASGI asks for it
@pytest.mark.parametrize("middleware", [lambda app: app, validator, in_a_group, by_type])
def test_what_hands_everything_on_passes_every_case(middleware: Middleware) -> None:
    found = check(middleware)
    assert found.status == 0
    assert rules(found, "fail", "warn", "info") == set()
    assert {each.case for each in found.findings} == {*cases_for("middleware", "asgi 2.0")}


@wrapping
async def eats_lifespan(app: Any, scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "lifespan":
        for name in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{name}.complete"})
    else:
        await app(scope, receive, send)


@wrapping
async def reads_the_path(app: Any, scope: Any, receive: Any, send: Any) -> None:
    if scope["path"]:
        await app(scope, receive, send)


@wrapping
async def waits_for_ever(app: Any, scope: Any, receive: Any, send: Any) -> None:
    await asyncio.Event().wait()


@wrapping
async def lacks_settings(app: Any, scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "http":
        scope["app"].state.limiter()
    await app(scope, receive, send)


@wrapping
async def drops_requests(app: Any, scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] != "http":
        await app(scope, receive, send)


@wrapping
async def holds_answers_back(app: Any, scope: Any, receive: Any, send: Any) -> None:
    held: list[Any] = []

    async def keep(event: Any) -> None:
        held.append(event)

    await app(scope, receive, keep if scope["type"] == "lifespan" else send)
    for event in held:
        await send(event)


@wrapping
async def hangs_at_shutdown(app: Any, scope: Any, receive: Any, send: Any) -> None:
    async def hanging(event: Any) -> None:
        if "lifespan.shutdown" in event["type"]:
            await asyncio.sleep(1e6)
        await send(event)

    await app(scope, receive, hanging)


@wrapping
async def starts_twice(app: Any, scope: Any, receive: Any, send: Any) -> None:
    events: list[Any] = []

    async def again() -> Any:
        events.append(events[0] if len(events) == 1 else await receive())
        return events[-1]

    await app(scope, again, send)


@wrapping
async def deafens(app: Any, scope: Any, receive: Any, send: Any) -> None:
    await app(scope, asyncio.Event().wait, send)


lacks_the_values = changing(
    scope=lambda scope: scope if scope["type"] == "lifespan" else {**scope, "state": {}}
)


@pytest.mark.parametrize(
    ("middleware", "broken"),
    [
        (
            holds_answers_back,
            {"startup-answered", "failed-to-prevent-start", "send-refuses-unknown"},
        ),
        (hangs_at_shutdown, {"shutdown-answered"}),
        (starts_twice, {"startup-sent"}),
        (changing(without("state")), {"state-untouched", "state-shallow-copy"}),
        (lacks_the_values, {"state-shallow-copy"}),
        (deafens, {"startup-sent"}),
    ],
)
def test_what_is_wrong_is_named(middleware: Middleware, broken: set[str]) -> None:
    assert rules(check(middleware), "fail", "warn", "info") == broken


known = without("hello")


@pytest.mark.parametrize(
    ("middleware", "different"),
    [
        (
            changing(answer=lambda each: each | ({"message": "x"} if "message" in each else {})),
            {"failed-to-prevent-start", "shutdown-answered"},
        ),
        (
            changing(known, known, known),
            {"scope-type", "startup-sent", "startup-answered", "shutdown-sent"},
        ),
        (
            changing(lambda each: {**each, "state": ChainMap(each["state"])}
                     if "state" in each else each),
            {"state-untouched"},
        ),
    ],
    ids=["another-message", "fewer-keys", "a-view-of-the-state"],
)  # fmt: skip
def test_a_difference_that_no_specification_forbids_fails_nobody(
    middleware: Middleware, different: set[str]
) -> None:
    found = check(middleware)
    assert rules(found, "info") == different
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
def test_a_lifespan_not_passed_on_is_the_one_fault(middleware: Middleware, instead: str) -> None:
    found = check(middleware)
    assert rules(found, "fail") == {"startup-sent"}
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
def test_the_state_of_a_request_that_does_not_reach_the_application_is_not_judged(
    middleware: Any, reason: str
) -> None:
    found = check(middleware)
    assert found.status == 0
    (skipped,) = [each for each in found.findings if each.kind.startswith("request-")]
    assert skipped.verdict == "skip"
    sentence = Words().say(skipped.observed)
    assert sentence.startswith("The request did not reach the application: ")
    assert reason in sentence


class OfMounts:
    """Take applications by their paths, as a dispatcher does, and not one application."""

    def __init__(self, mounts: Any) -> None:
        self.mounts = mounts

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        for each in self.mounts:
            await each(scope, receive, send)


def test_what_takes_the_application_for_something_else_is_no_middleware() -> None:
    report = check_middleware(OfMounts, only=["through-start-and-stop"])
    assert report.status == 2
    assert "it took the application of the suite for something else" in " ".join(
        str(report).split()
    )
