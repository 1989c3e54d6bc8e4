"""Servers that take their messages from a broker, which is started beside each of them."""

import contextlib
import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from drivers import Delivered, Measured

from lifespec.conformance.report import Unchecked, fact
from lifespec.conformance.server.process import ENDING, until

__all__ = ["BROKERS", "Broker", "Brokered", "target"]

TOPIC = "lifespec"
FOLDERS = os.pathsep.join(["/usr/local/sbin", "/usr/sbin"])  # not on the path of everybody
SEVEN = 0x7F  # bits
START = 10.0  # seconds in which a broker listens
NOT_APPLICABLE = {"port-in-use": "The port is the broker's: the server listens on none."}


def _redis(talk: socket.socket, message: bytes) -> bool:
    """Publish in the protocol of Redis; return whether somebody has subscribed."""
    words = b"PUBLISH", TOPIC.encode(), message
    talk.sendall(b"*3\r\n" + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
    return talk.recv(64) not in (b":0\r\n", b"")


def _mqtt(talk: socket.socket, message: bytes) -> bool:
    """Publish by MQTT 3.1.1, at most once; nobody says whether somebody has subscribed."""
    talk.sendall(_packet(0x10, _text("MQTT") + b"\x04\x02\x00\x3c" + _text("")))
    if talk.recv(4) != b"\x20\x02\x00\x00":
        return False
    talk.sendall(_packet(0x30, _text(TOPIC) + message) + _packet(0xE0, b""))
    return True


def _text(text: str) -> bytes:
    return len(text).to_bytes(2, "big") + text.encode()


def _packet(kind: int, body: bytes) -> bytes:
    """Return a packet; the length is in groups of seven bits, the lowest first."""
    length, rest = bytearray(), len(body)
    while rest > SEVEN:
        length.append(rest & SEVEN | 0x80)
        rest >>= 7
    return bytes([kind, *length, rest]) + body


class Broker(NamedTuple):
    """A broker: its program, its arguments for a port, and how one publishes there."""

    program: str
    arguments: Callable[[int], list[str]]
    publish: Callable[[socket.socket, bytes], bool]


BROKERS = {
    "redis": Broker(
        "redis-server",
        lambda port: [*f"--bind 127.0.0.1 --port {port} --appendonly no --save".split(), ""],
        _redis,
    ),
    "mosquitto": Broker("mosquitto", lambda port: ["-p", f"{port}"], _mqtt),
}


class Brokered(Delivered):
    """A server's process, and the broker from which it takes its messages."""

    def __init__(
        self, broker: Broker, command: Sequence[str], script: list[Any], workers: int = 1
    ) -> None:
        super().__init__(command, script, workers)
        self.broker = broker
        self.places["topic"] = TOPIC
        self.beneath: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the broker, and then the server."""
        name = self.broker.program
        path = os.pathsep.join([os.environ.get("PATH", os.defpath), FOLDERS])
        program = shutil.which(name, path=path)
        if program is None:
            raise Unchecked(fact("text", text=f"there is no program {name!r}: install it"))
        self.beneath = subprocess.Popen(
            [program, *self.broker.arguments(self.port)],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        if not until(self.listens, START):
            text = f"{name!r} does not listen on port {self.port}"
            raise Unchecked(fact("text", text=text))
        super().start()

    def listens(self) -> bool:
        """Whether the broker is there."""
        with contextlib.suppress(OSError), self._talk(1.0):
            return True
        return False

    def _talk(self, limit: float) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=limit)

    def deliver(self, message: str, limit: float) -> bool:
        """Publish a message."""
        with contextlib.suppress(OSError), self._talk(limit) as talk:
            return self.broker.publish(talk, message.encode())
        return False

    def clean(self) -> None:
        """End the broker, too."""
        if self.beneath:
            self.beneath.kill()
            self.beneath.wait(ENDING)
        super().clean()


def target(command: Sequence[str], broker: str) -> Measured:
    """Return a server of AMGI as what can be checked; {topic} in its command is the topic."""

    class Consumer(Measured):
        process = partial(Brokered, BROKERS[broker])

    return Consumer(tuple(command), "amgi 2.0", reasons=NOT_APPLICABLE)
