"""Test applications and servers: a running application, a virtual clock, message sequences.

`Running` starts an application for a test, and checks it; the pytest plugin has it as the fixture
`lifespan`.  `run` and `VirtualLoop` run asyncio code on a virtual clock: a timeout of 30 s takes
no time, and a test that would hang ends with `Deadlock` at once.  `record` keeps the message
sequence of each lifespan, and `sequence` draws one.
"""

from lifespec.testing.clock import Deadlock, VirtualLoop, run
from lifespec.testing.running import LifespanWarning, Running, ViolationsFound
from lifespec.testing.trace import Conversation, Entry, Recorder, record, sequence

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
