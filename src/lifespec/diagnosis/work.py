"""Where the work is that a coroutine waits for, if a thread does it.

A thread of a pool has the future that it will set among the variables of the pool's own function.
From there each callback leads to the next future, up to the one that the coroutine awaits:
asyncio.to_thread and run_in_executor, anyio.to_thread, sync_to_async of asgiref, trio.to_thread.

Nothing here waits, or changes what it looks at.  Self-contained, for Python 3.9 and newer.
"""

from __future__ import annotations

import functools
import sys
import types

from . import stacks

TYPE_CHECKING = False
if TYPE_CHECKING:  # each process pays for what is imported here
    from typing import Any

_MOST_FUTURES = 200  # futures between the one that a thread sets and the one that is awaited
# where a thread of a pool calls what it was given: the file, the function, and its variable that
# is the future, or has it
_POOLS = (
    ("concurrent/futures/thread.py", "run", "self"),
    ("asgiref/current_thread_executor.py", "run", "self"),
    ("anyio/_backends/_asyncio.py", "run", "future"),
    ("trio/_core/_thread_cache.py", "_handle_job", "deliver"),
)
_METHODS = (types.MethodType, types.BuiltinMethodType)


def of_future(awaited: Any) -> list[Any] | None:
    """Return the frames of the work that sets a future, the outermost first; None if none does.

    A function in C has no frame.
    """
    for top in stacks.top_frames().values():
        frames = stacks.of_thread(top)
        for number, frame in enumerate(frames):
            promise = _promise(frame)
            if promise is None:
                continue
            if _leads_to(promise, awaited):
                return frames[number + 1 :]
    return None


def delivers(frames: list[Any]) -> Any:
    """Return what a thread of trio will call when it has done the work that frames wait for."""
    for frame in frames:
        code = frame.f_code
        if code.co_name == "to_thread_run_sync" and _is_of(code.co_filename, "trio/_threads.py"):
            return frame.f_locals.get("deliver_worker_fn_result")
    return None


def _promise(frame: Any) -> Any:
    """Return what a thread will set or call, if this frame is that of its pool."""
    code = frame.f_code
    for file, function, variable in _POOLS:
        if code.co_name != function or not _is_of(code.co_filename, file):
            continue
        value = frame.f_locals.get(variable)
        if variable == "self":  # an item of work, which has the future beside what it calls
            return getattr(value, "future", None)  # Python 3.14 has another `run` within
        return value
    return None


def _is_of(file: str, end: str) -> bool:
    return file.replace("\\", "/").endswith(end)


def _leads_to(promise: Any, awaited: Any) -> bool:
    """Tell whether what is awaited is set, by callbacks, once a promise is."""
    known: dict[int, Any] = {}  # with the futures, so that no other gets the number of one
    waiting = [promise]
    while waiting and len(known) < _MOST_FUTURES:
        future = waiting.pop()
        if future is awaited:
            return True
        if id(future) in known:
            continue
        known[id(future)] = future
        for callback in _callbacks(future):
            for value in _reached_by(callback):
                if _is_future(value):
                    waiting.append(value)
    return False


def _callbacks(future: Any) -> list[Any]:
    """Return what is called when a future is done."""
    if stacks.is_future(future):
        entries = getattr(future, "_callbacks", None)
    elif _is_future(future):
        entries = getattr(future, "_done_callbacks", None)
    else:  # trio's thread calls a function, which has none
        entries = None
    callbacks = []
    for entry in entries or ():
        if type(entry) is tuple:  # asyncio has the context beside it, in which to call it
            callbacks.append(entry[0])
        else:
            callbacks.append(entry)
    return callbacks


def _reached_by(callback: Any) -> list[Any]:
    """Return what a callback has at hand, and may set: one branch a kind of callback.

    A partial has it among its arguments, as that of `wait_for` before Python 3.12; a method is
    that of a task, which goes on; and a function has it from the function around it, as those do
    that asyncio chains futures by, and those of shield, gather and wait.
    """
    reached: list[Any] = []
    if type(callback) is functools.partial:
        reached += callback.args
        callback = callback.func
    if type(callback) in _METHODS:
        reached.append(callback.__self__)
    elif type(callback) is types.FunctionType:
        reached += _closed_over(callback)
    return reached


def _closed_over(function: Any) -> list[Any]:
    """Return what a function has of the functions around it."""
    values = []
    for cell in function.__closure__ or ():
        try:
            values.append(cell.cell_contents)
        except ValueError:  # it has no value yet
            continue
    return values


def _is_future(value: Any) -> bool:
    """Tell whether a value is a future, of asyncio or of a pool of threads."""
    if stacks.is_future(value):
        return True
    base = getattr(sys.modules.get("concurrent.futures._base"), "Future", None)
    return base is not None and issubclass(type(value), base)
