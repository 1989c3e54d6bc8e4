"""The lifespan protocol: implementations for servers and applications, and a validator."""

from importlib import import_module
from typing import TYPE_CHECKING

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
MODULES = ("application", "composition", "server", "validate")

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
else:  # pytest imports this package in every run, for its plugin

    def __getattr__(name: str) -> object:
        """Import a name, or a module, once it is asked for."""
        if name in MODULES:
            return import_module(f"{__name__}.{name}")
        if name in __all__:
            modules = [import_module(f"{__name__}.{module}") for module in MODULES]
            return next(getattr(module, name) for module in modules if hasattr(module, name))
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
