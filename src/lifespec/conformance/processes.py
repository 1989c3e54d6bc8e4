"""The processes that a check starts, which are all ended with it, and what /proc says of processes.

This imports little, because the command starts the first process here before it imports the rest.
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
# the folder that has the package, perhaps in a file; by os.path, because to import Path costs time
HOME = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120
PROC, CONTAINER = "/proc", "/sys/fs/cgroup"
NO_NAME = ""  # of the number in a file of CONTAINER, which has one alone
UNTIL_EVERY = 0.01  # seconds between two looks at what is waited for
TELL_EVERY = 1.0  # seconds after which a check says what it waits for
KILL_LIMIT = 10.0  # seconds until a killed process is gone
_HOST_PROGRAM = (
    "import sys; sys.path.insert(0, {!r});"
    " from lifespec.conformance.app.process import be_host; be_host({})"
)


class Interpreter(NamedTuple):
    """A new interpreter in a session of its own, for an application, and a socket to it."""

    process: subprocess.Popen[bytes]
    socket: socket.socket


untaken = list[Interpreter]()  # those that were started early, and that no check has taken


def interpreter() -> Interpreter:
    """Return the interpreter that was started early, or start one."""
    if untaken:
        return untaken.pop()
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-c", _HOST_PROGRAM.format(HOME, theirs.fileno())],
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
            untaken.append(interpreter())
        yield
    finally:
        del os.environ[RUN]
        for unused in untaken:
            unused.socket.close()
            unused.process.kill()
            unused.process.wait()
        untaken.clear()
        # a process that is being started may be in no list yet: look again until none is left
        until(lambda: not kill(marked(RUN, mark)), KILL_LIMIT)


def import_path(folder: object) -> str:
    """Return PYTHONPATH with a folder in front; an empty entry would be the current folder."""
    return os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))


def until(done: Callable[[], object], limit: float) -> bool:
    """Wait until something is done, for at most `limit` seconds; return whether it is."""
    end = time.monotonic() + limit
    while not done():
        if time.monotonic() >= end:
            return bool(done())
        time.sleep(UNTIL_EVERY)
    return True


def marked(variable: str, value: object) -> set[int]:
    """Return the processes that have begun with this variable and value; none without /proc."""
    if not os.path.isdir(PROC):  # noqa: PTH112  as above
        return set()
    wanted = f"{variable}={value}\0".encode()
    pids = set()
    for name in os.listdir(PROC):  # noqa: PTH208  as above
        if not name.isdigit():  # /proc has more than processes
            continue
        if wanted in environment(name):
            pids.add(int(name))
    return pids


def environment(pid: str) -> bytes:
    """Return the environment of a process, which may be gone or another user's."""
    with suppress(OSError), open(f"{PROC}/{pid}/environ", "rb") as file:  # noqa: PTH123
        return file.read()
    return b""


def kill(pids: Iterable[int]) -> bool:
    """Kill processes; return whether there were any."""
    were_any = False
    for pid in pids:
        were_any = True
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    return were_any


def kill_session(pid: int) -> None:
    """End the processes of a session, by its first one."""
    # macOS refuses where the whole group is zombies
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def signal_name(number: int) -> str:
    """Return the name of a signal, which may be one that Python has no name for."""
    try:
        return signal.Signals(number).name
    except ValueError:  # such as most of the real-time signals
        return f"signal {number}"


def own_memory() -> tuple[int, int]:
    """Return how many bytes this process shares with no other, and how many it has.

    Both are 0 where /proc does not say.
    """
    kilobytes = _numbers(f"{PROC}/self/smaps_rollup")
    own = 0
    for name, number in kilobytes.items():
        if name.startswith("Private_"):
            own += number
    return 1024 * own, 1024 * kilobytes.get("Rss", 0)


def free_memory() -> int:
    """Return how many bytes processes can still take, by the machine and by a container."""
    machine = 1024 * _numbers(f"{PROC}/meminfo").get("MemAvailable", 0)
    limit = _numbers(f"{CONTAINER}/memory.max").get(NO_NAME)
    used = _numbers(f"{CONTAINER}/memory.current").get(NO_NAME)
    if limit is None or used is None:  # no container, or one without a limit, which says "max"
        return machine
    return min(machine, max(limit - used, 0))


def _numbers(file: str) -> dict[str, int]:
    """Return the numbers in a file by name, of lines such as `Name: 1 kB`; or none."""
    numbers = dict[str, int]()
    with suppress(OSError), open(file, encoding="ascii") as lines:  # noqa: PTH123
        for line in lines:
            name, _, rest = line.rpartition(":")
            number = rest.split()[0]
            if number.isdigit():
                numbers[name] = int(number)
    return numbers
