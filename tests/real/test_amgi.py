"""AMGI's messages under amgi-redis: an application that consumes them, on a real redis-server."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from amgi_common import LifespanFailureError
from amgi_redis import Server
from redis.asyncio import Redis, from_url

from lifespec import lifespan_scope, validator
from lifespec.testing import trace
from loopback import free_port

__all__: list[str] = []

pytestmark = pytest.mark.needs("redis-server")

LIMIT = 30.0  # seconds; nothing here takes one


@contextlib.asynccontextmanager
async def redis_server() -> AsyncIterator[str]:
    """Run a redis-server that keeps nothing, on a free port of the loopback interface."""
    port = free_port()
    options = ["--bind", "127.0.0.1", "--port", str(port), "--save", "", "--appendonly", "no"]
    process = await asyncio.create_subprocess_exec(
        "redis-server", *options, stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout
        said = b""
        while b"Ready to accept connections" not in said:
            said = await process.stdout.readline()
            assert said, "redis-server ended"
        yield f"redis://127.0.0.1:{port}"
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


class Consumer:
    """Adds up the messages: the sum lives in the state, and every message is answered with it."""

    def __init__(self) -> None:
        self.started = asyncio.Event()
        self.scopes: list[Any] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer lifespan, and take messages."""
        self.scopes.append(scope)
        if scope["type"] == "lifespan":
            await receive()
            scope["state"]["sum"] = [0]
            await send({"type": "lifespan.startup.complete"})
            self.started.set()
            await receive()
            await send({"type": "lifespan.shutdown.complete"})
            return
        scope["state"]["sum"][0] += int(scope["payload"])
        total = str(scope["state"]["sum"][0]).encode()
        await send({"type": "message.send", "address": "sum", "headers": [], "payload": total})


async def published(client: Redis, *payloads: str) -> list[str]:
    """Publish a message after the other; return what comes back, each before the next."""
    answers = []
    async with client.pubsub() as sums:
        await sums.subscribe("sum")
        await sums.get_message(timeout=LIMIT)
        for payload in payloads:
            await client.publish("numbers", payload)
            answers.append((await sums.get_message(timeout=LIMIT))["data"].decode())
    return answers


async def test_messages_are_consumed_between_startup_and_shutdown() -> None:
    """Nobody breaks a rule; the state goes with each message, copied; the conversation is whole."""
    consumer = Consumer()
    recorded = trace.record(consumer)
    validated = validator(recorded)
    async with asyncio.timeout(LIMIT), redis_server() as url, from_url(url) as client:
        server = Server(validated, "numbers", url=url)
        serving = asyncio.create_task(server.serve())
        await consumer.started.wait()
        assert await published(client, "2", "3", "4") == ["2", "5", "9"]
        server.stop()
        await serving
    assert validated.violations == []
    ((*spoken,),) = [each.entries for each in recorded.conversations]
    assert [entry.type for entry in spoken if entry.kind in {"received", "sent"}] == [
        "lifespan.startup",
        "lifespan.startup.complete",
        "lifespan.shutdown",
        "lifespan.shutdown.complete",
    ]
    lifespan, *messages = consumer.scopes
    assert {**lifespan, "state": {}} == lifespan_scope("amgi 2.0")
    assert len(messages) == 3
    for message in messages:
        assert message["amgi"] == lifespan["amgi"]
        assert message["state"] == lifespan["state"]
        assert message["state"] is not lifespan["state"]


async def test_a_message_scope_has_nothing_to_receive() -> None:
    """In AMGI 2.0 the message is in the scope, and `receive` raises."""
    raised: list[BaseException] = []
    started, asked = asyncio.Event(), asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await receive()
            await send({"type": "lifespan.startup.complete"})
            started.set()
            await receive()
            await send({"type": "lifespan.shutdown.complete"})
            return
        try:
            await receive()
        except RuntimeError as error:
            raised.append(error)
        asked.set()

    async with asyncio.timeout(LIMIT), redis_server() as url, from_url(url) as client:
        server = Server(app, "numbers", url=url)
        serving = asyncio.create_task(server.serve())
        await started.wait()
        await client.publish("numbers", "1")
        await asked.wait()
        server.stop()
        await serving
    assert len(raised) == 1


async def test_no_message_is_consumed_where_startup_failed() -> None:
    """The server ends with the application's message, and delivers nothing."""
    seen: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope["type"])
        await receive()
        await send({"type": "lifespan.startup.failed", "message": "no price list"})

    async with asyncio.timeout(LIMIT), redis_server() as url, from_url(url) as client:
        with pytest.raises(LifespanFailureError, match="no price list"):
            await Server(app, "numbers", url=url).serve()
        assert await client.publish("numbers", "1") == 0
    assert seen == ["lifespan"]


async def test_an_application_without_a_lifespan_is_served() -> None:
    """It raises on the scope; messages come all the same, with an empty state."""
    got: asyncio.Queue[Any] = asyncio.Queue()
    called = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "message":
            called.set()
            raise ValueError(scope["type"])
        got.put_nowait((scope["payload"], scope["state"]))

    async with asyncio.timeout(LIMIT), redis_server() as url, from_url(url) as client:
        server = Server(app, "numbers", url=url)
        serving = asyncio.create_task(server.serve())
        await called.wait()  # the server subscribes before it calls
        await client.publish("numbers", "7")
        assert await got.get() == (b"7", {})
        server.stop()
        await serving
