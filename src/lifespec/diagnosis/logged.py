"""What was logged: errors, and warnings of what was never awaited, closed or stopped."""

import logging
import re
import sys
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from lifespec.diagnosis.author import described
from lifespec.diagnosis.fact import Error, Fact, Place, fact
from lifespec.diagnosis.guard import guarded
from lifespec.diagnosis.stacks import is_installed, is_own, text_of

_UNAWAITED = "was never awaited"
_UNCLOSED = re.compile(r"^[Uu]nclosed (?!event loop)")
# Python says only in the text of its warning where a coroutine was made: one such line a frame
_ORIGIN = re.compile(r'^  File "(.*)", line (\d+), in (.*)$', re.MULTILINE)
_ORIGIN_DEPTH = 4  # frames that Python keeps: who made a coroutine, and who called that
_NUMBERS = re.compile(r" at 0x\w+|fd=\d+,? ?| laddr=\([^)]*\),?")  # of which each run has others


class Logged(NamedTuple):
    """A record or warning: level, logger, message, when it was made, and the exception with it."""

    level: str
    logger: str
    message: str
    time: float
    error: Error | None = None
    made_at: Place | None = None  # the author's line that made the coroutine of which it is

    def fact(self) -> Fact:
        """Return the record as part of a sentence."""
        parts = {"level": self.level, "logger": self.logger, "message": self.message}
        if self.error:
            return fact("logged-error", **parts, error=self.error.fact())
        if self.made_at:
            return fact("logged-made", **parts, place=self.made_at.fact())
        return fact("logged", **parts)


def _is_finalized() -> bool:
    """Tell whether a library says something as one of its objects goes: nobody has closed that."""
    for frame, _line in traceback.walk_stack(None):
        if frame.f_code.co_name == "__del__" and is_installed(frame.f_code.co_filename):
            return True
    return False


class _Errors(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.logged: list[Logged] = []

    @guarded  # logging lets what a handler raises out of the application's call
    def emit(self, record: logging.LogRecord) -> None:
        if record.name == "lifespec.server":  # the report says the same
            return
        text = _message_of(record)
        if record.levelno < logging.ERROR and not _is_finalized():
            return
        error = None
        if record.exc_info and record.exc_info[1] is not None:
            error = described(record.exc_info[1])
        line = next(iter(text.splitlines()), "")
        self.logged.append(Logged(record.levelname, record.name, line, time.monotonic(), error))


def _message_of(record: logging.LogRecord) -> str:
    """Return the message of a record, or what was to become one, if its arguments do not fit."""
    try:
        return record.getMessage()
    except KeyboardInterrupt:
        raise
    except BaseException:  # logging prints the error of the application, and goes on
        return text_of(record.msg)


@contextmanager
def logging_errors() -> Iterator[list[Logged]]:
    """Collect the records of level ERROR and above, and warnings of what libraries finalize.

    Those of loggers that do not propagate count, too.
    """
    loggers: list[logging.Logger] = [logging.root]
    for logger in logging.root.manager.loggerDict.values():
        if isinstance(logger, logging.Logger) and not logger.propagate:  # others only hold a place
            loggers.append(logger)
    handler = _Errors()
    for logger in loggers:
        logger.addHandler(handler)
    try:
        yield handler.logged
    finally:
        for logger in loggers:
            logger.removeHandler(handler)


def _is_told(category: type[Warning], text: str) -> bool:
    """Tell whether a warning is of something that was never awaited, or not closed."""
    if category is RuntimeWarning:
        return _UNAWAITED in text
    return category is ResourceWarning and _UNCLOSED.search(text) is not None


def _made_at(text: str) -> Place | None:
    """Return the innermost line of the author's that Python names as where a coroutine was made."""
    for file, line, function in reversed(_ORIGIN.findall(text)):
        if is_own(file):
            return Place.at(function, file, int(line))
    return None


@contextmanager
def noting_warnings(logged: list[Logged]) -> Iterator[None]:
    """Add Python's warnings of coroutines that were never awaited, and of what was not closed."""

    @guarded
    def note(message: Warning | str, category: type[Warning], *_: object) -> None:
        text = text_of(message)
        if _is_told(category, text):
            shown = _NUMBERS.sub("", text)
            made_at = None
            if category is RuntimeWarning:
                shown = shown.partition("\n")[0]
                made_at = _made_at(text)
            now = time.monotonic()
            logged.append(Logged("WARNING", category.__name__, shown, now, made_at=made_at))

    depth = sys.get_coroutine_origin_tracking_depth()
    sys.set_coroutine_origin_tracking_depth(max(depth, _ORIGIN_DEPTH))
    with warnings.catch_warnings():
        warnings.filterwarnings("always", f".*{_UNAWAITED}")  # also where pytest makes it an error
        warnings.filterwarnings("always", category=ResourceWarning)
        warnings.showwarning = note  # type: ignore[assignment]
        try:
            yield
        finally:
            sys.set_coroutine_origin_tracking_depth(depth)
