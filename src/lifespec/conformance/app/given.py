"""Find the lifespans that an author gave to a framework, and those of them that nobody entered.

The author's source says what was given: an argument `lifespan=`, or what is assigned or appended to
an attribute `lifespan`.  While a case is played, the functions that run are noted, without touching
any of them.
"""

from __future__ import annotations

import ast
import gc
import inspect
import sys
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from lifespec.conformance.report import Fact, fact
from lifespec.testing import left, places

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from types import FrameType

__all__ = ["Given", "find", "running", "unrun"]

NAME = "lifespan"
MODULES = 300  # of an author, which are read
PROFILER = 2  # the number of a profiler in sys.monitoring


class Given(NamedTuple):
    """A lifespan that was given to a framework: its code, its name, where it is, to whom."""

    codes: tuple[CodeType, ...]
    name: str
    place: places.Place
    receiver: str
    value: Any = None

    @property
    def is_callable(self) -> bool:
        """Whether a framework can call it, or enter it."""
        return bool(self.codes) or callable(self.value)


def find(own: str = "") -> list[Given]:
    """Return the lifespans that the author's modules give to somebody; `own` is his package."""
    found = [given for module in _modules(own) for given in _in_module(module)]
    known = {code for each in found for code in each.codes}
    return found + [each for each in _of_routers() if not known & {*each.codes}]


def _modules(own: str) -> Iterator[ModuleType]:
    """Yield the modules of the author whose source has the word."""
    count = 0
    for name, module in [*sys.modules.items()]:
        file = getattr(module, "__file__", None) or ""
        if not file.endswith(".py") or count >= MODULES:
            continue
        if name.partition(".")[0] == own or places.is_own_file(file):
            count += 1
            yield module


def _in_module(module: ModuleType) -> Iterator[Given]:
    file = Path(str(module.__file__))
    with suppress(OSError, SyntaxError, ValueError):
        source = file.read_text("utf-8")
        if NAME in source:
            yield from _Reader(module, places.short(file)).given(ast.parse(source))


class _Reader(NamedTuple):
    """Reads what a module gives to a framework."""

    module: ModuleType
    file: str

    def given(self, tree: ast.AST, owner: str = "") -> Iterator[Given]:
        """Yield what a tree gives; `owner` is the class around it, which `self` stands for."""
        for node in ast.iter_child_nodes(tree):
            inner = node.name if isinstance(node, ast.ClassDef) else owner
            for value, receiver in _handed(node):
                yield from self.resolved(value, receiver, owner)
            yield from self.given(node, inner)

    def resolved(self, value: ast.expr, receiver: str, owner: str) -> Iterator[Given]:
        """Yield the objects that an expression names, as far as they are known by a name."""
        if isinstance(value, (ast.List, ast.Tuple)):
            for each in value.elts:
                yield from self.resolved(each, receiver, owner)
            return
        called = isinstance(value, ast.Call)
        name = ast.unparse(value.func if isinstance(value, ast.Call) else value)
        found = self.named(owner if name == "self" else name)
        if found is None or (called and not isinstance(found, type)):
            return
        codes = tuple(_codes(found))
        code = next(iter(codes), None)
        line = code.co_firstlineno if code else value.lineno
        file = places.short(Path(code.co_filename)) if code else self.file
        label = name if name != "self" else owner
        yield Given(codes, label, places.Place(label, file, line), receiver, found)

    def named(self, name: str) -> Any:
        found: Any = self.module
        for part in name.split("."):
            found = getattr(found, part, None)
        return found


def _handed(node: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """Yield the expressions that a statement or call gives as a lifespan, and to whom."""
    if isinstance(node, ast.Call):
        receiver = ast.unparse(node.func)
        yield from ((each.value, receiver) for each in node.keywords if each.arg == NAME)
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr in ("append", "extend"):
            if isinstance(function.value, ast.Attribute) and function.value.attr == NAME:
                yield from ((each, ast.unparse(function.value)) for each in node.args)
    targets = node.targets if isinstance(node, ast.Assign) else []
    targets = [node.target] if isinstance(node, ast.AugAssign) else targets
    for target in targets:
        if isinstance(target, ast.Attribute) and target.attr == NAME and not _is_self(target):
            yield node.value, ast.unparse(target)  # type: ignore[attr-defined]


def _is_self(target: ast.Attribute) -> bool:
    return isinstance(target.value, ast.Name) and target.value.id == "self"


def _codes(found: Any) -> Iterator[CodeType]:
    """Yield the code that runs when this is entered."""
    if isinstance(found, (FunctionType, MethodType)):
        unwrapped = inspect.unwrap(found)
        yield getattr(unwrapped, "__func__", unwrapped).__code__
        return
    kind = found if isinstance(found, type) else type(found)
    for name in ("__aenter__", "__call__"):
        method = getattr(kind, name, None)
        if isinstance(method, FunctionType):
            yield method.__code__


def _of_routers() -> Iterator[Given]:
    """Yield what Starlette's routers have as their lifespan, however they got it."""
    routing = sys.modules.get("starlette.routing")
    if not routing:
        return
    for router in [each for each in gc.get_objects() if isinstance(each, routing.Router)]:
        context = router.lifespan_context
        for code in _codes(context) if isinstance(context, FunctionType) else ():
            if places.is_own_file(code.co_filename):
                file = places.short(Path(code.co_filename))
                where = places.Place(code.co_name, file, code.co_firstlineno)
                yield Given((code,), code.co_name, where, "Router", context)


def unrun(found: Collection[Given], ran: Collection[CodeType]) -> Iterator[Fact]:
    """Yield those of the author's lifespans of which no code ran, and which are not callable."""
    for name, each in {each.name: each for each in found}.items():
        receiver = each.receiver.rpartition(".")[2]
        place = left.Fact("place", each.place._asdict())
        if not each.is_callable:
            kind = type(each.value).__name__
            yield fact("given-no-lifespan", name=name, type=kind, receiver=receiver, place=place)
        elif each.codes and not {*each.codes} & {*ran}:
            yield fact("never-ran", name=name, place=place, receiver=receiver)


@contextmanager
def running(own: str = "") -> Iterator[set[CodeType]]:
    """Note the code that runs meanwhile, and the author's lines that start threads."""
    ran: set[CodeType] = set()
    start = threading.Thread.start.__code__

    def note(frame: FrameType) -> None:
        ran.add(frame.f_code)
        if frame.f_code is start:
            left.note_thread(frame, own)

    with _monitoring(note, start) if hasattr(sys, "monitoring") else _profiling(note):
        yield ran


@contextmanager
def _profiling(note: Any) -> Iterator[None]:
    before = sys.getprofile()

    def profile(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            note(frame)

    sys.setprofile(profile)
    threading.setprofile(profile)
    try:
        yield
    finally:
        sys.setprofile(before)
        threading.setprofile(None)  # type: ignore[arg-type]


@contextmanager
def _monitoring(note: Any, start: CodeType) -> Iterator[None]:
    """Do the same from Python 3.12 on, where each function costs one call of ours."""
    monitoring = sys.monitoring  # type: ignore[attr-defined]

    def begins(code: CodeType, _: int) -> object:
        note(sys._getframe(1))  # noqa: SLF001
        return None if code is start else monitoring.DISABLE

    monitoring.use_tool_id(PROFILER, "lifespec")
    monitoring.register_callback(PROFILER, monitoring.events.PY_START, begins)
    monitoring.set_events(PROFILER, monitoring.events.PY_START)
    try:
        yield
    finally:
        monitoring.free_tool_id(PROFILER)
