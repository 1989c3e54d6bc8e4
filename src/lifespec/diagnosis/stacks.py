"""Where code is, and whose: frames of coroutines that wait, of threads, exceptions and dumps.

Nothing here waits, or changes what it looks at.  Self-contained, for Python 3.9 and newer.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections import namedtuple
from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:  # each process pays for what is imported here
    from collections.abc import Iterator
    from typing import Any

# by the name of its frame: what this call awaits
_CALLS = {"cr_frame": "cr_await", "gi_frame": "gi_yieldfrom", "ag_frame": "ag_await"}
_DEEPEST = 200  # calls that await one another
_LIBRARY = os.path.dirname(os.__file__)
_INSTALLED = ("site-packages", "dist-packages")
_LOOPS = ("asyncio", "selectors.py")  # of Python's library: where an event loop waits
_GROUPS = {"TaskGroup", "Nursery"}  # classes of asyncio, anyio, hypercorn and trio
_ARGUMENTS = {"scope", "receive", "send"}  # of an application, wherever it was written
_LONGEST = 2000  # characters of an exception's text
_MOST_ERRORS = 200  # exceptions of one

# of this package, or of the folder in which it travels
OURS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")
# what is served or checked, its folder or its file: its author's code, even if it is installed
served: list[str] = []

Line = namedtuple("Line", ("file", "line", "function"))  # of code, that a call has come to


def line(frame: Any, number: int = 0) -> Line:
    """Return where a frame is, or where it was at the line with that number."""
    code = frame.f_code
    name = getattr(code, "co_qualname", code.co_name)  # Python 3.11
    return Line(code.co_filename, number or frame.f_lineno or 0, short(name))


def short(name: str) -> str:
    """Return the qualified name of a function without those of the functions around it."""
    return name.rpartition("<locals>.")[2]


def serve(file: str, *, is_package: bool) -> None:
    """Treat the code of a module, or of a package with this file, as its author's."""
    served[:] = [os.path.join(os.path.dirname(file), "") if is_package else file]


def is_ours(file: str) -> bool:
    """Tell whether a file is lifespec's."""
    return file.startswith(OURS)


def is_own(file: str) -> bool:
    """Tell whether a file is the author's; one such as `<string>` is not."""
    if is_installed(file) or is_ours(file):
        return file.startswith(tuple(served))
    return True


def name_of(call: Any) -> str:
    """Return the name of a function or coroutine, or ""."""
    return short(getattr(call, "__qualname__", ""))


@cache
def is_installed(file: str) -> bool:
    """Tell whether a file belongs to Python, to an installed package, or is no module."""
    if not file.endswith(".py") or file.startswith(_LIBRARY):  # such as `<string>`, or compiled
        return True
    parts = file.replace("\\", "/").split("/")
    return any(each in parts for each in _INSTALLED) or _is_beside_its_record(file)


def _is_beside_its_record(file: str) -> bool:
    """Tell whether a file was installed into some other folder, as by `pip install --target`."""
    for folder in sorted(filter(None, sys.path), key=len, reverse=True):
        if file.startswith(folder + os.sep):
            return _is_recorded(folder, file[len(folder) + 1 :].partition(os.sep)[0])
    return False


@cache
def _is_recorded(folder: str, name: str) -> bool:
    with contextlib.suppress(OSError):  # a zip, or no folder at all
        for each in [each for each in os.listdir(folder) if each.endswith(".dist-info")]:
            record = os.path.join(folder, each, "RECORD")
            if os.path.exists(record):
                with open(record, encoding="utf-8") as file:
                    if any(line.startswith((f"{name}/", f"{name},")) for line in file):
                        return True
    return False


def of_thread(frame: Any) -> list[Any]:
    """Return the frames of a thread, the outermost first, from its innermost."""
    found = []
    while frame is not None:
        found.append(frame)
        frame = frame.f_back
    return found[::-1]


def awaited(call: Any) -> list[Any]:
    """Return the frames of a coroutine or task and of what it awaits, the outermost first."""
    found = []
    for _ in range(_DEEPEST):
        name = next((each for each in _CALLS if hasattr(type(call), each)), "")
        if name:
            frame, call = getattr(call, name), getattr(call, _CALLS[name])
            if frame is not None:
                found.append(frame)
        elif hasattr(type(call), "get_coro"):  # a task
            call = call.get_coro()
        else:  # what `await` makes of a task, of a coroutine, of an asynchronous generator
            call = next(filter(_is_call, gc.get_referents(call)), None)
        if call is None:
            break
    return found


def _is_call(found: Any) -> bool:
    return any(hasattr(type(found), each) for each in ("get_coro", *_CALLS))


def inner_tasks(call: Any, frames: list[Any]) -> list[Any]:
    """Return the tasks that a task waits for, given the frames of what it awaits.

    Those of task groups of asyncio and anyio, of nurseries, of gather and asyncio.wait.
    """
    waits_for = getattr(call, "_fut_waiter", None)
    found = [*getattr(waits_for, "_children", ())]  # of gather
    for frame in [each for each in frames if is_installed(each.f_code.co_filename)]:
        if frame.f_code.co_name == "_wait" and frame is frames[-1]:
            found += frame.f_locals.get("fs", ())
        groups = [x for x in frame.f_locals.values() if type(x).__name__ in _GROUPS]
        for each in [*groups, *(getattr(each, "_nursery", None) for each in groups)]:
            found += getattr(each, "_tasks", None) or getattr(each, "_children", None) or ()
    return [each for each in found if _is_running(each)]


def _is_running(task: Any) -> bool:
    coroutine = coroutine_of(task)
    return coroutine is not None and getattr(coroutine, "cr_frame", None) is not None


def coroutine_of(task: Any) -> Any:
    """Return the coroutine of a task of asyncio or trio, or None."""
    get = getattr(type(task), "get_coro", None)
    return get(task) if get else getattr(task, "coro", None)


def branch(call: Any) -> list[Any]:
    """Return the frames of a call and of the first task that it waits for, and so on.

    Among several tasks that one counts first which has come to a line of an author.
    """
    frames: list[Any] = []
    seen: set[int] = set()
    while call is not None and id(call) not in seen and len(seen) < _DEEPEST:
        seen.add(id(call))
        found = awaited(coroutine_of(call) or call)
        frames += found
        inner = inner_tasks(call, found)
        inner.sort(key=lambda each: not own_lines(awaited(coroutine_of(each))))
        call = next(iter(inner), None)
    return frames


def own_lines(frames: list[Any]) -> list[Line]:
    """Return the author's lines among frames."""
    return [line(each) for each in frames if is_own(each.f_code.co_filename)]


def arguments(frames: list[Any]) -> Any:
    """Return what the outermost application among frames was called with, {} if there is none."""
    for frame in frames:
        if _ARGUMENTS.issubset(frame.f_code.co_varnames):
            scope = frame.f_locals.get("scope")
            if isinstance(scope, dict) and isinstance(scope.get("type"), str):
                return frame.f_locals
    return {}


def runs(frames: list[Any], function: Any) -> bool:
    """Tell whether a function, or what a partial calls, is among frames."""
    code = getattr(getattr(function, "func", function), "__code__", None)
    return any(each.f_code is code for each in frames)


def is_loop(file: str) -> bool:
    """Tell whether a file is of Python's event loop."""
    name = file[len(_LIBRARY) + 1 :] if file.startswith(_LIBRARY) else ""
    return name.startswith(_LOOPS)


def is_idle(frames: list[Any]) -> bool:
    """Tell whether the frames of a thread are those of an event loop that waits for an event."""
    last = frames[-1].f_code
    return is_loop(last.co_filename) and last.co_name in ("select", "poll", "_run_once")


def threads() -> dict[int, Any]:
    """Return the innermost frame of each thread, by its number."""
    return sys._current_frames()  # noqa: SLF001


# ---- exceptions --------------------------------------------------------------------------------


def chain(error: Any) -> Iterator[Any]:
    """Yield the exceptions of a group before it, and those that it was raised from or after.

    Each comes once: `raise group.exceptions[0]`, as Starlette has it, makes a circle, since the
    group is the context of its own exception.
    """
    known: dict[int, Any] = {}  # with the exceptions, so that no other gets the number of one
    waiting = [(error, False)]  # the next last, and whether what comes before it was yielded
    while waiting and len(known) < _MOST_ERRORS:
        error, is_next = waiting.pop()
        if is_next:
            yield error
        elif _is_error(error) and id(error) not in known:
            known[id(error)] = error
            waiting += [(_raised_after(error), False), (error, True)]
            waiting += [(inner, False) for inner in reversed(_of_group(error))]


def _is_error(value: Any) -> bool:
    return issubclass(type(value), BaseException)  # `isinstance` would ask the value


def _raised_after(error: Any) -> Any:
    """Return the cause of an exception, or else its context; its class may have others."""
    cause = BaseException.__cause__.__get__(error)  # type: ignore[attr-defined]
    if cause is not None:
        return cause
    return BaseException.__context__.__get__(error)  # type: ignore[attr-defined]


def _of_group(error: Any) -> tuple[Any, ...]:
    """Return the exceptions of a group; Python 3.9 has no class for one."""
    with contextlib.suppress(Exception):  # other classes have a property of this name
        inner = error.exceptions
        if type(inner) is tuple:
            return inner
    return ()


def of_error(error: Any) -> list[Line]:
    """Return the lines through which an exception went, the outermost first."""
    lines = []
    trace = error.__traceback__
    while trace is not None:
        lines.append(line(trace.tb_frame, trace.tb_lineno))
        trace = trace.tb_next
    return lines


def origin(error: Any, *, cancelled: bool = False) -> Line | None:
    """Return the author's line where an exception came from, if there is one.

    A CancelledError came from who awaited what was cancelled, unless this task was `cancelled`:
    the first of the author's lines behind the last one of a library that called them.
    """
    own: list[Line] = []  # lines of the author, one after the other
    is_apart = False
    for passed in of_error(error):
        if not is_own(passed.file):
            is_apart = True
            continue
        if is_apart:
            own.clear()
            is_apart = False
        own.append(passed)
    if not own:
        return None
    was_awaited = type(error).__name__ == "CancelledError" and not cancelled
    return own[0] if was_awaited else own[-1]


def text_of(error: Any) -> str:
    """Return the text of an exception, "" if that raises."""
    try:
        return str(error)[:_LONGEST]
    except KeyboardInterrupt:
        raise
    except BaseException:  # a class of the application may raise anything
        return ""
