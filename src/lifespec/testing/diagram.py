"""A message sequence as a diagram of text, for any terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lifespec.testing.trace import Entry

__all__ = ["sequence"]

_INNER, _LINES = 56, 5


def sequence(
    entries: Sequence[Entry],
    server: str = "server",
    application: str = "application",
    word: Callable[[str], str] = str,
    columns: Callable[[str], int] = len,
) -> str:
    """Draw a message sequence as a diagram of text, 73 columns wide.

    `word` translates the words of the diagram, and `columns` says how wide a text is.
    """
    left, right = word(server), word(application)
    head = f"{'':9}{left}{' ' * (_INNER + 8 - columns(left) - columns(right))}{right}"
    timed = any(entry.time for entry in entries)
    last = len(entries) - 1
    lines = [
        line
        for number, entry in enumerate(entries)
        for line in _lines(entry, word, columns, timed=timed, last=number == last)
    ]
    return "\n".join([head, *lines])


def _lines(
    entry: Entry,
    word: Callable[[str], str],
    columns: Callable[[str], int],
    *,
    timed: bool,
    last: bool,
) -> Iterator[str]:
    time = f"{entry.time:7.3f} s " if timed else ""
    left, right = "|", "|"
    label = _clipped(f" {entry.type} ", _INNER - 6)
    ends = f"{word(entry.kind)}{label.rstrip()} "
    cancelled = f"-- {word('cancelled')} "
    match entry.kind:
        case "called" | "received":
            arrow = f"--{label}".ljust(_INNER - 1, "-") + ">"
        case "sent":
            arrow = "<" + f"{label}--".rjust(_INNER - 1, "-")
        case "refused":
            arrow = "X" + f"{label}--".rjust(_INNER - 1, "-")
        case "cancelled":
            dashes = "-" * (_INNER - 1 - columns(cancelled))
            arrow, right = f"{cancelled}{dashes}>", "X" if last else "|"
        case _:
            arrow, right = " " * (_INNER - columns(ends)) + ends, "X"
    yield f"{time:10} {left}{arrow}{right}".rstrip()
    yield from (f"{'':11}|  {_clipped(part, _INNER)}" for part in _shortened(entry.detail))


def _shortened(detail: str) -> list[str]:
    """Return the lines of a detail; of a long one, such as a traceback, the last."""
    lines = [line.strip() for line in detail.splitlines()]
    return lines if len(lines) <= _LINES else ["...", *lines[1 - _LINES :]]


def _clipped(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 4]}... "
