"""The suite as functions: check an application, middleware or a server from a program."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from lifespec.conformance.app import check as app_check
from lifespec.conformance.app import middleware
from lifespec.conformance.app import run as app_run
from lifespec.conformance.rules import known_spec
from lifespec.conformance.server import brokers
from lifespec.conformance.server import check as server_check
from lifespec.conformance.server.observation import PATIENCE
from lifespec.conformance.server.process import OfPerl, Subject
from lifespec.conformance.transports import transport
from lifespec.conformance.unchecked import Unchecked

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Sequence
    from typing import Any

    from lifespec.conformance.oldreport.model import Report

    Application = Callable[[Any, Any, Any], Awaitable[Any]]
    Middleware = Callable[[Application], Application]

__all__ = ["check_app", "check_middleware", "check_server", "server_job"]


def check_app(
    app: Application | str, spec: str = "asgi 2.0", *, timeout: float = app_run.LIMIT
) -> Report:
    """Check an application, and return the report.

    `app` is an application, or its name as in `shop.main:app`.  A named application is imported
    in another process, and each case has a process of its own, as with `lifespec check app`.  An
    application object is called in this process, in a new event loop for each case.  `spec` names
    the specification, such as `"amgi 2.0"`, or `"amgi"` for the newest version.  `timeout` is how
    many seconds an answer may take.  The clock is virtual unless the application needs the real
    one.  Raises Unchecked if the specification is unknown or `app` is not an application, and
    RuntimeError if an event loop is running in this thread.
    """
    if isinstance(app, str):
        return app_check.check(
            app_check.AppCheck("application", app, known_spec(spec), limit=timeout)
        )
    return app_run.check(app, spec, timeout)


def check_middleware(
    wrap: Middleware | str, spec: str = "asgi 2.0", *, timeout: float = app_run.LIMIT
) -> Report:
    """Check middleware, and return the report.

    `wrap` is a function that takes an application and returns one, or the name of such a function,
    as in `shop.main:wrap`.  It is put between an application and a server of the suite, which
    compares what one of them sends with what the other receives.  `spec`, `timeout` and exceptions
    are those of `check_app`.
    """
    if isinstance(wrap, str):
        return app_check.check(
            app_check.AppCheck("middleware", wrap, known_spec(spec), limit=timeout)
        )
    return middleware.check(wrap, spec, timeout)


def check_server(
    command: Sequence[str] | str,
    spec: str = "asgi 2.0",
    *,
    only: Collection[str] = (),
    slow: bool = False,
    workers: str = "",
    broker: str = "",
    timeout: float = PATIENCE,
) -> Report:
    """Check a server that a command starts, and return the report.

    `command` is a list of arguments, or one string as in a shell.  `{app}` and `{port}` in it are
    replaced, as in ``uvicorn {app} --port {port}``.  `only` is the names of the cases to run, by
    default all; those that take half a minute or longer are left out unless `slow` is set.
    `workers` is added to the command in the cases with two workers.  `broker` is `"redis"` or
    `"mosquitto"` for a server of AMGI 2.0.  `timeout` is how many seconds the server may do
    nothing after it has called the application.  Raises Unchecked if the server cannot be checked,
    and ValueError if the string is not a valid command.
    """
    words = shlex.split(command) if isinstance(command, str) else command
    job = server_job(words, known_spec(spec), workers, broker, timeout)
    return server_check.check(job, server_check.chosen([*only], slow=slow))


def server_job(
    command: Sequence[str], spec: str, workers: str, broker: str, timeout: float
) -> server_check.ServerCheck:
    """Return what checks a server of a specification; raise Unchecked where nothing can."""
    known = " or ".join(brokers.BROKERS)
    if broker and broker not in brokers.BROKERS:
        raise Unchecked(f"there is no broker {broker!r}: give {known}")
    if broker:
        return brokers.job(command, broker, spec, workers, timeout)
    if transport(spec).request == "message":
        family = spec.partition(" ")[0].upper()
        raise Unchecked(f"by {family} messages come from a broker: give --broker {known}")
    begins = OfPerl if transport(spec).language == "perl" else Subject
    return server_check.ServerCheck(tuple(command), spec, workers, timeout, begins=begins)
