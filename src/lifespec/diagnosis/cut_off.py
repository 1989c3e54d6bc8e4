"""Clean-up that was cut off: where exceptions passed through an author's code, and what they skip.

A trace function notes the exceptions, from the moment on at which the application is told to stop,
the lines that run after one in its function, and who cancels a scope.  The source is asked for its
blocks alone: which statements would have come next.
"""

import ast
import inspect
import linecache
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from types import CodeType, FrameType
from typing import Any, NamedTuple

from lifespec.diagnosis import guard, stacks
from lifespec.diagnosis.author import described
from lifespec.diagnosis.fact import Fact, Place, fact
from lifespec.diagnosis.stacks import is_cancellation, is_own, short_name

NO_FAILURES = (StopIteration, StopAsyncIteration, GeneratorExit)
ASYNCHRONOUS = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
BY_SCOPE = ("Cancelled via cancel scope", "Cancelled by cancel scope")  # anyio says
SCOPES = ("anyio/_backends/_asyncio.py", "trio/_core/_run.py")  # files with a CancelScope
LOOPS = (ast.While, ast.For, ast.AsyncFor)
INFINITE = float("inf")
AWAITS = (ast.Await, ast.AsyncWith, ast.AsyncFor)


class Step(NamedTuple):
    """A frame that an exception passed: its code, the line, how deep, and whether in a lifespan.

    `after` are the lines of the function that ran then, and `send` is what it calls the server's
    function to send with, if it is an application.
    """

    code: CodeType
    line: int
    depth: int
    called: bool
    after: list[int]
    send: str = ""

    @property
    def place(self) -> Place:
        """Where it is."""
        name = short_name(self.code.co_qualname)
        return Place.at(name, self.code.co_filename, self.line)


class Cancel(NamedTuple):
    """A call that cancels a scope: which one, the code that called, and whether its time was over.

    The ID of a scope of anyio stands in the text of each exception by which that cancels.
    """

    scope: str
    by: CodeType | None
    is_limit: bool


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
        self.cancels: list[Cancel] = []
        self.after: dict[FrameType, tuple[int, list[int]]] = {}  # the last line, what ran after it

    def begin(self) -> None:
        """Note the exceptions that pass from now on in this thread."""

        # coverage cannot trace the lines of a trace function, nor what it calls
        def trace(frame: FrameType, event: str, arg: Any) -> Any:  # pragma: no cover
            if event == "call":
                frame.f_trace_lines = frame in self.after
                if frame.f_code.co_qualname == "CancelScope.cancel":
                    self.note_cancel(frame)
            elif event == "exception":
                self.note(frame, arg[1])
                frame.f_trace_lines = frame in self.after
            elif event == "line":
                line, after = self.after[frame]
                # an await that is left on Python 3.13 or newer runs its own line once more
                if after or frame.f_lineno != line:
                    after.append(frame.f_lineno)
            return trace

        sys.settrace(trace)

    @guard.guarded
    def note(self, frame: FrameType, error: BaseException) -> None:
        """Note a step of an exception."""
        if isinstance(error, NO_FAILURES):
            return
        code = frame.f_code
        frames = [outer for outer, _line in traceback.walk_stack(frame)]
        called = any(outer.f_code is self.root for outer in frames)
        after, send = list[int](), ""
        if is_own(code.co_filename):
            self.after[frame] = (frame.f_lineno, after)
            send = stacks.application(frame).get("send", "")
        step = Step(code, frame.f_lineno, len(frames), called, after, send)
        self.found.setdefault(id(error), (error, []))[1].append(step)

    @guard.guarded
    def note_cancel(self, frame: FrameType) -> None:  # pragma: no cover
        """Note a call that cancels a scope of anyio or trio."""
        if not frame.f_code.co_filename.replace("\\", "/").endswith(SCOPES):
            return
        scope, by = frame.f_locals.get("self"), frame.f_back
        is_over = bool(by and by.f_code.co_filename == frame.f_code.co_filename)
        is_limit = is_over and getattr(scope, "deadline", INFINITE) != INFINITE
        self.cancels.append(Cancel(f"{id(scope):x}", by.f_code if by else None, is_limit))

    def facts(self, *, complete: bool) -> Iterator[Fact]:
        """Yield what was cut off; `complete` says that the application answered so."""
        for error, steps in self.found.values():
            inside = [step for step in steps if step.called]
            last = min(inside or steps, key=lambda step: step.depth)  # which has caught it
            theirs = [step for step in steps if step.code is not self.root]
            own = [step for step in theirs if is_own(step.code.co_filename)]
            cut = next((step for step in own if self._is_cut(step, error, steps)), None)
            if cut:
                yield fact("cut-off", place=cut.place.fact(), source=cut.place.source)
            elif is_cancellation(error) and last in own and last.called:
                yield from _block(last)
            elif last not in own and (called := [step for step in own if step.called]):
                if not complete:
                    yield from _left_out(called)
                elif last.code is not self.root and called[-1].code.co_flags & ASYNCHRONOUS:
                    place = called[-1].place.fact()
                    yield fact("cut-off-error", place=place, error=described(error).fact())

    def _is_cut(self, step: Step, error: BaseException, steps: list[Step]) -> bool:
        """Tell whether a scope has cancelled an await of clean-up, and not as its time was over.

        One in a `finally`, which the exception has left, or one after which the function itself
        has cancelled the scope.
        """
        if not is_cancellation(error) or not _is_by_scope(error):
            return False
        text = str(error)
        is_trios = hasattr(error, "source")
        cancels = [each for each in self.cancels if is_trios or each.scope in text]
        if any(each.is_limit for each in cancels) or getattr(error, "source", "") == "deadline":
            return False
        blocks = _blocks(step)
        handlers = [block.owner for block in blocks if block.name == "body"]
        if any(_handles(owner, step.after) for owner in handlers):
            return False
        if step.called and any(each.by is step.code for each in cancels):
            return True
        has_left = any(other.depth < step.depth for other in steps)
        return has_left and any(block.name == "finalbody" for block in blocks)


@contextmanager
def noting_exceptions() -> Iterator[None]:
    """Let `Passing.begin` count for what runs meanwhile."""
    before = sys.gettrace()
    try:
        yield
    finally:
        sys.settrace(before)


def _is_by_scope(error: BaseException) -> bool:
    """Tell whether a scope of trio or anyio cancels: who else does gives no text of theirs."""
    return hasattr(error, "source") or str(error).startswith(BY_SCOPE)


def _handles(owner: Any, after: list[int]) -> bool:
    """Tell whether a handler of a `try` was what ran after an exception."""
    handlers = getattr(owner, "handlers", [])
    return any(each.lineno <= line <= each.end_lineno for each in handlers for line in after[:1])


def _block(step: Step) -> Iterator[Fact]:
    """Yield what a CancelledError has skipped in the block that has caught it.

    That is a `try` whose handler ran next.  Else it is the outermost `with` to which the function
    did not come back: had one inside of it caught it, what follows there would have run.
    """
    blocks = _blocks(step)
    headers = {block.owner.lineno for block in blocks if hasattr(block.owner, "lineno")}
    resumed = [line for line in step.after if line not in headers][:1]
    bodies = [block for block in blocks if block.name == "body"]
    caught = [block for block in bodies if _handles(block.owner, resumed)][-1:]
    if not caught:
        left = [block for block in bodies if isinstance(block.owner, ast.With | ast.AsyncWith)]
        caught = [block for block in left if not _has(block, resumed)][:1]
    skipped = list[ast.stmt]()
    for outer in caught:
        for block in reversed(blocks[blocks.index(outer) :]):
            if not isinstance(block.owner, LOOPS):
                skipped += block.statements[block.at + 1 :]
    yield from _skipped("skipped", step, [each for each in skipped if _awaits(each)])


def _has(block: Block, lines: list[int]) -> bool:
    """Tell whether a block has one of these lines."""
    first, last = block.statements[0].lineno, block.statements[-1].end_lineno
    return any(first <= line <= last for line in lines)


def _left_out(steps: list[Step]) -> Iterator[Fact]:
    """Yield what an exception that left the author's code has skipped there."""
    for step in steps:
        rest = chain(*(each.statements[each.at + 1 :] for each in reversed(_blocks(step))))
        not_run = [each for each in rest if each.lineno not in step.after]
        calls = [each for each in not_run if _awaits(each) or _calls(each)]
        yield from _skipped("left-out", step, [each for each in calls if not _sends(each, step)])


def _skipped(kind: str, step: Step, statements: list[ast.stmt]) -> Iterator[Fact]:
    """Yield the first of these statements."""
    for each in statements[:1]:
        place = Place.at(step.place.function, step.code.co_filename, each.lineno)
        text = ast.unparse(each).partition("\n")[0]
        yield fact(kind, place=place.fact(), source=text, after=step.place.source)


def _awaits(statement: ast.stmt) -> bool:
    """Tell whether a statement awaits something."""
    return any(isinstance(each, AWAITS) for each in ast.walk(statement))


def _calls(statement: ast.stmt) -> bool:
    """Tell whether a statement is a call, or has one in its blocks."""
    expressions = [each.value for each in ast.walk(statement) if isinstance(each, ast.Expr)]
    return any(isinstance(each, ast.Call) for each in expressions)


def _sends(statement: ast.stmt, step: Step) -> bool:
    """Tell whether a statement sends an event to the server: an answer is no clean-up."""
    match statement:
        case ast.Expr(value=ast.Await(value=ast.Call(func=ast.Name(id=name)))):
            return name == step.send
    return False


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
    for name in ("body", "handlers", "orelse", "finalbody", "cases"):
        statements = getattr(node, name, [])
        for index, each in enumerate(statements):
            if each.lineno <= number <= each.end_lineno:
                return Block(node, name, statements, index)
    return None
