"""Which signals came to a whole group of processes, and whether a process is alive."""

import contextlib
import os
import signal
from collections.abc import Sequence
from pathlib import Path


class GroupListener:
    """A process that tells which signals came to all of this group, and so to the command as well.

    A terminal sends Ctrl-C to all of them; `kill` sends to one.
    """

    def __init__(self, numbers: Sequence[int]) -> None:
        self.answers, write = os.pipe()
        read, self.questions = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            os.close(self.questions)
            os.set_blocking(write, False)
            signal.set_wakeup_fd(write)  # where the number of each signal is written at once
            for number in numbers:
                signal.signal(number, lambda *_: None)
            while os.read(read, 1):
                os.write(write, b"\0")
            os._exit(0)
        os.close(write)
        os.close(read)
        self.heard()  # once it listens

    def heard(self) -> set[int]:
        """Return the signals that have come to all since this was asked last."""
        answer = b""
        with contextlib.suppress(BrokenPipeError):  # somebody has killed it
            os.write(self.questions, b"?")
            while not answer.endswith(b"\0") and (more := os.read(self.answers, 100)):
                answer += more
        return set(answer)

    def close(self) -> None:
        """End it."""
        os.close(self.questions)
        os.waitpid(self.pid, 0)
        os.close(self.answers)


def _stat(pid: int) -> list[str]:
    """Return the state of a process, its parent and so on, [] where /proc does not say.

    Before these the name of its program stands, in which there may be anything.
    """
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(") ")[2].split()
    return []


def is_alive(pid: int) -> bool:
    """Tell whether a process runs: not if it has ended, and its parent has not asked yet."""
    stat = _stat(pid)
    if stat:
        return stat[0] != "Z"
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it is another user's
        pass
    return True


def is_stopped(pid: int) -> bool:
    """Tell whether a process is stopped, as by SIGSTOP or Ctrl-Z, where /proc says so."""
    return _stat(pid)[:1] in (["T"], ["t"])


def ignores(pid: int, number: int) -> bool:
    """Tell whether a process ignores a signal, where /proc says so."""
    return _in_mask(pid, "SigIgn", number)


def catches(pid: int, number: int) -> bool:
    """Tell whether a process has a handler of a signal, where /proc says so."""
    return _in_mask(pid, "SigCgt", number)


def _in_mask(pid: int, mask: str, number: int) -> bool:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text(errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name == mask:
                return bool(int(value, 16) >> (number - 1) & 1)
    return False


def parent_of(pid: int) -> int:
    """Return the parent of a process, 0 if it has ended or /proc does not say."""
    stat = _stat(pid)
    if not stat:
        return 0
    return int(stat[1])


def below(pid: int) -> list[int]:
    """Return the processes that a process and its children have started, where /proc says so."""
    started: list[int] = []
    with contextlib.suppress(OSError):
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            started.append(int(child))
            started += below(int(child))
    return started


def program_of(pid: int) -> str:
    """Return the name of what a process runs, of a script that of the script, "" if unknown."""
    with contextlib.suppress(OSError):
        words = Path(f"/proc/{pid}/cmdline").read_text(errors="replace").split("\0")
        for word in words:
            name = Path(word).name
            if word and not word.startswith("-") and not name.startswith("python"):
                return name
    return ""
