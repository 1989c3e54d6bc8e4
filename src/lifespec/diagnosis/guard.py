"""Who observes a program raises nothing into it: what goes wrong there is lifespec's, and is kept.

Self-contained, for Python 3.9 and newer.
"""

from __future__ import annotations

import functools
import os
from collections import namedtuple

TYPE_CHECKING = False
if TYPE_CHECKING:  # each process pays for what is imported here
    from collections.abc import Callable, Iterable
    from typing import Any, TypeVar

    Seen = TypeVar("Seen")
    Observer = TypeVar("Observer", bound=Callable[..., None])

MOST_KEPT = 20  # failures that are kept: one that comes back in each look says the same
_LONGEST_TEXT = 200  # characters of an exception's text
# the folder of this package, or that in which this file travels
_OURS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")

# an exception of lifespec itself: its class, its text, and the line of lifespec that met it
OwnFailure = namedtuple("OwnFailure", ("type", "text", "file", "line", "function"))

_failures: list[OwnFailure] = []


class keeping:
    """Keep what the body of `with` raises, and go on after it.

    A KeyboardInterrupt is passed on: it is no failure, and somebody waits for it.
    """

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if error is None or isinstance(error, KeyboardInterrupt):
            return False
        keep(error)
        return True


def guarded(observer: Observer) -> Observer:
    """Let a function that returns nothing keep what it raises."""

    @functools.wraps(observer)
    def keeps(*arguments: Any, **options: Any) -> None:
        with keeping():
            observer(*arguments, **options)

    return keeps  # type: ignore[return-value]


def listed(observer: Callable[..., Iterable[Seen]], *arguments: Any) -> list[Seen]:
    """Return what an observer finds, as a list; an empty one if it fails."""
    with keeping():
        return list(observer(*arguments))
    return []


def keep(error: BaseException) -> None:
    """Keep a failure of lifespec, once for each line."""
    file, line, function = _met_at(error)
    if len(_failures) < MOST_KEPT:
        failure = OwnFailure(type(error).__name__, _short_text(error), file, line, function)
        if failure[2:] not in [known[2:] for known in _failures]:
            _failures.append(failure)


def take() -> list[OwnFailure]:
    """Return the failures so far, and forget them."""
    taken = _failures[:]
    del _failures[: len(taken)]
    return taken


def _met_at(error: BaseException) -> tuple[str, int, str]:
    """Return the innermost line of lifespec: what it calls there may be the application's."""
    met_at = ("", 0, "")
    traceback: Any = BaseException.__traceback__  # whatever the class of the error says
    trace = traceback.__get__(error)
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename.startswith(_OURS) and code.co_filename != __file__:
            met_at = (code.co_filename, trace.tb_lineno, code.co_name)
        trace = trace.tb_next
    return met_at


def _short_text(error: BaseException) -> str:  # as `stacks.text_of`: this module travels alone
    try:
        return str(error)[:_LONGEST_TEXT]
    except BaseException:  # of a class of the application
        return ""
