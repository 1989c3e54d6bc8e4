"""Where a value depends on conditions: the fewest rows that say which, with the condition of each.

A value is known for each combination of conditions, such as Python and number of workers.  What is
the same under all of them is said once.  Otherwise the values are split by one condition, and each
part again, in the order that needs the fewest rows.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

Combination = tuple[str, ...]  # a value of each condition: the keys of what is split


class Split(NamedTuple):
    """A value, and the conditions under which it holds; none if it holds under all."""

    conditions: Sequence[str]
    value: Any


def split(values: Mapping[Any, Any]) -> list[Split]:
    """Return the distinct values with the conditions that tell them apart."""
    first = next(iter(values.values()))
    if all(value == first for value in values.values()):
        return [Split([], first)]
    best: list[Split] = []
    for place in range(len(next(iter(values)))):
        rows = _by(values, place)
        if rows and (not best or len(rows) < len(best)):
            best = rows
    return best


def _by(values: Mapping[Any, Any], place: int) -> list[Split]:
    """Return the rows if the condition at a place is asked first; none if it has one value only."""
    names = list(dict.fromkeys(combination[place] for combination in values))
    if len(names) == 1:
        return []
    rows = []
    for name in names:
        part = {key: value for key, value in values.items() if key[place] == name}
        rows += [Split([name, *row.conditions], row.value) for row in split(part)]
    return rows


TABLES: dict[str, Any] = {}
