"""A limit on how long code may run, whatever it is: a busy loop, a blocking call, a task."""

from __future__ import annotations

import inspect
import signal
import sys
import threading
import time
from contextlib import AbstractContextManager, contextmanager, nullcontext
from ctypes import c_ulong, py_object, pythonapi
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

__all__ = ["LimitPassed", "limited"]


# seconds: to the next ring where one was swallowed, or struck at a bad time
AGAIN = 1.0
SOON = 0.01


class LimitPassed(KeyboardInterrupt):
    """The program ran too long: asyncio lets a KeyboardInterrupt through, whatever task runs."""


def limited(seconds: float) -> AbstractContextManager[None]:
    """Raise LimitPassed in what runs longer, and again each second should it be swallowed.

    Under Pyodide nothing is limited: it has neither an alarm nor threads, and the page that
    started the program ends it.
    """
    if sys.platform == "emscripten":
        return nullcontext()
    main = threading.current_thread() is threading.main_thread()
    return _Alarm(seconds) if main and hasattr(signal, "setitimer") else _watchdog(seconds)


class _Alarm(AbstractContextManager[None]):
    """A limit by the process's alarm clock."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __enter__(self) -> None:
        here = inspect.currentframe()
        self.owner = here.f_back if here else None
        self.began = time.monotonic()
        self.left, self.interval = signal.setitimer(signal.ITIMER_REAL, 0)
        self.handler = signal.signal(signal.SIGALRM, self.ring)
        try:  # on a busy machine it may ring at once
            signal.setitimer(signal.ITIMER_REAL, self.seconds, AGAIN)
        except LimitPassed:
            self.stop()
            raise

    def ring(self, _: int, frame: FrameType | None) -> None:
        """Raise LimitPassed, unless the function that has set the limit is over.

        A second ring can strike before the first one's exception has reached __exit__, which then
        never runs; the third would strike anybody.  While coverage notes a line, the limit waits:
        an exception there would leave its lock taken, and the next line would wait for ever.
        """
        noting = False
        while frame and frame is not self.owner:
            noting = noting or frame.f_globals.get("__name__", "").startswith("coverage.")
            frame = frame.f_back
        if not frame:
            self.stop()
        elif noting:
            signal.setitimer(signal.ITIMER_REAL, SOON, AGAIN)
        else:
            raise LimitPassed

    def __exit__(self, *_: object) -> None:
        try:
            self.stop()
        finally:  # even if it rang just now
            self.stop()
            self.owner = None

    def stop(self) -> None:
        """Stop the clock, and set it again for whoever waited for it before, say pytest-timeout."""
        if signal.getsignal(signal.SIGALRM) != self.ring:
            return
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self.handler)
        if self.left:
            left = self.left - (time.monotonic() - self.began)
            signal.setitimer(signal.ITIMER_REAL, max(left, 0.001), self.interval)


@contextmanager
def _watchdog(seconds: float) -> Iterator[None]:
    """Do the same from another thread, where no signal arrives; it cannot end a blocking call."""
    target, over = c_ulong(threading.get_ident()), threading.Event()

    def watch() -> None:
        wait = seconds
        while not over.wait(wait):
            pythonapi.PyThreadState_SetAsyncExc(target, py_object(LimitPassed))
            wait = AGAIN

    watcher = threading.Thread(target=watch, name="watchdog", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        try:
            over.set()
        finally:  # even if it barked just now
            over.set()
            watcher.join()
