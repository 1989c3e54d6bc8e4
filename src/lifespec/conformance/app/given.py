"""Find the lifespans that an author gave to a framework, and those of them that nobody entered.

The author's source says what was given: an argument such as `lifespan=`, what is assigned or
appended to an attribute `lifespan`, a handler of an event.  Of an application that a library made,
its router has the lifespan.  While a case is played, the functions that run are noted, without
touching any of them.
"""

from __future__ import annotations

import ast
import gc
import inspect
import sys
import threading
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from lifespec.conformance.report import Fact, fact
from lifespec.testing import left, places

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from types import FrameType

__all__ = ["Given", "find", "running", "unrun"]

NAMES = ("lifespan", "lifespan_context", "on_startup", "on_shutdown", "plugins")  # of arguments
LIFESPANS = NAMES[:2]  # attributes
WORDS = (NAMES[0], "on_startup", "on_event", "add_event_handler")  # one is in the source
FRAMEWORKS = ("starlette", "fastapi")  # whose own functions wrap those of authors
MODULES = 300  # of an author, which are read


class Given(NamedTuple):
    """What was given to a framework: its name, itself, its code, where it is, to whom."""

    name: str
    value: Any
    code: CodeType | None
    place: places.Place
    receiver: str


def find(own: str = "") -> list[Given]:
    """Return the lifespans that the author's modules give to somebody; `own` is his package."""
    files = [
        (name, module, getattr(module, "__file__", "")) for name, module in [*sys.modules.items()]
    ]
    owned = [
        (module, Path(file))
        for name, module, file in files
        if file and (name.partition(".")[0] == own or places.is_own_file(file))
    ]
    found: list[Given] = []
    for module, path in owned[:MODULES]:
        with suppress(OSError, SyntaxError, ValueError):
            source = path.read_text("utf-8")
            if any(word in source for word in WORDS):
                found += _given(module, ast.parse(source))
    return [*found, *_of_routers()]


def _given(module: ModuleType, tree: ast.AST, owner: str = "") -> Iterator[Given]:
    """Yield what a tree gives; `owner` is the class around it, which `self` stands for."""
    for node in ast.iter_child_nodes(tree):
        for value, receiver in _handed(node):
            for each in value.elts if isinstance(value, (ast.List, ast.Tuple)) else [value]:
                yield from _resolved(module, each, receiver, owner)
        yield from _given(module, node, node.name if isinstance(node, ast.ClassDef) else owner)


def _handed(node: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """Yield the expressions that a statement or call gives as a lifespan, and to whom."""
    if isinstance(node, ast.Call):
        receiver = ast.unparse(node.func)
        yield from ((each.value, receiver) for each in node.keywords if each.arg in NAMES)
        attribute, _, method = receiver.rpartition(".")
        if method in ("append", "extend") and attribute.endswith(f".{NAMES[0]}"):
            yield from ((each, attribute) for each in node.args)
        if method == "add_event_handler":
            yield from ((each, receiver) for each in node.args[1:])
    for each in getattr(node, "decorator_list", ()):
        if isinstance(each, ast.Call) and ast.unparse(each.func).endswith(".on_event"):
            yield ast.Name(node.name, lineno=node.lineno), ast.unparse(each.func)  # type: ignore[attr-defined]
    targets = node.targets if isinstance(node, ast.Assign) else []
    for target in [node.target] if isinstance(node, ast.AugAssign) else targets:
        if isinstance(target, ast.Attribute) and target.attr in LIFESPANS:
            receiver = ast.unparse(target)
            if not receiver.startswith("self."):
                yield node.value, receiver  # type: ignore[attr-defined]


def _resolved(module: ModuleType, value: ast.expr, receiver: str, owner: str) -> Iterator[Given]:
    """Yield the object that an expression names, if it is known by a name."""
    called = isinstance(value, ast.Call)
    name = ast.unparse(value.func if isinstance(value, ast.Call) else value)
    name = owner if name == "self" else name
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is None or (called and not isinstance(found, type)):
        return
    code, file, line = _code(found), str(module.__file__), value.lineno
    if code and places.is_own_file(code.co_filename):
        file, line = code.co_filename, code.co_firstlineno
    if isinstance(found, (type, FunctionType)) or code or not callable(found):
        where = places.Place(name, places.short(Path(file)), line)
        yield Given(name, found, code, where, receiver)


def _code(found: Any) -> CodeType | None:
    """Return the code that runs when this is entered."""
    if isinstance(found, (FunctionType, MethodType)):
        code: CodeType = inspect.unwrap(found).__code__
        return code
    kind = found if isinstance(found, type) else type(found)
    methods = (getattr(kind, name, None) for name in ("__aenter__", "__call__"))
    return next((each.__code__ for each in methods if isinstance(each, FunctionType)), None)


def _of_routers() -> Iterator[Given]:
    """Yield what the routers of Starlette have from a library, such as a server that is mounted."""
    routing = sys.modules.get("starlette.routing")
    if routing is None:
        return
    for router in [each for each in gc.get_objects() if isinstance(each, routing.Router)]:
        code = _code(router.lifespan_context) if callable(router.lifespan_context) else None
        package = Path(code.co_filename).parts if code else ()
        known = [part for part in package if part.endswith("-packages")]
        if code and known and (name := package[package.index(known[-1]) + 1]) not in FRAMEWORKS:
            function = code.co_qualname.rpartition("<locals>.")[2]
            where = places.Place(function, "/".join(package[-2:]), code.co_firstlineno)
            yield Given(name, router, code, where, f"{type(router).__name__} of {name}")


def unrun(found: Collection[Given], ran: Collection[CodeType]) -> Iterator[Fact]:
    """Yield those of which no code ran, and those that nobody could have called."""
    for each in {each.name: each for each in found}.values():
        parts = {"receiver": each.receiver, "place": fact("place", **each.place._asdict())}
        if not (each.code or callable(each.value)):
            kind = type(each.value).__name__
            yield fact("given-no-lifespan", name=each.name, type=kind, **parts)
        elif each.code and each.code not in ran:
            yield fact("never-ran", **parts)


@contextmanager
def running(own: str = "") -> Iterator[set[CodeType]]:
    """Note the code that runs meanwhile, and the author's lines that start threads."""
    ran: Any = set()
    start, start_noted = threading.Thread.start.__code__, partial(left.note_thread, own=own)
    # one expression: a tracer sees nothing of what a profiler calls
    note: Callable[[FrameType, str, object], object] = lambda frame, event, _: (  # noqa: E731
        event == "call"
        and (ran.add(frame.f_code) or (frame.f_code is start and start_noted(frame)))
    )
    before = sys.getprofile()
    sys.setprofile(note)
    threading.setprofile(note)
    try:
        yield ran
    finally:
        sys.setprofile(before)
        threading.setprofile(None)
