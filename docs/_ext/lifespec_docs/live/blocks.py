"""Runs the examples of a page for its reader, as the documents' build runs them.

An example that the reader has edited is compared with nothing: an exception is printed as Python
prints it.
"""

from __future__ import annotations

import linecache
import traceback
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from lifespec_docs.diagrams.event_log import event_log
from lifespec_docs.examples.runner import (
    Block,
    ExampleFailed,
    Namespace,
    Run,
    lengths,
    run,
    spoken_since,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["EDITED", "run_blocks", "tried"]

EDITED = "example.py"  # as tracebacks name it, whose lines count from its own first


@dataclass
class _Page:
    """The examples that ran last, in this order, and what they share."""

    done: list[Block] = field(default_factory=list)
    namespace: Namespace = field(default_factory=Namespace)


_last = _Page()


def run_blocks(request: dict[str, Any]) -> dict[str, Any]:
    """Run the last of `blocks` after the others; return its output and its event log.

    `edited` has the reader's text of some of them, by number. The output is the `same` as the
    page's, or not, or None if the reader has edited one; `complaint` says what is not the same.
    `words` are the event log's, in the language of the page.
    """
    edited, words = request["edited"], request["words"]
    blocks = [_block(row, edited.get(str(number))) for number, row in enumerate(request["blocks"])]
    namespace = _namespace_after(blocks[:-1])
    _last.done = blocks
    done, complaint = _done(blocks[-1], namespace)
    return {
        "output": done.output,
        "same": None if edited else not complaint,
        "complaint": complaint,
        "log": event_log(done.conversations, lambda word: words.get(word, word)),
    }


def _block(row: dict[str, Any], edited: str | None) -> Block:
    values: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in row.items()
    }
    block = Block(**values)
    if edited is None:
        return block
    return replace(block, page=EDITED, line=1, source=edited, expected=None)


def _namespace_after(blocks: Sequence[Block]) -> Namespace:
    """Return a namespace in which these ran, and nothing else; the last one if that is so."""
    if _last.done != blocks:
        _last.namespace.close()
        _last.namespace = Namespace()
        for block in blocks:
            _done(block, _last.namespace)
    return _last.namespace


def _done(block: Block, namespace: Namespace) -> tuple[Run, str]:
    """Return what came of a block, and what the page says otherwise."""
    if block.page == EDITED:
        return tried(block, namespace), ""
    before = lengths(namespace)
    try:
        return run(block, namespace), ""
    except ExampleFailed as failure:
        raised = failure.__cause__
        told = "".join(traceback.format_exception(raised)) if raised else ""
        return Run(failure.output + told, spoken_since(before, namespace)), str(failure)


def tried(block: Block, namespace: Namespace) -> Run:
    """Run a program and compare nothing; what it raises is printed."""
    before, start = lengths(namespace), len(namespace.stdout.getvalue())
    # so that a traceback shows the lines
    linecache.cache[block.page] = (0, None, block.source.splitlines(keepends=True), block.page)
    with namespace.staged():
        try:
            code = compile(block.source, block.page, "exec", dont_inherit=True)
            exec(code, namespace.names)  # noqa: S102  a reader's own program
        except BaseException as error:
            inside = error.__traceback__ and error.__traceback__.tb_next
            print("".join(traceback.format_exception(error.with_traceback(inside))), end="")  # noqa: T201
    output = namespace.stdout.getvalue()[start:]
    return Run(output, spoken_since(before, namespace))
