"""What a task waits for that is no call of its own: other tasks, and the futures behind one.

Nothing here waits, or changes what it looks at.  Self-contained, for Python 3.9 and newer.
"""

from __future__ import annotations

from . import stacks

TYPE_CHECKING = False
if TYPE_CHECKING:  # each process pays for what is imported here
    from typing import Any

_GROUPS = {"TaskGroup", "Nursery"}  # classes of asyncio, anyio, hypercorn and trio
_MOST_FUTURES = 200  # that one stands for


def tasks(call: Any, frames: list[Any], future: Any = None) -> list[Any]:
    """Return the tasks that a task or coroutine waits for.

    `frames` are those of what it awaits, and `future` what the last of them awaits.  The tasks are
    those of task groups of asyncio and anyio, of nurseries, of gather, shield and asyncio.wait.
    """
    awaited = futures(getattr(call, "_fut_waiter", None)) + futures(future)
    for frame in frames:
        # an author may have groups among the variables, and wait for something else
        if not stacks.is_installed(frame.f_code.co_filename):
            continue
        if frame is frames[-1]:
            awaited += _awaited_by(frame)
        awaited += _in_groups_of(frame)
    return [task for task in dict.fromkeys(awaited) if _is_running(task)]


def _awaited_by(frame: Any) -> list[Any]:
    """Return the tasks that a function of asyncio has among its variables while it waits."""
    name = frame.f_code.co_name
    if name == "_wait":
        return list(frame.f_locals.get("fs", ()))
    if name == "wait_for":  # pragma: no cover  before Python 3.12 it makes a task
        limited = frame.f_locals.get("fut")
        return [limited, *futures(limited)]
    return []


def _in_groups_of(frame: Any) -> list[Any]:
    """Return the tasks of the groups and nurseries among the variables of a frame."""
    in_groups: list[Any] = []
    for value in list(frame.f_locals.values()):
        if type(value).__name__ not in _GROUPS:
            continue
        in_groups += _tasks_of(value)
        in_groups += _tasks_of(getattr(value, "_nursery", None))  # of hypercorn's group on trio
    return in_groups


def _tasks_of(group: Any) -> list[Any]:
    for name in ("_tasks", "_children"):  # of asyncio and anyio, and of trio
        of_group = getattr(group, name, None)
        if of_group:
            return list(of_group)
    return []


def futures(future: Any) -> list[Any]:
    """Return the futures that one of asyncio stands for: those of gather, and that of shield."""
    stands_for: list[Any] = []
    if not stacks.is_future(future):
        return stands_for
    outer = [future]  # those that are to be looked at: a gather may have others inside
    while outer and len(stands_for) < _MOST_FUTURES:
        next_outer = outer.pop()
        inner = list(getattr(next_outer, "_children", ()))
        inner += _shielded(next_outer)
        stands_for += inner
        outer += inner
    return stands_for


def _shielded(future: Any) -> list[Any]:
    """Return the future that asyncio.shield stands in front of; [] if this is another one.

    Nothing refers from the outer one to the inner one but the callback by which shield learns that
    the outer one was cancelled.
    """
    for callback, *_ in getattr(future, "_callbacks", None) or ():
        code: Any = getattr(callback, "__code__", None)
        if getattr(code, "co_name", "") != "_outer_done_callback":
            continue
        if stacks.is_carrier(code.co_filename):  # pragma: no branch  none but asyncio's was met
            variables = dict(zip(code.co_freevars, callback.__closure__))
            return [variables["inner"].cell_contents]
    return []


def _is_running(task: Any) -> bool:
    return getattr(stacks.coroutine_of(task), "cr_frame", None) is not None
