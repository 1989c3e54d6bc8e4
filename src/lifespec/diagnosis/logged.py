"""What was logged: errors, and warnings of coroutines that were never awaited."""

import logging
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from lifespec.diagnosis.author import described
from lifespec.diagnosis.fact import Error, Fact, fact

_UNAWAITED = "was never awaited"


class Logged(NamedTuple):
    """A record of level ERROR or above, when it was made, and the exception with it."""

    level: str
    logger: str
    message: str
    time: float
    error: Error | None = None

    def fact(self) -> Fact:
        """Return the record as part of a sentence."""
        parts = {"level": self.level, "logger": self.logger, "message": self.message}
        if self.error:
            return fact("logged-error", **parts, error=self.error.fact())
        return fact("logged", **parts)


class _Errors(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[Logged] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.name == "lifespec.server":  # the report says the same
            return
        error = described(record.exc_info[1]) if record.exc_info and record.exc_info[1] else None
        line = next(iter(record.getMessage().splitlines()), "")
        self.found.append(Logged(record.levelname, record.name, line, time.monotonic(), error))


@contextmanager
def logging_errors() -> Iterator[list[Logged]]:
    """Collect the records of level ERROR and above, of loggers that do not propagate, too."""
    known = logging.root.manager.loggerDict.values()
    apart = [each for each in known if isinstance(each, logging.Logger) and not each.propagate]
    handler = _Errors()
    for logger in (logging.root, *apart):
        logger.addHandler(handler)
    try:
        yield handler.found
    finally:
        for logger in (logging.root, *apart):
            logger.removeHandler(handler)


@contextmanager
def noting_unawaited(logged: list[Logged]) -> Iterator[None]:
    """Add the warnings of coroutines that were never awaited: their code did not run."""

    def note(message: Warning | str, category: type[Warning], *_: object) -> None:
        row = Logged("WARNING", category.__name__, str(message), time.monotonic())
        logged.extend([row] * (_UNAWAITED in row.message))

    with warnings.catch_warnings():
        warnings.filterwarnings("always", f".*{_UNAWAITED}")  # also where pytest makes it an error
        warnings.showwarning = note  # type: ignore[assignment]
        yield
