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
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any, NamedTuple

from lifespec.diagnosis import guard, stacks
from lifespec.diagnosis.author import described
from lifespec.diagnosis.fact import Fact, Place, fact
from lifespec.diagnosis.stacks import is_cancellation, is_own, short_name

NO_FAILURES = (StopIteration, StopAsyncIteration, GeneratorExit)  # by which Python ends a loop
ASYNCHRONOUS = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
BY_SCOPE = ("Cancelled via cancel scope", "Cancelled by cancel scope")  # anyio says
SCOPES = ("anyio/_backends/_asyncio.py", "trio/_core/_run.py")  # files with a CancelScope
ALTERNATIVES = ("handlers", "cases")  # of which one runs, and none after another
LOOPS = (ast.While, ast.For, ast.AsyncFor)
INFINITE = float("inf")
AWAITS = (ast.Await, ast.AsyncWith, ast.AsyncFor)


class PassedFrame(NamedTuple):
    """A frame that an exception passed: its code, the line, how deep, and whether in a lifespan.

    `after` are the lines of the function that ran then, and `send` is what it calls the server's
    function to send with, if it is an application.
    """

    code: CodeType
    line: int
    depth: int
    in_lifespan: bool
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
        # by its ID, which stays its own as the exception is kept
        self.passed: dict[int, tuple[BaseException, list[PassedFrame]]] = {}
        self.cancels: list[Cancel] = []
        self.after: dict[FrameType, tuple[int, list[int]]] = {}  # the last line, what ran after it

    def begin(self) -> None:
        """Note the exceptions that pass from now on in this thread."""

        # coverage cannot trace the lines of a trace function, nor what it calls
        def trace(frame: FrameType, event: str, arg: Any) -> Any:  # pragma: no cover
            if event == "call":
                # to be told of lines costs: only a function that an exception has passed is asked
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
        depth = 0
        in_lifespan = False
        for outer, _line in traceback.walk_stack(frame):
            depth += 1
            if outer.f_code is self.root:
                in_lifespan = True
        after: list[int] = []
        send = ""
        if is_own(code.co_filename):
            self.after[frame] = (frame.f_lineno, after)
            send = stacks.application(frame).get("send", "")
        step = PassedFrame(code, frame.f_lineno, depth, in_lifespan, after, send)
        _error, steps = self.passed.setdefault(id(error), (error, []))
        steps.append(step)

    @guard.guarded
    def note_cancel(self, frame: FrameType) -> None:  # pragma: no cover
        """Note a call that cancels a scope of anyio or trio."""
        if not frame.f_code.co_filename.replace("\\", "/").endswith(SCOPES):
            return
        scope = frame.f_locals.get("self")
        by = frame.f_back.f_code if frame.f_back else None
        is_limit = False
        # a library itself cancels a scope whose time is over, and a group whose task has failed
        if by and by.co_filename == frame.f_code.co_filename:
            is_limit = getattr(scope, "deadline", INFINITE) != INFINITE
        self.cancels.append(Cancel(f"{id(scope):x}", by, is_limit))

    def facts(self, *, complete: bool) -> Iterator[Fact]:
        """Yield what was cut off; `complete` says that the application answered so."""
        for error, steps in self.passed.values():
            yield from self._of_error(error, steps, complete=complete)

    def _of_error(
        self, error: BaseException, steps: list[PassedFrame], *, complete: bool
    ) -> Iterator[Fact]:
        """Yield what one exception has cut off."""
        own: list[PassedFrame] = []
        for step in steps:
            if step.code is not self.root and is_own(step.code.co_filename):
                own.append(step)
        for step in own:
            if self._is_cut(step, error, steps):
                yield fact("cut-off", place=step.place.fact(), source=step.place.source)
                return
        caught_in = _catcher(steps)
        if caught_in in own:  # its author expects it, but perhaps not what is skipped by it
            if caught_in.in_lifespan and is_cancellation(error):
                yield from _skipped_in_block(caught_in)
                yield from _skipped_below(own[: own.index(caught_in)])
            return
        passed = [step for step in own if step.in_lifespan]
        if not passed:
            return
        last = passed[-1]
        if not complete:  # the application says itself that it has failed, or has ended so
            yield from _left_out(passed)
        elif caught_in.code is not self.root and last.code.co_flags & ASYNCHRONOUS:
            error_fact = described(error).fact()
            yield fact("cut-off-error", place=last.place.fact(), error=error_fact)

    def _is_cut(self, step: PassedFrame, error: BaseException, steps: list[PassedFrame]) -> bool:
        """Tell whether a scope has cancelled an await of clean-up, and not as its time was over.

        One in a `finally`, which the exception has left, or one after which the function itself
        has cancelled the scope.
        """
        if not is_cancellation(error):
            return False
        if not _is_by_scope(error):
            return False
        cancels = self._cancels_by(error)
        if _is_by_limit(error, cancels):
            return False
        blocks = _blocks(step)
        resumed = _resumed(step, blocks)
        for block in blocks:
            if block.name == "body" and _handles(block.owner, resumed):
                return False
        if step.in_lifespan and any(cancel.by is step.code for cancel in cancels):
            return True
        has_left = any(other.depth < step.depth for other in steps)
        return has_left and any(block.name == "finalbody" for block in blocks)

    def _cancels_by(self, error: BaseException) -> list[Cancel]:
        """Return the calls that may have cancelled by an exception: only anyio's has its scope."""
        if hasattr(error, "source"):  # trio's
            return self.cancels
        text = str(error)
        return [cancel for cancel in self.cancels if cancel.scope in text]


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


def _is_by_limit(error: BaseException, cancels: list[Cancel]) -> bool:
    """Tell whether the time of a scope was over: only trio's exception says so itself."""
    is_trios = getattr(error, "source", "") == "deadline"
    return is_trios or any(cancel.is_limit for cancel in cancels)


def _catcher(steps: list[PassedFrame]) -> PassedFrame:
    """Return the last frame that an exception came to, which has caught it.

    Of those in the lifespan, if there are any: what calls that catches each exception.
    """
    inside = [step for step in steps if step.in_lifespan]
    return min(inside or steps, key=lambda step: step.depth)


def _handles(owner: Any, line: int) -> bool:
    """Tell whether a line is one of a handler of a `try`."""
    inner = _inner(owner, line)
    return inner is not None and inner.name == "handlers"


def _skipped_in_block(step: PassedFrame) -> Iterator[Fact]:
    """Yield what a CancelledError has skipped in the block that has caught it."""
    yield from _first_of("skipped", step, _awaiting_after(_caught(step)))


def _skipped_below(steps: list[PassedFrame]) -> Iterator[Fact]:
    """Yield what a CancelledError has skipped in functions of the lifespan that did not catch it.

    What these only call is left out: a line to log that all went well is none of clean-up.
    """
    for step in steps:
        if not step.in_lifespan:
            continue
        yield from _first_of("left-out", step, _awaiting_after(_blocks(step)))


def _awaiting_after(blocks: list[Block]) -> list[ast.stmt]:
    """Return what awaits in blocks after where they were left; loops are left out."""
    awaiting: list[ast.stmt] = []
    for block in reversed(blocks):
        if isinstance(block.owner, LOOPS):
            continue
        for statement in block.statements[block.at + 1 :]:
            if _awaits(statement):
                awaiting.append(statement)
    return awaiting


def _caught(step: PassedFrame) -> list[Block]:
    """Return the block that has caught a CancelledError, and those inside, the outermost first.

    That is a `try` whose handler ran next.  Else it is the outermost `with` to which the function
    did not come back: had one inside of it caught it, what follows there would have run.
    """
    blocks = _blocks(step)
    resumed = _resumed(step, blocks)
    around = [block.owner for block in blocks_at(step.code.co_filename, resumed)]
    innermost_handled = None
    outermost_left = len(blocks)  # none so far
    for number, block in enumerate(blocks):
        if block.name != "body":
            continue
        if _handles(block.owner, resumed):
            innermost_handled = number
        if isinstance(block.owner, ast.With | ast.AsyncWith) and block.owner not in around:
            outermost_left = min(outermost_left, number)
    if innermost_handled is not None:
        return blocks[innermost_handled:]
    return blocks[outermost_left:]


def _resumed(step: PassedFrame, blocks: list[Block]) -> int:
    """Return the line at which a function went on after an exception; 0 if it did not.

    Heads of the blocks around it do not count: that of a `with` runs once more on the way out, that
    of a loop before each turn, and that of an `except` also if it is for another exception.
    """
    heads: set[int] = set()
    for block in blocks:
        statement = block.statements[block.at]
        if hasattr(statement, "body") and hasattr(statement, "lineno"):  # a `case` has no line
            heads.add(statement.lineno)
            heads.update(_head(statement))
        for handler in getattr(statement, "handlers", []):
            heads.update(_head(handler))
    for line in step.after:
        if line not in heads:
            return line
    return 0


def _head(node: Any) -> range:
    """Return the lines before the first one of a block."""
    return range(node.lineno, node.body[0].lineno)


def _left_out(steps: list[PassedFrame]) -> Iterator[Fact]:
    """Yield what an exception that left the author's code has skipped there."""
    for step in steps:
        skipped: list[ast.stmt] = []
        for block in reversed(_blocks(step)):  # the innermost first: in the order of their turns
            for statement in block.statements[block.at + 1 :]:
                if statement.lineno not in step.after and _is_clean_up(statement, step):
                    skipped.append(statement)
        yield from _first_of("left-out", step, skipped)


def _first_of(kind: str, step: PassedFrame, skipped: list[ast.stmt]) -> Iterator[Fact]:
    """Yield the first of the statements that were skipped, if there is one."""
    if skipped:
        place = Place.at(step.place.function, step.code.co_filename, skipped[0].lineno)
        text = ast.unparse(skipped[0]).partition("\n")[0]
        yield fact(kind, place=place.fact(), source=text, after=step.place.source)


def _is_clean_up(statement: ast.stmt, step: PassedFrame) -> bool:
    """Tell whether a statement awaits or calls something, and is no answer to the server."""
    works = _awaits(statement) or _calls(statement)
    return works and not _sends(statement, step)


def _awaits(statement: ast.stmt) -> bool:
    """Tell whether a statement awaits something."""
    return any(isinstance(node, AWAITS) for node in ast.walk(statement))


def _calls(statement: ast.stmt) -> bool:
    """Tell whether a statement is a call, or has one in its blocks."""
    expressions = [node.value for node in ast.walk(statement) if isinstance(node, ast.Expr)]
    return any(isinstance(value, ast.Call) for value in expressions)


def _sends(statement: ast.stmt, step: PassedFrame) -> bool:
    """Tell whether a statement sends an event to the server."""
    match statement:
        case ast.Expr(value=ast.Await(value=ast.Call(func=ast.Name(id=name)))):
            return name == step.send
    return False


def _blocks(step: PassedFrame) -> list[Block]:
    """Return the blocks of a function that an exception has passed."""
    return blocks_at(step.code.co_filename, step.line)


def blocks_at(file: str, line: int) -> list[Block]:
    """Return the blocks of a function that have a line, the outermost first."""
    blocks: list[Block] = []
    try:
        node: Any = _parsed("".join(linecache.getlines(file)))
    except SyntaxError:  # it is no source of Python, or has changed
        return blocks
    while inner := _inner(node, line):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            blocks.clear()  # of the function around it
        blocks.append(inner)
        node = inner.statements[inner.at]
    return blocks


@lru_cache(maxsize=4)  # a block of the same text is the same object each time
def _parsed(text: str) -> ast.Module:
    return ast.parse(text)


def _inner(node: Any, number: int) -> Block | None:
    """Return the block of a statement that has a line, if the line is in one."""
    for name in ("body", "orelse", "finalbody", *ALTERNATIVES):
        statements = getattr(node, name, [])
        for index, statement in enumerate(statements):
            first, last = statement, statement
            if isinstance(statement, ast.match_case):  # which has no line itself
                first, last = statement.pattern, statement.body[-1]
            if first.lineno <= number <= last.end_lineno:
                if name in ALTERNATIVES:
                    return Block(node, name, [statement], 0)
                return Block(node, name, statements, index)
    return None
