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
            if promise is not None and _leads_to(promise, awaited):
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
    for file, function, variable in _POOLS:
        code = frame.f_code
        if code.co_name == function and _is_of(code.co_filename, file):
            value = frame.f_locals.get(variable)
            return value.future if variable == "self" else value
    return None


def _is_of(file: str, end: str) -> bool:
    return file.replace("\\", "/").endswith(end)


def _leads_to(promise: Any, awaited: Any) -> bool:
    known: dict[int, Any] = {}
    waiting = [promise]
    while waiting and len(known) < _MOST_FUTURES:
        future = waiting.pop()
        if future is awaited:
            return True
        if id(future) not in known:
            known[id(future)] = future
            waiting += _set_after(future)
    return False


def _set_after(future: Any) -> list[Any]:
    """Return the futures that go on when one is done, as its callbacks know them."""
    after: list[Any] = []
    for entry in _callbacks(future):
        callback = entry[0] if type(entry) is tuple else entry  # asyncio has a context beside it
        if type(callback) is functools.partial:  # of wait_for
            after += callback.args
            callback = callback.func
        if type(callback) in _METHODS:  # a task that goes on
            after.append(callback.__self__)
        elif type(callback) is types.FunctionType:  # of a chain, shield, gather or wait
            after += _closed_over(callback)
    return [value for value in after if _is_future(value)]


def _callbacks(future: Any) -> list[Any]:
    if not _is_future(future):  # trio's thread calls a function
        return []
    name = "_callbacks" if stacks.is_future(future) else "_done_callbacks"
    return [*(getattr(future, name, None) or ())]


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
    base = getattr(sys.modules.get("concurrent.futures._base"), "Future", None)
    return stacks.is_future(value) or (base is not None and issubclass(type(value), base))
