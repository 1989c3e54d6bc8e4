"""What the command writes: standard output, and files that are whole or not there."""

from __future__ import annotations

import errno
import itertools
import os
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from lifespec.conformance.unchecked import Unchecked

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Self

__all__ = ["OutputFailed", "Target", "refuse_the_same", "writing"]


class OutputFailed(Exception):
    """Standard output took no more; `str()` says why."""


@contextmanager
def writing() -> Iterator[None]:
    """Raise what keeps standard output from being written as that; a closed pipe as it is."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputFailed(error.strerror or error) from None


def refuse_the_same(paths: Iterable[Path]) -> None:
    """Raise Unchecked if two of the paths lead to one file, which is no device or pipe."""
    found = set()
    for path in paths:
        real = os.path.realpath(path)
        if real in found and (path.is_file() or not path.exists()):
            raise Unchecked(f"{path} is given for two reports: name another file for one of them")
        found.add(real)


class Target:
    """A file to be written in the end; as a context manager, it is refused at the beginning.

    What is there by then stays as it is until the whole file is there; of a device or a pipe there
    is no whole.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._part: Path | None = None

    def __enter__(self) -> Self:
        with self._refused():
            self._begin(Path(os.path.realpath(self.path)))
        return self

    def __exit__(self, *_: object) -> None:
        if self._part:
            self._part.unlink(missing_ok=True)

    def write(self, text: str) -> None:
        """Write the whole file."""
        content = text.encode("utf-8", "backslashreplace")
        with self._refused():
            (self._part or self.path).write_bytes(content)
            if self._part:
                self._part.replace(os.path.realpath(self.path))

    def _begin(self, path: Path) -> None:
        """Make the file in which it is written until it is whole, in the same folder."""
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if path.exists() and not path.is_file():
            return
        part = path.with_name(f".{path.name[:100]}.{os.getpid()}.{next(_numbers)}")
        part.touch(exist_ok=False)
        self._part = part
        with suppress(FileNotFoundError):
            part.chmod(path.stat().st_mode)

    @contextmanager
    def _refused(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise Unchecked(
                f"{self.path} cannot be written: {error.strerror}; name another"
            ) from None


_numbers = itertools.count(1)
