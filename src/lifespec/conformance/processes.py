"""The processes that a check starts: begun before the rest is imported, and ended with all of them.

It imports little, so that the command can begin at once.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

FORKS = hasattr(os, "fork")  # Windows has no fork, no sessions and no signals to other processes
RUN = "LIFESPEC_RUN"  # the variable that marks what a command starts
HOME = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120  Path costs time
PROC, CONTAINER = "/proc", "/sys/fs/cgroup"
POLL = 0.01  # seconds between two looks
ENDING = 10.0  # seconds until a killed process is gone
_HOST = (
    "import sys; sys.path.insert(0, {!r});"  # where this package is, perhaps in a file of its own
    " from lifespec.conformance.app.process import main; main({})"
)


class Interpreter(NamedTuple):
    """A new interpreter in a session of its own, for an application, and a socket to it."""

    process: subprocess.Popen[bytes]
    socket: socket.socket


_begun = list[Interpreter]()  # that no check has taken


def interpreter() -> Interpreter:
    """Return the interpreter that was begun, or start one."""
    if _begun:
        return _begun.pop()
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-c", _HOST.format(HOME, theirs.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            pass_fds=[theirs.fileno()],
        )
    return Interpreter(process, ours)


@contextmanager
def leaving_none(*, begin: bool = False) -> Iterator[None]:
    """End each process that is started meanwhile and keeps its environment, in any session.

    With `begin`, start the interpreter of the first check now.
    """
    mark = os.environ[RUN] = f"{os.getpid()}-{time.time_ns()}"
    try:
        if begin:
            _begun.append(interpreter())
        yield
    finally:
        del os.environ[RUN]
        for each in _begun:
            each.socket.close()
            each.process.kill()
            each.process.wait()
        _begun.clear()
        until(lambda: not kill(marked(RUN, mark)), ENDING)


def until(done: Callable[[], object], limit: float) -> bool:
    """Wait until something is done, for at most `limit` seconds; return whether it is."""
    end = time.monotonic() + limit
    while not done():
        if time.monotonic() >= end:
            return bool(done())
        time.sleep(POLL)
    return True


def marked(variable: str, value: object) -> set[int]:
    """Return the processes that started with this in their environment; none without /proc."""
    wanted = f"{variable}={value}\0".encode()
    names = os.listdir(PROC) if os.path.isdir(PROC) else ()  # noqa: PTH112, PTH208  Path costs time
    return {int(name) for name in names if name.isdigit() and wanted in environment(name)}


def environment(pid: str) -> bytes:
    """Return the environment of a process, which may be gone or another user's."""
    with suppress(OSError), open(f"{PROC}/{pid}/environ", "rb") as file:  # noqa: PTH123
        return file.read()
    return b""


def kill(pids: Iterable[int]) -> bool:
    """Kill processes; return whether there were any."""
    found = False
    for pid in pids:
        found = True
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    return found


def signal_name(number: int) -> str:
    """Return the name of a signal, which may be one that Python has no name for."""
    return next((each.name for each in signal.Signals if each == number), f"signal {number}")


def own_memory() -> tuple[int, int]:
    """Return how many bytes this process shares with no other, and how many it has.

    Both are 0 where /proc does not say.
    """
    numbers = _numbers(f"{PROC}/self/smaps_rollup")
    own = sum(number for name, number in numbers.items() if name.startswith("Private_"))
    return 1024 * own, 1024 * numbers.get("Rss", 0)


def free_memory() -> int:
    """Return how many bytes processes can still take, by the machine and by a container."""
    machine = 1024 * _numbers(f"{PROC}/meminfo").get("MemAvailable", 0)
    limit, used = (_numbers(f"{CONTAINER}/memory.{name}").get("") for name in ("max", "current"))
    return machine if limit is None or used is None else min(machine, max(limit - used, 0))


def _numbers(file: str) -> dict[str, int]:
    """Return the numbers of a file by name: of lines such as `Name: 1 kB`, or of one number."""
    found = dict[str, int]()
    with suppress(OSError), open(file, encoding="ascii") as lines:  # noqa: PTH123
        for line in lines:
            name, _, rest = line.rpartition(":")
            number = rest.split()[0]
            found |= {name: int(number)} if number.isdigit() else {}
    return found


def kill_session(pid: int) -> None:
    """End the processes of a session, by its first one."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
