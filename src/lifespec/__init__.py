"""The lifespan protocol: implementations for servers and applications, and a validator.

This module collects the public names.  Each is imported when it is used, because every run of
pytest loads this package.
"""

from typing import TYPE_CHECKING

from lifespec.lazy import attach

if TYPE_CHECKING:
    from lifespec.application import double_to_single_callable, with_lifespan
    from lifespec.composition import combine_lifespans
    from lifespec.server import (
        Lifespan,
        LifespanUnsupported,
        ProtocolError,
        ShutdownFailed,
        ShutdownTimeout,
        StartupFailed,
        StartupTimeout,
    )
    from lifespec.validate import Violation, lifespan_scope, validator

__all__ = [
    "Lifespan",
    "LifespanUnsupported",
    "ProtocolError",
    "ShutdownFailed",
    "ShutdownTimeout",
    "StartupFailed",
    "StartupTimeout",
    "Violation",
    "combine_lifespans",
    "double_to_single_callable",
    "lifespan_scope",
    "validator",
    "with_lifespan",
]

__getattr__, __dir__ = attach(
    __name__,
    {
        "application": ("double_to_single_callable", "with_lifespan"),
        "composition": ("combine_lifespans",),
        "server": (
            "Lifespan",
            "LifespanUnsupported",
            "ProtocolError",
            "ShutdownFailed",
            "ShutdownTimeout",
            "StartupFailed",
            "StartupTimeout",
        ),
        "validate": ("Violation", "lifespan_scope", "validator"),
    },
)
