"""Who ends the process by `os._exit`, which runs no `finally`: nothing can be said afterwards."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn

from lifespec.diagnosis.author import caller
from lifespec.diagnosis.fact import Place
from lifespec.diagnosis.guard import keeping

SIGNALLED = 128  # shells add it to the number of the signal that ended a process
# a function that is called with the author's line and the status before the process ends; what it
# raises is raised there instead
ExitObserver = Callable[[Place | None, int], None]

_observers: list[
    tuple[int, ExitObserver]
] = []  # each with its process: a fork has those of its parent
_before = [os._exit]  # what ends the process: somebody else may have put another in its place


class ProcessEnded(BaseException):
    """What an application did in a test would have ended its process, and the tests with it.

    As SystemExit, it is none of the errors that a program catches to go on.
    """

    def __init__(self, call: str) -> None:
        super().__init__(f"{call} would have ended this process, and all tests with it")


@contextmanager
def noting_exits(observer: ExitObserver) -> Iterator[None]:
    """Call an observer before this process ends by `os._exit`.

    Several may observe at a time, and stop in any order.
    """
    entry = (os.getpid(), observer)
    if not _observers:
        _before[0] = os._exit
        os._exit = _noted_exit
    _observers.append(entry)
    try:
        yield
    finally:
        _observers.remove(entry)
        if not _observers:
            os._exit = _before[0]


def _noted_exit(status: int) -> NoReturn:
    at = None
    with keeping():
        at = caller(sys._getframe(1))  # noqa: SLF001
    for pid, observer in [*_observers]:
        if pid == os.getpid():
            observer(at, status)
    _before[0](status)
