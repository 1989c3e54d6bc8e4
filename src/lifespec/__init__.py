"""The lifespan protocol: the server's half and the application's.

This module collects the public names and does nothing else.
"""

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
