"""What ends a server that does not act on a signal, drawn from docs/matrix/signals.json.

A test compares both.  The keys are those of a terminal, which reach all processes of the command.
"""

from collections.abc import Sequence

KEYS = ("Ctrl-C", "Ctrl-C twice", "Ctrl-\\", "kill -9")  # the mildest first
# by server, and by what it waits for: the mildest key that ended it each time
ENDED_BY = {
    "uvicorn": {
        "startup": "Ctrl-\\",
        "requests": "Ctrl-C twice",
        "tasks": "Ctrl-C twice",
        "shutdown": "Ctrl-\\",
        "threads": "Ctrl-C twice",
    },
    "hypercorn": {
        "startup": "Ctrl-\\",
        "requests": "Ctrl-C",
        "tasks": "Ctrl-C",
        "shutdown": "Ctrl-\\",
        "threads": "Ctrl-\\",
    },
    "granian": {
        "startup": "Ctrl-\\",
        "requests": "Ctrl-\\",
        "tasks": "Ctrl-C",
        "shutdown": "Ctrl-\\",
        "threads": "Ctrl-\\",
    },
    "gunicorn": {
        "startup": "kill -9",
        "requests": "Ctrl-C",
        "tasks": "Ctrl-C",
        "shutdown": "Ctrl-C",
        "threads": "Ctrl-C twice",
    },
    "gunicorn, uvicorn-worker": {
        "startup": "kill -9",
        "requests": "Ctrl-C twice",
        "tasks": "Ctrl-C twice",
        "shutdown": "kill -9",
        "threads": "Ctrl-C",
    },
}
# the key that is needed instead from a version of Python on, whose servers of asyncio wait for each
# connection to close
NEWER = {
    ("hypercorn", "requests"): ((3, 12), "Ctrl-\\"),
    ("uvicorn", "requests"): ((3, 14), "Ctrl-\\"),
    ("gunicorn, uvicorn-worker", "requests"): ((3, 14), "kill -9"),
}


def ends(server: str, python: str, waits_for: str, keys: Sequence[str]) -> str:
    """Return the key that ends a server where those that were pressed do not; "" if one does."""
    needed = ENDED_BY.get(server, {}).get(waits_for, "")
    since, newer = NEWER.get((server, waits_for), ((), ""))
    if newer and tuple(map(int, python.split("."))) >= since:
        needed = newer
    return "" if needed in keys else needed
