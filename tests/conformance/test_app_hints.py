"""Why an application could not start, and what its author would want to know besides."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from lifespec.conformance import check_app
from lifespec.conformance.app import hints

__all__: list[str] = []


class OperationalError(Exception):
    """What a driver of a database raises."""


@pytest.mark.parametrize(
    ("errors", "cause"),
    [
        ([], ""),
        ([KeyError("DATABASE_URL")], "code"),
        ([ImportError("no module")], "code"),
        ([FileNotFoundError("shop.toml")], "code"),
        ([ConnectionRefusedError("no")], "service"),
        ([socket.gaierror("no such host")], "service"),
        ([OSError("Multiple exceptions: [Errno 111] Connect call failed ('::1', 1)")], "service"),
        ([OperationalError("no")], "service"),
        ([RuntimeError("no database"), ConnectionResetError()], "service"),
        ([RuntimeError("no"), ValueError()], "code"),
    ],
)
def test_a_service_that_is_not_there_is_told_from_code(errors: Any, cause: str) -> None:
    assert hints.cause(errors) == cause


async def waits() -> None:
    """Wait for ever."""
    await asyncio.Event().wait()


@contextlib.asynccontextmanager
async def leaves_a_task(_app: Any) -> AsyncIterator[None]:
    """Start a task, and forget it."""
    task = asyncio.create_task(waits(), name="poller")
    yield
    del task


async def rebinds(scope: Any, receive: Any, send: Any) -> None:
    """Give the scope another state, and wait for one more event at the end."""
    if scope["type"] != "lifespan":
        raise NotImplementedError(scope["type"])
    while True:
        event = await receive()
        if event["type"] not in ("lifespan.startup", "lifespan.shutdown"):
            raise ValueError(event["type"])
        scope["state"] = {"pool": 1}
        await send({"type": f"{event['type']}.complete"})


@pytest.mark.parametrize(
    ("app", "expected"),
    [
        (Starlette(), []),
        (
            Starlette(lifespan=leaves_a_task),
            ["A task still ran after it had stopped: poller, waits ("],
        ),
        (
            rebinds,
            ['It put another object into `scope["state"]`.', "It did not return after it had "],
        ),
        (
            Starlette(routes=[Mount("/shop", Starlette(lifespan=leaves_a_task))]),
            ["The lifespan of Starlette at /shop was not run: "],
        ),
    ],
)
def test_what_an_author_would_want_to_know(app: Any, expected: list[str]) -> None:
    said = [each.said() for each in check_app(app).notices]
    assert [text[: len(start)] for text, start in zip(said, expected, strict=True)] == expected
