"""The lifespan protocol: implementations for servers and applications, and a validator."""

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
