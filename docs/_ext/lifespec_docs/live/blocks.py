"""Runs the examples of a page for its reader, as the documents' build runs them.

An example that the reader has edited is compared with nothing: an exception is printed as Python
prints it, with the frames of the page's programs alone.
"""

from __future__ import annotations

import io
import linecache
import traceback
from contextlib import redirect_stderr
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from lifespec_docs.diagrams.event_log import event_log
from lifespec_docs.examples.runner import (
    Example,
    ExampleFailed,
    Namespace,
    Run,
    lengths,
    run,
    serve_app,
    spoken_since,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["EDITED", "MOST_TEXT", "run_blocks", "told", "tried"]

EDITED = "example.py"  # as tracebacks name it, whose lines count from its own first
MOST_TEXT = 20_000  # characters of output that are shown


@dataclass
class _Page:
    """The examples that ran last, in this order, what they share, and the first that failed."""

    done: list[Example] = field(default_factory=list)
    failed: tuple[int, str] | None = None

    def __post_init__(self) -> None:
        self.output = _Output(str)
        self.namespace = Namespace(self.output)


class _Output(io.StringIO):
    """Tells each text as it is written, the first `MOST_TEXT` characters."""

    def __init__(self, notify: Callable[[str], object]) -> None:
        super().__init__()
        self.notify, self.room = notify, MOST_TEXT

    def write(self, text: str, /) -> int:
        """Keep a text, and tell it."""
        if self.room > 0:
            self.notify(text[: self.room])
        self.room -= len(text)
        return super().write(text)


_last = _Page()


def run_blocks(request: dict[str, Any], notify: Callable[[str], object] = str) -> dict[str, Any]:
    """Run the last of `blocks` after the others; return its output and its event log.

    `edited` has the reader's text of some of them, by number. The output is the `same` as the
    page's, or not, or None if the reader has edited one; `complaint` says what is not the same, and
    `before` names the first of the others that failed: its number and its exception. What is
    written to standard error is `errors`. `words` are the event log's, in the language of the page;
    `notify` is given each text of the last example when it comes.
    """
    edited, words = request["edited"], request["words"]
    blocks = [_block(row, edited.get(str(number))) for number, row in enumerate(request["blocks"])]
    errors = _Output(notify)
    with redirect_stderr(errors):
        namespace = _namespace_after(blocks[:-1])
        errors.seek(errors.truncate(0))
        _last.done = blocks
        _last.output.notify, _last.output.room = notify, MOST_TEXT
        done, complaint, raised = _done(blocks[-1], namespace)
    if raised and not _last.failed:
        _last.failed = len(blocks) - 1, raised
    before = _last.failed if _last.failed and _last.failed[0] < len(blocks) - 1 else None
    return {
        "output": _cut(done.output),
        "errors": _cut(errors.getvalue()),
        "same": None if edited else not complaint,
        "complaint": complaint,
        "before": before,
        "log": event_log(done.conversations, lambda word: words.get(word, word)),
    }


def _cut(text: str) -> str:
    return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]} …\n"


def _block(row: dict[str, Any], edited: str | None) -> Example:
    values: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in row.items()
    }
    block = Example(**values)
    if edited is None:
        return block
    return replace(block, page=EDITED, line=1, source=edited, expected=None)


def _namespace_after(blocks: Sequence[Example]) -> Namespace:
    """Return a namespace in which these ran, and nothing else; the last one if that is so."""
    global _last  # noqa: PLW0603  what one call leaves is for the next
    if _last.done != blocks:
        _last.namespace.close()
        _last = _Page()
        for number, block in enumerate(blocks):
            *_, raised = _done(block, _last.namespace)
            if raised and not _last.failed:
                _last.failed = number, raised
    return _last.namespace


def _done(block: Example, namespace: Namespace) -> tuple[Run, str, str]:
    """Return what came of a block, what the page says otherwise, and what it raised."""
    if block.page == EDITED:
        done, raised = tried(block, namespace)
        return done, "", raised
    before = lengths(namespace)
    try:
        return run(block, namespace), "", ""
    except ExampleFailed as failure:
        cause = failure.__cause__
        shown = told(cause, block.page) if cause else ""
        done = Run(failure.output + shown, spoken_since(before, namespace))
        return done, str(failure), type(cause).__name__ if cause else ""


def tried(block: Example, namespace: Namespace) -> tuple[Run, str]:
    """Run a program and compare nothing; what it raises is printed, and its class returned."""
    before, start = lengths(namespace), len(namespace.stdout.getvalue())
    # so that a traceback shows the lines
    linecache.cache[block.page] = (0, None, block.source.splitlines(keepends=True), block.page)
    raised = ""
    with namespace.staged():
        try:
            code = compile(block.source, block.page, "exec", dont_inherit=True)
            exec(code, namespace.names)  # noqa: S102  a reader's own program
            serve_app(block, namespace)
        except BaseException as error:
            raised = type(error).__name__
            print(told(error, block.page), end="")  # noqa: T201
    output = namespace.stdout.getvalue()[start:]
    return Run(output, spoken_since(before, namespace)), raised


def told(error: BaseException, file: str) -> str:
    """Return a traceback with the frames of a program alone."""
    found = traceback.TracebackException.from_exception(error)
    _shorten(found, file)
    return "".join(found.format())


def _shorten(found: traceback.TracebackException, file: str) -> None:
    found.stack[:] = [frame for frame in found.stack if frame.filename == file]
    for each in (found.__cause__, found.__context__, *(found.exceptions or ())):
        if each is not None:
            _shorten(each, file)
