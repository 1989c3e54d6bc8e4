"""Which lifespans of mounted applications nobody runs."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import Mount, Route, Router

from lifespec import combine_lifespans, with_lifespan
from lifespec.conformance.app.mounted import watched
from lifespec.testing import Running, run

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

__all__: list[str] = []


@contextlib.asynccontextmanager
async def life(_app: Any) -> AsyncIterator[None]:
    """Start and stop."""
    yield


async def index(_request: Any) -> None:
    """Answer nothing."""


def sub() -> Starlette:
    """Return an application with a lifespan of its own."""
    return Starlette(lifespan=life)


def parent(*mounted: Any, lifespan: Any = life) -> Starlette:
    """Return an application that mounts others."""
    return Starlette(lifespan=lifespan, routes=[Route("/", index), *mounted])


@contextlib.asynccontextmanager
async def runs_them_all(app: Any) -> AsyncIterator[None]:
    """Run the lifespan of each mounted application, as its documentation shows."""
    async with contextlib.AsyncExitStack() as stack:
        for route in app.routes[1:]:
            await stack.enter_async_context(route.app.router.lifespan_context(route.app))
        yield


@contextlib.asynccontextmanager
async def started(app: Any) -> AsyncIterator[None]:
    """Start what is wrapped, and nothing of it."""
    assert app
    yield


INNER = sub()
CASES: dict[str, tuple[Any, list[str]]] = {
    "alone": (sub(), []),
    "mounted": (parent(Mount("/shop", sub())), ["Starlette at /shop"]),
    "without a lifespan": (parent(Mount("/shop", Starlette())), []),
    "run by the parent": (parent(Mount("/shop", sub()), lifespan=runs_them_all), []),
    "below a mount": (parent(Mount("/a", routes=[Mount("/b", sub())])), ["Starlette at /a/b"]),
    "a router": (parent(Mount("/a", Router(lifespan=life))), ["Router at /a"]),
    "in middleware of the mount": (
        parent(Mount("/a", sub(), middleware=[Middleware(GZipMiddleware)])),
        ["Starlette at /a"],
    ),
    "in middleware": (GZipMiddleware(parent(Mount("/a", sub()))), ["Starlette at /a"]),
    "twice": (parent(Mount("/a", INNER), Mount("/b", INNER)), ["Starlette at /a"]),
    "covered": (with_lifespan(sub(), started), ["Starlette"]),
    "combined": (combine_lifespans(Starlette(), sub()), []),
}


@pytest.mark.parametrize("name", CASES)
def test_a_lifespan_that_nobody_runs_is_named(name: str) -> None:
    app, expected = CASES[name]

    async def once() -> None:
        async with Running(app):
            pass

    with watched(app) as names:
        run(once())
    assert names == expected


def test_an_application_is_afterwards_as_it_was() -> None:
    app = sub()
    with watched(parent(Mount("/shop", app))):
        assert app.router.lifespan_context is not life
    assert app.router.lifespan_context is life


def test_layers_without_end_are_left() -> None:
    class Layer:
        @property
        def app(self) -> Layer:
            return Layer()

        def __call__(self) -> None:
            """Do nothing."""

    with watched(Layer()) as names:
        pass
    assert names == []
