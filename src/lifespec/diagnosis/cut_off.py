"""Clean-up that was cut off: where exceptions passed through an author's code, and what they skip.

A trace function notes the exceptions, from the moment on at which the application is told to stop.
"""

import ast
import inspect
import linecache
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from types import CodeType, FrameType
from typing import Any, NamedTuple, cast

from lifespec.diagnosis.author import described
from lifespec.diagnosis.fact import Fact, Place, fact
from lifespec.diagnosis.stacks import is_own, short

NO_FAILURES = (StopIteration, StopAsyncIteration, GeneratorExit)
CANCELLED = ("CancelledError", "Cancelled")  # of asyncio and trio
ASYNCHRONOUS = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
BY_SCOPE = ("Cancelled via cancel scope", "Cancelled by cancel scope")  # anyio says
CAUGHT = re.compile(r"CancelledError|BaseException|[cC]ancelled|^$")
LIMITED = re.compile(r"shield|_after\(|timeout")
CLOSES = re.compile(  # of a statement
    r"\bawait (?!send\()|\.\w*(?:close|stop|shutdown|disconnect|dispose|release|flush)\w*\("
)


class Step(NamedTuple):
    """A frame that an exception passed: its code, the line, how deep, and whether in a lifespan."""

    code: CodeType
    line: int
    depth: int
    called: bool

    @property
    def place(self) -> Place:
        """Where it is."""
        name = short(self.code.co_qualname)
        return Place.at(name, self.code.co_filename, self.line)


class Block(NamedTuple):
    """Statements that one after the other run, the one that has a line, and what they belong to."""

    owner: Any
    name: str
    statements: list[Any]
    at: int


class Passing:
    """The exceptions that pass, each with its steps; `root` is the code that calls lifespans."""

    def __init__(self, root: CodeType) -> None:
        self.root = root
        self.found: dict[int, tuple[BaseException, list[Step]]] = {}

    def note(self, frame: FrameType, error: BaseException) -> None:
        """Note a step of an exception."""
        if not isinstance(error, NO_FAILURES):
            frames = [each for each, _line in traceback.walk_stack(frame)]
            called = any(each.f_code is self.root for each in frames)
            steps = self.found.setdefault(id(error), (error, []))[1]
            steps.append(Step(frame.f_code, frame.f_lineno, len(frames), called))

    def begin(self) -> None:
        """Note the exceptions that pass from now on in this thread."""
        note, change = cast("Any", self.note), cast("Any", setattr)
        # a lambda: coverage cannot trace the lines of a trace function
        trace: Any = lambda frame, event, arg: (  # noqa: E731
            (event == "exception" and note(frame, arg[1]))
            or (event == "call" and change(frame, "f_trace_lines", False))  # noqa: FBT003
            or trace
        )
        sys.settrace(trace)

    def facts(self, *, complete: bool) -> Iterator[Fact]:
        """Yield what was cut off; `complete` says that the application answered so."""
        for error, steps in self.found.values():
            inside = [each for each in steps if each.called]
            last = min(inside or steps, key=lambda each: each.depth)  # which has caught it
            theirs = [each for each in steps if each.code is not self.root]
            own = [each for each in theirs if is_own(each.code.co_filename)]
            is_cancelled = type(error).__name__ in CANCELLED
            by_scope = [*filter(None, (_by_scope(each, error) for each in own))][:1]
            if is_cancelled and by_scope:
                yield from by_scope
            elif is_cancelled and last in own and last.called:
                yield from _block(last)
            elif last not in own and (called := [each for each in own if each.called]):
                if not complete:
                    yield from _left_out(called)
                elif last.code is not self.root and called[-1].code.co_flags & ASYNCHRONOUS:
                    place = called[-1].place.fact()
                    yield fact("cut-off-error", place=place, error=described(error).fact())


@contextmanager
def noting() -> Iterator[None]:
    """Let `Passing.begin` count for what runs meanwhile."""
    before = sys.gettrace()
    try:
        yield
    finally:
        sys.settrace(before)


def _by_scope(step: Step, error: BaseException) -> Fact | None:
    """Return that a scope cancelled an await: after its author cancelled it, or in a `finally`."""
    if not (str(error).startswith(BY_SCOPE) or type(error).__name__ == CANCELLED[1]):
        return None
    for block in reversed(_blocks(step)):
        is_with = isinstance(block.owner, ast.With | ast.AsyncWith)
        if is_with and LIMITED.search(" ".join(map(ast.unparse, block.owner.items))):
            return None
        if block.name == "handlers" or (block.name == "body" and _catches(block.owner)):
            return None
        cancels = is_with and step.called and _cancels(block.owner)
        if cancels or block.name == "finalbody":
            place = step.place
            return fact("cut-off", place=place.fact(), source=place.source)
    return None


def _cancels(block: ast.With | ast.AsyncWith) -> bool:
    """Tell whether the statements of a `with` cancel the scope that it opens."""
    names = [ast.unparse(each.optional_vars) for each in block.items if each.optional_vars]
    calls = {ast.unparse(each.func) for each in ast.walk(block) if isinstance(each, ast.Call)}
    return any({f"{each}.cancel", f"{each}.cancel_scope.cancel"} & calls for each in names)


def _block(step: Step) -> Iterator[Fact]:
    """Yield what a caught CancelledError has skipped, in the block for which it is caught."""
    blocks, skipped = _blocks(step), list[ast.stmt]()
    while blocks:
        block = blocks.pop()
        if not isinstance(block.owner, ast.While | ast.For | ast.AsyncFor):
            skipped += block.statements[block.at + 1 :]
        if block.name == "body" and _catches(block.owner):
            yield from _skipped("cut-off-block", step, skipped)
            return


def _catches(owner: Any) -> bool:
    """Tell whether a statement catches a CancelledError of its body."""
    if isinstance(owner, ast.Try):
        caught = [ast.unparse(each.type) if each.type else "" for each in owner.handlers]
        return any(map(CAUGHT.search, caught))
    texts = map(ast.unparse, getattr(owner, "items", ()))
    return any("suppress(" in each and CAUGHT.search(each) for each in texts)


def _left_out(steps: list[Step]) -> Iterator[Fact]:
    """Yield what an exception that left the author's code has skipped there."""
    for step in steps:
        rest = (each.statements[each.at + 1 :] for each in reversed(_blocks(step)))
        yield from _skipped("left-out", step, [*chain(*rest)])


def _skipped(kind: str, step: Step, statements: list[ast.stmt]) -> Iterator[Fact]:
    """Yield the first statement that would have closed something."""
    for each in statements:
        if CLOSES.search(text := ast.unparse(each).partition("\n")[0]):
            place = Place.at(step.place.function, step.code.co_filename, each.lineno)
            yield fact(kind, place=place.fact(), source=text, after=step.place.source)
            return


def _blocks(step: Step) -> list[Block]:
    """Return the blocks of a function that have a line, the outermost first."""
    found = list[Block]()
    try:
        node: Any = ast.parse("".join(linecache.getlines(step.code.co_filename)))
    except SyntaxError:
        return found
    while inner := _inner(node, step.line):
        found = (
            [inner] if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else [*found, inner]
        )
        node = inner.statements[inner.at]
    return found


def _inner(node: Any, number: int) -> Block | None:
    """Return the block of a statement that has a line, if the line is in one."""
    for name in ("body", "handlers", "orelse", "finalbody"):
        statements = getattr(node, name, [])
        for index, each in enumerate(statements):
            if each.lineno <= number <= each.end_lineno:
                return Block(node, name, statements, index)
    return None
