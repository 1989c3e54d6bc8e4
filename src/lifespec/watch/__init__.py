"""Watch a running server: what its startup or shutdown waits for.

`agent` and `hooks` travel into each watched process, with `stacks` and `alive` of the diagnosis:
they are self-contained, for Python 3.9 and newer.  `parent` starts the command, reads what they
write, and says it.
"""
