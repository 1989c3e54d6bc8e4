"""Where time goes: who uses a processor while nothing happens, what a long startup is at."""

import asyncio
import os
import threading
import time
from _thread import allocate_lock, start_new_thread
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread, get_ident
from typing import Any

from lifespec.diagnosis import alive, stacks, waits
from lifespec.diagnosis.author import innermost, place
from lifespec.diagnosis.fact import Fact, Place, fact
from lifespec.diagnosis.whose import lines_to_show

LEAST = 0.3  # of the time that the machine gives to a thread, and
LEAST_AT_ALL = 0.03  # of all time: on a busy machine a thread that only wakes has less
WINDOW, SAMPLE_EVERY, LOOK_EVERY = 0.5, 0.01, 0.1  # seconds
_RUNS = ("run", "run_forever", "run_until_complete", "_run_once", "_run")  # what it does, asyncio

Places = dict[int, Counter[Place]]  # by thread
Spent = list[tuple[float, Place | None, bool]]  # when, where, and whether that blocks its thread
Used = Mapping[int, tuple[float, float]]  # by thread: seconds on a processor, and waiting for one


async def busy(
    before: Used, seconds: float, sleep: Callable[[float], Awaitable[object]]
) -> list[Fact]:
    """Return who has used a processor for some seconds, and goes on in two more windows."""
    share, thread = busiest(before, seconds)
    seen: Places = {}
    for _window in range(2):
        if share < LEAST:
            return []
        now = used()
        sampler = Thread(target=_sample, args=(seen,), daemon=True)
        sampler.start()
        while sampler.is_alive():
            await sleep(SAMPLE_EVERY)
            _note_ready(seen)
        share, thread = busiest(now, WINDOW)
    if share < LEAST or thread not in seen:
        return []
    [(at, _count)] = seen[thread].most_common(1)
    return [fact("busy", place=at.fact(), percent=round(share * 100))]


def used() -> Used:
    """Return what threads have used: this one, or where /proc has them all."""
    used_by = {get_ident(): (time.thread_time(), 0.0)}
    numbers = {thread.ident: thread.native_id for thread in alive.threads()}
    # Python 3.11 has the old one in a forked process; a browser's Python has none to import
    numbers[get_ident()] = threading.get_native_id()
    for thread, number in numbers.items():
        with suppress(OSError):  # it has ended, or this is not Linux
            text = Path(f"/proc/self/task/{number}/schedstat").read_text("utf-8")
            ran, waited, _turns = map(int, text.split())
            used_by[thread] = ran / 1e9, waited / 1e9
    return used_by


def busiest(before: Used, seconds: float) -> tuple[float, int]:
    """Return how much of its time the busiest thread has used since then, and its number."""
    shares = [(0.0, 0)]
    for thread, (ran, waited) in used().items():
        ran_before, waited_before = before.get(thread, (ran, waited))
        took, free = ran - ran_before, seconds - (waited - waited_before)
        if took > LEAST_AT_ALL * seconds:
            shares.append((min(took / max(free, took), 1.0), thread))
    return max(shares)


def _sample(seen: Places) -> None:
    """Count the lines that threads are at, for a window: not those that have called lifespec."""
    end = time.monotonic() + WINDOW
    while time.monotonic() < end:
        for thread, top in stacks.top_frames().items():
            at = _at(top)
            if at is not None:
                seen.setdefault(thread, Counter())[at] += 1
        time.sleep(SAMPLE_EVERY)


def _at(top: Any) -> Place | None:
    """Return the author's line that a thread is at, unless that has called lifespec.

    Nor what has started its event loop, such as a test: while the loop waits, nothing runs there.
    """
    frames = stacks.of_thread(top)
    if stacks.is_idle(frames):
        return None
    lines: list[stacks.Line] = []
    for frame in frames:
        code = frame.f_code
        lines.append(stacks.line(frame))
        is_run = code.co_name in _RUNS and stacks.is_loop(code.co_filename)
        if is_run or stacks.is_ours(code.co_filename):
            lines.clear()
    return place(lines)


class Spending:
    """Where this thread has been, or else where a call waited, and the looks at that call."""

    def __init__(self) -> None:
        self.spent: Spent = []
        self.looks = waits.Looks()

    def most(self, begin: float, end: float) -> tuple[Place | None, bool]:
        """Return where most of a time went, and whether that blocked the thread."""
        looks = Counter((at, blocks) for when, at, blocks in self.spent if begin < when < end)
        for most_often, times in looks.most_common(1):  # none if there was no look
            if times * 2 > looks.total():
                return most_often
        return None, False

    def where(self, call: Any, *, late: bool) -> tuple[list[stacks.Line], str]:
        """Return where a call waits whose time is over, and what for: by a look now, or before.

        A timer has just woken the loop.  A call that has answered since is late: it waited only
        until something woke the loop, and what it waited for is known from the looks before.  These
        also tell what one look cannot, that a wait is due or comes again and again.
        """
        looks = self.looks
        if late and looks.slept:
            return looks.slept, "due"
        if late or looks.awaits in ("due", "again"):
            return looks.lines, looks.awaits
        now = waits.of(call)
        return lines_to_show(now.frames), now.awaits


@contextmanager
def spending(call: Callable[[], Any]) -> Iterator[Spending]:
    """Look at this thread, and at a call in its event loop, as long as the body of `with` runs."""
    spending, thread = Spending(), get_ident()
    looker = _Looker(lambda: _look(spending, call(), stacks.top_frames().get(thread)))
    _lookers.append(looker)
    looker.start()
    try:
        yield spending
    finally:
        _lookers.remove(looker)
        looker.stop()


class _Looker:
    """A thread that looks ten times a second, and is gone while its process forks.

    Python 3.12 warns of a fork in a process with several threads: that is no affair of a program
    that has only one.
    """

    def __init__(self, look: Callable[[], object]) -> None:
        self.look = look
        self.over = Event()
        self.ended: Any = None  # a lock that its thread releases; None while there is no thread
        self.number = 0  # of its thread, as the system has it

    def start(self) -> None:
        """Look from now on."""
        self.over.clear()
        self.ended = allocate_lock()
        self.ended.acquire()
        # which `threading` does not count: a program may count its threads
        start_new_thread(self.run, (self.ended,))

    def run(self, ended: Any) -> None:  # pragma: no cover  coverage follows no thread of _thread
        """Look until it is over."""
        try:
            with suppress(AttributeError):  # a browser's Python has none
                self.number = threading.get_native_id()
            while not self.over.wait(LOOK_EVERY):
                with suppress(Exception):  # what it looks at changes meanwhile: soon it looks again
                    self.look()
        finally:
            ended.release()

    def stop(self) -> None:
        """Look no more; wait until the thread has ended."""
        ended, self.ended = self.ended, None
        if ended:
            self.over.set()
            ended.acquire()

    def leave(self) -> None:  # pragma: no cover  tried in a process of its own
        """Look no more, and wait until the system has no such thread: Python asks it how many."""
        self.stop()
        limit = time.monotonic() + LOOK_EVERY
        while time.monotonic() < limit and Path(f"/proc/self/task/{self.number}").exists():
            time.sleep(0.0001)  # the thread needs the interpreter to end


_lookers: list[_Looker] = []
_stopped_by_a_fork: list[_Looker] = []  # they go on after it


def _before_fork() -> None:  # pragma: no cover  tried in a process of its own
    _stopped_by_a_fork[:] = [looker for looker in _lookers if looker.ended]
    for looker in _stopped_by_a_fork:
        looker.leave()


def _after_fork() -> None:  # pragma: no cover  tried in a process of its own
    """Let them look again in the next turn of the event loop: Python 3.13.0 counts threads later.

    In another library's loop nobody looks any more.
    """
    with suppress(RuntimeError):
        asyncio.get_running_loop().call_soon(_look_again)


def _look_again() -> None:  # pragma: no cover  tried in a process of its own
    for looker in _stopped_by_a_fork:
        if looker in _lookers and not looker.ended:  # else the body of its `with` is over
            looker.start()


if hasattr(os, "register_at_fork"):  # pragma: no branch  Windows has no fork
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork)


def _look(spending: Spending, call: Any, top: Any) -> None:  # pragma: no cover  nor here
    at = _at(top)
    is_blocked = at is not None
    # one that runs or is over waits for nothing: what was seen before it was cancelled counts
    if not is_blocked and stacks.is_suspended(call):
        spending.looks.look(call, stacks.of_thread(top))
        at = innermost(spending.looks.lines)
    spending.spent.append((time.monotonic(), at, is_blocked))


def _note_ready(seen: Places) -> None:
    """Count the lines of tasks that wait for nothing but their turn, such as `sleep(0)`."""
    with suppress(RuntimeError):  # trio runs
        for task in asyncio.all_tasks():
            if getattr(task, "_fut_waiter", task) is not None:
                continue
            at = place(map(stacks.line, stacks.awaited(task)))
            if at is not None:
                seen.setdefault(get_ident(), Counter())[at] += 1
