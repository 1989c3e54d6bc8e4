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
    from lifespec.conformance.finding import Finding, Unchecked, Verdict
    from lifespec.conformance.report import Report
    from lifespec.conformance.server.check import check_server
    from lifespec.diagnosis.fact import Fact
else:  # who checks an application needs no server

    def __getattr__(name: str) -> object:
        """Import a name once it is asked for."""
        rooms = {"Report": "report", "check_server": "server.check"}
        room = rooms.get(name, "app.check" if name.startswith("check_") else "finding")
        if name in __all__:
            return getattr(import_module(f"{__name__}.{room}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
