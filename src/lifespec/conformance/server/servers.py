"""The servers that the suite knows, and a check of those that are installed, side by side."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from typing import TYPE_CHECKING

from lifespec.conformance.cases import Unchecked
from lifespec.conformance.report import Report
from lifespec.conformance.server import check as server_check
from lifespec.conformance.server.observation import PATIENCE
from lifespec.conformance.transports import Transport, transport
from lifespec.conformance.unchecked import unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lifespec.conformance.cases import Case
    from lifespec.conformance.findings import Tell
    from lifespec.conformance.server.check import ServerCheck

__all__ = ["COMMANDS", "NAMES", "check", "jobs"]

_BIND = "--bind 127.0.0.1:{port} --workers {workers}"
COMMANDS = {  # a name begins with that of the package, which is also the program and the module
    "uvicorn": "uvicorn {app} --port {port} --workers {workers}",
    "hypercorn, asyncio": f"hypercorn {{app}} {_BIND}",
    "hypercorn, trio": f"hypercorn {{app}} --worker-class trio {_BIND}",
    "granian": "granian --interface asgi {app} --port {port} --workers {workers}",
    "daphne": "daphne {app} --port {port}",
    "gunicorn, asgi": f"gunicorn {{app}} --no-control-socket --worker-class asgi {_BIND}",
    "gunicorn, uvicorn-worker": "gunicorn {app} --no-control-socket"
    f" --worker-class uvicorn_worker.UvicornWorker {_BIND}",
}
_NEEDS = {"hypercorn, trio": "trio", "gunicorn, uvicorn-worker": "uvicorn-worker"}
NAMES = sorted({name.partition(",")[0] for name in COMMANDS})


def jobs(
    names: Sequence[str] = (), spec: str = "asgi 2.0", limit: float = PATIENCE
) -> list[ServerCheck]:
    """Return what checks the named servers, or all that are installed beside the suite.

    Raises Unchecked if a server is unknown or not installed, and for other messages than ASGI's.
    """
    if transport(spec) != Transport():
        raise Unchecked(f"the servers that lifespec knows are of ASGI, not of {spec}")
    for name in names:
        if name not in NAMES:
            raise unknown("server", name, NAMES, "lifespec check servers --help")
        if not _installed(name):
            raise Unchecked(f"{name} is not installed for {sys.executable}")
    found = [
        server_check.ServerCheck(
            (sys.executable, "-m", *command.split()), spec, limit=limit, title=command
        )
        for name, command in COMMANDS.items()
        if name.partition(",")[0] in (names or NAMES)
        if _installed(name.partition(",")[0]) and _installed(_NEEDS.get(name, "lifespec"))
    ]
    if not found:
        raise Unchecked(f"none is installed for {sys.executable}: install {' or '.join(NAMES)}")
    return found


def _installed(distribution: str) -> bool:
    return any(metadata.distributions(name=distribution))


def check(
    found: Sequence[ServerCheck],
    only: Sequence[Case],
    told: Callable[[ServerCheck], Tell],
) -> list[Report]:
    """Check servers side by side; where one cannot be checked, its report says why.

    Together they have as many processes at a time as one alone: they wait more than they compute.
    """
    places, ends = threading.Semaphore(server_check.AT_ONCE), [threading.Event() for _ in found]

    def report(job: ServerCheck, end: threading.Event) -> Report:
        try:
            return server_check.check(job, only, told(job), places=places, broken_off=end)
        except Unchecked as unchecked:
            return Report(job.subject, job.spec, (), obstacle=f"{unchecked}.", role="server")

    with ThreadPoolExecutor(len(found)) as pool:
        try:
            return [*pool.map(report, found, ends)]
        finally:
            for each in ends:
                each.set()
