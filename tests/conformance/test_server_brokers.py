"""A server of messages is checked with a broker, which is started and ended beside it."""

import re
import socket
import sys
from pathlib import Path

import pytest

from lifespec.conformance.cases import Unchecked
from lifespec.conformance.processes import until
from lifespec.conformance.server import brokers, process
from lifespec.conformance.server import check as server_check
from lifespec.conformance.server.brokers import BROKERS, Broker, Brokered
from lifespec.conformance.server.check import ServerCheck

__all__: list[str] = []

LIMIT = 30.0  # seconds; nothing here takes one
BROKER = """
import asyncio, sys

subscribed = []

async def talk(reader, writer):
    while count := await reader.readline():  # *3, and then three words, each behind its length
        words = []
        for _ in range(int(count[1:])):
            length = int((await reader.readline())[1:])
            words.append((await reader.readexactly(length + 2))[:-2])
        if words[0] == b"SUBSCRIBE":
            subscribed.append(writer)
            continue
        for each in subscribed:
            each.write(words[2] + b"\\n")
        writer.write(b":%d\\r\\n" % len(subscribed))
    writer.close()

async def main():
    server = await asyncio.start_server(talk, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()

asyncio.run(main())
"""
SERVER = """
import asyncio, importlib, signal, sys
from lifespec import Lifespan, lifespan_scope

module, name = sys.argv[1].split(":")
app = getattr(importlib.import_module(module), name)

async def nothing(event):
    pass

async def main():
    reader, writer = await asyncio.open_connection("127.0.0.1", int(sys.argv[3]))
    async with Lifespan(app, scope=lifespan_scope("amgi 2.0")) as lifespan:
        topic = sys.argv[2].encode()
        writer.write(b"*2\\r\\n$9\\r\\nSUBSCRIBE\\r\\n$%d\\r\\n%s\\r\\n" % (len(topic), topic))
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, reader.feed_eof)
        while payload := await reader.readline():
            about = {"type": "message", "amgi": {}, "headers": [], "payload": payload.strip()}
            await app(lifespan.with_state(about), None, nothing)

asyncio.run(main())
"""
COMMAND = (sys.executable, "-c", SERVER, "{app}", "{topic}", "{port}")


@pytest.fixture
def broker(tmp_path: Path) -> Broker:
    """Return a broker that speaks what we need of the protocol of Redis."""
    (tmp_path / "broker.py").write_text(BROKER)
    path = f"{tmp_path / 'broker.py'}"
    return Broker(sys.executable, lambda port: [path, f"{port}"], BROKERS["redis"].publish)


@pytest.fixture
def job(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> ServerCheck:
    """Return what checks a server of messages that obeys the text."""
    monkeypatch.setitem(BROKERS, "redis", broker)
    return brokers.job(COMMAND, "redis", "amgi 2.0", limit=LIMIT)


def test_a_server_of_messages_is_checked(job: ServerCheck) -> None:
    """By what its application sees; of a port of its own nothing is said."""
    only = ["well-behaved", "state", "failed-with-message", "request-in-flight", "port-in-use"]
    found = server_check.check(job, server_check.chosen(only)).findings
    verdicts = {(each.case, each.rule): each.verdict for each in found}
    assert verdicts.pop(("port-in-use", "shutdown-sent")) == "skip"
    assert set(verdicts.values()) == {"pass"}
    assert verdicts["well-behaved", "startup-before-serving"]
    assert "message /" in found[0].conversation
    assert not process._given


def test_a_message_is_published_and_answered(broker: Broker) -> None:
    """As soon as the server has subscribed; broker and server are gone afterwards."""
    with Brokered(broker, COMMAND, [["converse", None]]) as subject:
        assert subject.beneath
        assert until(lambda: subject.pids() == {subject.process.pid}, LIMIT)  # once it has spoken
        assert until(lambda: subject.ask("/look", 1.0).body, LIMIT)
    assert subject.beneath.returncode is not None
    assert subject.deliver("/", 0.1) is False
    with socket.create_server(("127.0.0.1", subject.port)):
        pass


def test_a_broker_that_does_not_listen(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sentence says so, and it is ended."""
    monkeypatch.setattr(brokers, "START", 0.1)
    idle = broker._replace(arguments=lambda _: ["-c", "import time; time.sleep(60)"])
    subject = Brokered(idle, COMMAND, [])
    with pytest.raises(Unchecked, match=f"does not listen on port {subject.port}"), subject:
        pass
    assert subject.beneath
    assert subject.beneath.returncode is not None
    assert not subject.folder.exists()


def test_a_broker_that_is_not_there(broker: Broker) -> None:
    """A sentence names it, and nothing is left behind."""
    subject = Brokered(broker._replace(program="no-such-broker"), COMMAND, [])
    with (
        pytest.raises(Unchecked, match="there is no program 'no-such-broker': install it"),
        subject,
    ):
        pass
    assert not subject.folder.exists()


def ends() -> tuple[socket.socket, socket.socket]:
    """Return two ends of a conversation, which do not wait for long."""
    ours, theirs = socket.socketpair()
    ours.settimeout(LIMIT)
    theirs.settimeout(LIMIT)
    return ours, theirs


@pytest.mark.parametrize(("answer", "delivered"), [(b":2\r\n", True), (b":0\r\n", False)])
def test_redis_says_how_many_have_subscribed(answer: bytes, delivered: bool) -> None:
    """To nobody nothing was delivered."""
    ours, theirs = ends()
    with ours, theirs:
        theirs.sendall(answer)
        assert BROKERS["redis"].publish(ours, b"/look?1") is delivered
        assert theirs.recv(99) == b"*3\r\n$7\r\nPUBLISH\r\n$8\r\nlifespec\r\n$7\r\n/look?1\r\n"


def test_mqtt_in_bytes() -> None:
    """Connect, publish at most once, disconnect: the packets of MQTT 3.1.1."""
    ours, theirs = ends()
    with ours, theirs:
        theirs.sendall(b"\x20\x02\x00\x00")
        assert BROKERS["mosquitto"].publish(ours, b"/" * 200)
        assert theirs.recv(999) == (
            b"\x10\x0c\x00\x04MQTT\x04\x02\x00\x3c\x00\x00"
            b"\x30\xd2\x01\x00\x08lifespec" + b"/" * 200 + b"\xe0\x00"
        )
        theirs.sendall(b"\x20\x02\x00\x05")  # refused
        assert not BROKERS["mosquitto"].publish(ours, b"/")


@pytest.mark.needs("mosquitto")
def test_mosquitto_hands_on_what_is_published() -> None:
    """A subscriber receives it."""
    server = [sys.executable, "-c", "pass", "{port}"]
    with (
        Brokered(BROKERS["mosquitto"], server, []) as subject,
        socket.create_connection(("127.0.0.1", subject.port), LIMIT) as talk,
    ):
        talk.sendall(b"\x10\x0d\x00\x04MQTT\x04\x02\x00\x3c\x00\x01s")
        assert talk.recv(4) == b"\x20\x02\x00\x00"
        talk.sendall(b"\x82\x0d\x00\x01\x00\x08lifespec\x00")
        assert talk.recv(5) == b"\x90\x03\x00\x01\x00"
        assert subject.deliver("/look?1", LIMIT)
        assert talk.recv(99) == b"\x30\x11\x00\x08lifespec/look?1"


@pytest.mark.parametrize(
    ("command", "spec", "sentence"),
    [
        (("x", "{topic}"), "asgi 2.0", "by amgi 2.0, not by asgi 2.0: give --spec amgi"),
        (("x", "{app}"), "amgi 2.0", "the command has no {topic}, on which the"),
    ],
)
def test_what_cannot_be_checked(command: tuple[str, ...], spec: str, sentence: str) -> None:
    """A sentence says what is missing."""
    with pytest.raises(Unchecked, match=re.escape(sentence)):
        brokers.job(command, "redis", spec)
