"""Requests on a connection that stays open, and on a WebSocket, with servers of a few lines."""

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from lifespec.conformance.server.connections import Hindered, Kept, websocket

__all__: list[str] = []

LIMIT = 30.0  # seconds; nothing here takes one
Serve = Callable[[socket.socket], object]


@contextmanager
def served(serve: Serve) -> Iterator[int]:
    """Serve one connection, in a thread of its own; yield the port."""

    def accept() -> None:
        connection, _ = server.accept()
        with connection:
            serve(connection)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=accept)
        thread.start()
        yield server.getsockname()[1]
        thread.join(LIMIT)


def response(body: object, *fields: str) -> bytes:
    """Return an HTTP response."""
    content = json.dumps(body)
    head = "\r\n".join(["HTTP/1.1 200 OK", f"content-length: {len(content)}", *fields])
    return f"{head}\r\n\r\n{content}".encode()


def answers(*parts: bytes) -> Serve:
    """Return what answers each request with the next part, and then closes."""

    def serve(connection: socket.socket) -> None:
        for part in parts:
            connection.recv(65536)
            connection.sendall(part)

    return serve


def test_a_connection_stays_open() -> None:
    """Each request comes on it."""
    with served(answers(response({"n": 1}), response({"n": 2}))) as port:
        kept = Kept(port)
        assert [kept.ask("/", LIMIT), kept.ask("/", LIMIT)] == [{"n": 1}, {"n": 2}]
        kept.connection.close()


@pytest.mark.parametrize("fields", [("connection: close",), ()])
def test_a_connection_that_is_closed_is_told(fields: tuple[str, ...]) -> None:
    """Also by a server that did not announce it."""
    with served(answers(response({}, *fields))) as port:
        kept = Kept(port)
        kept.ask("/", LIMIT)
        with pytest.raises(Hindered, match="connection"):
            kept.ask("/", LIMIT)
        kept.connection.close()


def drip(connection: socket.socket) -> None:
    """Send a byte at a time, until the client has gone."""
    with suppress(OSError):
        while True:
            connection.sendall(b"H")
            time.sleep(0.01)


@pytest.mark.parametrize(
    "ask", [lambda port: Kept(port).ask("/", 0.2), lambda port: websocket(port, "/", 0.2)]
)
def test_a_server_that_drips_is_left(ask: Callable[[int], object]) -> None:
    """The limit is for the whole answer."""
    began = time.monotonic()
    with served(drip) as port, pytest.raises(Hindered, match="was not answered: "):
        ask(port)
    assert time.monotonic() - began < LIMIT / 2


UPGRADED = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"


@pytest.mark.parametrize("size", [1, 200, 70_000])
def test_a_message_of_a_websocket(size: int) -> None:
    """The length of a frame is written in three ways."""
    content = json.dumps({"it": "x" * size}).encode()
    short, long = len(content) < 126, len(content) > 65535
    length = bytes([len(content)]) if short else b"\x7e" + struct.pack("!H", len(content) % 65536)
    frame = b"\x81" + (b"\x7f" + struct.pack("!Q", len(content)) if long else length) + content
    with served(answers(UPGRADED + frame)) as port:
        assert websocket(port, "/", LIMIT) == {"it": "x" * size}


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (response({}), "The server did not open a WebSocket: its status was 200."),
        (UPGRADED + b"\x88\x02\x03\xe8", "A request on the connection was not answered: "),
        (UPGRADED, "A request on the connection was not answered: "),
        (b"", "A request on the connection was not answered: "),
    ],
)
def test_a_server_without_websockets(said: bytes, sentence: str) -> None:
    """It answers as for another request, or closes."""
    with served(answers(said)) as port, pytest.raises(Hindered, match=sentence):
        websocket(port, "/", LIMIT)
