"""Calls by which an author gives something to a framework: a lifespan, a handler, an application.

While the target is imported, each call of an installed function with a parameter for one of these
is noted, with the author's line that calls it: so it does not matter how the source spells it.
"""

import contextlib
import sys
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from types import CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple, cast

from lifespec.diagnosis import guard
from lifespec.diagnosis.fact import Place
from lifespec.diagnosis.stacks import is_own, short_name

LIFESPANS = ("lifespan", "on_startup", "on_shutdown", "plugins")  # parameters of any function
HANDLERS = ("on_event", "add_event_handler")  # of Starlette's kind, ignored beside a lifespan
PARAMETERS = {  # of functions with these names: a handler, or an application
    **dict.fromkeys(HANDLERS, "func"),
    **dict.fromkeys(("before_serving", "while_serving", "after_serving"), "func"),  # Quart
    **dict.fromkeys(("before_server_start", "after_server_start"), "listener"),  # Sanic
    "mount": "app",
    "Mount.__init__": "app",
    "Host.__init__": "app",
}
MOUNTED = "app"
TOOLS = range(6)  # of sys.monitoring


class Given(NamedTuple):
    """An argument of a call: its parameter, the function, its `self`, and the author's line.

    `name` is that of the value where the author called.
    """

    parameter: str
    function: str
    receiver: Any
    value: Any
    name: str
    place: Place


noted: list[Given] = []
_parameters: dict[int, tuple[CodeType, tuple[str, ...]]] = {}  # of a function's code, by its ID


# ---- calls are noted ---------------------------------------------------------------------------

# coverage cannot trace what a profile function or a callback of sys.monitoring calls


def parameters(code: CodeType) -> tuple[str, ...]:  # pragma: no cover
    """Return the parameters of an installed function that take what is given."""
    if id(code) not in _parameters:
        _parameters[id(code)] = (code, _wanted(code))  # the code is kept, so its ID stays its own
    return _parameters[id(code)][1]


def _wanted(code: CodeType) -> tuple[str, ...]:  # pragma: no cover
    if is_own(code.co_filename):  # an author's own function hands it on
        return ()
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    of_function = (PARAMETERS.get(code.co_name), PARAMETERS.get(code.co_qualname))
    wanted = [name for name in names if name in LIFESPANS or name in of_function]
    return tuple(wanted)


def given_to(frame: FrameType) -> list[Given]:  # pragma: no cover
    """Return what an author's call gives to this frame, which begins."""
    by = frame.f_back
    function = frame.f_code.co_name
    if function in PARAMETERS:
        while by and not is_own(by.f_code.co_filename):  # such as a decorator of the framework's
            outer = by.f_code.co_qualname.partition(".<locals>")[0].rpartition(".")[2]
            if outer in PARAMETERS:  # which the author has called, by its own name
                function = outer
            by = by.f_back
    if by is None:
        return []
    if not is_own(by.f_code.co_filename):  # libraries give one another much
        return []
    place = Place.at(short_name(by.f_code.co_qualname), by.f_code.co_filename, by.f_lineno)
    receiver = frame.f_locals.get("self")
    given = []
    for parameter in parameters(frame.f_code):
        argument = frame.f_locals.get(parameter)
        values = argument if isinstance(argument, (list, tuple)) else [argument]
        for value in values:
            if value is not None:
                name = _name(value, by)
                given.append(Given(parameter, function, receiver, value, name, place))
    return given


def _name(value: Any, by: FrameType) -> str:  # pragma: no cover
    """Return the name of a function; of anything else that of the author's variable, or its type's.

    A module is called what its importer calls it.
    """
    if isinstance(value, (FunctionType, MethodType, type)):
        return short_name(value.__qualname__)
    for variables in (by.f_locals, by.f_globals):
        for name, variable in list(variables.items()):
            if variable is value:
                return name
    return type(value).__name__


@contextlib.contextmanager
def noting_calls() -> Iterator[None]:
    """Note what is given in this thread meanwhile; nothing is raised into what runs."""
    if sys.version_info >= (3, 12):  # pragma: no cover
        with _monitoring():
            yield
    else:  # pragma: no cover
        with _profiling():
            yield


def _note(frame: FrameType) -> bool:  # pragma: no cover
    """Note what a call gives; return whether calls of this function may give something."""
    gives = True
    with guard.keeping():
        gives = bool(parameters(frame.f_code))
        if gives:
            noted.extend(given_to(frame))
    return gives


@contextlib.contextmanager
def _monitoring() -> Iterator[None]:  # pragma: no cover  Python 3.12
    """Let each function call `_note` until it is known that none of its calls gives anything."""
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
    # a debugger, coverage and a profiler have an ID each; where none is free nothing is noted
    free = [tool for tool in TOOLS if monitoring.get_tool(tool) is None]
    if not free:
        yield
        return
    tool, event = free[-1], monitoring.events.PY_START

    def start(_code: CodeType, _offset: int) -> Any:
        return None if _note(sys._getframe(1)) else monitoring.DISABLE  # noqa: SLF001

    monitoring.use_tool_id(tool, "lifespec")
    monitoring.register_callback(tool, event, start)
    monitoring.set_events(tool, event)
    monitoring.restart_events()  # what was looked at under the same ID before
    try:
        yield
    finally:
        monitoring.set_events(tool, 0)
        monitoring.register_callback(tool, event, None)
        monitoring.free_tool_id(tool)


@contextlib.contextmanager
def _profiling() -> Iterator[None]:  # pragma: no cover  Python 3.11
    """Let a profile function call `_note`, but not while an installed module is imported.

    That is what most of an import is: so it costs a few hundredths of a second, and not a third of
    one.  Who has a profile function already keeps it, and nothing is noted.
    """
    if sys.getprofile() is not None:
        yield
        return
    execute = SourceFileLoader.exec_module

    def profile(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            known = _parameters.get(id(frame.f_code))
            if known is None or known[1]:
                _note(frame)

    def exec_module(loader: SourceFileLoader, module: ModuleType) -> None:
        before = sys.getprofile()
        during = profile if is_own(str(loader.path)) else None
        if before in (None, profile):
            sys.setprofile(during)
        try:
            execute(loader, module)
        finally:
            if sys.getprofile() is during:
                sys.setprofile(before)

    # Python leaves frames of importlib out of tracebacks, and out of the levels of a warning
    exec_module.__code__ = exec_module.__code__.replace(
        co_filename="<frozen importlib._bootstrap_external>", co_name="_call_with_frames_removed"
    )
    SourceFileLoader.exec_module = cast("Any", exec_module)  # type: ignore[method-assign]
    sys.setprofile(profile)
    try:
        yield
    finally:
        if sys.getprofile() is profile:  # else the target has one of its own
            sys.setprofile(None)
        del SourceFileLoader.exec_module  # it inherits its own
