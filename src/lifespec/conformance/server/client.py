"""Requests to the server under test, over HTTP and on a WebSocket.

Each has a deadline for the whole answer, since a server can send one byte at a time, and ends when
the check is cancelled.  The probe answers every request with a JSON object; an answer without its
name is not one of the application.
"""

import base64
import contextlib
import json
import os
import socket
import threading
import time
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, NotConnected
from typing import Any, Literal, NamedTuple, cast

from lifespec.diagnosis.fact import fact
from lifespec.words import Explained

Knock = Literal["refused", "unanswered", "answered"]
LOOK_FOR_CANCEL_EVERY = 0.1  # seconds after which a read looks whether the check was cancelled
CONNECTING = 2.0  # seconds in which a system connects to a port of its own
MOST_READ = 200_000  # bytes of an answer that are read
UPGRADE = (
    "GET {} HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: {}\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
EXTENDED = {126: 2, 127: 8}  # how many bytes hold the length of a longer WebSocket frame
FAILURES = (OSError, HTTPException, ValueError, TypeError, IndexError)


class Reply(NamedTuple):
    """A request, when it was sent, and the probe's answer; None if there is none."""

    path: str
    sent: float
    body: Mapping[str, Any] | None


class Unusable(Explained):
    """A connection cannot be used as the case needs it; `fact` says why."""

    def __init__(self, kind: str, **parts: Any) -> None:
        super().__init__(fact(kind, **parts))


class _Socket(socket.socket):
    """A socket with reads that end at a deadline, or when the check is cancelled."""

    deadline: float
    cancelled: threading.Event

    def recv_into(self, buffer: Any, nbytes: int = 0, flags: int = 0) -> int:
        """Receive bytes before the deadline; raise TimeoutError after it."""
        # the files of http.client read by this method, and by no other
        while not self.cancelled.is_set():
            left = self.deadline - time.monotonic()
            if left <= 0:
                break
            self.settimeout(min(left, LOOK_FOR_CANCEL_EVERY))
            with contextlib.suppress(TimeoutError):
                return super().recv_into(buffer, nbytes, flags)
        raise TimeoutError("no whole answer in time")


class Client:
    """Requests to a port of this machine; answers count if they come from the probe `name`.

    `strangers` are the names of other probes that have answered.
    """

    def __init__(self, port: int, name: str, cancelled: threading.Event) -> None:
        self.port, self.name, self.cancelled = port, name, cancelled
        self.kept_alive: HTTPConnection | None = None
        self.strangers: set[str] = set()

    def _connect(self, limit: float) -> _Socket:
        plain = socket.create_connection(("127.0.0.1", self.port), min(limit, CONNECTING))
        # `create_connection` makes a plain socket; its descriptor goes on as one with a deadline
        connection = _Socket(fileno=plain.detach())
        connection.deadline = time.monotonic() + limit
        connection.cancelled = self.cancelled
        return connection

    def _body(self, content: bytes) -> Mapping[str, Any] | None:
        body = json.loads(content)
        if not isinstance(body, dict) or "probe" not in body:  # another program has the port
            return None
        if body["probe"] != self.name:
            self.strangers.add(str(body["probe"]))
            return None
        return body

    def _open(self, limit: float) -> HTTPConnection:
        connection = HTTPConnection("127.0.0.1", self.port)
        connection.sock = self._connect(limit)
        connection.auto_open = 0  # else it would connect anew, unseen, where the server has closed
        return connection

    def request(self, path: str, limit: float) -> Reply:
        """Request a path on a connection of its own."""
        sent, body = time.monotonic(), None
        with contextlib.suppress(*FAILURES), contextlib.closing(self._open(limit)) as connection:
            connection.request("GET", path, headers={"Connection": "close"})
            body = self._body(connection.getresponse().read(MOST_READ))
        return Reply(path, sent, body)

    def keep(self, path: str, limit: float) -> Reply:
        """Request a path on the connection that stays open; raise Unusable if it does not."""
        sent = time.monotonic()
        try:
            if self.kept_alive is None:
                self.kept_alive = self._open(limit)
            self.kept_alive.request("GET", path)
            cast("_Socket", self.kept_alive.sock).deadline = sent + limit
            return Reply(path, sent, self._body(self.kept_alive.getresponse().read()))
        except NotConnected:  # the server has closed it, as it may
            raise Unusable("connection-closed") from None
        except FAILURES as error:
            self.close()
            raise Unusable("connection-unanswered", error=type(error).__name__) from None

    def close(self) -> None:
        """Close the connection that stayed open."""
        if self.kept_alive:
            self.kept_alive.close()

    def websocket(self, path: str, limit: float) -> Reply:
        """Open a WebSocket and read its first message; raise Unusable if there is none."""
        sent = time.monotonic()
        try:
            with self._connect(limit) as connection, connection.makefile("rb") as stream:
                key = base64.b64encode(os.urandom(16)).decode()
                connection.sendall(UPGRADE.format(path, key).encode())
                status = stream.readline().split(b" ")[1].decode()
                if status != "101":
                    raise Unusable("websocket-refused", status=status)
                while stream.readline().strip():
                    pass
                # the probe's answer is one text frame, and what a server sends has no mask
                _, length = stream.read(2)
                if length in EXTENDED:
                    length = int.from_bytes(stream.read(EXTENDED[length]))
                body = self._body(stream.read(length))
        except FAILURES as error:
            raise Unusable("connection-unanswered", error=type(error).__name__) from None
        return Reply(path, sent, body)

    def knock(self, limit: float) -> Knock:
        """Connect and send a request; return how far that came."""
        came: Knock = "refused"
        with contextlib.suppress(OSError), self._connect(limit) as connection:
            came = "unanswered"
            connection.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
            if connection.recv_into(bytearray(1)):  # whatever it says, somebody serves
                came = "answered"
        return came
