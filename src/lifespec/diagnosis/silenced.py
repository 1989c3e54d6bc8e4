"""Who disables the loggers of others: what a server logs from then on is not printed."""

import logging
import logging.config
import os
import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from lifespec.diagnosis.author import caller
from lifespec.diagnosis.fact import Fact, Place, fact
from lifespec.diagnosis.guard import keeping

# what servers log with; who configures one of these has thought of the server
LOGGERS_OF_SERVERS = ("uvicorn.error", "hypercorn.error", "_granian", "gunicorn.error")
_DISABLES = "_handle_existing_loggers"  # what dictConfig and fileConfig call for those not named


@contextmanager
def noting_disabled_loggers() -> Iterator[list[Place]]:
    """Collect the author's lines that disable the loggers of servers by configuring logging.

    A library may do it for them, such as Alembic.
    """
    found: list[Place] = []
    before = getattr(logging.config, _DISABLES, None)
    if before is None:  # pragma: no cover  a Python that does it in another way
        yield found
        return
    observed = os.getpid()

    def disables(existing: Any, child_loggers: Any, disable_existing: Any) -> None:
        before(existing, child_loggers, disable_existing)
        with keeping():
            if not disable_existing or os.getpid() != observed:
                return
            if _names_a_server(set(existing).difference(child_loggers)):
                return
            place = caller(sys._getframe(1))  # noqa: SLF001
            if place is not None and place not in found:
                found.append(place)

    setattr(logging.config, _DISABLES, disables)
    try:
        yield found
    finally:
        # several may observe at a time, and stop in any order
        if getattr(logging.config, _DISABLES) is disables:  # pragma: no branch
            setattr(logging.config, _DISABLES, before)


def _names_a_server(disabled: Collection[str]) -> bool:
    """Tell whether the logger of a server, or one above it, is there and was not disabled."""
    for name in LOGGERS_OF_SERVERS:
        parts = name.split(".")
        for length in range(1, len(parts) + 1):
            above = ".".join(parts[:length])
            logger = logging.root.manager.loggerDict.get(above)
            if isinstance(logger, logging.Logger) and above not in disabled:
                return True
    return False


def facts(places: Iterable[Place]) -> Iterator[Fact]:
    """Yield what those lines do."""
    for place in places:
        yield fact("loggers-disabled", place=place.fact())
