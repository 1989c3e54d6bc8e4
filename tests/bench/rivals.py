"""What is measured: one application, and each driver that takes it through a whole lifespan."""

import asyncio
import tomllib
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Self

import lifespec

__all__ = ["DRIVERS", "Floor", "app", "installed"]

OURS = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Start and stop, with nothing to do."""
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await send({"type": "lifespan.shutdown.complete"})


class Floor:
    """The least that a driver can be: one task, three futures, and nothing is checked."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        started = loop.create_future()
        self.stop = loop.create_future()
        self.stopped = loop.create_future()
        first = True

        async def receive() -> Any:
            nonlocal first
            if first:
                first = False
                return {"type": "lifespan.startup"}
            await self.stop
            return {"type": "lifespan.shutdown"}

        async def send(message: Any) -> None:
            if message["type"] == "lifespan.startup.complete":
                started.set_result(None)
            else:
                self.stopped.set_result(None)

        asgi = {"version": "3.0", "spec_version": "2.0"}
        scope = {"type": "lifespan", "asgi": asgi, "state": {}}
        self.task = loop.create_task(self.app(scope, receive, send))
        await started
        return self

    async def __aexit__(self, *_: object) -> None:
        self.stop.set_result(None)
        await self.stopped
        await self.task


def uvicorn() -> Callable[[Any], Any]:
    """Start and stop as uvicorn.Server does; its logging is off, as lifespec logs nothing here."""
    on = import_module("uvicorn.lifespan.on")
    config = import_module("uvicorn").Config(app, lifespan="on", log_config=None)
    config.load()

    class Uvicorn:
        def __init__(self, _: Any) -> None:
            self.lifespan = on.LifespanOn(config)

        async def __aenter__(self) -> None:
            await self.lifespan.startup()

        async def __aexit__(self, *_: object) -> None:
            await self.lifespan.shutdown()

    return Uvicorn


def hypercorn() -> Callable[[Any], Any]:
    """Start and stop as hypercorn.asyncio.run does."""
    driver = import_module("hypercorn.asyncio.lifespan").Lifespan
    config = import_module("hypercorn.config").Config()
    wrapped = import_module("hypercorn.app_wrappers").ASGIWrapper(app)

    class Hypercorn:
        async def __aenter__(self) -> None:
            loop = asyncio.get_running_loop()
            self.lifespan = driver(wrapped, config, loop, {})
            self.task = loop.create_task(self.lifespan.handle_lifespan())
            await self.lifespan.wait_for_startup()

        async def __aexit__(self, *_: object) -> None:
            await self.lifespan.wait_for_shutdown()
            await self.task

    return lambda _: Hypercorn()


# package: how its driver is got; what it gives is called with the application
DRIVERS: dict[str, Callable[[], Callable[[Any], AbstractAsyncContextManager[Any]]]] = {
    "floor": lambda: Floor,
    "lifespec": lambda: lifespec.Lifespan,
    "amgi-common": lambda: import_module("amgi_common").Lifespan,
    "uvicorn": uvicorn,
    "hypercorn": hypercorn,
    "asgi-lifespan": lambda: import_module("asgi_lifespan").LifespanManager,
}


def installed(name: str) -> str | None:
    """Return the version of a driver, or None where it is not installed."""
    if name in {"floor", "lifespec"}:  # ours is the one beside this file
        return {"floor": "", "lifespec": OURS["project"]["version"]}[name]
    try:
        return version(name)
    except PackageNotFoundError:
        return None
