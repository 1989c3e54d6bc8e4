"""An asyncio event loop whose clock jumps to the next timer instead of waiting for it.

A timeout of ten seconds takes no time, two runs are the same run, and an application that would
hang ends with `Deadlock` at once.  The loop has no sockets, processes, signals or threads, and
raises an error that says so if they are asked for.

The clock also moves if tasks run again and again without waiting for it, for example because a
cancel scope of anyio repeats its cancellation in each turn of the loop.  The turns are counted, so
that two runs are the same run here, too.
"""

import asyncio
import math
import threading
from collections import Counter
from collections.abc import Callable, Coroutine
from contextvars import Context
from pathlib import Path
from typing import Any, NoReturn, TypeVar, TypeVarTuple

BUSY = 50_000  # turns of the loop without a wait, after which the clock moves all the same
AGAIN = 1_000  # further turns without a wait, after which it moves again
STUCK = 1_000_000  # turns of the loop without a wait and without a timer
_INSTEAD = "run this on a real event loop."

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class Deadlock(RuntimeError):
    """Every task waits, and no callback or timer is left that could wake one.

    Also raised if tasks run again and again and no timer is left.
    """


def run(main: Coroutine[Any, Any, T], *, debug: bool | None = None) -> T:
    """Run `main` as `asyncio.run` does, on a new `VirtualLoop`."""
    with asyncio.Runner(debug=debug, loop_factory=VirtualLoop) as runner:
        return runner.run(main)


class VirtualLoop(asyncio.BaseEventLoop):
    """An asyncio event loop with a virtual clock: it starts at 0.0 s and never waits."""

    _scheduled: list[asyncio.TimerHandle]  # private to asyncio; the tests hold what we need of it
    _ready: list[asyncio.Handle]

    def __init__(self) -> None:
        super().__init__()
        self._selector = self  # what BaseEventLoop asks to wait: see `select`
        self._now = 0.0
        self._home = threading.get_ident()
        self._known: set[threading.Thread] = set()
        self._other_thread = ""  # the name of one that scheduled a callback
        self._busy = 0

    def run_forever(self) -> None:
        """Run until stopped; ignore threads that run already, and the turns of earlier runs."""
        self._known = set(threading.enumerate())
        self._busy = 0  # turns in which something was ready
        super().run_forever()

    def time(self) -> float:
        """Return the seconds since the loop was made, in virtual time."""
        return self._now

    def select(self, timeout: float | None) -> tuple[()]:
        """Move the clock to the next timer if no callback is ready, or if the loop is busy."""
        if self._other_thread:
            name, self._other_thread = self._other_thread, ""
            self._refuse_threads(name)
        if timeout == 0:  # something is ready
            self._busy += 1
        else:
            self._busy = 0
        if 0 < self._busy <= BUSY:
            return ()
        pending = bool(self._scheduled) and self._scheduled[0].when() < math.inf
        if 0 < self._busy <= STUCK and not pending:
            return ()
        newcomers = [thread for thread in threading.enumerate() if thread not in self._known]
        if newcomers:
            names = sorted(thread.name for thread in newcomers)
            self._refuse_threads(", ".join(names))
        if not pending:
            busy = self._busy > 0
            self._busy = 0  # the loop runs on: it has to cancel its tasks
            raise Deadlock(_deadlock_message(asyncio.all_tasks(self), busy=busy))
        self._busy = max(self._busy - AGAIN, 0)
        self._now = max(self._now, self._scheduled[0].when())
        self._clock_resolution = math.ulp(self._now)  # asyncio runs timers before time + this
        return ()

    async def settle(self) -> None:
        """Run all other tasks until each of them waits, without moving the clock."""
        await asyncio.sleep(0)
        while self._ready:  # noqa: ASYNC110  there is no event for that
            await asyncio.sleep(0)

    def call_soon_threadsafe(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """Schedule `callback`, as `call_soon` does; another thread is refused."""
        if threading.get_ident() != self._home:
            self._other_thread = threading.current_thread().name
            self._refuse_threads(self._other_thread)
        return self.call_soon(callback, *args, context=context)

    def _refuse_threads(self, names: str) -> NoReturn:
        raise RuntimeError(f"The virtual clock cannot wait for threads ({names}): {_INSTEAD}")

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError(
            f"The virtual clock has no sockets, processes, signals or threads: {_INSTEAD}"
        )

    async def _refuse_when_awaited(self, *_: Any, **__: Any) -> NoReturn:
        self._refuse()

    run_in_executor = add_signal_handler = _refuse  # type: ignore[assignment]
    add_reader = add_writer = _refuse  # type: ignore[assignment]
    create_connection = create_server = create_datagram_endpoint = _refuse_when_awaited
    create_unix_connection = create_unix_server = _refuse_when_awaited
    connect_read_pipe = connect_write_pipe = _refuse_when_awaited
    sock_connect = sock_accept = sock_recv = sock_recv_into = sock_recvfrom = _refuse_when_awaited
    sock_recvfrom_into = sock_sendall = sock_sendto = sock_sendfile = _refuse_when_awaited
    subprocess_exec = subprocess_shell = getaddrinfo = getnameinfo = _refuse_when_awaited

    def _process_events(self, event_list: tuple[()]) -> None:
        """Do nothing: `select` never brings any."""


def _deadlock_message(tasks: set[asyncio.Task[Any]], *, busy: bool) -> str:
    what = "Tasks run again and again" if busy else "Every task waits"
    places = Counter(_place(task.get_coro()) for task in tasks)
    waits = []
    for place, count in sorted(places.items()):
        waits.append(f"{place} ({count} tasks)" if count > 1 else place)
    return f"{what} and no timer is pending: {'; '.join(waits) or 'there is no task at all'}."


def _place(waiting: object) -> str:
    """Name the functions from the task's own to the one of asyncio in which it waits, and where.

    A function that sets `__tracebackhide__`, as pytest has it, only passes on and is left out.
    """
    names = []
    where = ""
    while True:
        name = getattr(waiting, "__qualname__", None)
        if name is None:
            break
        frame = getattr(waiting, "cr_frame", None) or getattr(waiting, "gi_frame", None)
        if frame is None or "__tracebackhide__" not in frame.f_locals:
            names.append(name.replace(".<locals>", ""))
        if frame is not None:
            if frame.f_globals.get("__name__", "").startswith("asyncio."):
                break
            where = f" at {Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
        waiting = getattr(waiting, "cr_await", None) or getattr(waiting, "gi_yieldfrom", None)
    return " → ".join(names) + where
