"""Requests on a connection that stays open, and on a WebSocket; with the standard library."""

from __future__ import annotations

import base64
import json
import os
import socket
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from threading import Timer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Hindered", "Kept", "websocket"]

_UPGRADE = (
    "GET {} HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: {}\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
_LENGTHS = {126: 2, 127: 8}  # in how many bytes the length of a longer frame follows


class Hindered(Exception):
    """The server does not take a request in this way; `str()` is a sentence."""


class Kept:
    """A connection to a port that stays open from one request to the next."""

    def __init__(self, port: int) -> None:
        self.connection = HTTPConnection("127.0.0.1", port)
        self.used = False

    def ask(self, path: str, limit: float) -> dict[str, Any]:
        """Request a path; return the object in the answer, or raise Hindered."""
        try:
            if not self.used:
                self.connection.connect()
            if not isinstance(self.connection.sock, socket.socket):
                raise Hindered("The server closed the connection after a request.")
            self.used = True
            with _within(limit, self.connection.sock):
                self.connection.request("GET", path)
                return dict(json.loads(self.connection.getresponse().read()))
        except (OSError, HTTPException, ValueError, TypeError) as error:
            self.connection.close()
            raise Hindered(_unanswered(error)) from None


def websocket(port: int, path: str, limit: float) -> dict[str, Any]:
    """Open a WebSocket; return the object in its first message, or raise Hindered."""
    try:
        with (
            socket.create_connection(("127.0.0.1", port), limit) as connection,
            _within(limit, connection),
            connection.makefile("rb") as stream,
        ):
            key = base64.b64encode(os.urandom(16)).decode()
            connection.sendall(_UPGRADE.format(path, key).encode())
            status = stream.readline().split(b" ")[1].decode()
            if status != "101":
                raise Hindered(f"The server did not open a WebSocket: its status was {status}.")
            while stream.readline().strip():
                pass
            _, length = stream.read(2)
            length = int.from_bytes(stream.read(_LENGTHS[length])) if length in _LENGTHS else length
            return dict(json.loads(stream.read(length)))
    except (OSError, ValueError, TypeError, IndexError) as error:
        raise Hindered(_unanswered(error)) from None


def _unanswered(error: Exception) -> str:
    return f"A request on the connection was not answered: {type(error).__name__}."


@contextmanager
def _within(seconds: float, connection: socket.socket) -> Iterator[None]:
    """Break a connection off after so many seconds, also if bytes arrive one by one."""

    def break_off() -> None:
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)

    timer = Timer(seconds, break_off)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
