"""The validator works under a server that knows nothing of it."""

import asyncio
from typing import Any

import uvicorn
from uvicorn.lifespan.on import LifespanOn

from lifespec import validator

__all__: list[str] = []

STARTED, STOPPED = {"type": "lifespan.startup.complete"}, {"type": "lifespan.shutdown.complete"}


async def polite(scope: Any, receive: Any, send: Any) -> None:
    """Do what servers expect."""
    if scope["type"] == "lifespan":
        await receive()
        scope["state"]["pool"] = "open"
        await send(STARTED)
        await receive()
        await send(STOPPED)


def test_under_uvicorn() -> None:
    """It takes it for the application, and nothing is found."""
    validated = validator(polite)

    async def main() -> None:
        config = uvicorn.Config(validated, lifespan="on", log_config=None)
        config.load()
        assert config.loaded_app
        lifespan = LifespanOn(config)
        await lifespan.startup()
        assert lifespan.state == {"pool": "open"}
        await lifespan.shutdown()

    asyncio.run(main())
    assert (validated.violations, validated.warnings) == ([], [])
