"""Why an application could not start, and what its author would want to know besides."""

from __future__ import annotations

import socket
from typing import Any

import pytest

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
