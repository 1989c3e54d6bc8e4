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

# `walk` knows a call by one of these: coroutine, generator, asynchronous generator, task
_OF_CALLS = ("cr_frame", "gi_frame", "ag_frame", "get_coro")
# which attribute of a call says whether it runs just now, by the one that has its frame
_RUNNING = {"cr_frame": "cr_running", "gi_frame": "gi_running", "ag_frame": "ag_running"}
_DEEPEST = 2000  # calls that await one another: two for each router that FastAPI has included
_MOST_REFERENTS = 1000  # of an object that is no call: what it awaits is among the first
LIBRARY = os.path.dirname(os.__file__)
_INSTALLED = ("site-packages", "dist-packages")
_LOOPS = ("asyncio", "selectors.py")  # of Python's library: where an event loop waits
_SELECTS = ("select", "poll", "_run_once")
_COROUTINE = 0x80  # the flag of its code
_CARRIERS = {"anyio", "asgiref", "outcome", "sniffio", "trio", "uvloop"}
_CARRYING = (
    "starlette/background.py", "starlette/concurrency.py", "starlette/routing.py",
    "fastapi/concurrency.py", "fastapi/routing.py",
)  # fmt: skip
_ARGUMENTS = ("scope", "receive", "send")  # of an application, whatever it calls them
_LONGEST = 2000  # characters of an exception's text
_MOST_ERRORS = 200  # exceptions of one

_CAUSE: Any = BaseException.__cause__  # as the interpreter has them, whatever a class says
_CONTEXT: Any = BaseException.__context__
_TRACE: Any = BaseException.__traceback__
# asked of `type` itself: a class may have a metaclass that answers with code of its own
_BASES: Any = vars(type)["__mro__"]
_VARIABLES: Any = vars(type)["__dict__"]

# the exceptions with which asyncio and trio cancel, by the whole names of their classes
CANCELLED = "asyncio.exceptions.CancelledError"
CANCELLATIONS = (CANCELLED, "trio.Cancelled")

# the folder of this package, or that in which this file travels
OURS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")
# the folders and files of what is served or checked: its author's code, even if it is installed
own_paths: list[str] = []

Line = namedtuple("Line", ("file", "line", "function"))  # of code, that a call has come to
# an exception: the whole names of its class and of those that it inherits from, the own one first
ErrorData = namedtuple("ErrorData", ("classes", "text", "errno"))


def line(frame: Any, number: int = 0) -> Line:
    """Return where a frame is, or where it was at the line with that number."""
    code = frame.f_code
    name = getattr(code, "co_qualname", code.co_name)  # Python 3.11
    if not number:
        number = frame.f_lineno or 0  # None while it runs what the compiler has added
    return Line(code.co_filename, number, short_name(name))


def short_name(name: str) -> str:
    """Return the qualified name of a function without those of the functions around it."""
    return name.rpartition("<locals>.")[2]


def is_ours(file: str) -> bool:
    """Tell whether a file is lifespec's."""
    return file.startswith(OURS)


def is_own(file: str) -> bool:
    """Tell whether a file is the author's; one such as `<string>` is not."""
    if file.startswith(tuple(own_paths)):
        return True
    if is_installed(file):
        return False
    return not is_ours(file)


def is_own_code(code: Any) -> bool:
    """Tell whether code is the author's; that of a function in C is None."""
    return code is not None and is_own(code.co_filename)


def name_of(call: Any) -> str:
    """Return the name of a function or coroutine, or ""."""
    return short_name(getattr(call, "__qualname__", ""))


@cache
def is_installed(file: str) -> bool:
    """Tell whether a file belongs to Python, to an installed package, or is no module."""
    if not file.endswith(".py"):  # such as `<string>`, or compiled
        return True
    if file.startswith(LIBRARY):
        return True
    if _in_installed(file):
        return True
    return _is_beside_its_record(file)


def _in_installed(file: str) -> bool:
    parts = file.replace("\\", "/").split("/")
    return not set(_INSTALLED).isdisjoint(parts)


def _is_beside_its_record(file: str) -> bool:
    """Tell whether a file was installed into some other folder, as by `pip install --target`."""
    folder, path = in_sys_path(file)
    return bool(record_of(folder, path.partition("/")[0]))


def in_sys_path(file: str) -> tuple[str, str]:
    """Return the entry of `sys.path` that has a file, and its path from there, with slashes."""
    folders = sorted(filter(None, sys.path), key=len, reverse=True)
    for folder in folders:  # the longest first: one of them may be inside of another
        if file.startswith(folder + os.sep):
            return folder, file[len(folder) + 1 :].replace(os.sep, "/")
    return "", ""


@cache
def record_of(folder: str, name: str) -> str:
    """Return the installer's record in a folder that has a file or a package, or ""."""
    with contextlib.suppress(OSError):  # a zip, or no folder at all
        for entry in os.listdir(folder):
            record = os.path.join(folder, entry, "RECORD")
            if entry.endswith(".dist-info"):
                text = "\n" + text_in(record)
                if f"\n{name}/" in text or f"\n{name}," in text:
                    return record
    return ""


def text_in(file: str) -> str:
    """Return what stands in a file, "" if it cannot be read; a name in it may be no UTF-8."""
    with contextlib.suppress(OSError), open(file, encoding="utf-8", errors="replace") as opened:
        return opened.read()
    return ""


def outward(frame: Any) -> Iterator[Any]:
    """Yield a frame, and each that has called the one before; nothing for None."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def of_thread(innermost: Any) -> list[Any]:
    """Return the frames of a thread, the outermost first; none if there is no innermost one."""
    return list(outward(innermost))[::-1]


def walk(call: Any) -> tuple[list[Any], Any]:
    """Return the frames of a coroutine or task and of what it awaits, the outermost first.

    And the future of asyncio that the last one awaits, None if it awaits something else.
    """
    frames: list[Any] = []
    for _ in range(_DEEPEST):
        kind = type(call)
        frame = None
        if has(kind, "cr_frame"):  # a coroutine
            frame, call = call.cr_frame, call.cr_await
        elif has(kind, "gi_frame"):  # a generator that `types.coroutine` has made awaitable
            frame, call = call.gi_frame, call.gi_yieldfrom
        elif has(kind, "ag_frame"):  # an asynchronous generator
            frame, call = call.ag_frame, call.ag_await
        elif has(kind, "get_coro"):  # a task
            call = call.get_coro()
        else:
            # What `await` makes of a task, of a coroutine or of an asynchronous generator does not
            # say whose it is, https://github.com/python/cpython/issues/76991; the collector does.
            refers_to = gc.get_referents(call)[:_MOST_REFERENTS]
            call = next(filter(_is_call, refers_to), None)
            if call is None:
                return frames, next(filter(is_future, refers_to), None)
        if frame is not None:  # None if the call has ended
            frames.append(frame)
        if call is None:
            break
    return frames, None


def is_suspended(call: Any) -> bool:
    """Tell whether a coroutine or generator waits: it does not run just now, and is not over."""
    for frame, running in _RUNNING.items():
        if has(type(call), frame):
            return getattr(call, frame) is not None and not getattr(call, running, False)
    return call is not None  # an awaitable of another kind says neither


def awaited(call: Any) -> list[Any]:
    """Return the frames of a coroutine or task and of what it awaits, the outermost first."""
    return walk(call)[0]


def _is_call(value: Any) -> bool:
    kind = type(value)
    return any(has(kind, name) for name in _OF_CALLS)


def is_future(value: Any) -> bool:
    """Tell whether a value is a future of asyncio, or a task, whoever made its class."""
    return has(type(value), "_asyncio_future_blocking")


def has(kind: Any, name: str) -> bool:
    """Tell whether a class has an attribute, without asking it: that may be code of its own."""
    return any(name in _VARIABLES.__get__(base) for base in _BASES.__get__(kind))


def coroutine_of(task: Any) -> Any:
    """Return the coroutine of a task of asyncio or trio, or None."""
    get_coro = getattr(type(task), "get_coro", None)
    if get_coro is not None:
        return get_coro(task)
    return getattr(task, "coro", None)  # of trio


def own_lines(frames: list[Any]) -> list[Line]:
    """Return the author's lines among frames."""
    return [line(frame) for frame in frames if is_own(frame.f_code.co_filename)]


def application(frame: Any) -> dict[str, str]:
    """Return what the function of a frame calls its scope, receive and send; {} if it has none.

    They are three arguments one after the other: a dictionary with a type, and two functions.
    """
    code = frame.f_code
    parameters = code.co_varnames[: code.co_argcount]
    if len(parameters) < len(_ARGUMENTS):  # most functions: to ask a frame for its variables costs
        return {}
    values = frame.f_locals
    for names in zip(parameters, parameters[1:], parameters[2:]):
        scope, receive, send = map(values.get, names)
        if _is_scope(scope) and callable(receive) and callable(send):
            return dict(zip(_ARGUMENTS, names))
    return {}


def _is_scope(value: Any) -> bool:
    if not issubclass(type(value), dict):  # `isinstance` would ask the value
        return False
    return type(value.get("type")) is str


def arguments(frames: list[Any]) -> Any:
    """Return what the outermost application among frames was called with, {} if there is none."""
    for frame in frames:
        names = application(frame)
        if names:
            return {argument: frame.f_locals[name] for argument, name in names.items()}
    return {}


def runs(frames: list[Any], function: Any) -> bool:
    """Tell whether a function, or what a partial calls, is among frames."""
    called = getattr(function, "func", function)
    code = getattr(called, "__code__", None)
    return any(frame.f_code is code for frame in frames)


def is_loop(file: str) -> bool:
    """Tell whether a file is of Python's event loop."""
    if not file.startswith(LIBRARY):
        return False
    return file[len(LIBRARY) + 1 :].startswith(_LOOPS)


def is_idle(frames: list[Any]) -> bool:
    """Tell whether the frames of a thread are those of an event loop that waits for an event.

    uvloop and trio wait in C or below a frame of their own: there no coroutine and no callback of
    the author's is on the stack.  Who wakes a loop that waits changes what it is about to look at.
    """
    if not frames:
        return False
    last = frames[-1].f_code
    for frame in frames:
        if frame.f_code.co_name == "_run_once" and is_loop(frame.f_code.co_filename):
            return is_loop(last.co_filename) and last.co_name in _SELECTS
    if any(frame.f_code.co_flags & _COROUTINE for frame in frames):
        return False
    return not is_own(last.co_filename)


def is_carrier(file: str) -> bool:
    """Tell whether a file is Python's, or of a library that merely carries the calls of others."""
    if file.startswith(os.path.join(LIBRARY, "")) and not _in_installed(file):
        return True
    if file.replace("\\", "/").endswith(_CARRYING):
        return True
    return _package(file) in _CARRIERS


def says_nothing(file: str) -> bool:
    """Tell whether the lines of a file tell an author nothing: a carrier's, and lifespec's."""
    return is_carrier(file) or is_ours(file)


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
    around = _around_the_loop()
    known: dict[int, Any] = {}  # with the exceptions, so that no other gets the number of one
    waiting = [(error, False)]  # the next last, and whether what comes before it was yielded
    while waiting and len(known) < _MOST_ERRORS:
        error, is_next = waiting.pop()
        if is_next:
            yield error
        elif _is_error(error) and id(error) not in known:
            known[id(error)] = error
            waiting += [(_raised_after(error, around), False), (error, True)]
            for inner in reversed(_of_group(error)):
                waiting.append((inner, False))


def _is_error(value: Any) -> bool:
    return issubclass(type(value), BaseException)  # `isinstance` would ask the value


def _raised_after(error: Any, around: list[Any]) -> Any:
    """Return the cause of an exception, or else its context, unless it is handled around the loop.

    That is the context of all that is raised there, as in `except ImportError: uvicorn.run(app)`.
    """
    cause = _CAUSE.__get__(error)
    if cause is not None:
        return cause
    context = _CONTEXT.__get__(error)
    if context is not None and getattr(trace_of(context), "tb_frame", None) in around:
        return None
    return context


def _around_the_loop() -> list[Any]:
    """Return the author's frames that have called the event loop of this thread, [] without one."""
    around: list[Any] = []
    for frame in of_thread(sys._getframe()):  # noqa: SLF001
        if frame.f_code.co_flags & _COROUTINE:
            return around
        if is_own(frame.f_code.co_filename):
            around.append(frame)
    return []


def _of_group(error: Any) -> tuple[Any, ...]:
    """Return the exceptions of a group; other classes may have something of this name, too."""
    kind: Any = getattr(builtins, "BaseExceptionGroup", None)
    if kind is None:  # pragma: no cover  before Python 3.11
        kind = getattr(sys.modules.get("exceptiongroup"), "BaseExceptionGroup", None)
    if kind is None:  # pragma: no cover  the same, and nobody has imported one
        return ()
    if not issubclass(type(error), kind):
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
    if CANCELLED in raised(error).classes and not cancelled:
        return own[0]
    return own[-1]


def is_cancellation(error: Any) -> bool:
    """Tell whether an exception is one by which asyncio or trio cancels."""
    return not set(CANCELLATIONS).isdisjoint(raised(error).classes)


def raised(error: Any) -> ErrorData:
    """Return what an exception is: its classes by their whole names, its text, its number."""
    classes = [f"{kind.__module__}.{kind.__qualname__}" for kind in type(error).__mro__]
    number = None
    if isinstance(error, OSError) and isinstance(error.errno, int):  # who raises one may omit it
        number = error.errno
    return ErrorData(tuple(classes), text_of(error), number)


def text_of(error: Any) -> str:
    """Return the text of an exception, "" if that raises."""
    try:
        return str(error)[:_LONGEST]
    except KeyboardInterrupt:
        raise
    except BaseException:  # a class of the application may raise anything
        return ""
