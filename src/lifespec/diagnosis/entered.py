"""Find the lifespans that an author gave to a framework, and what became of them.

They are found in the author's source: an argument such as `lifespan=`, a value that is assigned or
appended to an attribute `lifespan`, a handler of an event.  If a library made the application, its
router has the lifespan.  A profile function notes the functions that run while a case is played,
and the context managers that are entered.
"""

import ast
import contextlib
import dis
import gc
import inspect
import re
import sys
import threading
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple, cast

from lifespec.diagnosis.author import library, own_modules, place
from lifespec.diagnosis.fact import Fact, Place, fact
from lifespec.diagnosis.stacks import is_ours, is_own, line, short

ARGUMENTS = ("lifespan", "on_startup", "on_shutdown", "plugins")
ATTRIBUTES = ("lifespan", "lifespan_context")
HANDLERS = ("on_event", "add_event_handler")
HOOKS = (  # decorators of Quart and Sanic
    *("before_serving", "while_serving", "after_serving"),
    *("before_server_start", "after_server_start"),
)
WORDS = (ATTRIBUTES[0], ARGUMENTS[1], *HANDLERS, *HOOKS)  # a source without them is not parsed
FRAMEWORKS = ("starlette", "fastapi")  # their own functions wrap those of authors
# what a source has besides, in which something is given: it may only name events
GIVEN = re.compile(
    rf"\b(?:{'|'.join({*ARGUMENTS, *ATTRIBUTES})})\s*\W?=|\.{ATTRIBUTES[0]}\."
    rf"|{'|'.join(HANDLERS + HOOKS)}"
)
MODULES = 300  # of an author: more are not read
OBJECTS = 200_000  # that an application holds: more are not looked at


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


_ENTER = contextlib._AsyncGeneratorContextManager.__aenter__.__code__  # noqa: SLF001
_known: list[tuple[object, list[Registered]]] = []  # a subject, and what was found


def remember(subject: object) -> None:
    """Find the lifespans of a subject once, for processes that are forked from this one.

    To look at an object counts as a reference to it, so each process would copy what it looks at.
    """
    _known[:] = [(subject, find(subject))]


def find(subject: object) -> list[Registered]:
    """Return the lifespans that the author's modules give to a framework.

    An application that another module keeps for itself is left out: it may be served alone.
    """
    for known, remembered in _known:
        if known is subject:
            return remembered
    own = own_modules()
    homes = [each for each, _ in own if any(value is subject for value in vars(each).values())]
    held = _held([subject, *(value for each in homes for value in vars(each).values())])
    found: list[Registered] = []
    for module, path in own[:MODULES]:
        with suppress(OSError, SyntaxError, ValueError):
            source = path.read_text("utf-8")
            if any(word in source for word in WORDS) and GIVEN.search(source):
                given = _registered(module, ast.parse(source))
                found += [each for each in given if not _is_apart(module, each.receiver, held)]
    return [*found, *_of_routers([*held.values()], own)]


def _held(roots: Iterable[object]) -> dict[int, object]:
    """Return objects and what they refer to by their IDs, but not through modules and classes."""
    modules = [each for each in [*sys.modules.values()] if isinstance(each, ModuleType)]
    found: dict[int, object] = {id(vars(each)): None for each in modules}
    queue = deque(roots)
    while queue and len(found) < OBJECTS:
        each = queue.popleft()
        if id(each) not in found and not isinstance(each, (ModuleType, type)):
            found[id(each)] = each
            queue += gc.get_referents(each)
    return found


def _is_apart(module: ModuleType, receiver: str, held: Collection[int]) -> bool:
    """Tell whether the receiver is an application of the module that nothing holds."""
    owner, kind = receiver.partition(".")[0], receiver.rpartition(".")[2]
    objects = vars(module).items()
    named = [(name, each) for name, each in objects if not isinstance(each, (ModuleType, type))]
    apps = [each for name, each in named if name == owner or type(each).__name__ == kind]
    return bool(apps) and not any(id(each) in held for each in apps)


def _registered(module: ModuleType, tree: ast.AST) -> Iterator[Registered]:
    """Yield what the source of a module gives."""
    for value, receiver in (each for node in ast.walk(tree) for each in _handovers(node)):
        for each in value.elts if isinstance(value, (ast.List, ast.Tuple)) else [value]:
            yield from _resolved(module, each, receiver)


def _handovers(node: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """Yield the expressions that a statement or call gives as a lifespan, and to whom."""
    match node:
        case ast.Call(func=function, args=arguments, keywords=keywords):
            given = [each.value for each in keywords if each.arg in ARGUMENTS]
            match function:
                case ast.Attribute(
                    value=ast.Attribute(attr=name) as owner, attr="append" | "extend"
                ) if name == ATTRIBUTES[0]:
                    yield from ((each, ast.unparse(owner)) for each in arguments)
                case ast.Attribute(attr="add_event_handler"):
                    given += arguments[1:]
            yield from ((each, ast.unparse(function)) for each in given)
        case ast.Expr(value=ast.Call(func=function)):  # and what it makes is dropped
            yield function, ""
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            for each in node.decorator_list:
                called = each.func if isinstance(each, ast.Call) else each
                if isinstance(called, ast.Attribute) and called.attr in (HANDLERS[0], *HOOKS):
                    yield ast.Name(node.name, lineno=node.lineno), ast.unparse(called)
        case (
            ast.Assign(targets=[ast.Attribute() as target])
            | ast.AugAssign(target=ast.Attribute() as target)
        ):
            receiver = ast.unparse(target)
            if target.attr in ATTRIBUTES and not receiver.startswith("self."):
                yield node.value, receiver


def _resolved(module: ModuleType, value: ast.expr, receiver: str) -> Iterator[Registered]:
    """Yield the object that an expression names, if it is known by a name."""
    called = isinstance(value, ast.Call)
    name = ast.unparse(value.func if isinstance(value, ast.Call) else value)
    found = _named(module, name)
    if found is None or (called and not isinstance(found, type)):
        return
    code, file, line = _code(found), str(module.__file__), value.lineno
    if code and is_own(code.co_filename):
        file, line = code.co_filename, code.co_firstlineno
    if not receiver:
        if code and _makes_generator(found):
            where = Place.at(f"{name}()", str(module.__file__), value.lineno)
            yield Registered(name, found, code, where, receiver, "made-only")
    elif code or not callable(found):
        kind = "handler-ignored" if _ignores_handlers(module, receiver) else "never-ran"
        stateful = _is_stateful(module, receiver)
        yield Registered(name, found, code, Place.at(name, file, line), receiver, kind, stateful)


def _makes_generator(found: Any) -> bool:
    """Tell whether a call runs nothing, and makes a generator or a context manager of one."""
    if getattr(found, "__wrapped__", None):
        if getattr(found, "__code__", _ENTER).co_filename != _ENTER.co_filename:
            return False  # another decorator may run it
        found = inspect.unwrap(found)
    return inspect.isgeneratorfunction(found) or inspect.isasyncgenfunction(found)


def _is_stateful(module: ModuleType, receiver: str) -> bool:
    """Tell whether the receiver of a lifespan is, or makes, an application of Starlette's kind."""
    for path in (receiver, receiver.rpartition(".")[0]):
        found = _named(module, path)
        kind = found if isinstance(found, type) else type(found)
        if any(each.__module__.startswith("starlette.") for each in kind.__mro__):
            return True
    return False


def _named(module: ModuleType, path: str) -> Any:
    """Return what a name with dots stands for in a module, or None."""
    found: Any = module
    for part in path.split("."):
        found = getattr(found, part, None)
    return found


def _ignores_handlers(module: ModuleType, receiver: str) -> bool:
    """Tell whether the receiver of a handler is an application of Starlette with a lifespan."""
    owner, _, method = receiver.rpartition(".")
    found = _named(module, owner)
    lifespan = getattr(getattr(found, "router", found), "lifespan_context", None)
    default = lifespan is None or type(lifespan).__name__ == "_DefaultLifespan"
    return method in HANDLERS and not default


def _code(found: Any) -> CodeType | None:
    """Return the code that runs when this is entered."""
    if isinstance(found, (FunctionType, MethodType)):
        code: CodeType = inspect.unwrap(found).__code__
        return code
    kind = found if isinstance(found, type) else type(found)
    methods = (getattr(kind, name, None) for name in ("__aenter__", "__call__"))
    return next((each.__code__ for each in methods if isinstance(each, FunctionType)), None)


def _of_routers(
    held: Collection[object], own: Iterable[tuple[ModuleType, Path]]
) -> Iterator[Registered]:
    """Yield what the routers of Starlette have from a library, such as a server that is mounted."""
    routing = sys.modules.get("starlette.routing")
    if routing is None:
        return
    for router in [each for each in held if isinstance(each, routing.Router)]:
        code = _code(router.lifespan_context) if callable(router.lifespan_context) else None
        package = Path(code.co_filename).parts if code else ()
        known = [part for part in package if part.endswith("-packages")]
        if code and known and (name := package[package.index(known[-1]) + 1]) not in FRAMEWORKS:
            function = short(code.co_qualname)
            where = Place(function, "/".join(package[-2:]), code.co_firstlineno)
            mounts = [each for each in held if isinstance(each, routing.Mount)]
            paths = [each.path for each in mounts if id(router) in _held([each.app])]
            if paths and (at := _mounted(paths[0], own)):
                yield Registered(name, router, code, at, name, "never-ran-mounted")
            else:
                yield Registered(name, router, code, where, f"{type(router).__name__} of {name}")


def _mounted(path: str, own: Iterable[tuple[ModuleType, Path]]) -> Place | None:
    """Return the author's line that mounts an application at a path."""
    for _module, file in own:
        with suppress(OSError, SyntaxError, ValueError):
            source = file.read_text("utf-8")
            for node in ast.walk(ast.parse(source)) if "ount(" in source else ():
                match node:
                    case ast.Call(func=function, args=[ast.Constant(value=str(given)), *_]):
                        name = ast.unparse(function)
                        if name.endswith("ount") and given.rstrip("/") == path:
                            return Place.at(name, str(file), node.lineno)
    return None


def never_entered(found: Collection[Registered], ran: Collection[CodeType]) -> Iterator[Fact]:
    """Yield those of which no code ran, and those that cannot be called."""
    for each in {(each.name, not each.receiver): each for each in found}.values():
        parts = {"receiver": each.receiver, "place": each.place.fact()}
        if not each.code:
            kind = type(each.value).__name__
            wrong = "given-module" if isinstance(each.value, ModuleType) else "given-no-lifespan"
            yield fact(wrong, name=each.name, type=kind, **parts)
        elif each.code not in ran and not _ran_otherwise(each.code, ran):
            yield fact(each.kind, **parts)


def _ran_otherwise(code: CodeType, ran: Collection[CodeType]) -> bool:
    """Tell whether a library has run the functions that its lifespan calls without it."""
    if is_own(code.co_filename):
        return False
    inner = (each for each in ran if each.co_filename == code.co_filename)
    return any(each.co_name in code.co_names for each in inner)


class Entrance(NamedTuple):
    """A context manager that was entered: what it was made with, and where.

    `by` is the line if that is the author's, else the name of a library; "" is Starlette's own.
    """

    manager: Any
    given: tuple[object, ...]
    by: Fact | str
    again: bool  # while another of the same function with the same arguments was open

    @property
    def code(self) -> CodeType:
        """The code of its generator."""
        code: CodeType = self.manager.gen.ag_code
        return code


class Ran:
    """The code that ran, and the context managers of generators that were entered."""

    def __init__(self) -> None:
        self.codes = set[CodeType]()
        self.entrances: list[Entrance] = []
        self.values: list[tuple[Any, Any]] = []  # what they yielded

    def enter(self, frame: FrameType, event: str, value: object) -> None:
        """Note that a context manager is entered, unless it only goes on, and what it yields."""
        manager = frame.f_locals["self"]
        if event == "return":
            self.values.append((manager, value))
        elif (given := getattr(manager, "args", None)) is not None:
            opened = [each for each in self.entrances if each.manager.gen.ag_frame]
            same = [(each.code, [*map(id, each.given)]) for each in opened]
            by: FrameType | None = frame
            while by and by.f_code.co_filename == _ENTER.co_filename:  # such as an exit stack
                by = by.f_back
            again = (manager.gen.ag_code, [*map(id, given)]) in same
            self.entrances.append(Entrance(manager, given, _enterer(by), again))

    def twice(self, found: Collection[Registered]) -> Iterator[Fact]:
        """Yield the lifespans that were entered once more while they were open."""
        known = {each.code: each for each in found if each.receiver}
        for code in dict.fromkeys(each.code for each in self.entrances if each.again):
            if each := known.get(code):
                yield fact("entered-twice", place=each.place.fact())

    def lost(
        self, found: Collection[Registered], state: Mapping[Any, Any], subject: object
    ) -> Iterator[Fact]:
        """Yield the keys that lifespans yielded and that are not in the state.

        Those whose value is there, or is held by the application, have only other names.
        """
        known = {each.code: each for each in found if each.stateful}
        yielded = {id(manager): value for manager, value in self.values}
        for each in self.entrances:
            value = yielded.get(id(each.manager))
            if each.code in known and isinstance(value, Mapping):
                missing = {key: part for key, part in value.items() if key not in state}
                held = _held([subject, *state.values()]) if missing else {}
                where = known[each.code].place.fact()
                for key in [key for key, part in missing.items() if id(part) not in held]:
                    if each.by:
                        yield fact("state-dropped", key=str(key), place=where, by=each.by)
                    else:
                        yield fact("state-unseen", key=str(key), place=where)


def _enterer(frame: FrameType | None) -> Fact | str:
    """Return who enters a context manager, unless that is Starlette, which puts it into a state."""
    if frame is None or is_ours(frame.f_code.co_filename):
        return ""
    if at := place([line(frame)]):
        return at.fact()
    name = library(frame.f_globals.get("__name__", ""))
    return "" if name in FRAMEWORKS else name


def _runs(frame: FrameType) -> bool:
    """Tell whether a call runs: Python 3.11 also calls a generator that ends before it began."""
    return frame.f_code.co_code[max(frame.f_lasti, 0)] != dis.opmap["RETURN_GENERATOR"]


@contextmanager
def running(ran: Ran) -> Iterator[None]:
    """Note the code that runs meanwhile."""
    before, codes, enter = sys.getprofile(), cast("Any", ran.codes), cast("Any", ran.enter)
    # a lambda: coverage cannot trace the lines of a profile function
    note: Any = lambda frame, event, value: (  # noqa: E731
        (event == "call" and frame.f_code not in codes and _runs(frame) and codes.add(frame.f_code))
        or (frame.f_code is _ENTER and enter(frame, event, value))
    )
    sys.setprofile(note)
    threading.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(before)
        threading.setprofile(None)
