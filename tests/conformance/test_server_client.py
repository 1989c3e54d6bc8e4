"""Requests of the suite: over HTTP, on a connection that stays open, and on a WebSocket."""

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from lifespec.conformance.server.client import Client, Unusable

LIMIT = 100.0  # seconds, which only a hang reaches
HERE = {"probe": "here"}  # in the answer of the probe that is asked
Serve = Callable[[socket.socket], object]


def client_of(port: int) -> Client:
    """Return a client of the probe called "here"."""
    return Client(port, "here", threading.Event())


@contextmanager
def served(serve: Serve) -> Iterator[Client]:
    """Serve one connection, in a thread of its own; yield a client."""

    def accept() -> None:
        connection, _ = server.accept()
        with connection:
            serve(connection)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=accept)
        thread.start()
        yield client_of(server.getsockname()[1])
        thread.join(LIMIT)
        assert not thread.is_alive()


def response(body: object, *fields: str) -> bytes:
    """Return an HTTP response."""
    content = json.dumps(body)
    head = "\r\n".join(["HTTP/1.1 200 OK", f"content-length: {len(content)}", *fields])
    return f"{head}\r\n\r\n{content}".encode()


def answers(*parts: bytes) -> Serve:
    """Return a server that answers each request with the next part, and then closes."""

    def serve(connection: socket.socket) -> None:
        for part in parts:
            connection.recv(65536)
            connection.sendall(part)

    return serve


def drip(connection: socket.socket) -> None:
    """Send a byte at a time, until the client has gone."""
    with suppress(OSError):
        while True:
            connection.sendall(b"H")
            time.sleep(0.01)


@pytest.mark.parametrize("body", [{"probe": "another"}, [28], "here"])
def test_only_the_probe_answers(body: object) -> None:
    with served(answers(response(body))) as client:
        assert client.request("/", LIMIT).body is None


def test_where_no_server_listens_there_is_no_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as bound:
        client = client_of(bound.getsockname()[1])
    assert client.request("/", LIMIT).body is None
    assert client.knock(LIMIT) == "refused"
    client.close()


def test_a_cancelled_check_awaits_no_answer() -> None:
    began = time.monotonic()
    with served(drip) as client:
        threading.Timer(0.2, client.cancelled.set).start()
        assert client.request("/", LIMIT).body is None
    assert time.monotonic() - began < LIMIT / 2


@pytest.mark.parametrize(
    ("part", "knock"), [(b"HTTP/1.1 200 OK\r\n\r\n", "answered"), (b"", "unanswered")]
)
def test_a_connection_is_accepted_and_perhaps_answered(part: bytes, knock: str) -> None:
    with served(answers(part)) as client:
        assert client.knock(LIMIT) == knock


def test_a_socket_that_listens_completes_a_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        assert client_of(listening.getsockname()[1]).knock(0.2) == "unanswered"


def test_requests_come_on_the_connection_that_stays_open() -> None:
    one, two = ({**HERE, "n": n} for n in (1, 2))
    with served(answers(response(one), response(two))) as client:
        assert [client.keep("/", LIMIT).body, client.keep("/", LIMIT).body] == [one, two]
        client.close()


@pytest.mark.parametrize("fields", [("connection: close",), ()])
def test_a_connection_that_was_closed_is_unusable(fields: tuple[str, ...]) -> None:
    with served(answers(response({}, *fields))) as client:
        client.keep("/", LIMIT)
        with pytest.raises(Unusable, match="connection"):
            client.keep("/", LIMIT)


@pytest.mark.parametrize("ask", [Client.keep, Client.websocket])
def test_the_limit_is_for_the_whole_answer(ask: Callable[..., Any]) -> None:
    began = time.monotonic()
    with served(drip) as client, pytest.raises(Unusable, match="was not answered"):
        ask(client, "/", 0.2)
    assert time.monotonic() - began < LIMIT / 2


UPGRADED = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"
WHOLE_TEXT = b"\x81"  # how a frame of a text begins
CLOSING = b"\x88\x02\x03\xe8"  # a frame that says 1000


@pytest.mark.parametrize("size", [1, 200, 70_000])
def test_a_websocket_frame_has_its_length_in_three_ways(size: int) -> None:
    body = {**HERE, "filler": "x" * size}
    content = json.dumps(body).encode()
    if len(content) < 126:
        length = bytes([len(content)])
    elif len(content) < 65536:
        length = b"\x7e" + struct.pack("!H", len(content))
    else:
        length = b"\x7f" + struct.pack("!Q", len(content))
    with served(answers(UPGRADED + WHOLE_TEXT + length + content)) as client:
        assert client.websocket("/", LIMIT).body == body


@pytest.mark.parametrize(
    ("part", "kind"),
    [
        (response({}), "websocket-refused"),
        (UPGRADED + CLOSING, "connection-unanswered"),
        (UPGRADED, "connection-unanswered"),
        (b"", "connection-unanswered"),
    ],
)
def test_a_server_without_websockets(part: bytes, kind: str) -> None:
    with served(answers(part)) as client, pytest.raises(Unusable) as unusable:
        client.websocket("/", LIMIT)
    assert unusable.value.fact.kind == kind
