"""Whose code is it: the author's, a library's or lifespec's; and where an exception came from."""

import importlib.util
import re
import sys
import traceback
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType, ModuleType, TracebackType

from lifespec.diagnosis import stacks
from lifespec.diagnosis.fact import Error, Fact, Place, fact
from lifespec.diagnosis.guard import OwnFailure
from lifespec.diagnosis.stacks import (
    Line,
    chain,
    is_loop,
    is_ours,
    is_own,
    line,
    of_error,
    origin,
    raised,
    text_of,
    trace_of,
)
from lifespec.diagnosis.whose import learn, treat_as_own

_STACKS = re.compile(r"\(most recent call first\):\n")  # of faulthandler
_FRAME = re.compile(r'File "(.*)", line (\d+) in (.*)')
_ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8}))")


def own_package(name: str) -> None:
    """Treat the code of a module's package as its author's here, even if it is installed.

    A namespace package may be several authors': the first package below it counts.
    """
    stacks.own_paths.clear()
    parts = name.split(".")
    with suppress(ImportError, ValueError):  # such as the module `__main__`
        for count in range(1, len(parts) + 1):
            spec = importlib.util.find_spec(".".join(parts[:count]))
            if spec and spec.origin:
                treat_as_own(spec.origin, is_package=bool(spec.submodule_search_locations))
                return


def own_modules() -> list[tuple[ModuleType, Path]]:
    """Return the author's modules that are imported, each with its file."""
    own = []
    for module in list(sys.modules.values()):  # a copy: another thread may import something
        if not issubclass(type(module), ModuleType):  # anything may stand there
            continue
        # as it is in the module: a lazy one would import what it stands for
        file = ModuleType.__getattribute__(module, "__dict__").get("__file__")
        if type(file) is str and is_own(file):
            own.append((module, Path(file)))
    return own


def library(module: str) -> str:
    """Return the installed package that has a module, or "" if that is the author's or Python's."""
    package = module.partition(".")[0]
    file = getattr(sys.modules.get(package), "__file__", None)
    if file is None:  # it is in C, or was not imported
        return ""
    if is_own(file):
        return ""
    if "-packages" in file:
        return package
    return ""


def places(lines: Iterable[Line]) -> list[Place]:
    """Return those of lines that are in the author's own code, with what stands there."""
    return [place_of(passed) for passed in lines if is_own(passed.file)]


def place_of(line: Line) -> Place:
    """Return a line as a place, whoever's it is."""
    return Place.at(line.function, line.file, line.line)


def innermost(lines: Sequence[Line]) -> Place | None:
    """Return the last of lines as a place, whoever's it is."""
    return place_of(lines[-1]) if lines else None


def place(lines: Iterable[Line]) -> Place | None:
    """Return the last place in the author's own code, None if there is none."""
    return next(reversed(places(lines)), None)


def caller(frame: FrameType) -> Place | None:
    """Return the place in the author's own code from which a frame was called.

    What has called lifespec, such as a test, is no part of the application.
    """
    frames: list[FrameType] = []
    for calling, _number in traceback.walk_stack(frame):
        if is_ours(calling.f_code.co_filename):
            break
        frames.append(calling)
    frames.reverse()
    learn(frames)
    return place(map(line, frames))


def without_lifespec(traceback: TracebackType | None) -> TracebackType | None:
    """Return a traceback from the application's first frame on."""
    first = traceback
    while first and is_ours(first.tb_frame.f_code.co_filename):
        first = first.tb_next
    if first is None:  # a failure that lifespec has raised itself has no other frame
        return traceback
    return first


def dumped(text: str) -> list[Line]:
    """Return the frames of the main thread, as faulthandler wrote them, the outermost first.

    Those that a frame of lifespec has called.  Frames of an event loop that waits are left out:
    without any other nothing blocks it.
    """
    main = _STACKS.split(text)[-1].partition("\n\n")[0]
    lines: list[Line] = []
    frames = _FRAME.findall(_ESCAPE.sub(_character, main))
    for file, number, function in frames:  # pragma: no branch  one of lifespec's is always below
        if is_ours(file):
            break
        if not is_loop(file):
            lines.append(Line(file, int(number), function))
    lines.reverse()
    return lines


def _character(escape: re.Match[str]) -> str:
    [digits] = filter(None, escape.groups())
    return chr(int(digits, 16))


# ---- exceptions --------------------------------------------------------------------------------


def described(error: BaseException) -> Error:
    """Return an exception as data."""
    errors = list(chain(error))
    for passed in errors:  # all of them first: each may tell whose the lines of the others are
        learn([frame for frame, _number in traceback.walk_tb(trace_of(passed))])
    first = errors[0]
    text = " ".join(text_of(first).split())
    lines = of_error(first)
    file = lines[-1].file if lines else ""
    return Error(type(first).__name__, text, _origin_of(errors), tuple(map(raised, errors)), file)


def _origin_of(errors: Iterable[BaseException]) -> Place | None:
    """Return the author's line that the first of exceptions with such a line came from."""
    for error in errors:
        at = origin(error)
        if at is not None:
            return place_of(at)
    return None


def own_failures(failures: Iterable[OwnFailure]) -> list[Fact]:
    """Return what went wrong in lifespec itself, as facts that ask for a report."""
    return [own_failure(failure) for failure in failures]


def own_failure(failure: OwnFailure) -> Fact:
    """Return one thing that went wrong in lifespec itself."""
    at = Place.at(failure.function, failure.file, failure.line)
    error = Error(failure.type, " ".join(failure.text.split()), None)
    return fact("own-failure", error=error.fact(), place=at.fact())
