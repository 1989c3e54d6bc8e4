"""Finds the processes that a subject started, wherever they went, and ends them.

Each has a mark in its environment, unless it was started with another one: those that the probe
noted are known by their process id, and by when they began.  On Linux the command adopts those
whose parents have ended, so that they are its own descendants.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import IO

__all__ = [
    "MARK",
    "Folder",
    "adopting",
    "began_within",
    "content",
    "kill",
    "marked",
    "remove_abandoned",
    "runs",
    "until",
]

MARK = "LIFESPEC_CASE"
PROC = Path("/proc")
POLL = 0.01  # seconds between two looks at a file or a process that is not our child
STARTED = 19  # of the fields of /proc/PID/stat after the name, the moment when it began, in ticks
SLACK = 0.1  # seconds that two clocks may differ by
ENDING = 10.0  # seconds until a process that was killed is gone
ADOPT = 36  # PR_SET_CHILD_SUBREAPER of Linux
HELD = "held"  # the file of a folder that its command has locked


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
    names = os.listdir(PROC) if PROC.is_dir() else []  # noqa: PTH208  often, and no paths
    numbers = (name for name in names if name.isdigit())
    return {int(name) for name in numbers if wanted in content(f"{PROC}/{name}/environ")}


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


class Folder:
    """A folder for the time of a check; if its process is killed, another one can remove it."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="lifespec-"))
        part = self.path / f"{HELD}.part"
        self._file = part.open("wb")
        with contextlib.suppress(OSError):  # a file system without locks
            _lock(self._file)
            part.rename(self.path / HELD)

    def remove(self) -> None:
        """Remove it with all that it has, and let go of it."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._file.close()


def _lock(file: IO[bytes]) -> None:
    """Lock a file until it is closed; raise OSError if another process has."""
    fcntl = import_module("fcntl")  # not on Windows
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def remove_abandoned() -> None:
    """End the processes of commands that were killed, and remove their folders.

    The kernel unlocks a file when its process has ended, also for another container.
    """
    for held in Path(tempfile.gettempdir()).glob(f"lifespec-*/{HELD}"):
        with contextlib.suppress(OSError):
            if held.stat().st_uid == os.getuid():
                with held.open("rb") as file:
                    _lock(file)
                    kill(marked(str(held.parent)) - {os.getpid()})
                    shutil.rmtree(held.parent, ignore_errors=True)


@contextlib.contextmanager
def adopting() -> Iterator[None]:
    """On Linux, adopt processes whose parents end, and kill all that were started meanwhile.

    That finds those that have left their session and have another environment.
    """
    if sys.platform != "linux":
        yield
        return
    before, adopt = _descendants(), ctypes.CDLL(None).prctl
    adopt(ADOPT, 1, 0, 0, 0)
    try:
        yield
    finally:
        until(lambda: not kill(_descendants() - before), ENDING)
        adopt(ADOPT, 0, 0, 0, 0)


def _descendants() -> set[int]:
    """Find the processes that run and descend from this one."""
    parents = {}
    for path in PROC.iterdir() if PROC.is_dir() else ():
        _, _, fields = content(path / "stat").rpartition(b") ")
        if path.name.isdigit() and fields and not fields.startswith(b"Z"):
            parents[int(path.name)] = int(fields.split()[1])
    found, more = set(), {os.getpid()}
    while more:
        more = {pid for pid, parent in parents.items() if parent in more}
        found |= more
    return found


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


def content(path: Path | str) -> bytes:
    """Read a file of a process that may be gone, or another user's."""
    with contextlib.suppress(OSError), open(path, "rb", buffering=0) as file:  # noqa: PTH123
        return file.read()
    return b""
