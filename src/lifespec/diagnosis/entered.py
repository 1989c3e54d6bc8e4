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
from inspect import unwrap
from types import CellType, CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

from lifespec.diagnosis import given, guard
from lifespec.diagnosis.author import library, place
from lifespec.diagnosis.fact import Fact, Place, fact
from lifespec.diagnosis.given import Given
from lifespec.diagnosis.opened import Made
from lifespec.diagnosis.registered import FRAMEWORKS, REGISTERED_LATE, Registered, held
from lifespec.diagnosis.stacks import is_ours, is_own, line, short_name

_MANAGER = contextlib._GeneratorContextManager  # noqa: SLF001
MAKE = _MANAGER.__init__.__code__  # the same for asynchronous ones
ENTER = contextlib._AsyncGeneratorContextManager.__aenter__.__code__  # noqa: SLF001
ENTER_PLAIN = _MANAGER.__enter__.__code__


def never_entered(found: Collection[Registered], ran: "Ran") -> Iterator[Fact]:
    """Yield those that did not run, and those that cannot be called."""
    distinct = {}
    for each in found:
        which = id(each.value) if each.code in ran.shared else 0
        distinct[each.name, each.place, which] = each
    for each in distinct.values():
        parts = {"receiver": each.receiver, "place": each.place.fact()}
        if not each.code:
            kind = type(each.value).__name__
            wrong = "given-module" if isinstance(each.value, ModuleType) else "given-no-lifespan"
            yield fact(wrong, name=each.name, type=kind, **parts)
        elif not ran.has_run(each) and not _ran_otherwise(each.code, ran.codes):
            named = {"name": each.name} if each.kind == REGISTERED_LATE else {}
            yield fact(each.kind, **named, **parts)


def _is_call_of(frame: FrameType, value: Any) -> bool:  # pragma: no cover  as what calls it
    """Tell whether a frame is of this function or object, and not of another with the same code."""
    variables = frame.f_locals
    if isinstance(value, FunctionType):
        cells = unwrap(value).__closure__ or ()
        pairs = [*zip(frame.f_code.co_freevars, cells, strict=False)]
        return bool(pairs) and all(variables.get(name) is _held(cell) for name, cell in pairs)
    if not frame.f_code.co_argcount:
        return False
    receiver = variables.get(frame.f_code.co_varnames[0])
    if isinstance(value, MethodType):
        return value.__self__ is receiver
    return receiver is value or type(receiver) is value


def _held(cell: CellType) -> object:  # pragma: no cover  as what calls it
    try:
        return cell.cell_contents
    except ValueError:  # its variable has no value yet
        return None


def _functions(value: Any) -> Iterator[Any]:  # pragma: no cover  as what calls it
    """Yield a function, and those that it wraps."""
    while value is not None:
        yield value
        value = getattr(value, "__wrapped__", None) if isinstance(value, FunctionType) else None


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
    function: object

    @property
    def code(self) -> CodeType:
        """The code of its generator."""
        code: CodeType = self.manager.gen.ag_code
        return code


class Ran:
    """The code that ran, and the context managers of generators that were entered.

    `found` are the lifespans and handlers that may run.  A factory makes several with the same
    code: which of them has run is told by what each call has, its function or its variables.
    """

    def __init__(self, found: Collection[Registered] = ()) -> None:
        self.codes = set[CodeType]()
        self.shared: dict[CodeType, dict[int, Any]] = {}
        for each in found:
            if each.code:
                self.shared.setdefault(each.code, {})[id(each.value)] = each.value
        self.shared = {code: values for code, values in self.shared.items() if len(values) > 1}
        self.run = set[int]()  # the IDs of those that have run, where several share their code
        self.entrances: list[Entrance] = []
        self.values: list[tuple[Any, Any]] = []  # what they yielded
        self.watched = {id(MAKE), id(ENTER), id(ENTER_PLAIN)}  # and what takes a lifespan
        self.watched.update(map(id, self.shared))
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
        if event == "call" and code in self.shared:
            self._note_shared(frame)
        if code is ENTER:
            self.enter(frame, event, value)
        elif event == "call" and code is MAKE:
            self.make(frame)
        elif event == "call" and code is ENTER_PLAIN:
            self.entered(frame.f_locals["self"])
        elif event == "call" and id(code) in self.watched:
            if code.co_name == "__init__":
                self.opened.note(frame)
            self.given += given.given_to(frame)

    def _note_shared(self, frame: FrameType) -> None:  # pragma: no cover  as what calls it
        """Note which of those that share their code a call is of."""
        if _runs(frame):
            for value in self.shared[frame.f_code].values():
                if _is_call_of(frame, value):
                    self.run.add(id(value))

    def has_run(self, registered: Registered) -> bool:
        """Tell whether what was registered has run, as far as it can be told from its likes."""
        if registered.code not in self.codes:
            return False
        values = self.shared.get(registered.code)
        if values is None or self.run.isdisjoint(values):  # it is not known which of them it was
            return True
        return id(registered.value) in self.run

    def _runs_function(self, function: object) -> None:  # pragma: no cover  as what calls it
        """Note which of those that share their code is made of a function that is entered."""
        for values in self.shared.values():
            for value in values.values():
                if any(each is function for each in _functions(value)):
                    self.run.add(id(value))

    def make(self, frame: FrameType) -> None:  # pragma: no cover
        """Note that a context manager is made in an author's line."""
        maker = frame.f_back.f_back if frame.f_back else None  # of the function that is decorated
        if maker and is_own(maker.f_code.co_filename):
            variables = frame.f_locals
            name = f"{short_name(variables['func'].__qualname__)}()"
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

    def enter(self, frame: FrameType, event: str, value: object) -> None:  # pragma: no cover
        """Note that a context manager is entered, unless it only goes on, and what it yields."""
        manager = frame.f_locals["self"]
        self.entered(manager)
        if event == "return":
            self.values.append((manager, value))
        elif (given := getattr(manager, "args", None)) is not None:
            self._runs_function(manager.func)
            by: FrameType | None = frame
            while by and by.f_code.co_filename == ENTER.co_filename:  # such as an exit stack
                by = by.f_back
            again = self._is_open(manager.func, given)
            self.entrances.append(Entrance(manager, given, _enterer(by), again, manager.func))

    def _is_open(  # pragma: no cover  as what calls it
        self, function: object, given: tuple[object, ...]
    ) -> bool:
        """Tell whether a context manager of this function, with these arguments, is open."""
        for each in self.entrances:
            if each.function is not function or not each.manager.gen.ag_frame:
                continue
            if [*map(id, each.given)] == [*map(id, given)]:
                return True
        return False

    def twice(self, found: Collection[Registered]) -> Iterator[Fact]:
        """Yield the lifespans that were entered once more while they were open."""
        known = {registered.code: registered for registered in found}
        again = [entrance.code for entrance in self.entrances if entrance.again]
        for code in dict.fromkeys(again):
            if code in known:
                yield fact("entered-twice", place=known[code].place.fact())

    def lost(
        self, found: Collection[Registered], state: Mapping[Any, Any], subject: object
    ) -> Iterator[Fact]:
        """Yield the keys that lifespans yielded and that are not in the state.

        Those whose value is there, or is held by the application, have only other names.
        """
        known = {registered.code: registered for registered in found if registered.stateful}
        yielded = {id(manager): value for manager, value in self.values}
        for entrance in self.entrances:
            value = yielded.get(id(entrance.manager))
            if entrance.code not in known or not isinstance(value, Mapping):
                continue
            missing = {key: part for key, part in value.items() if key not in state}
            kept = held([subject, *state.values()]) if missing else {}
            place_of_code = known[entrance.code].place.fact()
            for key, part in missing.items():
                if id(part) in kept:
                    continue
                if entrance.by:
                    yield fact("state-dropped", key=str(key), place=place_of_code, by=entrance.by)
                else:
                    yield fact("state-unseen", key=str(key), place=place_of_code)


def _enterer(frame: FrameType | None) -> Fact | str:  # pragma: no cover
    """Return who enters a context manager, unless that is Starlette, which puts it into a state."""
    if frame is None or is_ours(frame.f_code.co_filename):
        return ""
    if at := place([line(frame)]):
        return at.fact()
    name = library(frame.f_globals.get("__name__", ""))
    return "" if name in FRAMEWORKS else name


def _runs(frame: FrameType) -> bool:  # pragma: no cover
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
