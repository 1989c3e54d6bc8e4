"""What a process does now, and why it waits: in a check, in a test, in a running server.

It knows no suite, no pytest and no server.  `stacks` and `alive` are self-contained: they travel
into processes that have no lifespec, and that may run on Python 3.9.
"""
