"""The validator works under servers and drivers that know nothing of it."""

import asyncio
import warnings
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import uvicorn
from uvicorn.lifespan.on import LifespanOn

from lifespec import validator

with warnings.catch_warnings(action="ignore"):  # of the client's own choice of libraries
    from starlette.testclient import TestClient

__all__: list[str] = []

App = Callable[[Any, Any, Any], Awaitable[None]]
STARTED, STOPPED = {"type": "lifespan.startup.complete"}, {"type": "lifespan.shutdown.complete"}


async def polite(scope: Any, receive: Any, send: Any) -> None:
    """Do what servers expect."""
    if scope["type"] == "lifespan":
        await receive()
        scope["state"]["pool"] = "open"
        await send(STARTED)
        await receive()
        await send(STOPPED)


async def rude(scope: Any, receive: Any, send: Any) -> None:
    """Leave shutdown without an answer."""
    await receive()
    await send({**STARTED, "hint": scope["type"]})
    await receive()


@pytest.mark.parametrize(("app", "rule_ids"), [(polite, []), (rude, ["shutdown-answered"])])
def test_under_uvicorn(app: App, rule_ids: list[str]) -> None:
    """Under uvicorn, which takes it for the application, the validator finds who is at fault."""
    validated = validator(app)

    async def main() -> None:
        config = uvicorn.Config(validated, lifespan="on", log_config=None)
        config.load()
        assert config.loaded_app
        lifespan = LifespanOn(config)
        await lifespan.startup()
        await lifespan.shutdown()

    asyncio.run(main())
    assert ([found.rule for found in validated.violations], validated.warnings) == (rule_ids, [])


def test_under_starlettes_test_client() -> None:
    """The test client offers lifespan 1.0 with a state, and copies it for its requests."""
    seen = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await polite(scope, receive, send)
        if scope["type"] == "http":
            seen.append(scope["state"])
            await send({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body"})

    validated = validator(app)
    with TestClient(validated) as client:
        assert client.get("/").status_code == 204
    assert seen == [{"pool": "open"}]
    assert (validated.violations, validated.warnings) == ([], [])
