"""Test clients, adapters and brokers are played like servers."""

import shutil
import sys

import brokers
import drivers
import pytest

from lifespec.conformance.server.check import check, chosen

__all__: list[str] = []

CASES = chosen(["well-behaved", "raises-on-the-scope", "interrupted", "state"])
CONSUME = """
import asyncio, importlib, json, signal, sys
from lifespec import Lifespan, lifespan_scope
target, topic, port = sys.argv[1:]
app = importlib.import_module(target.partition(":")[0]).app

async def main():
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    reader, writer = await asyncio.open_connection("127.0.0.1", int(port))
    async with Lifespan(app, scope=lifespan_scope("amgi 2.0")) as lifespan:
        writer.write(f"SUBSCRIBE {topic}\\r\\n".encode())
        reading = asyncio.create_task(serve(reader, lifespan))
        await stopped.wait()
        reading.cancel()

async def serve(reader, lifespan):
    async def send(event):
        pass
    while line := await reader.readline():
        if line.startswith(b"/"):
            scope = {"type": "message", "payload": line.strip(), "headers": []}
            await app(lifespan.with_state(scope), None, send)

asyncio.run(main())
"""


@pytest.mark.parametrize("name", ["lifespec", "asgi-lifespan", "starlette"])
def test_a_driver_is_played_like_a_server(name: str) -> None:
    found = check(drivers.target(name), CASES)
    verdicts = {(each.case, str(each.verdict)) for each in found.findings}
    assert found.subject == name
    assert ("well-behaved", "pass") in verdicts
    assert ("interrupted", "skip") in verdicts  # a test client gets no signal
    assert ("state", "pass") in verdicts or name == "asgi-lifespan"  # which has no copies


def test_what_a_driver_raises_goes_to_its_caller() -> None:
    found = check(drivers.target("asgi-lifespan"), chosen(["raises-on-the-scope"]))
    kinds = {each.rule: (str(each.verdict), each.kind) for each in found.findings}
    assert kinds["unsupported-by-raising"] == ("info", "to-caller")


@pytest.mark.needs("redis-server")
def test_a_server_takes_its_messages_from_a_broker() -> None:
    assert shutil.which("redis-server")
    words = [sys.executable, "-c", CONSUME, "{app}", "{topic}", "{port}"]
    found = check(brokers.target(words, "redis"), chosen(["well-behaved", "state"]))
    wrong = [(each.case, each.rule) for each in found.findings if each.verdict != "pass"]
    assert wrong == []
    assert {each.case for each in found.findings} == {"well-behaved", "state"}
