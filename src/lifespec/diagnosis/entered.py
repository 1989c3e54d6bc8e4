"""What became of the lifespans that an author registers: which ran, and what they yielded.

A profile function notes the functions that run while a case is played, and the context managers
that are entered.  `Profile` has what it noted, and says what follows for what was registered.
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
from lifespec.diagnosis.opened import Made, makes
from lifespec.diagnosis.registered import FRAMEWORKS, REGISTERED_LATE, Registered, held
from lifespec.diagnosis.stacks import is_ours, is_own, line, outward

ENTER = contextlib._AsyncGeneratorContextManager.__aenter__.__code__  # noqa: SLF001


class Entrance(NamedTuple):
    """A context manager that was entered: of which function, with which arguments, and by whom.

    `by` is the line if that is the author's, else the name of a library; "" is Starlette's own.
    """

    manager: Any
    function: object
    arguments: tuple[object, ...]
    by: Fact | str
    again: bool  # while another of the same function with the same arguments was open

    @property
    def code(self) -> CodeType:
        """The code of its generator."""
        code: CodeType = self.manager.gen.ag_code
        return code

    @property
    def is_open(self) -> bool:  # pragma: no cover  a profile function asks
        """Whether its generator has not ended."""
        return self.manager.gen.ag_frame is not None


class Profile:
    """The code that ran, and the context managers of generators that were entered.

    `registered` are the lifespans and handlers that may run.  A factory makes several with the same
    code: which of them has run is told by what each call has, its function or its variables.
    """

    def __init__(self, registered: Collection[Registered] = ()) -> None:
        self.codes = set[CodeType]()
        self.sharing = _sharing(registered)
        self.sharing_that_ran = set[int]()  # their IDs
        self.entrances: list[Entrance] = []
        self.yielded: list[tuple[Any, Any]] = []  # by which context manager, and what
        self.ended_at_once = set[int]()  # the IDs of those that ended as they were entered
        # the code of which each call counts and not only the first: what takes a lifespan, or makes
        # what one has to close.  By ID, because every return of a function asks for it, and the
        # hash of a code object is made anew each time
        self.each_call = {id(ENTER)}
        self.each_call.update(map(id, self.sharing))
        self.given: list[Given] = []
        self.opened = Made()

    # ---- what the profile function notes -------------------------------------------------------
    # coverage cannot trace the lines of a profile function, nor what it calls

    def note(self, frame: FrameType, event: str, value: object) -> None:  # pragma: no cover
        """Note what a profile function is told."""
        code = frame.f_code
        if event == "call":
            self._note_code(frame)
            if code is ENTER:
                self._note_entrance(frame)
            elif id(code) in self.each_call:
                self.opened.note(frame)
                self.given += given.given_to(frame)
        elif event == "return" and code is ENTER:
            self._note_yielded(frame.f_locals["self"], value)

    def _note_code(self, frame: FrameType) -> None:  # pragma: no cover
        """Note that code runs, and which of those that share it."""
        if not _is_in_its_body(frame):
            return
        code = frame.f_code
        if code not in self.codes:
            self.codes.add(code)
            if given.parameters(code) or makes(frame):
                self.each_call.add(id(code))
        for value in self.sharing.get(code, {}).values():
            if _is_call_of(frame, value):
                self.sharing_that_ran.add(id(value))

    def _note_entrance(self, frame: FrameType) -> None:  # pragma: no cover
        """Note that a context manager is entered."""
        manager = frame.f_locals["self"]
        arguments = getattr(manager, "args", None)
        if (
            arguments is None
        ):  # contextlib deletes them first: this `__aenter__` goes on after a wait
            return
        self._note_function(manager.func)
        enterer = None
        for caller in outward(frame):
            if caller.f_code.co_filename != ENTER.co_filename:  # as that of an exit stack is
                enterer = caller
                break
        again = self._is_open(manager.func, arguments)
        by = _name_of(enterer)
        self.entrances.append(Entrance(manager, manager.func, arguments, by, again))

    def _note_yielded(self, manager: Any, value: object) -> None:  # pragma: no cover
        """Note what a context manager yields as it is entered: the last return, after its waits."""
        self.yielded.append((manager, value))
        if manager.gen.ag_frame is None:  # it has raised, or has no `yield` on its way
            self.ended_at_once.add(id(manager))

    def _note_function(self, function: object) -> None:  # pragma: no cover
        """Note which of those that share their code is made of a function that is entered."""
        for values in self.sharing.values():
            for value in values.values():
                if any(inner is function for inner in _functions(value)):
                    self.sharing_that_ran.add(id(value))

    def _is_open(  # pragma: no cover
        self, function: object, arguments: tuple[object, ...]
    ) -> bool:
        """Tell whether a context manager of this function, with these arguments, is open."""
        for entrance in self.entrances:
            if entrance.function is not function or not entrance.is_open:
                continue
            # by identity: to compare would ask the author's objects
            if list(map(id, entrance.arguments)) == list(map(id, arguments)):
                return True
        return False

    # ---- what follows for what was registered --------------------------------------------------

    def never_entered(self, lifespans: Collection[Registered]) -> Iterator[Fact]:
        """Yield those that did not run, and those that cannot be called."""
        distinct = {}
        for registered in lifespans:
            # of those that a factory has made, which have the same code, each counts
            which = id(registered.value) if registered.code in self.sharing else 0
            distinct[registered.name, registered.place, which] = registered
        for registered in distinct.values():
            name, kind = registered.name, registered.kind
            parts = {"receiver": registered.receiver, "place": registered.place.fact()}
            if not registered.code:
                wrong = "given-no-lifespan"
                if isinstance(registered.value, ModuleType):
                    wrong = "given-module"
                yield fact(wrong, name=name, type=type(registered.value).__name__, **parts)
            elif self._has_run(registered) or _ran_without(registered.code, self.codes):
                continue
            elif kind == REGISTERED_LATE:
                yield fact(kind, name=name, **parts)
            else:
                yield fact(kind, **parts)

    def _has_run(self, registered: Registered) -> bool:
        """Tell whether what was registered has run, as far as it can be told from its likes."""
        if registered.code not in self.codes:
            return False
        values = self.sharing.get(registered.code)
        # no other has this code, or it is not known which of them it was
        if values is None or self.sharing_that_ran.isdisjoint(values):
            return True
        return id(registered.value) in self.sharing_that_ran

    def entered_twice(self, lifespans: Collection[Registered]) -> Iterator[Fact]:
        """Yield those that were entered once more while they were open."""
        by_code = {registered.code: registered for registered in lifespans}
        again = [entrance.code for entrance in self.entrances if entrance.again]
        for code in dict.fromkeys(again):
            if code in by_code:
                yield fact("entered-twice", place=by_code[code].place.fact())

    def never_started(self, lifespans: Collection[Registered]) -> Iterator[Fact]:
        """Yield those that ended before their `yield`, each time that they were entered."""
        by_code = {registered.code: registered for registered in lifespans}
        entered = dict.fromkeys(entrance.code for entrance in self.entrances)
        started = set[CodeType]()
        for entrance in self.entrances:
            if id(entrance.manager) not in self.ended_at_once:
                started.add(entrance.code)
        for code in entered:
            if code in by_code and code not in started:
                yield fact("start-lost", place=by_code[code].place.fact())

    def lost_keys(
        self, lifespans: Collection[Registered], state: Mapping[Any, Any], subject: object
    ) -> Iterator[Fact]:
        """Yield the keys that lifespans yielded and that are not in the state.

        Those whose value is there, or is held by the application, have only other names.
        """
        by_code = {registered.code: registered for registered in lifespans if registered.stateful}
        yielded = {id(manager): value for manager, value in self.yielded}  # its last return
        for entrance in self.entrances:
            if entrance.code not in by_code:
                continue
            keys = yielded.get(id(entrance.manager))
            if not isinstance(keys, Mapping):
                continue
            missing = {key: value for key, value in keys.items() if key not in state}
            kept: Mapping[int, object] = {}
            if missing:  # the search looks at all that the application holds
                kept = held([subject, *state.values()])
            where = by_code[entrance.code].place.fact()
            for key, value in missing.items():
                if id(value) in kept:
                    continue
                if entrance.by:
                    yield fact("state-dropped", key=str(key), place=where, by=entrance.by)
                else:
                    yield fact("state-unseen", key=str(key), place=where)


@contextmanager
def profiling(profile: Profile) -> Iterator[None]:
    """Note what runs meanwhile, in each thread, and give a profile function back that was there."""
    before = sys.getprofile()

    def note(frame: FrameType, event: str, value: object) -> None:  # pragma: no cover  as above
        code = frame.f_code
        # quickly: each call and return comes here
        if id(code) in profile.each_call or (event == "call" and code not in profile.codes):
            with guard.keeping():
                profile.note(frame, event, value)

    sys.setprofile(note)
    threading.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(before)
        threading.setprofile(None)


def _is_in_its_body(frame: FrameType) -> bool:  # pragma: no cover  a profile function calls it
    """Tell whether a call runs: Python 3.11 also calls a generator that ends before it began."""
    return frame.f_code.co_code[max(frame.f_lasti, 0)] != dis.opmap["RETURN_GENERATOR"]


def _name_of(frame: FrameType | None) -> Fact | str:  # pragma: no cover  as above
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


def _ran_without(lifespan: CodeType, codes: Collection[CodeType]) -> bool:
    """Tell whether a library did without its lifespan, and ran a function that this would call."""
    if is_own(lifespan.co_filename):
        return False
    same_file = [code for code in codes if code.co_filename == lifespan.co_filename]
    return any(code.co_name in lifespan.co_names for code in same_file)


# ---- which of several functions with the same code -----------------------------------------------


def _sharing(lifespans: Collection[Registered]) -> dict[CodeType, dict[int, Any]]:
    """Return the code that several functions or objects have, with these by their IDs."""
    by_code: dict[CodeType, dict[int, Any]] = {}
    for registered in lifespans:
        if registered.code:
            by_code.setdefault(registered.code, {})[id(registered.value)] = registered.value
    return {code: values for code, values in by_code.items() if len(values) > 1}


def _is_call_of(frame: FrameType, value: Any) -> bool:  # pragma: no cover  as above
    """Tell whether a frame is of this function or object, and not of another with the same code."""
    if isinstance(value, FunctionType):
        return _has_variables_of(frame, unwrap(value))
    if not frame.f_code.co_argcount:
        return False
    receiver = frame.f_locals.get(frame.f_code.co_varnames[0])
    if isinstance(value, MethodType):
        return value.__self__ is receiver
    return receiver is value or type(receiver) is value


def _has_variables_of(frame: FrameType, function: Any) -> bool:  # pragma: no cover  as above
    """Tell whether a frame has the variables of the function around it that this one has."""
    names = frame.f_code.co_freevars
    if not names or not function.__closure__:  # nothing tells one from another
        return False
    variables = frame.f_locals
    for name, cell in zip(names, function.__closure__, strict=False):
        if variables.get(name) is not _content(cell):
            return False
    return True


def _content(cell: CellType) -> object:  # pragma: no cover  as above
    try:
        return cell.cell_contents
    except ValueError:  # its variable has no value yet
        return None


def _functions(value: Any) -> Iterator[Any]:  # pragma: no cover  as above
    """Yield a function, and those that it wraps."""
    while value is not None:
        yield value
        if not isinstance(value, FunctionType):
            return
        value = getattr(value, "__wrapped__", None)
