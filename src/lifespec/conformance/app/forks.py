"""Whether a process can be forked: what the fork would lack, or share with the others."""

import os
import sys
import threading
from pathlib import Path

from lifespec.conformance.processes import until

THREADS_END_LIMIT = 1.0  # seconds that a thread has to end that was told to


def open_files() -> set[str]:
    """Return the numbers of the files that are open in this process; none without /dev/fd."""
    if not Path("/dev/fd").is_dir():  # pragma: no cover  a machine has it or has it not
        return set()
    return set(os.listdir("/dev/fd"))  # noqa: PTH208


def cannot_fork(before: set[str]) -> bool:
    """Tell whether a forked process would lack a thread, or share a file with the others.

    On macOS always: the system's libraries start threads, and abort in a process that is forked.
    """
    if sys.platform == "darwin" or threading.active_count() > 1:
        return True
    # faulthandler's thread was told to end; threads of C are in no list of Python's
    is_alone = until(lambda: _count_threads() <= 1, THREADS_END_LIMIT)
    return not is_alone or len(open_files()) > len(before)


def _count_threads() -> int:
    """Count the threads that the system knows of this process; 0 without /proc."""
    tasks = Path("/proc/self/task")
    if not tasks.is_dir():  # pragma: no cover  the same
        return 0
    return len(list(tasks.iterdir()))
