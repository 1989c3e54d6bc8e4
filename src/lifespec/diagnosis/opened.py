"""What one has to close, and what of that is open: where the author's code made it.

A session, a client, a pool: objects of libraries that say whether they are closed.
"""

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import FrameType

from lifespec.diagnosis.author import caller, library
from lifespec.diagnosis.fact import Fact, Place, fact
from lifespec.diagnosis.registered import held
from lifespec.diagnosis.stacks import has, outward

MOST_PARTS = 1000  # of an object
_CLOSED = (("closed", "__del__"), ("is_closed", "aclose"))  # says it, and what complains or closes


class Made:
    """Where the objects were made that one has to close: by the author's line that is below."""

    def __init__(self) -> None:
        self._places: dict[int, tuple[type, Place]] = {}  # by the number of the object

    def note(self, frame: FrameType) -> None:  # pragma: no cover  a profile function calls it
        """Note where the object is made that an `__init__` gets, if one has to close it."""
        if not makes(frame):
            return
        value = _first_argument(frame)
        for outer in outward(frame):
            # not that of the object, or of what it is part of
            if outer.f_code.co_name != "__init__":
                where = caller(outer)
                if where is not None:
                    self._places[id(value)] = (type(value), where)
                return

    def place(self, value: object) -> Place | None:
        """Return where an object was made; None if that was not seen."""
        kind, where = self._places.get(id(value), (None, None))
        if kind is not type(value):  # it has the number of one that has gone
            return None
        return where


def makes(frame: FrameType) -> bool:  # pragma: no cover  a profile function calls it
    """Tell whether a call is that of an `__init__`, of an object that one has to close."""
    return frame.f_code.co_name == "__init__" and bool(_closing(type(_first_argument(frame))))


def _first_argument(frame: FrameType) -> object:  # pragma: no cover  as above
    code = frame.f_code
    if not code.co_argcount:
        return None
    return frame.f_locals.get(code.co_varnames[0])


def _closing(kind: type) -> str:
    """Return the name by which objects of a class say that they are closed, "" if they do not."""
    for name, method in _CLOSED:
        if has(kind, name) and has(kind, method):
            return name
    return ""


def unclosed(made: Made, roots: Callable[[], Iterable[object]] = tuple) -> list[Fact]:
    """Return the objects of libraries that are open and that the author has to close.

    These are made below a line of the author's, or held by one of `roots`; a library has others for
    its own use.  Of an object and its parts the object counts.  Those that were frozen before a
    process was forked are left out: the collector has none of them.
    """
    opened = _opened()
    parts: set[int] = set()  # their IDs
    for value, _package in opened:
        parts.update(map(id, _parts(value)))
    kept: Mapping[int, object] | None = None  # what the roots hold: a search, made only if needed
    facts: list[Fact] = []
    for value, package in opened:
        if id(value) in parts:
            continue
        name = fact("of-package", name=type(value).__name__, package=package)
        where = made.place(value)
        if where is not None:
            name = fact("task", name=name, place=where.fact())
        else:
            if kept is None:
                kept = held(roots())
            if id(value) not in kept:
                continue
        facts.append(fact("unclosed", name=name))
    return sorted(dict.fromkeys(facts), key=str)


def _opened() -> list[tuple[object, str]]:
    """Return the objects of libraries that say that they are not closed, each with its package."""
    closings: dict[int, tuple[str, str]] = {}  # by class: package, what says that it is closed
    opened: list[tuple[object, str]] = []
    for value in gc.get_objects():
        kind = type(value)
        if id(kind) not in closings:  # a class may have a hash of its own
            name = _closing(kind)
            package = library(str(kind.__module__)) if name else ""
            closings[id(kind)] = (package, name)
        package, name = closings[id(kind)]
        if package and _is_open(value, name):
            opened.append((value, package))
    return opened


def _is_open(value: object, name: str) -> bool:
    try:
        return getattr(value, name) is False
    except KeyboardInterrupt:
        raise
    except BaseException:  # a property is code of its library
        return False


def _parts(value: object) -> Iterator[object]:
    """Yield what an object has, as its variables or as those of its parts."""
    for part in gc.get_referents(value)[:MOST_PARTS]:
        if type(part) is dict:  # its variables
            yield from list(part.values())[:MOST_PARTS]
        elif part is not type(value):
            yield part
