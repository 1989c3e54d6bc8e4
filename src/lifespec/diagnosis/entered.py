"""What became of the lifespans that an author registers: which ran, and what they yielded.

A profile function notes the functions that run while a case is played, and the context managers
that are entered.
"""

import contextlib
import dis
import sys
import threading
import weakref
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from types import CodeType, FrameType, ModuleType
from typing import Any, NamedTuple

from lifespec.diagnosis import given, guard
from lifespec.diagnosis.author import library, place
from lifespec.diagnosis.fact import Fact, Place, fact
from lifespec.diagnosis.given import Given
from lifespec.diagnosis.opened import Made
from lifespec.diagnosis.registered import FRAMEWORKS, LATE, Registered, held
from lifespec.diagnosis.stacks import is_ours, is_own, line, short

_MANAGER = contextlib._GeneratorContextManager  # noqa: SLF001
MAKE = _MANAGER.__init__.__code__  # the same for asynchronous ones
ENTER = contextlib._AsyncGeneratorContextManager.__aenter__.__code__  # noqa: SLF001
ENTER_PLAIN = _MANAGER.__enter__.__code__


def never_entered(found: Collection[Registered], ran: Collection[CodeType]) -> Iterator[Fact]:
    """Yield those of which no code ran, and those that cannot be called."""
    for each in {(each.name, each.place): each for each in found}.values():
        parts = {"receiver": each.receiver, "place": each.place.fact()}
        if not each.code:
            kind = type(each.value).__name__
            wrong = "given-module" if isinstance(each.value, ModuleType) else "given-no-lifespan"
            yield fact(wrong, name=each.name, type=kind, **parts)
        elif each.code not in ran and not _ran_otherwise(each.code, ran):
            named = {"name": each.name} if each.kind == LATE else {}
            yield fact(each.kind, **named, **parts)


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
        self.watched = {
            id(each) for each in (MAKE, ENTER, ENTER_PLAIN)
        }  # and what takes a lifespan
        self.given: list[Given] = []
        self.opened = Made()
        self.made: dict[int, tuple[weakref.ref[Any], Place]] = {}  # and not entered, by their IDs
        self.gone: list[tuple[weakref.ref[Any], Place]] = []

    def note(self, frame: FrameType, event: str, value: object) -> None:  # pragma: no cover
        """Note what a profile function is told."""
        code = frame.f_code
        if event == "call" and code not in self.codes and _runs(frame):
            self.codes.add(code)
            if given.parameters(code) or (code.co_name == "__init__" and self.opened.note(frame)):
                self.watched.add(id(code))
        if code is ENTER:
            self.enter(frame, event, value)
        elif event == "call" and code is MAKE:
            self.make(frame)
        elif event == "call" and code is ENTER_PLAIN:
            self.entered(frame.f_locals["self"])
        elif event == "call" and id(code) in self.watched:
            if code.co_name == "__init__":
                self.opened.note(frame)
            self.given += given.note(frame)

    def make(self, frame: FrameType) -> None:  # pragma: no cover
        """Note that a context manager is made in an author's line."""
        maker = frame.f_back.f_back if frame.f_back else None  # of the function that is decorated
        if maker and is_own(maker.f_code.co_filename):
            variables = frame.f_locals
            name = f"{short(variables['func'].__qualname__)}()"
            where = Place.at(name, maker.f_code.co_filename, maker.f_lineno)
            manager = variables["self"]
            before = self.made.get(id(manager))
            if before:  # an ID is that of another object once its object has gone
                self.gone.append(before)
            self.made[id(manager)] = (weakref.ref(manager), where)

    def entered(self, manager: Any) -> None:  # pragma: no cover  a profile function calls it
        """Note that a context manager is entered."""
        known = self.made.get(id(manager))
        if known and known[0]() is manager:
            del self.made[id(manager)]

    def unentered(self) -> Iterator[Fact]:
        """Yield the context managers that were made and have gone without being entered."""
        for manager, where in [*self.gone, *self.made.values()]:
            if manager() is None:
                yield fact("made-only", place=where.fact())

    def enter(self, frame: FrameType, event: str, value: object) -> None:
        """Note that a context manager is entered, unless it only goes on, and what it yields."""
        manager = frame.f_locals["self"]
        self.entered(manager)
        if event == "return":
            self.values.append((manager, value))
        elif (given := getattr(manager, "args", None)) is not None:
            opened = [each for each in self.entrances if each.manager.gen.ag_frame]
            same = [(each.code, [*map(id, each.given)]) for each in opened]
            by: FrameType | None = frame
            while by and by.f_code.co_filename == ENTER.co_filename:  # such as an exit stack
                by = by.f_back
            again = (manager.gen.ag_code, [*map(id, given)]) in same
            self.entrances.append(Entrance(manager, given, _enterer(by), again))

    def twice(self, found: Collection[Registered]) -> Iterator[Fact]:
        """Yield the lifespans that were entered once more while they were open."""
        known = {each.code: each for each in found}
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
                kept = held([subject, *state.values()]) if missing else {}
                where = known[each.code].place.fact()
                for key in [key for key, part in missing.items() if id(part) not in kept]:
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
    before = sys.getprofile()

    # coverage cannot trace the lines of a profile function, nor what it calls
    def profile(frame: FrameType, event: str, value: object) -> None:  # pragma: no cover
        code = frame.f_code
        if id(code) in ran.watched or (event == "call" and code not in ran.codes):
            with guard.keeping():
                ran.note(frame, event, value)

    sys.setprofile(profile)
    threading.setprofile(profile)
    try:
        yield
    finally:
        sys.setprofile(before)
        threading.setprofile(None)
