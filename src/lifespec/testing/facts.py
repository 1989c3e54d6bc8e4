"""Observations as data: facts, exceptions, and places in the code of an application's author."""

import gc
import importlib.util
import linecache
import os
import sys
import traceback
from asyncio import Task
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from types import (
    AsyncGeneratorType,
    CoroutineType,
    FrameType,
    GeneratorType,
    ModuleType,
    TracebackType,
)
from typing import Any, NamedTuple, Self

Frames = Iterable[tuple[FrameType, int]]  # each with its line, the outermost first


LONGEST = 2000  # characters of an exception's text
_CALLS: Mapping[type, tuple[str, str]] = {  # where the frame of a call is, and what it awaits
    CoroutineType: ("cr_frame", "cr_await"),
    GeneratorType: ("gi_frame", "gi_yieldfrom"),
    AsyncGeneratorType: ("ag_frame", "ag_await"),
}
_LIBRARY = str(Path(os.__file__).parent)
_PACKAGE = str(Path(__file__).parents[1])
_INSTALLED = {"site-packages", "dist-packages"}
_checked: list[str] = []  # the folder or file of the package that this process checks


def _(english: str) -> str:
    """Return the sentence; the catalogs are made of what this is called with."""
    return english


SENTENCES: Mapping[str, str] = {
    "task-left": _("a task that still runs: {name}. Cancel it in the clean-up."),
    "task-unawaited": _(
        "a task that was cancelled and still runs: {name}. Await it after its cancellation."
    ),
    "thread-left": _("a thread that is not a daemon: {name}. The process does not end before it."),
    "process-left": _("a child process that still runs: {name}."),
    "logged": _("{level} {logger}: {message}"),
    "logged-error": _("{level} {logger}: {message} ({error})"),
    "at-place": _("{what}, in {place}"),
    "error": "{type}: {text}",
    "error-bare": "{type}",
    "task": _("{name}, made in {place}"),
    "thread": _("{name}, started in {place}"),
    "thread-of": _("{name}, started by {package} in {place}"),
    "place": _("`{function}`, {file}:{line}"),
}


class Fact(NamedTuple):
    """An observation: the kind of a sentence, and the parts that stand in that sentence.

    A part is a string, a number, another fact, or a tuple of these.  A string comes from outside,
    such as a name or a message, and is never translated.  `str()` knows the kinds of SENTENCES.
    """

    kind: str
    parts: Mapping[str, Any] = {}

    def __str__(self) -> str:
        return SENTENCES[self.kind].format(**self.parts)

    def __hash__(self) -> int:
        return hash(repr(self))

    def data(self) -> dict[str, Any]:
        """Return what JSON can hold: nested objects with a key `kind`, and the parts."""
        return {"kind": self.kind, **{name: _data(part) for name, part in self.parts.items()}}


def fact(kind: str, /, **parts: Any) -> Fact:
    """Return a fact of this kind with these parts."""
    return Fact(kind, parts)


def _data(part: Any) -> Any:
    if isinstance(part, Fact):
        return part.data()
    return [*map(_data, part)] if isinstance(part, tuple) else part


# ---- places ------------------------------------------------------------------------------------


class Place(NamedTuple):
    """A function, its file relative to the current folder, a line, and the source of that line."""

    function: str
    file: str
    line: int
    source: str = ""

    @classmethod
    def at(cls, function: str, file: str, line: int) -> Self:
        """Return the place at a line of a file."""
        return cls(function, short(Path(file)), line, linecache.getline(file, line).strip())

    def fact(self) -> Fact:
        """Return the place as part of a sentence."""
        return fact("place", function=self.function, file=self.file, line=self.line)

    def __str__(self) -> str:
        return str(self.fact())


def own_package(name: str) -> None:
    """Treat the code of a package as its author's in this process, even if it is installed."""
    _checked.clear()
    with suppress(ImportError, ValueError):  # such as the module `__main__`
        spec = importlib.util.find_spec(name)
        if spec and spec.origin:
            file = Path(spec.origin)
            _checked.append(str(file.parent if spec.submodule_search_locations else file))


def is_own(file: str) -> bool:
    """Tell whether a file is the author's; one such as `<string>` is not."""
    if file.startswith((_LIBRARY, _PACKAGE, "<")) or _INSTALLED & {*Path(file).parts}:
        return file.startswith(tuple(_checked))
    return True


def own_modules() -> list[tuple[ModuleType, Path]]:
    """Return the author's modules that are imported, each with its file."""
    found = [(each, getattr(each, "__file__", None)) for each in [*sys.modules.values()]]
    return [(module, Path(file)) for module, file in found if file and is_own(file)]


def library(module: str) -> str:
    """Return the installed package that has a module, or "" if that is the author's or Python's."""
    package = module.partition(".")[0]
    file = getattr(sys.modules.get(package), "__file__", None) or ""
    return package if "-packages" in file and not is_own(file) else ""


def is_lifespec(file: str) -> bool:
    """Tell whether a file is lifespec's."""
    return file.startswith(_PACKAGE)


def short(file: Path) -> str:
    """Return a path relative to the current folder, or only the name of the file."""
    with suppress(OSError, ValueError):  # the current folder was removed, or the file is elsewhere
        return str(file.relative_to(Path.cwd()))
    return file.name


def places(frames: Frames) -> list[Place]:
    """Return the places in the author's own code."""
    found = [(frame.f_code, line) for frame, line in frames]
    return [
        Place.at(code.co_qualname.rpartition("<locals>.")[2], code.co_filename, line)
        for code, line in found
        if is_own(code.co_filename)
    ]


def place(frames: Frames) -> Place | None:
    """Return the innermost place in the author's own code, None if there is none."""
    return next(reversed(places(frames)), None)


def caller(frame: FrameType) -> Place | None:
    """Return the place in the author's own code from which a frame was called."""
    return place([*traceback.walk_stack(frame)][::-1])


def awaited(call: object) -> Iterator[tuple[FrameType, int]]:
    """Yield the frames of a coroutine and of what it awaits, the outermost first."""
    while call is not None:
        if names := _CALLS.get(type(call)):
            frame, call = (getattr(call, name) for name in names)
            if frame is not None:
                yield frame, frame.f_lineno
        elif isinstance(call, Task):
            call = call.get_coro()
        else:  # what `await` makes of a task, of a coroutine, of an asynchronous generator
            found = gc.get_referents(call)
            call = next((each for each in found if isinstance(each, (Task, *_CALLS))), None)


def without_lifespec(traceback: TracebackType | None) -> TracebackType | None:
    """Return a traceback from the application's first frame on."""
    found = traceback
    while found and is_lifespec(found.tb_frame.f_code.co_filename):
        found = found.tb_next
    return found or traceback


# ---- exceptions --------------------------------------------------------------------------------


class Error(NamedTuple):
    """An exception as data: of a group the first; the place is in its author's own code.

    `kinds` are the names of its classes and those of the exceptions that it came from, `texts` the
    texts of all these, and `file` is where it was raised.
    """

    type: str
    text: str
    place: Place | None
    kinds: tuple[str, ...] = ()
    texts: str = ""
    file: str = ""

    def fact(self) -> Fact:
        """Return the exception as part of a sentence."""
        kind = "error" if self.text else "error-bare"
        text = self.text if self.text.endswith("..") else self.text.removesuffix(".")
        what = fact(kind, type=self.type, text=text)
        return fact("at-place", what=what, place=self.place.fact()) if self.place else what


def described(error: BaseException) -> Error:
    """Return an exception as data."""
    errors = [*_chain(error)]
    found = map(_origin, errors)
    first = errors[0]
    text = " ".join(_text(first).split())
    kinds = tuple(dict.fromkeys(kind.__name__ for each in errors for kind in type(each).__mro__))
    texts = "\n".join(map(_text, errors))
    files = [frame.f_code.co_filename for frame, _line in traceback.walk_tb(first.__traceback__)]
    file = files[-1] if files else ""
    return Error(type(first).__name__, text, next(filter(None, found), None), kinds, texts, file)


def _origin(error: BaseException) -> Place | None:
    """Return where an exception came from: a CancelledError from who awaited what was cancelled.

    That is the first of the author's frames behind the last one of a library that called them.
    """
    frames = traceback.walk_tb(error.__traceback__)
    runs = [[*run] for own, run in groupby(frames, lambda each: is_own(_file(each))) if own]
    run = runs[-1] if runs else []
    return place(run[:1] if type(error).__name__ == "CancelledError" else run)


def _file(frame: tuple[FrameType, int]) -> str:
    return frame[0].f_code.co_filename


def _text(error: BaseException) -> str:
    try:
        return str(error)[:LONGEST]
    except Exception:
        return ""


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the exceptions of a group before it, and those that it was raised from or after."""
    if error is None:
        return
    for each in error.exceptions if isinstance(error, BaseExceptionGroup) else ():
        yield from _chain(each)
    yield error
    yield from _chain(error.__cause__ or error.__context__)
