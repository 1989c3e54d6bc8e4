"""Applications of others are checked: what the suite finds of them, exactly."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from starlette.applications import Starlette
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response

from lifespec.conformance.app import middleware
from lifespec.conformance.app import run as app_run
from lifespec.conformance.report.model import Report

__all__: list[str] = []


def faults(found: Report) -> dict[str, str]:
    """Return what the suite has to say against a subject."""
    worst = {rule_id: findings[0].verdict for rule_id, findings in found.by_rule().items()}
    return {rule_id: how for rule_id, how in worst.items() if how not in ("pass", "skip")}


@contextlib.asynccontextmanager
async def pool(_: Starlette) -> AsyncIterator[dict[str, Any]]:
    """Put something into the state."""
    yield {"pool": "open"}


def test_starlette() -> None:
    """It takes whatever comes for the next event that it waits for; all else is as it should be."""
    for app in (Starlette(lifespan=pool), Starlette()):
        found = app_run.check(app)
        assert faults(found) == {"receive-refuses-unknown": "warn"}
        theirs = "This comes from Starlette (starlette.routing), not from your code."
        assert {each.whose for each in found.findings if each.verdict == "warn"} == {theirs}
        assert found.status(strict=True) == 0


def test_what_an_author_adds_is_theirs() -> None:
    """A function that drops the scope is no framework's."""

    async def dropping(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await Starlette()(scope, receive, send)

    found = app_run.check(dropping)
    assert (found.supported, found.status(), found.status(strict=True)) == (False, 0, 1)
    assert "middleware may drop the scope" in found.note


def test_a_start_that_fails_cannot_be_checked() -> None:
    """A sentence says so, with the application's own words."""

    @contextlib.asynccontextmanager
    async def no_database(_: Starlette) -> AsyncIterator[None]:
        raise ConnectionError("no database at db-1")
        yield

    found = app_run.check(Starlette(lifespan=no_database))
    assert found.status() == 2
    assert "its startup failed" in found.unchecked
    assert "ConnectionError: no database at db-1" in found.unchecked


def test_starlette_says_why_it_does_not_start() -> None:
    """Where the server offers no state that is needed, it sends startup.failed."""
    (found,) = app_run.check(Starlette(lifespan=pool)).by_rule()["state-may-be-missing"]
    assert found.verdict == "pass"
    assert found.actual == (
        "Startup was answered with failed: RuntimeError:"
        ' The server does not support "state" in the lifespan scope.'
    )


def test_middleware_of_starlette() -> None:
    """It passes lifespan on as it is."""

    class Plain(BaseHTTPMiddleware):
        async def dispatch(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
            return await call_next(request)

    for each in (GZipMiddleware, CORSMiddleware, Plain):
        assert faults(middleware.check(each)) == {}  # type: ignore[arg-type]
