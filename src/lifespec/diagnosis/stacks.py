"""Where code is, and whose: frames of coroutines that wait, of threads, exceptions and dumps.

Nothing here waits, or changes what it looks at.  Self-contained, for Python 3.9 and newer.
"""

from __future__ import annotations

import builtins
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
_MOST_REFERENTS = 1000  # of an object that is no call: what it awaits is among the first
_LIBRARY = os.path.dirname(os.__file__)
_INSTALLED = ("site-packages", "dist-packages")
_LOOPS = ("asyncio", "selectors.py")  # of Python's library: where an event loop waits
_SELECTS = ("select", "poll", "_run_once")
_COROUTINE = 0x80  # the flag of its code
_CARRIERS = {"anyio", "asgiref", "outcome", "sniffio", "trio", "uvloop"}
_CARRYING = ("starlette/background.py", "starlette/concurrency.py", "starlette/routing.py")
_GROUPS = {"TaskGroup", "Nursery"}  # classes of asyncio, anyio, hypercorn and trio
_ARGUMENTS = ("scope", "receive", "send")  # of an application, whatever it calls them
_LONGEST = 2000  # characters of an exception's text
_MOST_ERRORS = 200  # exceptions of one

_CAUSE: Any = BaseException.__cause__  # as the interpreter has them, whatever a class says
_CONTEXT: Any = BaseException.__context__
_TRACE: Any = BaseException.__traceback__
_BASES: Any = vars(type)["__mro__"]
_VARIABLES: Any = vars(type)["__dict__"]

# by which asyncio and trio cancel: whole names of classes
CANCELLED = "asyncio.exceptions.CancelledError"
CANCELLATIONS = (CANCELLED, "trio.Cancelled")

# of this package, or of the folder in which it travels
OURS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")
# what is served or checked, its folder or its file: its author's code, even if it is installed
served: list[str] = []

Line = namedtuple("Line", ("file", "line", "function"))  # of code, that a call has come to
# an exception: the whole names of its class and of those that it inherits from, the own one first
ErrorData = namedtuple("ErrorData", ("classes", "text", "errno"))


def line(frame: Any, number: int = 0) -> Line:
    """Return where a frame is, or where it was at the line with that number."""
    code = frame.f_code
    name = getattr(code, "co_qualname", code.co_name)  # Python 3.11
    return Line(code.co_filename, number or frame.f_lineno or 0, short_name(name))


def short_name(name: str) -> str:
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
    return short_name(getattr(call, "__qualname__", ""))


@cache
def is_installed(file: str) -> bool:
    """Tell whether a file belongs to Python, to an installed package, or is no module."""
    if not file.endswith(".py") or file.startswith(_LIBRARY):  # such as `<string>`, or compiled
        return True
    return _in_installed(file) or _is_beside_its_record(file)


def _in_installed(file: str) -> bool:
    parts = file.replace("\\", "/").split("/")
    return any(name in parts for name in _INSTALLED)


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


def walk(call: Any) -> tuple[list[Any], Any]:
    """Return the frames of a coroutine or task and of what it awaits, the outermost first.

    And the future of asyncio that the last one awaits, None if it awaits something else.
    """
    frames: list[Any] = []
    for _ in range(_DEEPEST):
        kind = type(call)
        name = next((name for name in _CALLS if has(kind, name)), "")
        if name:
            frame, call = getattr(call, name), getattr(call, _CALLS[name])
            if frame is not None:
                frames.append(frame)
        elif has(kind, "get_coro"):  # a task
            call = call.get_coro()
        else:  # what `await` makes of a task, of a coroutine, of an asynchronous generator
            refers_to = gc.get_referents(call)[:_MOST_REFERENTS]
            call = next(filter(_is_call, refers_to), None)
            if call is None:
                return frames, next(filter(is_future, refers_to), None)
        if call is None:
            break
    return frames, None


def is_suspended(call: Any) -> bool:
    """Tell whether a coroutine or generator waits: it does not run just now, and is not over."""
    for name in _CALLS:
        if has(type(call), name):
            is_running = getattr(call, name.replace("frame", "running"), False)
            return getattr(call, name) is not None and not is_running
    return call is not None  # an awaitable of another kind says neither


def awaited(call: Any) -> list[Any]:
    """Return the frames of a coroutine or task and of what it awaits, the outermost first."""
    return walk(call)[0]


def _is_call(found: Any) -> bool:
    return any(has(type(found), each) for each in ("get_coro", *_CALLS))


def is_future(value: Any) -> bool:
    """Tell whether a value is a future of asyncio, or a task, whoever made its class."""
    return has(type(value), "_asyncio_future_blocking")


def has(kind: Any, name: str) -> bool:
    """Tell whether a class has an attribute, without asking it: that may be code of its own."""
    return any(name in _VARIABLES.__get__(base) for base in _BASES.__get__(kind))


def inner_tasks(call: Any, frames: list[Any], future: Any = None) -> list[Any]:
    """Return the tasks that a task or coroutine waits for.

    `frames` are those of what it awaits, and `future` what the last of them awaits.  The tasks are
    those of task groups of asyncio and anyio, of nurseries, of gather, shield and asyncio.wait.
    """
    tasks = [*behind(getattr(call, "_fut_waiter", None)), *behind(future)]
    for frame in frames:
        if not is_installed(frame.f_code.co_filename):
            continue
        if frame is frames[-1] and frame.f_code.co_name == "_wait":
            tasks += frame.f_locals.get("fs", ())
        is_limit = frame is frames[-1] and frame.f_code.co_name == "wait_for"
        if is_limit:  # pragma: no cover  before Python 3.12 it makes a task
            limited = frame.f_locals.get("fut")
            tasks += [limited, *behind(limited)]
        for value in [*frame.f_locals.values()]:
            if type(value).__name__ in _GROUPS:
                for group in (value, getattr(value, "_nursery", None)):
                    inner = getattr(group, "_tasks", None) or getattr(group, "_children", None)
                    tasks += inner or ()
    return [task for task in dict.fromkeys(tasks) if _is_running(task)]


def behind(future: Any) -> list[Any]:
    """Return the futures that one of asyncio stands for: those of gather, and that of shield."""
    found: list[Any] = []
    todo = [future] if is_future(future) else []
    while todo and len(found) < _DEEPEST:
        one = todo.pop()
        inner = [*getattr(one, "_children", ()), *_shielded(one)]
        found += inner
        todo += inner
    return found


def _shielded(future: Any) -> list[Any]:
    """Return the future that asyncio.shield stands in front of; [] if this is another one."""
    for callback, *_ in getattr(future, "_callbacks", None) or ():
        code = getattr(callback, "__code__", None)
        if code and code.co_name == "_outer_done_callback" and is_carrier(code.co_filename):
            cells = dict(zip(code.co_freevars, callback.__closure__))
            return [cells["inner"].cell_contents]
    return []


def _is_running(task: Any) -> bool:
    coroutine = coroutine_of(task)
    return coroutine is not None and getattr(coroutine, "cr_frame", None) is not None


def coroutine_of(task: Any) -> Any:
    """Return the coroutine of a task of asyncio or trio, or None."""
    get = getattr(type(task), "get_coro", None)
    return get(task) if get else getattr(task, "coro", None)


def own_lines(frames: list[Any]) -> list[Line]:
    """Return the author's lines among frames."""
    return [line(each) for each in frames if is_own(each.f_code.co_filename)]


def application(frame: Any) -> dict[str, str]:
    """Return what the function of a frame calls its scope, receive and send; {} if it has none.

    They are three arguments one after the other: a dictionary with a type, and two functions.
    """
    code = frame.f_code
    names = code.co_varnames[: code.co_argcount]
    if code.co_argcount < len(_ARGUMENTS):
        return {}
    values = frame.f_locals
    for first in range(len(names) - 2):
        scope, receive, send = (values.get(name) for name in names[first : first + 3])
        is_scope = issubclass(type(scope), dict) and type(scope.get("type")) is str
        if is_scope and callable(receive) and callable(send):
            return dict(zip(_ARGUMENTS, names[first:]))
    return {}


def lines_to_show(frames: list[Any]) -> list[Line]:
    """Return the lines that say where a call is, the outermost first: the author's if it has any.

    Else those of libraries below the innermost application: its lifespan function, and what that
    awaits.  Lines of Python and of what merely carries say nothing.
    """
    own = own_lines(frames)
    if own:
        return own
    begin = 0
    for number, frame in enumerate(frames):
        if application(frame):
            begin = number + 1
    files = [(frame, frame.f_code.co_filename) for frame in frames[begin:]]
    return [line(frame) for frame, file in files if not (is_carrier(file) or is_ours(file))]


def arguments(frames: list[Any]) -> Any:
    """Return what the outermost application among frames was called with, {} if there is none."""
    for frame in frames:
        names = application(frame)
        if names:
            return {argument: frame.f_locals[name] for argument, name in names.items()}
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
    """Tell whether the frames of a thread are those of an event loop that waits for an event.

    uvloop and trio wait in C or below a frame of their own: there no coroutine and no callback of
    the author's is on the stack.  Who wakes a loop that waits changes what it is about to look at.
    """
    last = frames[-1].f_code
    for frame in frames:
        if frame.f_code.co_name == "_run_once" and is_loop(frame.f_code.co_filename):
            return is_loop(last.co_filename) and last.co_name in _SELECTS
    runs = any(frame.f_code.co_flags & _COROUTINE for frame in frames)
    return not runs and not is_own(last.co_filename)


def is_carrier(file: str) -> bool:
    """Tell whether a file is Python's, or of a library that merely carries the calls of others."""
    if file.startswith(os.path.join(_LIBRARY, "")) and not _in_installed(file):
        return True
    return file.replace("\\", "/").endswith(_CARRYING) or _package(file) in _CARRIERS


def _package(file: str) -> str:
    """Return the name of the installed package that has a file, or ""."""
    parts = file.replace("\\", "/").split("/")
    for number in range(len(parts) - 1, 0, -1):
        if parts[number - 1] in _INSTALLED:
            return parts[number]
    return ""


def top_frames() -> dict[int, Any]:
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
    cause = _CAUSE.__get__(error)
    if cause is not None:
        return cause
    return _CONTEXT.__get__(error)


def _of_group(error: Any) -> tuple[Any, ...]:
    """Return the exceptions of a group; other classes may have something of this name, too."""
    kind: Any = getattr(builtins, "BaseExceptionGroup", None)
    if kind is None:  # pragma: no cover  before Python 3.11
        kind = getattr(sys.modules.get("exceptiongroup"), "BaseExceptionGroup", None)
    if kind is None or not issubclass(type(error), kind):
        return ()
    inner: Any = kind.exceptions.__get__(error)
    return tuple(inner)


def trace_of(error: Any) -> Any:
    """Return the traceback of an exception, None if it has none, whatever its class says."""
    return _TRACE.__get__(error)


def of_error(error: Any) -> list[Line]:
    """Return the lines through which an exception went, the outermost first."""
    lines = []
    trace = trace_of(error)
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
    was_awaited = CANCELLED in raised(error).classes and not cancelled
    return own[0] if was_awaited else own[-1]


def is_cancellation(error: Any) -> bool:
    """Tell whether an exception is one by which asyncio or trio cancels."""
    return any(each in CANCELLATIONS for each in raised(error).classes)


def raised(error: Any) -> ErrorData:
    """Return what an exception is: its classes by their whole names, its text, its number."""
    classes = [f"{kind.__module__}.{kind.__qualname__}" for kind in type(error).__mro__]
    number = error.errno if isinstance(error, OSError) else None
    return ErrorData(tuple(classes), text_of(error), number if isinstance(number, int) else None)


def text_of(error: Any) -> str:
    """Return the text of an exception, "" if that raises."""
    try:
        return str(error)[:_LONGEST]
    except KeyboardInterrupt:
        raise
    except BaseException:  # a class of the application may raise anything
        return ""
