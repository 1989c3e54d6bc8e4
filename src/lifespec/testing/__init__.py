"""Test applications and servers: a clock that does not wait, and a record of what was said.

`run` and `VirtualLoop` run asyncio code on a virtual clock: a timeout of 30 s takes no time, and
a test that hangs ends with `Deadlock` at once.  `record` and `collect` keep each lifespan's
message sequence.
"""

from lifespec.testing.clock import Deadlock, VirtualLoop, run
from lifespec.testing.trace import Conversation, Entry, Recorder, collect, record, text, to_json

__all__ = [
    "Conversation",
    "Deadlock",
    "Entry",
    "Recorder",
    "VirtualLoop",
    "collect",
    "record",
    "run",
    "text",
    "to_json",
]
