"""What happened in a run, in the order of time, and the answers that follow from it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Answer = list[Any]  # a kind, and the names and texts that belong to it
YES, NO, NONE = ["yes"], ["no"], ["none"]


def yes_or_no(observed: object) -> Answer:
    """Return the answer for a truth value; None was not observed."""
    if observed is None:
        return NONE
    return YES if observed else NO


def count(places: Sequence[int]) -> Answer:
    """Say how often something happened."""
    if not places:
        return ["never"]
    if len(places) == 1:
        return ["once"]
    return ["times", str(len(places))]


def value(run: "Happened", kind: str, says: str) -> Answer:
    """Say what a happening has beside its kind, "" if there was none."""
    return [says, "".join(map(str, run.first(kind)[1:]))]


def holds(run: "Happened", kind: str) -> Answer:
    """Say whether a happening has something beside its kind."""
    return yes_or_no(run.first(kind)[1:])


SHARED = {"holds": holds, "value": value}  # the functions that several tables name


class Happened:
    """Happenings: lists that begin with their kind."""

    def __init__(self, happenings: Iterable[Sequence[Any]]) -> None:
        self.all = [list(happening) for happening in happenings]

    def where(self, *start: str) -> list[int]:
        """Return the places of the happenings that begin so."""
        places = []
        for place, happening in enumerate(self.all):
            if happening[: len(start)] == list(start):
                places.append(place)
        return places

    def _place(self, *start: str) -> int:
        """Return the first of these places, or the end."""
        for place in self.where(*start):
            return place
        return len(self.all)

    def has(self, *start: str) -> bool:
        return bool(self.where(*start))

    def first(self, *start: str) -> list[Any]:
        """Return the first happening that begins so; [] if there is none."""
        for place in self.where(*start):
            return self.all[place]
        return []

    def names(self, kind: str) -> list[str]:
        """Return what follows a kind, each time."""
        return [self.all[place][1] for place in self.where(kind)]

    def before(self, *start: str) -> "Happened":
        """Return what happened before the first happening that begins so; all without one."""
        return Happened(self.all[: self._place(*start)])

    def since(self, *start: str) -> "Happened":
        """Return what happened since then, with it; nothing without one."""
        return Happened(self.all[self._place(*start) :])


def answered(
    groups: Mapping[str, Any], functions: Mapping[str, Any], runs: Mapping[str, Any]
) -> dict[str, dict[str, Answer]]:
    """Return the answers of the groups whose first question has a run, by group and column.

    A group has for each column the question, the name of a function, and arguments.
    """
    by_group = {}
    for group, columns in groups.items():
        first_question = next(iter(columns.values()))[0]
        if first_question not in runs:
            continue
        by_group[group] = dict.fromkeys(columns, NONE)
        for column, (question, name, *more) in columns.items():
            if question in runs:
                by_group[group][column] = functions[name](runs[question], *more)
    return by_group
