"""Advice goes by an exception's class, its number and its own words, and by no word anywhere."""

import errno
import sqlite3
from typing import Any

import pytest
import redis
import sqlalchemy.exc

from lifespec.diagnosis import advice
from lifespec.diagnosis.author import described

SERVICE, PORT = "advise-service", "advise-port"


def of(module: str, name: str, *arguments: Any, base: type[Exception] = Exception) -> Exception:
    """Return an exception of a class with this name in this module."""
    return type(name, (base,), {"__module__": module})(*arguments)


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


def in_sqlalchemy(cause: Exception) -> Exception:
    return caused(sqlalchemy.exc.OperationalError("select 1", {}, cause), cause)


@pytest.mark.parametrize(
    ("error", "change"),
    [
        (of("shop", "MissingTimeoutErrorHandler", "register one"), None),
        (of("shop", "ConnectionError", "no belt"), None),
        (ValueError("setting RETRY_ON: 'ConnectionError' is no class of ours"), None),
        (RuntimeError("address already in use: 5 Long Street"), None),
        (TimeoutError("the kettle"), None),
        (sqlite3.OperationalError("no such table: orders"), None),
        (in_sqlalchemy(sqlite3.OperationalError("no such table: orders")), None),
        (of("psycopg", "OperationalError", "password authentication failed"), None),
        (in_sqlalchemy(of("psycopg", "OperationalError", "Connection refused")), SERVICE),
        (ConnectionRefusedError(errno.ECONNREFUSED, "Connect call failed"), SERVICE),
        (OSError("Multiple exceptions: [Errno 111] Connect call failed"), SERVICE),
        (of("shop", "Unavailable", errno.ETIMEDOUT, "slow", base=OSError), SERVICE),
        (caused(RuntimeError("no cache"), redis.ConnectionError("no link")), SERVICE),
        (of("kafka.errors", "NoBrokersAvailable"), SERVICE),
        (RuntimeError("Cannot run the event loop while another loop is running"), "advise-await"),
        (OSError(errno.EADDRINUSE, "error while attempting to bind"), PORT),
    ],
)
def test_advice_on_an_exception(error: Exception, change: str | None) -> None:
    advised = advice.on_error(described(error))
    assert (advised and advised.kind) == change
