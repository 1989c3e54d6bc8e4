"""What an application prints while a case is played: a file, whose last lines a report shows."""

import contextlib
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

LAST_LINES = 10  # that a report shows
LONGEST_LINE = 200  # characters of a line
MOST_WRITTEN_OUT = 10_000_000  # bytes that may be written before they are thrown away
LAST_BYTES = 64_000  # bytes in which the last lines are looked for


class Output:
    """A file that takes what a process prints; `name` is its path."""

    def __init__(self) -> None:
        # delete it by its name, as other processes open it by that
        self.file: Any = tempfile.NamedTemporaryFile("rb", prefix="lifespec-")  # noqa: SIM115
        self.name: str = self.file.name

    def limit(self) -> None:
        """Throw away what was written if it is very much: a loop that prints fills no disk."""
        if os.fstat(self.file.fileno()).st_size > MOST_WRITTEN_OUT:
            os.truncate(self.name, 0)

    def last_lines(self) -> tuple[str, ...]:
        """Return the last lines that are not empty."""
        size = os.fstat(self.file.fileno()).st_size
        self.file.seek(max(size - LAST_BYTES, 0))
        text = self.file.read().decode("utf-8", "replace")
        lines = [line.rstrip()[:LONGEST_LINE] for line in text.splitlines()]
        return tuple(filter(None, lines))[-LAST_LINES:]

    def close(self) -> None:
        """Remove the file."""
        self.file.close()


def redirect(path: str) -> None:
    """Let this process print into a file, line by line: it may end without a flush."""
    with Path(path).open("ab") as file:  # what others append is not written over
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):  # somebody has replaced it
            stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]
