"""Test applications and servers: a running application, a virtual clock, message sequences.

`Running` starts an application for a test, and checks it; the pytest plugin has it as the fixture
`lifespan`.  `run` and `VirtualLoop` run asyncio code on a virtual clock: a timeout of 30 s takes
no time, and a test that would hang ends with `Deadlock` at once.  `record` keeps the message
sequence of each lifespan, and `sequence` draws one.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__all__ = [
    "Conversation",
    "Deadlock",
    "Entry",
    "LifespanWarning",
    "Recorder",
    "Running",
    "ViolationsFound",
    "VirtualLoop",
    "record",
    "run",
    "sequence",
]
MODULES = ("clock", "running", "trace")

if TYPE_CHECKING:
    from lifespec.testing.clock import Deadlock, VirtualLoop, run
    from lifespec.testing.running import LifespanWarning, Running, ViolationsFound
    from lifespec.testing.trace import Conversation, Entry, Recorder, record, sequence
else:  # pytest imports this package in every run, for its plugin

    def __getattr__(name: str) -> object:
        """Import a name, or a module, once it is asked for."""
        if name in MODULES:
            return import_module(f"{__name__}.{name}")
        if name in __all__:
            modules = [import_module(f"{__name__}.{module}") for module in MODULES]
            return next(getattr(module, name) for module in modules if hasattr(module, name))
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
