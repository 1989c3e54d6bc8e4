"""Where time goes: who uses a processor while nothing happens, what a long startup is at."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread, get_ident, get_native_id
from typing import Any

from lifespec.diagnosis import alive, stacks
from lifespec.diagnosis.author import place
from lifespec.diagnosis.fact import Fact, Place, fact

LEAST = 0.3  # of the time that the machine gives to a thread, and
LITTLE = 0.03  # of all time: on a machine with much to do, a thread that only wakes has less
WINDOW, PAUSE, TURN = 0.5, 0.01, 0.1  # seconds

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
        now, sampler = used(), Thread(target=_sample, args=(seen,), daemon=True)
        sampler.start()
        while sampler.is_alive():
            await sleep(PAUSE)
            _note_ready(seen)
        share, thread = busiest(now, WINDOW)
    if share < LEAST or thread not in seen:
        return []
    [(at, _count)] = seen[thread].most_common(1)
    return [fact("busy", place=at.fact(), percent=round(share * 100))]


def used() -> Used:
    """Return what threads have used: this one, or where /proc has them all."""
    found = {get_ident(): (time.thread_time(), 0.0)}
    numbers = {each.ident: each.native_id for each in alive.threads()}
    numbers[get_ident()] = get_native_id()  # of a process that was forked Python 3.11 has the old
    for thread, number in numbers.items():
        with suppress(OSError):  # it has ended, or this is not Linux
            text = Path(f"/proc/self/task/{number}/schedstat").read_text("utf-8")
            ran, waited, _turns = map(int, text.split())
            found[thread] = ran / 1e9, waited / 1e9
    return found


def busiest(before: Used, seconds: float) -> tuple[float, int]:
    """Return how much of its time the busiest thread has used since then, and its number."""
    found = [(0.0, 0)]
    for thread, (ran, waited) in used().items():
        ran_before, waited_before = before.get(thread, (ran, waited))
        took, free = ran - ran_before, seconds - (waited - waited_before)
        if took > LITTLE * seconds:
            found.append((min(took / max(free, took), 1.0), thread))
    return max(found)


def _sample(seen: Places) -> None:
    """Count the lines that threads are at, for a window: not those that have called lifespec."""
    end = time.monotonic() + WINDOW
    while time.monotonic() < end:
        for thread, top in stacks.threads().items():
            if at := _at(top):
                seen.setdefault(thread, Counter())[at] += 1
        time.sleep(PAUSE)


def _at(top: Any) -> Place | None:
    """Return the author's line that a thread is at, unless that has called lifespec."""
    lines = [*map(stacks.line, stacks.of_thread(top))]
    ours = max((n for n, each in enumerate(lines) if stacks.is_ours(each.file)), default=-1)
    return place(lines[ours + 1 :])


@contextmanager
def spending(waits: Callable[[], Iterable[stacks.Line]]) -> Iterator[Spent]:
    """Note the author's line that this thread is at meanwhile, or else the one that it waits at."""
    spent: Spent = []
    over, thread = Event(), get_ident()

    def note() -> None:
        while not over.wait(TURN):
            at = _at(stacks.threads().get(thread))
            spent.append((time.monotonic(), at or place(waits()), bool(at)))

    noting = Thread(target=note, daemon=True)
    noting.start()
    try:
        yield spent
    finally:
        over.set()
        noting.join()


def most(spent: Spent, begin: float, end: float) -> tuple[Place | None, bool]:
    """Return where most of a time went, and whether that blocked the thread."""
    found = Counter((at, blocks) for when, at, blocks in spent if begin < when < end)
    (at, blocks), count = next(iter(found.most_common(1)), ((None, False), 0))
    return (at, blocks) if count * 2 > found.total() else (None, False)


def _note_ready(seen: Places) -> None:
    """Count the lines of tasks that wait for nothing but their turn, such as `sleep(0)`."""
    with suppress(RuntimeError):  # trio runs
        for task in asyncio.all_tasks():
            at = place(map(stacks.line, stacks.awaited(task)))
            if at and getattr(task, "_fut_waiter", task) is None:
                seen.setdefault(get_ident(), Counter())[at] += 1
