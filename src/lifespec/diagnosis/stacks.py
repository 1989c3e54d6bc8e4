"""Where code is: the frames of coroutines that wait, of threads, and of what faulthandler wrote.

Nothing here waits, or changes what it looks at.  Self-contained, for Python 3.9 and newer.
"""

from __future__ import annotations

import contextlib
import gc
import os
import re
import sys
from collections import deque
from functools import cache
from typing import Any, NamedTuple

# by the name of its frame: what this call awaits
_CALLS = {"cr_frame": "cr_await", "gi_frame": "gi_yieldfrom", "ag_frame": "ag_await"}
_DEEPEST = 200  # calls that await one another
_LIBRARY = os.path.dirname(os.__file__)
_INSTALLED = ("site-packages", "dist-packages")
_LOOPS = ("asyncio", "selectors.py")  # of Python's library: where an event loop waits
_GROUPS = ("__aexit__", "_aexit", "_nested_child_finished")  # methods of task groups and nurseries
_NAMED = {"task_group", "group", "tg", "nursery"}  # variables of libraries that have one
_ARGUMENTS = {"scope", "receive", "send"}  # of an application, wherever it was written
_STACKS = re.compile(r"\(most recent call first\):\n")  # of faulthandler
_FRAME = re.compile(r'File "(.*)", line (\d+) in (.*)')
_ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8}))")  # faulthandler's


class Line(NamedTuple):
    """A line of code that a call has come to."""

    file: str
    line: int
    function: str


def line(frame: Any, number: int = 0) -> Line:
    """Return where a frame is, or where it was at the line with that number."""
    code = frame.f_code
    name = getattr(code, "co_qualname", code.co_name)  # Python 3.11
    return Line(code.co_filename, number or frame.f_lineno or 0, short(name))


def short(name: str) -> str:
    """Return the qualified name of a function without those of the functions around it."""
    return name.rpartition("<locals>.")[2]


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
        for each in os.listdir(folder):
            record = os.path.join(folder, each, "RECORD")
            if each.endswith(".dist-info") and os.path.exists(record):
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
        code, name = frame.f_code, frame.f_code.co_name
        named = _NAMED.intersection(code.co_varnames + code.co_cellvars)
        if name == "_wait" and frame is frames[-1]:
            found += frame.f_locals.get("fs", ())
        elif name in _GROUPS or named:
            names = {"self"} if name in _GROUPS else named
            groups = [frame.f_locals.get(each) for each in names]
            groups += [getattr(each, "_nursery", None) for each in groups]
            for each in groups:
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
        inner.sort(key=lambda each: not any(map(_is_author, awaited(coroutine_of(each)))))
        call = next(iter(inner), None)
    return frames


def _is_author(frame: Any) -> bool:
    return not is_installed(frame.f_code.co_filename)


def scope_of(frames: list[Any]) -> dict[str, Any] | None:
    """Return the scope that the outermost application among frames was called with, or None."""
    for frame in frames:
        if _ARGUMENTS.issubset(frame.f_code.co_varnames):
            scope = frame.f_locals.get("scope")
            if isinstance(scope, dict) and isinstance(scope.get("type"), str):
                return scope
    return None


def is_loop(file: str) -> bool:
    """Tell whether a file is of Python's event loop."""
    name = file[len(_LIBRARY) + 1 :] if file.startswith(_LIBRARY) else ""
    return name.startswith(_LOOPS)


def is_idle(frames: list[Any]) -> bool:
    """Tell whether the frames of a thread are those of an event loop that waits for an event."""
    last = frames[-1].f_code
    return is_loop(last.co_filename) and last.co_name in ("select", "poll", "_run_once")


def of_dump(text: str, until: str = "") -> list[Line]:
    """Return the frames of the main thread, as faulthandler wrote them, the outermost first.

    Those that a frame of `until`, the beginning of a path, has called.  Frames of an event loop
    that waits are left out: without any other nothing blocks it.
    """
    main = _STACKS.split(text)[-1].partition("\n\n")[0]
    main = _ESCAPE.sub(lambda match: chr(int(match[match.lastindex or 0], 16)), main)
    found: deque[Line] = deque()
    for file, number, name in _FRAME.findall(main):
        if until and file.startswith(until):
            break
        if not is_loop(file):
            found.appendleft(Line(file, int(number), name))
    return [*found]


def threads() -> dict[int, Any]:
    """Return the innermost frame of each thread, by its number."""
    return sys._current_frames()  # noqa: SLF001
