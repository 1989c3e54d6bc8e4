"""Asynchronous generators that an author's line begins by hand, and that nothing lets go on.

So are the context managers that `asynccontextmanager` makes: entered, and never left.  Python calls
a hook when one is asked for its first value, and another when it goes before it has ended.
"""

import ast
import contextlib
import dis
import sys
from collections.abc import AsyncGenerator, Callable
from types import CodeType, FrameType
from typing import Any, NamedTuple
from weakref import ref

from lifespec.diagnosis.cut_off import LOOPS, blocks_at
from lifespec.diagnosis.fact import Fact, Place, fact
from lifespec.diagnosis.guard import keeping
from lifespec.diagnosis.stacks import is_own, line, outward, short_name

_CONTEXTLIB = contextlib.asynccontextmanager.__code__.co_filename


class Beginning(NamedTuple):
    """A generator, the author's line that began it, and the code that has this line."""

    generator: ref[AsyncGenerator[Any, Any]]
    place: Place
    by: CodeType


class Begun:
    """The generators that were begun below `root`, the code that calls lifespans."""

    def __init__(self, root: CodeType) -> None:
        self.root = root
        # by their IDs: the reference to a generator is gone before its hook is called
        self.beginnings: dict[int, Beginning] = {}
        self.dropped: list[Fact] = []

    def begin(self) -> None:
        """Note them from now on, until the event loop that runs ends: it has hooks of its own."""
        first, last = sys.get_asyncgen_hooks()

        def begins(generator: Any) -> None:
            with keeping():
                self._note(generator, sys._getframe(1))  # noqa: SLF001
            _call(first, generator)

        def goes(generator: Any) -> None:
            with keeping():
                self._note_dropped(generator)
            _call(last, generator)

        sys.set_asyncgen_hooks(begins, goes)

    def _note(self, generator: Any, frame: FrameType) -> None:
        """Note a generator that an author's line begins, unless by `async for`.

        That ends it, or leaves it because it wants no more values.
        """
        self.beginnings.pop(id(generator), None)  # of one that has ended, and had this ID
        by = next(outer for outer in outward(frame) if outer.f_code.co_filename != _CONTEXTLIB)
        if not is_own(by.f_code.co_filename):
            return
        if dis.opname[by.f_code.co_code[by.f_lasti]] == "GET_ANEXT":
            return
        if any(outer.f_code is self.root for outer in outward(by)):
            at = line(by)
            place = Place.at(at.function, at.file, at.line)
            self.beginnings[id(generator)] = Beginning(ref(generator), place, by.f_code)

    def _note_dropped(self, generator: Any) -> None:
        """Note that a generator goes at its `yield`; the event loop closes it."""
        beginning = self.beginnings.pop(id(generator), None)
        if beginning is None:
            return
        if _is_unfinished(generator):
            self.dropped.append(_fact_of(generator, beginning))

    def unfinished(self) -> list[Fact]:
        """Return those that stand at their `yield`, or went there, and have more to do.

        What such a generator has begun itself goes on with it.
        """
        standing: list[tuple[Any, Beginning]] = []
        for beginning in list(self.beginnings.values()):  # one may go meanwhile
            generator = beginning.generator()
            if generator is None:
                continue
            if _is_unfinished(generator):
                standing.append((generator, beginning))
        outer = [generator.ag_code for generator, _beginning in standing]
        facts = list(self.dropped)
        for generator, beginning in standing:
            if beginning.by not in outer:
                facts.append(_fact_of(generator, beginning))
        return sorted(dict.fromkeys(facts), key=str)


def _fact_of(generator: Any, beginning: Beginning) -> Fact:
    name = short_name(generator.__qualname__)
    return fact("unfinished", name=name, place=beginning.place.fact())


def _call(hook: Callable[[Any], None] | None, generator: Any) -> None:
    if hook is not None:  # pragma: no branch  each event loop has both
        hook(generator)


def _is_unfinished(generator: Any) -> bool:
    """Tell whether a generator is at a `yield` that something follows."""
    frame = generator.ag_frame
    if frame is None:  # it has ended
        return False
    return _is_followed(frame.f_code.co_filename, frame.f_lineno)


def _is_followed(file: str, number: int) -> bool:
    """Tell whether a function does something after a line; not one that yields in a loop."""
    is_followed = False
    for block in blocks_at(file, number):
        if isinstance(block.owner, LOOPS):
            return False
        if isinstance(block.owner, ast.With | ast.AsyncWith):
            is_followed = True
        if getattr(block.owner, "finalbody", None):
            is_followed = True
        if block.statements[block.at + 1 :]:
            is_followed = True
    return is_followed
