"""A limit on how long code may run, whatever it is: a busy loop, a blocking call, a task."""

from __future__ import annotations

import signal
import threading
import time
from contextlib import contextmanager
from ctypes import c_ulong, py_object, pythonapi
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["LimitPassed", "limited"]


class LimitPassed(KeyboardInterrupt):
    """The program ran too long: asyncio lets a KeyboardInterrupt through, whatever task runs."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise LimitPassed in what runs longer, and again each second should it be swallowed."""
    main = threading.current_thread() is threading.main_thread()
    with _alarm(seconds) if main and hasattr(signal, "setitimer") else _watchdog(seconds):
        yield


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    def ring(*_: object) -> None:
        raise LimitPassed

    began = time.monotonic()
    left, interval = signal.setitimer(signal.ITIMER_REAL, 0)
    handler = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)  # on a busy machine it may ring at once
        yield
    finally:
        try:
            signal.setitimer(signal.ITIMER_REAL, 0)
        finally:  # even if it rang just now
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, handler)
        if left:  # somebody else, pytest-timeout say, waits for the same bell
            left -= time.monotonic() - began
            signal.setitimer(signal.ITIMER_REAL, max(left, 0.001), interval)


@contextmanager
def _watchdog(seconds: float) -> Iterator[None]:
    """Do the same from another thread, where no signal arrives; it cannot end a blocking call."""
    target, over = c_ulong(threading.get_ident()), threading.Event()

    def watch() -> None:
        wait = seconds
        while not over.wait(wait):
            pythonapi.PyThreadState_SetAsyncExc(target, py_object(LimitPassed))
            wait = 1.0

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
