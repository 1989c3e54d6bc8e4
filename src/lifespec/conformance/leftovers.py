"""Finds the processes that a subject started, wherever they went, and ends them.

Each has a mark in its environment, unless it was started with another one: those that the probe
noted are known by their process id, and by when they began.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["MARK", "began_within", "content", "kill", "marked", "runs", "until"]

MARK = "LIFESPEC_CASE"
PROC = Path("/proc")
POLL = 0.01  # seconds between two looks at a file or a process that is not our child
STARTED = 19  # of the fields of /proc/PID/stat after the name, the moment when it began, in ticks
SLACK = 0.1  # seconds that two clocks may differ by


def until(done: Callable[[], object], limit: float) -> bool:
    """Wait until something is done, at most some seconds; return whether it is."""
    end = time.monotonic() + limit
    while not done():
        if time.monotonic() >= end:
            return bool(done())
        time.sleep(POLL)
    return True


def marked(mark: str) -> set[int]:
    """Find the processes that have this mark; none where there is no /proc."""
    wanted = f"{MARK}={mark}\0".encode()
    processes = (path.name for path in (PROC.iterdir() if PROC.is_dir() else ()))
    numbers = (int(name) for name in processes if name.isdigit())
    return {pid for pid in numbers if wanted in content(PROC / str(pid) / "environ")}


def began_within(pid: int, earliest: float, latest: float) -> bool:
    """Whether a process runs that began between two moments of the monotonic clock.

    So a number of another container, or one that was given again, is nobody's.  Where there is no
    /proc, nobody says when it began.
    """
    if not PROC.is_dir():
        return runs(pid)
    _, _, fields = content(PROC / str(pid) / "stat").rpartition(b") ")
    if not fields or fields.startswith(b"Z"):
        return False
    since_boot = int(fields.split()[STARTED]) / os.sysconf("SC_CLK_TCK")
    began = since_boot - (_since_boot() - time.monotonic())
    return earliest - SLACK <= began <= latest + SLACK


def _since_boot() -> float:
    """Return the clock of /proc, which goes on while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def runs(pid: int) -> bool:
    """Whether there is such a process."""
    with contextlib.suppress(ProcessLookupError):
        with contextlib.suppress(PermissionError):
            os.kill(pid, 0)
        return True
    return False


def kill(pids: Iterable[int]) -> bool:
    """Kill processes; return whether there were any."""
    any_ = False
    for pid in pids:
        any_ = True
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    return any_


def content(path: Path) -> bytes:
    """Read a file of a process that may be gone, or another user's."""
    with contextlib.suppress(OSError):
        return path.read_bytes()
    return b""
