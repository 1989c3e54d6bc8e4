"""What became of the lifespans that an author registers: which ran, and what they yielded.

A profile function notes the functions that run while a case is played, and the context managers
that are entered.
"""

import contextlib
import dis
import sys
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from inspect import unwrap
from types import CellType, CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

from lifespec.diagnosis import given, guard
from lifespec.diagnosis.author import library, place
from lifespec.diagnosis.fact import Fact, fact
from lifespec.diagnosis.given import Given
from lifespec.diagnosis.opened import Made
from lifespec.diagnosis.registered import FRAMEWORKS, REGISTERED_LATE, Registered, held
from lifespec.diagnosis.stacks import is_ours, is_own, line, outward

ENTER = contextlib._AsyncGeneratorContextManager.__aenter__.__code__  # noqa: SLF001


def never_entered(found: Collection[Registered], ran: "Ran") -> Iterator[Fact]:
    """Yield those that did not run, and those that cannot be called."""
    distinct = {}
    for registered in found:
        # of those that a factory has made, which have the same code, each counts
        which = id(registered.value) if registered.code in ran.shared else 0
        distinct[registered.name, registered.place, which] = registered
    for registered in distinct.values():
        name, kind = registered.name, registered.kind
        parts = {"receiver": registered.receiver, "place": registered.place.fact()}
        if not registered.code:
            wrong = "given-no-lifespan"
            if isinstance(registered.value, ModuleType):
                wrong = "given-module"
            yield fact(wrong, name=name, type=type(registered.value).__name__, **parts)
        elif ran.has_run(registered) or _ran_otherwise(registered.code, ran.codes):
            continue
        elif kind == REGISTERED_LATE:
            yield fact(kind, name=name, **parts)
        else:
            yield fact(kind, **parts)


def _is_call_of(frame: FrameType, value: Any) -> bool:  # pragma: no cover  as what calls it
    """Tell whether a frame is of this function or object, and not of another with the same code."""
    if isinstance(value, FunctionType):
        return _has_variables_of(frame, unwrap(value))
    if not frame.f_code.co_argcount:
        return False
    receiver = frame.f_locals.get(frame.f_code.co_varnames[0])
    if isinstance(value, MethodType):
        return value.__self__ is receiver
    return receiver is value or type(receiver) is value


def _has_variables_of(frame: FrameType, function: Any) -> bool:  # pragma: no cover  as its caller
    """Tell whether a frame has the variables of the function around it that this one has."""
    names = frame.f_code.co_freevars
    if not names or not function.__closure__:  # nothing tells one from another
        return False
    variables = frame.f_locals
    for name, cell in zip(names, function.__closure__, strict=False):
        if variables.get(name) is not _held(cell):
            return False
    return True


def _held(cell: CellType) -> object:  # pragma: no cover  as what calls it
    try:
        return cell.cell_contents
    except ValueError:  # its variable has no value yet
        return None


def _functions(value: Any) -> Iterator[Any]:  # pragma: no cover  as what calls it
    """Yield a function, and those that it wraps."""
    while value is not None:
        yield value
        if not isinstance(value, FunctionType):
            return
        value = getattr(value, "__wrapped__", None)


def _ran_otherwise(code: CodeType, ran: Collection[CodeType]) -> bool:
    """Tell whether a library has run the functions that its lifespan calls without it."""
    if is_own(code.co_filename):
        return False
    beside = [other for other in ran if other.co_filename == code.co_filename]
    return any(other.co_name in code.co_names for other in beside)


def _sharing(found: Collection[Registered]) -> dict[CodeType, dict[int, Any]]:
    """Return the code that several functions or objects have, with these by their IDs."""
    by_code: dict[CodeType, dict[int, Any]] = {}
    for registered in found:
        if registered.code:
            by_code.setdefault(registered.code, {})[id(registered.value)] = registered.value
    return {code: values for code, values in by_code.items() if len(values) > 1}


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
        self.shared = _sharing(found)
        self.run = set[int]()  # the IDs of those that have run, where several share their code
        self.entrances: list[Entrance] = []
        self.values: list[tuple[Any, Any]] = []  # what they yielded
        self.ended = set[int]()  # the IDs of those that ended as they were entered
        self.watched = {id(ENTER)}  # and what takes a lifespan
        self.watched.update(map(id, self.shared))
        self.given: list[Given] = []
        self.opened = Made()

    def note(self, frame: FrameType, event: str, value: object) -> None:  # pragma: no cover
        """Note what a profile function is told."""
        code = frame.f_code
        if event != "call":
            if code is ENTER:
                self.enter(frame, event, value)
            return
        self._note_run(frame)
        if code is ENTER:
            self.enter(frame, event, value)
        elif id(code) in self.watched:
            if code.co_name == "__init__":
                self.opened.note(frame)
            self.given += given.given_to(frame)

    def _note_run(self, frame: FrameType) -> None:  # pragma: no cover  as what calls it
        """Note that code runs, and which of those that share it."""
        code = frame.f_code
        if code not in self.codes and _runs(frame):
            self.codes.add(code)
            if self._takes_or_makes(frame):
                self.watched.add(id(code))
        if code in self.shared:
            self._note_shared(frame)

    def _takes_or_makes(self, frame: FrameType) -> bool:  # pragma: no cover  as what calls it
        """Tell whether a function takes a lifespan, or makes something that one has to close."""
        if given.parameters(frame.f_code):
            return True
        return frame.f_code.co_name == "__init__" and self.opened.note(frame)

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
        # no other has this code, or it is not known which of them it was
        if values is None or self.run.isdisjoint(values):
            return True
        return id(registered.value) in self.run

    def _runs_function(self, function: object) -> None:  # pragma: no cover  as what calls it
        """Note which of those that share their code is made of a function that is entered."""
        for values in self.shared.values():
            for value in values.values():
                if any(inner is function for inner in _functions(value)):
                    self.run.add(id(value))

    def enter(self, frame: FrameType, event: str, value: object) -> None:  # pragma: no cover
        """Note that a context manager is entered, unless it only goes on, and what it yields."""
        manager = frame.f_locals["self"]
        if event == "return":
            self.values.append((manager, value))
            if manager.gen.ag_frame is None:  # it has raised, or has no `yield` on its way
                self.ended.add(id(manager))
            return
        arguments = getattr(manager, "args", None)
        if arguments is None:  # contextlib removes them as it is entered: it goes on after a wait
            return
        self._runs_function(manager.func)
        callers = outward(frame)
        # not one of contextlib, such as an exit stack
        by = next((by for by in callers if by.f_code.co_filename != ENTER.co_filename), None)
        again = self._is_open(manager.func, arguments)
        self.entrances.append(Entrance(manager, arguments, _enterer(by), again, manager.func))

    def _is_open(  # pragma: no cover  as what calls it
        self, function: object, arguments: tuple[object, ...]
    ) -> bool:
        """Tell whether a context manager of this function, with these arguments, is open."""
        for entrance in self.entrances:
            if entrance.function is not function:
                continue
            if not entrance.manager.gen.ag_frame:  # its generator has ended: it is closed
                continue
            # by identity: to compare would ask the author's objects
            if list(map(id, entrance.given)) == list(map(id, arguments)):
                return True
        return False

    def twice(self, found: Collection[Registered]) -> Iterator[Fact]:
        """Yield the lifespans that were entered once more while they were open."""
        known = {registered.code: registered for registered in found}
        again = [entrance.code for entrance in self.entrances if entrance.again]
        for code in dict.fromkeys(again):
            if code in known:
                yield fact("entered-twice", place=known[code].place.fact())

    def unstarted(self, found: Collection[Registered]) -> Iterator[Fact]:
        """Yield the lifespans that ended before their `yield`, each time that they were entered."""
        known = {registered.code: registered for registered in found}
        ended: dict[CodeType, bool] = {}
        for entrance in self.entrances:
            has_ended = id(entrance.manager) in self.ended
            ended[entrance.code] = has_ended and ended.get(entrance.code, True)
        for code, has_ended in ended.items():
            if has_ended and code in known:
                yield fact("start-lost", place=known[code].place.fact())

    def lost(
        self, found: Collection[Registered], state: Mapping[Any, Any], subject: object
    ) -> Iterator[Fact]:
        """Yield the keys that lifespans yielded and that are not in the state.

        Those whose value is there, or is held by the application, have only other names.
        """
        known = {registered.code: registered for registered in found if registered.stateful}
        yielded = {id(manager): value for manager, value in self.values}
        for entrance in self.entrances:
            if entrance.code not in known:
                continue
            value = yielded.get(id(entrance.manager))
            if not isinstance(value, Mapping):
                continue
            missing = {key: part for key, part in value.items() if key not in state}
            kept: Mapping[int, object] = {}
            if missing:  # the search looks at all that the application holds
                kept = held([subject, *state.values()])
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
    at = place([line(frame)])
    if at is not None:
        return at.fact()
    name = library(frame.f_globals.get("__name__", ""))
    if name in FRAMEWORKS:
        return ""
    return name


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
