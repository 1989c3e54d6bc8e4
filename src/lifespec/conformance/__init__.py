"""The conformance suite: check an application, middleware or a server, and read the report.

`check_app`, `check_middleware` and `check_server` return a `Report`; they raise `Unchecked` for an
unknown specification, case or rule.  The command `lifespec check` calls them.
"""

from lifespec.conformance.app.check import check_app, check_middleware
from lifespec.conformance.report import Finding, Report, Unchecked, Verdict
from lifespec.conformance.server.check import check_server
from lifespec.diagnosis.fact import Fact

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
