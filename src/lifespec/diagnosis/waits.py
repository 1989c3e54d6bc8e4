"""What a call waits for: the frames down to the work, and the kind of thing that it awaits.

The kind is told by the functions of asyncio, anyio and trio that the innermost frames belong to,
never by names in a program.

Nothing here waits, or changes what it looks at.  Self-contained, for Python 3.9 and newer.
"""

from __future__ import annotations

import sys
import weakref
from collections import namedtuple

from . import behind, stacks, whose, work

TYPE_CHECKING = False
if TYPE_CHECKING:  # each process pays for what is imported here
    from collections.abc import Iterable
    from typing import Any

_MOST_TASKS = 200  # tasks that wait for one another
_OFTEN = 3  # times that one line has waited anew
_LOOKS = 2  # one after the other that have found the loop asleep
# frames, the outermost first: of the call, of the task that it waits for, and so on, and of the
# thread that does the work; what the author's code awaits, "" if that is a library's own affair;
# whether that is there already, so that the event loop only has to go on; and its future
Wait = namedtuple("Wait", ("frames", "awaits", "is_due", "future"))

# what is awaited, by the module and the functions in which the wait is
_PRIMITIVES: dict[str, dict[str, tuple[str, ...]]] = {
    "lock": {
        "asyncio.locks": ("Lock.acquire", "Semaphore.acquire"),
        "anyio._core._synchronization": ("Lock.acquire", "Semaphore.acquire"),
        "anyio._backends._asyncio": ("Lock.acquire", "Semaphore.acquire"),
        "trio._sync": ("_LockImpl.acquire", "Semaphore.acquire"),
    },
    "event": {
        "asyncio.locks": ("Event.wait",),
        "anyio._core._synchronization": ("Event.wait",),
        "anyio._backends._asyncio": ("Event.wait",),
        "trio._sync": ("Event.wait",),
    },
    "item": {
        "asyncio.queues": ("Queue.get",),
        "anyio.streams.memory": ("MemoryObjectReceiveStream.receive",),
        "trio._channel": ("MemoryReceiveChannel.receive",),
    },
    "room": {
        "asyncio.queues": ("Queue.put",),
        "anyio.streams.memory": ("MemoryObjectSendStream.send",),
        "trio._channel": ("MemorySendChannel.send",),
    },
    "queue": {"asyncio.queues": ("Queue.join",)},
    "sleep": {
        "asyncio.tasks": ("sleep",),
        "anyio._core._eventloop": ("sleep", "sleep_until"),
        "trio._timeouts": ("sleep", "sleep_until"),
    },
    # the others are made of it: that counts which was called first
    "forever": {
        "anyio._core._eventloop": ("sleep_forever",),
        "trio._timeouts": ("sleep_forever",),
    },
    "task": {
        "asyncio.tasks": (
            "wait",
            "as_completed.<locals>._wait_for_one",  # a class from Python 3.13 on
            "_AsCompletedIterator._wait_for_one",
        ),
        "asyncio.taskgroups": ("TaskGroup.__aexit__",),
        "anyio._backends._asyncio": ("TaskGroup.__aexit__",),
    },
    "connection": {
        "asyncio.streams": (
            "open_connection", "open_unix_connection", "StreamReader.read",
            "StreamReader.readexactly", "StreamReader.readuntil", "StreamWriter.drain",
            "StreamWriter.wait_closed",
        ),
        "asyncio.base_events": ("BaseEventLoop.create_connection", "BaseEventLoop.sock_sendfile"),
        "asyncio.selector_events": (
            "BaseSelectorEventLoop.sock_accept", "BaseSelectorEventLoop.sock_connect",
            "BaseSelectorEventLoop.sock_recv", "BaseSelectorEventLoop.sock_sendall",
        ),
        "anyio._core._sockets": ("connect_tcp", "connect_unix"),
        "anyio._backends._asyncio": ("SocketStream.receive", "SocketStream.send"),
    },
    "process": {
        "asyncio.subprocess": ("Process.communicate", "Process.wait"),
        "anyio._backends._asyncio": ("Process.wait",),
    },
}  # fmt: skip

# calls of Python's library that block a thread, by file and function, and until what happens
_BLOCKING = {
    ("threading.py", "join"): "blocked-thread",
    ("concurrent/futures/_base.py", "result"): "blocked-future",
}


def blocked_by(lines: Iterable[Any]) -> str:
    """Return how the author's innermost among lines of a thread blocks it, as a kind of waiting.

    That is told by the function of Python's library that it has called.
    """
    called = None  # what an author's line has called
    is_below = False
    for line in lines:
        if stacks.is_own(line.file):
            called, is_below = None, True
        elif is_below and called is None:
            called = line
    if called is None:
        return "blocked"
    file = called.file.replace("\\", "/")
    for (name, function), kind in _BLOCKING.items():
        is_there = file == f"{stacks.LIBRARY}/{name}".replace("\\", "/")
        if is_there and called.function.rpartition(".")[2] == function:
            return kind
    return "blocked"


def of(call: Any) -> Wait:
    """Return what a coroutine or task waits for.

    Among several tasks that one counts which has come to a line of an author.
    """
    frames: list[Any] = []
    seen: set[int] = set()  # the IDs of the tasks: two of them may wait for one another
    begin = 0  # of the frames of the last task
    future = None
    while call is not None and len(seen) < _MOST_TASKS:
        if id(call) in seen:
            break
        seen.add(id(call))
        # before Python 3.12 `wait_for` makes a task of what it is given: the author sees one wait
        if not _ends_in_wait_for(frames):  # pragma: no branch
            begin = len(frames)
        frames_of_call, future = _walk(call)
        frames += frames_of_call
        call = _to_follow(behind.tasks(call, frames_of_call, future))
    whose.learn(frames)  # before any of them is asked whether it is the author's
    in_thread = _work_of(future, frames[begin:])
    if in_thread is not None:
        return Wait(frames + in_thread, "thread", False, future)
    return Wait(frames, kind_of(frames, begin, future), _is_due(future), future)


def _walk(call: Any) -> tuple[list[Any], Any]:
    coroutine = stacks.coroutine_of(call)
    if coroutine is None:  # it is one itself
        coroutine = call
    return stacks.walk(coroutine)


def _ends_in_wait_for(frames: list[Any]) -> bool:
    if not frames:
        return False
    return frames[-1].f_code is _code("asyncio.tasks", "wait_for")


def _to_follow(tasks: list[Any]) -> Any:
    """Return the first task that has come to a line of an author, or else the first of all."""
    for task in tasks:
        if stacks.own_lines(stacks.awaited(task)):
            return task
    return tasks[0] if tasks else None


def _work_of(future: Any, frames: list[Any]) -> list[Any] | None:
    """Return the frames of the thread that a wait is for, None if it is for something else.

    Code of asyncio awaits a future; that of trio, which has none, awaits a call by the thread.
    """
    promise = future
    if promise is None:
        promise = work.delivers(frames)
    if promise is None:
        return None
    return work.of_future(promise)


class Looks:
    """Looks at one call, one after the other, from another thread than that of its event loop.

    `lines` are those that say where it was at the last one, and `awaits` what it awaited there:
    "again" if the author's line has waited several times, each time anew; "due" if what it waits
    for is there, and the loop sleeps all the same: somebody has set it from another thread, which
    wakes no loop.  `slept` are the lines of the first such look: something may wake the loop later.
    """

    def __init__(self) -> None:
        self.lines: list[stacks.Line] = []
        self.awaits = ""
        self.slept: list[stacks.Line] = []
        self._times: dict[stacks.Line, int] = {}  # by line: how often it has waited anew
        self._future: Any = lambda: None  # a weak reference to what was awaited
        self._due = 0

    def look(self, call: Any, thread: list[Any]) -> None:
        """Look at a call whose event loop runs in the thread with these frames."""
        wait = of(call)
        self.lines = whose.lines_to_show(wait.frames)
        self.awaits = wait.awaits
        # once is no proof: what is due is so for a moment before each turn of a loop that is well
        if wait.is_due and stacks.is_idle(thread):
            self._due += 1
        else:
            self._due = 0
        if self._due >= _LOOKS:
            self.awaits = "due"
            if not self.slept:
                self.slept = self.lines
        elif self._has_come_back(wait):
            self.awaits = "again"

    def _has_come_back(self, wait: Wait) -> bool:
        own = stacks.own_lines(wait.frames)
        if wait.future is None:
            return False
        if not own:
            return False
        at = own[-1]
        times = self._times.get(at, 0)
        if self._future() is not wait.future:  # each wait has a future of its own
            times += 1
            self._times[at] = times
            self._future = weakref.ref(wait.future)
        return times >= _OFTEN


def kind_of(frames: list[Any], begin: int = 0, future: Any = None) -> str:
    """Return what the author's innermost code among frames awaits, "" if that is not known.

    `begin` is where the frames of the last task begin, and `future` what that awaits.
    """
    last = _last_own(frames)
    if last is None:
        return ""
    inner = frames[last + 1 :]
    for frame in inner:
        if not stacks.is_carrier(frame.f_code.co_filename):  # a library awaits that for itself
            return ""
    if last < begin:  # the frames below are those of a task that has none of the author's
        return "task"
    kinds = _awaited_by_code()
    for frame in inner:  # the outermost first: a queue awaits a future, and its `get` is the word
        if frame.f_code in kinds:
            return kinds[frame.f_code]
    if inner:
        return ""
    return _kind_of_future(future)


def _kind_of_future(future: Any) -> str:
    """Return what it is that an author's line awaits by a future of asyncio's."""
    if future is None:
        return ""
    # gather and shield return a future, and have no frame
    return "task" if behind.futures(future) else "future"


def _last_own(frames: list[Any]) -> int | None:
    """Return the number of the innermost frame that is the author's, None if none is."""
    last = None
    for number, frame in enumerate(frames):
        if stacks.is_own(frame.f_code.co_filename):
            last = number
    return last


def _awaited_by_code() -> dict[Any, str]:
    """Return what is awaited by the code of the functions of modules that are loaded."""
    kinds = {}
    for kind, functions in _PRIMITIVES.items():
        for module, names in functions.items():
            for name in names:
                code = _code(module, name)
                if code is not None:
                    kinds[code] = kind
    return kinds


def _code(module: str, name: str) -> Any:
    """Return the code of a function of a module that is loaded, or None."""
    value: Any = sys.modules.get(module)
    outer, _, inner = name.partition(".<locals>.")
    for part in outer.split("."):
        value = getattr(value, part, None)
    code = getattr(value, "__code__", None)
    if not inner:
        return code
    for constant in getattr(code, "co_consts", ()):
        is_inner = getattr(constant, "co_name", "") == inner
        if is_inner:  # pragma: no cover  a function that from Python 3.13 on is no more there
            return constant
    return None  # pragma: no cover  and there it always is before


def _is_due(future: Any) -> bool:
    if not stacks.is_future(future):
        return False
    return bool(future.done())
