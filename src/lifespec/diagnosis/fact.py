"""Facts: what was observed, as data; places in code and exceptions are parts of them."""

import linecache
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

from lifespec.diagnosis.stacks import ErrorData

INSTALLED = ("site-packages", "dist-packages")  # where packages are


class Fact(NamedTuple):
    """An observation: the kind of a sentence, and the parts that stand in that sentence.

    A part is a string, a number, another fact, or a tuple of these.  A string comes from outside,
    such as a name or a message, and is never translated.
    """

    kind: str
    parts: Mapping[str, Any] = {}

    def __hash__(self) -> int:
        return hash(repr(self))

    def at(self, place: "Place | None", kind: str = "at-place") -> "Fact":
        """Return this fact with its place, if that is known."""
        if place is None:
            return self
        return fact(kind, what=self, place=place.fact())

    def data(self) -> dict[str, Any]:
        """Return what JSON can hold: nested objects with a key `kind`, and the parts."""
        data: dict[str, Any] = {"kind": self.kind}
        for name, part in self.parts.items():
            data[name] = _data(part)
        return data


def fact(kind: str, /, **parts: Any) -> Fact:
    """Return a fact of this kind with these parts."""
    return Fact(kind, parts)


def kinds_in(part: object) -> Iterator[str]:
    """Yield the kind of a fact, and those of its parts."""
    if isinstance(part, Fact):
        yield part.kind
        for inner in part.parts.values():
            yield from kinds_in(inner)


def _data(part: Any) -> Any:
    if isinstance(part, Fact):
        return part.data()
    if isinstance(part, tuple):
        return list(map(_data, part))
    return part


def short_path(file: Path) -> str:
    """Return a path by which a file can be found: as an import would find it, if it is installed.

    Else relative to the current folder, or to the folder of sys.path that has it.
    """
    parts = file.parts
    for number in range(len(parts) - 1, 0, -1):
        if parts[number - 1] in INSTALLED:
            return str(Path(*parts[number:]))
    here = current_folder()
    if here and file.is_relative_to(here):
        return str(file.relative_to(here))
    folders = [folder for folder in filter(None, sys.path) if file.is_relative_to(folder)]
    if not folders:
        return str(file)
    return str(file.relative_to(max(folders, key=len)))


def current_folder() -> str:
    """Return the current folder, or that in which this process began; "" if neither is known.

    It may have been removed, and blockbuster forbids to ask for it in an event loop.
    """
    try:
        return os.getcwd()  # noqa: PTH109
    except Exception:
        return os.environ.get("PWD", "")


class Place(NamedTuple):
    """A function, its file (see `short_path`), a line, and the source of that line."""

    function: str
    file: str
    line: int
    source: str = ""

    @classmethod
    def at(cls, function: str, file: str, line: int) -> Self:
        """Return the place at a line of a file."""
        return cls(function, short_path(Path(file)), line, linecache.getline(file, line).strip())

    def fact(self) -> Fact:
        """Return the place as part of a sentence."""
        return fact("place", function=self.function, file=self.file, line=self.line)


class Error(NamedTuple):
    """An exception as data: of a group the first; the place is in its author's own code.

    `chain` is this one and those that it came from, and `file` is where it was raised.
    """

    type: str
    text: str
    place: Place | None
    chain: tuple[ErrorData, ...] = ()
    file: str = ""

    def of(self, *classes: str) -> list[ErrorData]:
        """Return those of the chain that are of one of these classes, by their whole names."""
        return [raised for raised in self.chain if not set(classes).isdisjoint(raised.classes)]

    def fact(self) -> Fact:
        """Return the exception as part of a sentence."""
        kind = "error" if self.text else "error-bare"
        text = self.text
        if not text.endswith(".."):  # a full stop would end the sentence that this is a part of
            text = text.removesuffix(".")
        return fact(kind, type=self.type, text=text).at(self.place)
