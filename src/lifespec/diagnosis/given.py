"""What an author gives to a framework: lifespans, handlers of events, applications to mount.

While the target is imported, each call of an installed function with a parameter for one of these
is noted, with the author's line that calls it: so it does not matter how the source spells it.
What was given elsewhere, or assigned, is read from the routers that the application holds.
"""

import contextlib
import gc
import inspect
import sys
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple, Self, cast

from lifespec.diagnosis import guard
from lifespec.diagnosis.author import own_modules
from lifespec.diagnosis.fact import Place
from lifespec.diagnosis.stacks import is_own, short

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
LATE = "registered-late"
FRAMEWORKS = ("starlette", "fastapi")  # their own functions wrap those of authors
OBJECTS = 200_000  # that an application holds: more are not looked at
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


class Registered(NamedTuple):
    """An object that a framework was given: name, object, code, place, and the receiver.

    `kind` is that of the fact if it never ran.  `stateful` says that the receiver is Starlette's,
    which puts what it yields into the state of requests.
    """

    name: str
    value: Any
    code: CodeType | None
    place: Place
    receiver: str
    kind: str = "never-ran"
    stateful: bool = False


class Router(NamedTuple):
    """A router of Starlette as it was before startup; `served`: the subject itself holds it."""

    router: Any
    served: bool
    lifespan: Any
    routes: Collection[Any]
    handlers: Collection[Any]

    @classmethod
    def now(cls, router: Any, *, served: bool) -> Self:
        """Return a router as it is."""
        return cls(router, served, router.lifespan_context, [*router.routes], _handlers_of(router))

    def added(self, before: Collection[int]) -> Iterator[tuple[Any, Any]]:
        """Yield what was given to it since, such as an application, and what would run of that.

        `before` are the IDs of the routers that there were: an application may hold its outer one.
        """
        known = {*map(id, [*self.routes, *self.handlers])}
        routes = [each for each in self.router.routes if id(each) not in known]
        mounts = [*of_kind("starlette.routing", "Mount", routes)]
        mounts += of_kind("starlette.routing", "Host", routes)
        for application in [each.app for each in mounts]:
            inner = of_kind("starlette.routing", "Router", held([application]).values())
            for router in [each for each in inner if id(each) not in before]:
                for value in (router.lifespan_context, *_handlers_of(router)):
                    yield application, value
        if self.router.lifespan_context is not self.lifespan:
            yield self.router.lifespan_context, self.router.lifespan_context
        for handler in _handlers_of(self.router):
            if id(handler) not in known:
                yield handler, handler


noted: list[Given] = []
_known: list[tuple[object, list[Registered], list[Router]]] = []  # a subject, and what was found
_parameters: dict[int, tuple[CodeType, tuple[str, ...]]] = {}  # of a function's code, by its ID


# ---- calls are noted ---------------------------------------------------------------------------

# coverage cannot trace what a profile function or a callback of sys.monitoring calls


def parameters(code: CodeType) -> tuple[str, ...]:  # pragma: no cover
    """Return the parameters of an installed function that take what is given."""
    if id(code) not in _parameters:
        _parameters[id(code)] = (code, _wanted(code))  # the code is kept, so its ID stays its own
    return _parameters[id(code)][1]


def _wanted(code: CodeType) -> tuple[str, ...]:  # pragma: no cover
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    of_function = (PARAMETERS.get(code.co_name), PARAMETERS.get(code.co_qualname))
    wanted = [name for name in names if name in LIFESPANS or name in of_function]
    return () if not wanted or is_own(code.co_filename) else tuple(wanted)


def note(frame: FrameType) -> list[Given]:  # pragma: no cover
    """Return what an author's call gives to this frame, which begins."""
    by, function = frame.f_back, frame.f_code.co_name
    if function in PARAMETERS:
        while by and not is_own(by.f_code.co_filename):  # such as a decorator of the framework's
            outer = by.f_code.co_qualname.partition(".<locals>")[0].rpartition(".")[2]
            function = outer if outer in PARAMETERS else function
            by = by.f_back
    if not by or not is_own(by.f_code.co_filename):
        return []
    place = Place.at(short(by.f_code.co_qualname), by.f_code.co_filename, by.f_lineno)
    receiver = frame.f_locals.get("self")
    found = []
    for parameter in parameters(frame.f_code):
        value = frame.f_locals.get(parameter)
        for each in value if isinstance(value, (list, tuple)) else [value]:
            if each is not None:
                name = _name(each, by)
                found.append(Given(parameter, function, receiver, each, name, place))
    return found


def _name(value: Any, by: FrameType) -> str:  # pragma: no cover
    """Return the name of a function; of anything else that of the author's variable, or its type's.

    A module is called what its importer calls it.
    """
    if isinstance(value, (FunctionType, MethodType, type)):
        return short(value.__qualname__)
    for variables in (by.f_locals, by.f_globals):
        for name, each in [*variables.items()]:
            if each is value:
                return name
    return type(value).__name__


@contextlib.contextmanager
def noting() -> Iterator[None]:
    """Note what is given in this thread meanwhile; nothing is raised into what runs."""
    if sys.version_info >= (3, 12):  # pragma: no cover
        with _monitoring():
            yield
    else:
        with _profiling():
            yield


def _note(frame: FrameType) -> bool:  # pragma: no cover
    """Note what a call gives; return whether calls of this function may give something."""
    gives = True
    with guard.keeping():
        gives = bool(parameters(frame.f_code))
        if gives:
            noted.extend(note(frame))
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
def _profiling() -> Iterator[None]:
    """Let a profile function call `_note`, but not while an installed module is imported.

    That is what most of an import is: so it costs a few hundredths of a second, and not a third of
    one.  Who has a profile function already keeps it, and nothing is noted.
    """
    if sys.getprofile() is not None:
        yield
        return
    execute = SourceFileLoader.exec_module

    def profile(frame: FrameType, event: str, _: object) -> None:  # pragma: no cover
        if event == "call":
            known = _parameters.get(id(frame.f_code))
            if known is None or known[1]:
                _note(frame)

    def exec_module(loader: SourceFileLoader, module: ModuleType) -> None:  # pragma: no cover
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
        if sys.getprofile() is profile:  # pragma: no branch  else the target has one of its own
            sys.setprofile(None)
        del SourceFileLoader.exec_module  # it inherits its own


# ---- what an application was given -------------------------------------------------------------


def remember(get: Callable[[], object]) -> None:
    """Get a subject, and find its lifespans once, for processes that are forked from this one.

    To look at an object counts as a reference to it, so each process would copy what it looks at.
    """
    with noting():
        subject = get()
    found: tuple[list[Registered], list[Router]] = ([], [])
    with guard.keeping():
        found = find(subject)
    _known[:] = [(subject, *found)]
    noted.clear()


def find(subject: object) -> tuple[list[Registered], list[Router]]:
    """Return the lifespans that the author gave to a framework, and the routers that there are.

    An application that another module keeps for itself is left out: it may be served alone.
    """
    with guard.keeping():
        return _find(subject)
    return [], []


def _find(subject: object) -> tuple[list[Registered], list[Router]]:
    for known, registered, routers in _known:
        if known is subject:
            return registered, routers
    modules = [module for module, _file in own_modules()]
    homes = [each for each in modules if any(value is subject for value in vars(each).values())]
    kept = held([subject, *(value for each in homes for value in vars(each).values())])
    names = _names(modules)
    found = []
    for given in noted:
        receiver = id(given.receiver)
        is_apart = given.receiver is not None and receiver in names and receiver not in kept
        if given.parameter != MOUNTED and not is_apart:
            found += [each for each in [_registered(given, names)] if each]
    codes = {each.code for each in found}
    routers = of_kind("starlette.routing", "Router", kept.values())
    found += [each for each in _of_routers(routers, names) if each.code not in codes]
    served = held([subject])
    return found, [Router.now(each, served=id(each) in served) for each in routers]


def _names(modules: Iterable[ModuleType]) -> dict[int, str]:
    """Return the names of the author's variables by the IDs of what they have.

    The router of an application has that of the application.
    """
    variables = [(name, value) for each in modules for name, value in [*vars(each).items()]]
    names = {id(value): name for name, value in variables}
    applications = of_kind("starlette.applications", "Starlette", (value for _, value in variables))
    return {**{id(each.router): names[id(each)] for each in applications}, **names}


def late(routers: Collection[Router], calls: Collection[Given]) -> list[Registered]:
    """Return the lifespans and handlers that routers got since, with the calls that gave them."""
    found = dict[CodeType, Registered]()
    served = {id(each.router) for each in routers if each.served}
    for router in routers:
        receiver = type(router.router).__name__
        for given, value in router.added({*served, id(router.router)}):
            for code in _codes(value):
                places = [call.place for call in calls if call.value is given]
                place = places[-1] if places else place_of(code)
                registered = Registered(name_of(code), value, code, place, receiver, LATE)
                found.setdefault(code, registered)
    return [*found.values()]


def held(roots: Iterable[object]) -> dict[int, object]:
    """Return objects and what they refer to by their IDs, but not through modules and classes."""
    # `isinstance` would ask the objects, which may say anything, or raise
    modules = [each for each in [*sys.modules.values()] if issubclass(type(each), ModuleType)]
    found: dict[int, object] = {id(vars(each)): None for each in modules}
    queue = deque(roots)
    while queue and len(found) < OBJECTS:
        each = queue.popleft()
        if id(each) not in found and not issubclass(type(each), (ModuleType, type)):
            found[id(each)] = each
            queue += gc.get_referents(each)[:OBJECTS]
    return found


def _registered(given: Given, names: Mapping[int, str]) -> Registered | None:
    """Return what was given with the code that runs if it is entered; None for a plain value."""
    code = code_of(given.value)
    if code is None and (callable(given.value) or given.parameter == "plugins"):
        return None
    place = given.place._replace(function=given.name)
    if code and is_own(code.co_filename):
        place = Place.at(given.name, code.co_filename, code.co_firstlineno)
    kind = "never-ran"
    if given.parameter not in ("lifespan", "plugins") and has_lifespan(given.receiver):
        kind = "handler-ignored"
    receiver = _receiver(given, names)
    stateful = is_starlettes(type(given.receiver))
    return Registered(given.name, given.value, code, place, receiver, kind, stateful)


def _receiver(given: Given, names: Mapping[int, str]) -> str:
    """Return the class whose call made the receiver, or its name and that of its method."""
    if given.receiver is None:
        return given.function
    kind = type(given.receiver).__name__
    if given.function == "__init__":
        return kind
    return f"{names.get(id(given.receiver), kind)}.{given.function}"


def is_starlettes(kind: type) -> bool:
    """Tell whether a class is one of Starlette's, or made from one."""
    return any(each.__module__.startswith("starlette.") for each in kind.__mro__)


def has_lifespan(app: Any) -> bool:
    """Tell whether an application or router of Starlette has a lifespan, and runs no handlers."""
    if not is_starlettes(type(app)):
        return False
    lifespan = getattr(getattr(app, "router", app), "lifespan_context", None)
    return lifespan is not None and not _is_default(lifespan)


def _is_default(lifespan: Any) -> bool:
    """Tell whether a lifespan runs handlers: a framework's own, also merged with others."""
    kind = type(lifespan)
    if kind.__name__ == "_DefaultLifespan" and kind.__module__.partition(".")[0] in FRAMEWORKS:
        return True
    return any(_is_default(each) for each in _enclosed(lifespan))


def _enclosed(lifespan: Any) -> list[Any]:
    """Return what a framework makes one lifespan of, as FastAPI does with those of its routers."""
    inner = inspect.unwrap(lifespan) if isinstance(lifespan, FunctionType) else None
    if not isinstance(inner, FunctionType) or is_own(inner.__code__.co_filename):
        return []
    return [cell.cell_contents for cell in inner.__closure__ or ()]


def code_of(value: Any) -> CodeType | None:
    """Return the code that runs when this is entered."""
    while isinstance(value, partial):
        value = value.func
    if isinstance(value, (FunctionType, MethodType)):
        code: CodeType = inspect.unwrap(value).__code__
        return code
    kind = value if isinstance(value, type) else type(value)
    if issubclass(kind, contextlib._GeneratorContextManagerBase):  # noqa: SLF001
        return None  # a framework calls what it is given, and this was called already
    for name in ("__aenter__", "__call__"):
        method = getattr(kind, name, None)
        if isinstance(method, FunctionType):
            return method.__code__
    return None


def name_of(code: CodeType) -> str:
    """Return the name of an author's function, or of the library that it is from."""
    if is_own(code.co_filename):
        return short(code.co_qualname)
    package, *_ = _inside_packages(code) or [code.co_qualname]
    return package


def place_of(code: CodeType) -> Place:
    """Return where a function begins: of a library, below the folder that it is installed in."""
    function, inside = short(code.co_qualname), _inside_packages(code)
    if inside and not is_own(code.co_filename):
        return Place(function, "/".join(inside), code.co_firstlineno)
    return Place.at(function, code.co_filename, code.co_firstlineno)


def _inside_packages(code: CodeType) -> tuple[str, ...]:
    """Return the parts of a file's path below `site-packages`; none if it is elsewhere."""
    folders = Path(code.co_filename).parts
    roots = [index for index, folder in enumerate(folders) if folder.endswith("-packages")]
    return folders[roots[-1] + 1 :] if roots else ()


# ---- what routers have -------------------------------------------------------------------------


def _of_routers(routers: Iterable[Any], names: Mapping[int, str]) -> Iterator[Registered]:
    """Yield what the routers of Starlette have: of an author, or of a library that made them."""
    for router in routers:
        owner = names.get(id(router), type(router).__name__)
        kind = "handler-ignored" if has_lifespan(router) else "never-ran"
        for handler in _handlers_of(router):
            for code in _codes(handler):
                yield Registered(name_of(code), handler, code, place_of(code), owner, kind)
        for code in _codes(router.lifespan_context):
            name = name_of(code)
            if is_own(code.co_filename):
                given_to = type(router).__name__
                yield Registered(name, router, code, place_of(code), given_to, stateful=True)
            else:
                yield _of_library(router, code, names)


def _handlers_of(router: Any) -> list[Any]:
    """Return the handlers of events that a router has: Starlette 1.0 has none, FastAPI has."""
    return [*getattr(router, "on_startup", ()), *getattr(router, "on_shutdown", ())]


def _codes(value: Any) -> Iterator[CodeType]:
    """Yield the code that runs if a lifespan is entered, without that of frameworks."""
    code = code_of(value)
    if code is None:
        return
    package, *_ = _inside_packages(code) or [""]
    if is_own(code.co_filename) or (package and package not in FRAMEWORKS):
        yield code
        return
    for each in _enclosed(value):
        if callable(each):
            yield from _codes(each)


def _of_library(router: Any, code: CodeType, names: Mapping[int, str]) -> Registered:
    """Return the lifespan that a library gave to a router, such as that of a server of MCP."""
    package = name_of(code)
    for given in noted:
        if given.parameter == MOUNTED and id(router) in held([given.value]):
            place = given.place._replace(function=_receiver(given, names))
            return Registered(package, router, code, place, package, "never-ran-mounted")
    receiver = f"{type(router).__name__} of {package}"
    return Registered(package, router, code, place_of(code), receiver)


def of_kind(module: str, name: str, objects: Iterable[object]) -> list[Any]:
    """Return those of objects that are of a class, if its module was imported.

    Their classes are asked, as an object may answer for its class with code of its own.
    """
    kind = getattr(sys.modules.get(module), name, None)
    return [each for each in objects if kind and issubclass(type(each), kind)]
