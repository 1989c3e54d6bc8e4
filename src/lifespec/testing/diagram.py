"""A message sequence as a diagram of ASCII characters, for any terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lifespec.testing.trace import Entry

__all__ = ["sequence"]

_INNER, _LINES = 56, 5


def sequence(
    entries: Sequence[Entry], server: str = "server", application: str = "application"
) -> str:
    """Draw a message sequence as a diagram of ASCII characters, 73 columns wide."""
    head = f"{'':9}{server}{application:>{_INNER + 8 - len(server)}}"
    timed = any(entry.time for entry in entries)
    last = len(entries) - 1
    lines = [
        line
        for number, entry in enumerate(entries)
        for line in _lines(entry, timed=timed, last=number == last)
    ]
    return "\n".join([head, *lines])


def _lines(entry: Entry, *, timed: bool, last: bool) -> Iterator[str]:
    time = f"{entry.time:7.3f} s " if timed else ""
    left, right = "|", "|"
    label = _clipped(f" {entry.type} ", _INNER - 6)
    match entry.kind:
        case "called" | "received":
            arrow = f"--{label}".ljust(_INNER - 1, "-") + ">"
        case "sent":
            arrow = "<" + f"{label}--".rjust(_INNER - 1, "-")
        case "refused":
            arrow = "X" + f"{label}--".rjust(_INNER - 1, "-")
        case "cancelled":
            arrow, right = "-- cancelled ".ljust(_INNER - 1, "-") + ">", "X" if last else "|"
        case _:
            arrow, right = f"{entry.kind}{label.rstrip()} ".rjust(_INNER), "X"
    yield f"{time:10} {left}{arrow}{right}".rstrip()
    yield from (f"{'':11}|  {_clipped(part, _INNER)}" for part in _shortened(entry.detail))


def _shortened(detail: str) -> list[str]:
    """Return the lines of a detail; of a long one, such as a traceback, the last."""
    lines = [line.strip() for line in detail.splitlines()]
    return lines if len(lines) <= _LINES else ["...", *lines[1 - _LINES :]]


def _clipped(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 4]}... "
