"""Start a server's own command, and say what its startup or its shutdown waits for.

The command has this process's terminal, environment, folder and input, and gets the signals that
come to it.  An agent in each process of Python writes down what that does (`agent`); this
process reads it, and prints a line once something has lasted.
"""

import contextlib
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path

from lifespec.diagnosis.exits import SIGNALLED
from lifespec.diagnosis.fact import fact
from lifespec.watch.command import Tell, WatchedCommand
from lifespec.watch.group import GroupListener, catches, ignores, is_alive
from lifespec.watch.signals import Signal

AFTER = 3.0  # seconds that startup or shutdown may last before something is said
READ_EVERY = 0.1  # seconds between two looks
END_SIGNALS = ("SIGINT", "SIGTERM", "SIGQUIT")  # signals that tell a server to end
PASSED = (*END_SIGNALS, "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGTTIN", "SIGTTOU")
TARGET_WORD = re.compile(r"([A-Za-z_]\w*)[\w.]*:[A-Za-z_]")  # of a command: the application
# what the agent consists of, by its room
TRAVELS = {
    "diagnosis": ("alive", "behind", "guard", "stacks", "waits", "whose", "work"),
    "watch": ("agent", "hooks", "looks", "seen"),
}
BEGIN_AGENT = """\
import sys
sys.path.insert(0, {folder!r})
try:
    if sys.version_info >= (3, 9):
        import lifespec_agent.watch.agent
        lifespec_agent.diagnosis.stacks.OURS = {folder!r}  # with this file
        lifespec_agent.watch.agent.begin({folder!r}, {own!r})
except Exception as error:
    try:
        import os, time
        failure = type(error).__name__, str(error), __file__, 0, "begin"
        with open(os.path.join({folder!r}, "%d.seen" % os.getpid()), "a") as file:
            file.write(repr(("Failed", time.time(), failure)) + "\\n")
    except Exception:
        pass
sys.path[:] = [entry for entry in sys.path if entry != {folder!r}]
"""
HIDDEN = """\
from importlib.machinery import PathFinder
spec = PathFinder.find_spec("sitecustomize")
if spec is not None and spec.loader is not None:  # which this one hides
    import importlib.util
    sys.modules["sitecustomize"] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
"""


def watch(command: Sequence[str], after: float, tell: Tell) -> int:
    """Run a command, say what it waits for, and return its exit status.

    That is 128 plus the number of a signal that ended it.  Raises OSError if it cannot be started.
    """
    numbers = [getattr(signal, name) for name in PASSED if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    ignored = [number for number in numbers if before[number] == signal.SIG_IGN]
    pending: list[Signal] = []

    def note(number: int, _: object) -> None:
        pending.append(Signal(number, time.time()))

    with agent_folder(command) as folder:
        state = WatchedCommand(folder, after, tell)
        listener = GroupListener(numbers)
        try:
            for number in set(numbers) - set(ignored):
                signal.signal(number, note)
            process = state.process = subprocess.Popen(command, env=_environment(folder))
            # The command inherits what is ignored; whether it sets a handler nevertheless, as
            # servers do, is its affair.  So these are passed on, and noted only once it has begun.
            for number in ignored:
                signal.signal(number, note)
            _follow(process, state, pending, listener)
            status = process.returncode
            if status < 0:  # a signal has ended it
                status = SIGNALLED - status
            with contextlib.suppress(Exception):
                state.end(status)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            listener.close()
    return status


def _environment(folder: Path) -> dict[str, str]:
    """Return this environment, with a folder in which each Python looks first for modules."""
    path = str(folder)
    if os.environ.get("PYTHONPATH"):  # an empty entry would stand for the current folder
        path += os.pathsep + os.environ["PYTHONPATH"]
    return os.environ | {"PYTHONPATH": path}


def _follow(
    process: "subprocess.Popen[bytes]",
    state: WatchedCommand,
    pending: list[Signal],
    listener: GroupListener,
) -> None:
    """Look at a command until it ends, and pass on the signals that come meanwhile."""
    while process.poll() is None:
        time.sleep(READ_EVERY)
        came = pending[:]
        del pending[: len(came)]  # another may come meanwhile
        if came:
            _pass_on(came, listener.heard(), state, process)
        state.look()
    state.look()  # once more, at what was written last


def _pass_on(
    came: Sequence[Signal],
    heard: set[int],
    state: WatchedCommand,
    process: "subprocess.Popen[bytes]",
) -> None:
    """Pass signals on that have come to this process alone, and note those that end a server."""
    for number, at, _ in came:
        if number not in heard:
            process.send_signal(number)
        if _tells_to_end(number, process.pid):
            state.signals.append(Signal(number, at, number in heard))
            (state.folder / "stop").touch()  # the agents look often from now on


def _tells_to_end(number: int, pid: int) -> bool:
    """Tell whether a signal tells a command to end.

    SIGHUP does where it has no handler: servers with workers reload by it.
    """
    name = signal.Signals(number).name
    if name == "SIGHUP":
        return not catches(pid, number)
    return name in END_SIGNALS and not ignores(pid, number)


def attach(pid: int, after: float, tell: Tell) -> None:
    """Say what a process waits for that runs already, until it ends.

    Raises OSError or RuntimeError if it cannot be looked into.
    """
    with agent_folder(()) as folder:
        state = WatchedCommand(folder, after, tell)
        sys.remote_exec(pid, str(folder / "begin.py"))  # type: ignore[attr-defined]  # Python 3.14
        asleep = time.monotonic() + after
        while is_alive(pid):
            time.sleep(READ_EVERY)
            state.look()
            if not state.processes and time.monotonic() > asleep:
                tell(fact("asleep", pid=pid, seconds=f"{after:g}"), (), None, 0)
                asleep = math.inf


@contextlib.contextmanager
def agent_folder(command: Sequence[str]) -> Iterator[Path]:
    """Yield a folder from which the agent begins in each Python that has it on its path.

    It is removed at the end.
    """
    import fcntl  # noqa: PLC0415  which Windows lacks, where only this module's help is read

    with tempfile.TemporaryDirectory(prefix="lifespec-watch-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        put(folder / "lifespec_agent", TRAVELS)
        begin = BEGIN_AGENT.format(folder=name, own=package_of_target(command))
        (folder / "begin.py").write_text(begin, "utf-8")
        (folder / "sitecustomize.py").write_text(begin + HIDDEN, "utf-8")
        lock = os.open(name, os.O_RDONLY)  # held for as long as this process lives
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield folder
        finally:
            os.close(lock)


def package_of_target(command: Sequence[str]) -> str:
    """Return the package or module of the application that a command names, "" if it names none."""
    for word in command:
        target = TARGET_WORD.match(word)
        if target:
            return target[1]
    return ""


def put(package: Path, rooms: Mapping[str, Sequence[str]]) -> None:
    """Write modules of rooms of lifespec into a package that another Python can import."""
    for room, names in rooms.items():
        (package / room).mkdir(parents=True)
        (package / room / "__init__.py").touch()
        for name in names:
            text = resources.files(f"lifespec.{room}").joinpath(f"{name}.py").read_bytes()
            (package / room / f"{name}.py").write_bytes(text)
    (package / "__init__.py").touch()
