"""The conformance suite: check an application, middleware or a server, and read the report.

`check_app`, `check_middleware` and `check_server` return a `Report`; they raise `Unchecked` for an
unknown specification, case or rule.  The command `lifespec check` calls them.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__all__ = [
    "Fact",
    "Finding",
    "Report",
    "Unchecked",
    "Verdict",
    "check_app",
    "check_middleware",
    "check_server",
]

if TYPE_CHECKING:
    from lifespec.conformance.app.check import check_app, check_middleware
    from lifespec.conformance.report import Finding, Report, Unchecked, Verdict
    from lifespec.conformance.server.check import check_server
    from lifespec.diagnosis.fact import Fact
else:  # who checks an application needs no server

    def __getattr__(name: str) -> object:
        """Import a name once it is asked for."""
        rooms = {"check_app": "app.check", "check_middleware": "app.check"}
        room = rooms.get(name, "server.check" if name == "check_server" else "report")
        if name in __all__:
            return getattr(import_module(f"{__name__}.{room}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
