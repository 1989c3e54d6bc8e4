"""The conformance suite: check an application, middleware or a server, and read the report.

`check_app`, `check_middleware` and `check_server` return a `Report`; they raise `Unchecked` where
nothing can be checked.  The command `lifespec check` is made of them.
"""

from typing import TYPE_CHECKING

from lifespec.lazy import attach

if TYPE_CHECKING:
    from lifespec.conformance.api import check_app, check_middleware, check_server
    from lifespec.conformance.oldreport.model import Finding, Report, Verdict
    from lifespec.conformance.unchecked import Unchecked

__all__ = [
    "Finding",
    "Report",
    "Unchecked",
    "Verdict",
    "check_app",
    "check_middleware",
    "check_server",
]

# Each case's process loads this package: a module is imported when a name of it is used.
__getattr__, __dir__ = attach(
    __name__,
    {
        "api": ("check_app", "check_middleware", "check_server"),
        "oldreport.model": ("Finding", "Report", "Verdict"),
        "unchecked": ("Unchecked",),
    },
)
