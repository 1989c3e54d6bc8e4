"""The lifespan protocol: the server's half and the application's.

This module collects the public names.  Each is imported when it is used, since every run of pytest
loads this package.
"""

from typing import TYPE_CHECKING

from lifespec.lazy import attach

if TYPE_CHECKING:
    from lifespec.application import single_callable, with_lifespan
    from lifespec.composition import compose
    from lifespec.server import (
        Lifespan,
        ProtocolError,
        ShutdownFailed,
        ShutdownTimeout,
        StartupFailed,
        StartupTimeout,
    )
    from lifespec.validate import Violation, scope, validator

__all__ = [
    "Lifespan",
    "ProtocolError",
    "ShutdownFailed",
    "ShutdownTimeout",
    "StartupFailed",
    "StartupTimeout",
    "Violation",
    "compose",
    "scope",
    "single_callable",
    "validator",
    "with_lifespan",
]

__getattr__, __dir__ = attach(
    __name__,
    {
        "application": ("single_callable", "with_lifespan"),
        "composition": ("compose",),
        "server": (
            "Lifespan",
            "ProtocolError",
            "ShutdownFailed",
            "ShutdownTimeout",
            "StartupFailed",
            "StartupTimeout",
        ),
        "validate": ("Violation", "scope", "validator"),
    },
)
