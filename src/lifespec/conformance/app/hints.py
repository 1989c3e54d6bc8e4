"""Tells why an application could not start: its code, or a service that is not there."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["cause"]

_UNREACHED = (ConnectionError, TimeoutError, socket.gaierror, socket.herror)
# what drivers of databases, queues and HTTP call theirs, and how asyncio words several at once
_NAMES = ("Connect", "OperationalError", "ServerSelectionTimeout", "NoBrokersAvailable")
_WORDS = ("Connect call failed", "Connection refused")


def cause(errors: Iterable[BaseException]) -> str:
    """Tell the exceptions of a missing service, "service", from "code"; "" if there is none."""
    found = [_is_unreached(each) for each in errors]
    return "" if not found else "service" if any(found) else "code"


def _is_unreached(error: BaseException) -> bool:
    names = [kind.__name__ for kind in type(error).__mro__]
    if isinstance(error, _UNREACHED) or any(word in name for word in _NAMES for name in names):
        return True
    return isinstance(error, OSError) and any(word in str(error) for word in _WORDS)
