"""Checks drivers: what starts an application within a test or a function, without a server."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from lifespec.conformance.cases import Unchecked
from lifespec.conformance.server import client_host
from lifespec.conformance.server.check import ServerCheck
from lifespec.conformance.server.client_host import HOSTED
from lifespec.conformance.server.messages import Delivered
from lifespec.conformance.server.observation import PATIENCE
from lifespec.conformance.server.process import Subject
from lifespec.conformance.transports import transport
from lifespec.conformance.unchecked import unknown
from lifespec.validate import SPECS

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["DRIVERS", "job"]

DRIVERS: tuple[str, ...] = tuple(HOSTED)
_BESIDE = {
    "interrupted": "A test client or adapter gets no signal.",
    **dict.fromkeys(
        ("hangs-at-startup", "stopped-after-a-failed-start"),
        "A test client is not told to stop while it starts.",
    ),
    "port-in-use": "A test client or adapter listens on no port.",
    **dict.fromkeys(
        (
            "two-workers",
            "two-workers-failed",
            "two-workers-failed-with-empty-message",
            "two-workers-failed-without-message",
            "two-workers-shutdown-failed",
        ),
        "A test client or adapter runs in one process.",
    ),
    **dict.fromkeys(
        ("state-on-one-connection", "state-on-a-websocket"),
        "A test client or adapter has no connections.",
    ),
    "request-in-flight": "The caller waits for the response before it ends the lifespan.",
    "shutdown-after-serving": "The caller makes the requests and decides when they end.",
}
_BY_REQUEST = "Each request has a lifespan of its own, which ends with it."
_OF_EACH: Mapping[str, Mapping[str, str]] = {
    "amgi-common": {"state-shallow-copy": "The servers that use it copy the state."},
    "mangum": {
        **dict.fromkeys(
            (
                "slow-start",
                "very-slow-start",
                "slow-shutdown",
                "very-slow-shutdown",
                "crashes-while-serving",
                "returns-while-serving",
                "fails-while-serving",
                "sends-after-its-end",
                "state-set-while-serving",
                "state-shallow-copy",
            ),
            _BY_REQUEST,
        ),
    },
}


def job(
    name: str, spec: str = "", python: str = sys.executable, limit: float = PATIENCE
) -> ServerCheck:
    """Return what checks a driver, run by a Python that has it; raise Unchecked.

    The specification is the newest of the protocol if none is named.
    """
    if name not in HOSTED:
        raise unknown("driver", name, DRIVERS, "lifespec check driver --help")
    protocol = HOSTED[name].protocol
    known = [each for each in SPECS if each.partition(" ")[0] == protocol]
    named = spec or known[-1]
    if named not in known:
        raise Unchecked(f"{name} is a driver of {protocol}, not of {named}")
    if not transport(named).sent:
        raise Unchecked(f"the suite has no messages of {named}: name {known[-1]}")
    return ServerCheck(
        (python, "-m", client_host.__name__, name, "{app}", "{port}"),
        named,
        limit=limit,
        title=name,
        begins=Delivered if transport(named).request == "message" else Subject,
        beside={**_BESIDE, **_OF_EACH.get(name, {})},
        client=True,
    )
