"""What happened in a run, in the order of time, and the answers that follow from it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Answer = list[Any]  # a kind, and the names and texts that belong to it
YES, NO, NONE = ["yes"], ["no"], ["none"]


def yes_or_no(observed: object) -> Answer:
    """Return the answer for a truth value; None was not observed."""
    return NONE if observed is None else YES if observed else NO


def count(places: Sequence[int]) -> Answer:
    """Say how often something happened."""
    return ["times", str(len(places))] if places[1:] else ["once"] if places else ["never"]


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
        self.all = [[*each] for each in happenings]

    def where(self, *start: str) -> list[int]:
        """Return the places of the happenings that begin so."""
        return [n for n, each in enumerate(self.all) if each[: len(start)] == [*start]]

    def has(self, *start: str) -> bool:
        return bool(self.where(*start))

    def first(self, *start: str) -> list[Any]:
        """Return the first happening that begins so; [] if there is none."""
        return next((self.all[place] for place in self.where(*start)), [])

    def names(self, kind: str) -> list[str]:
        """Return what follows a kind, each time."""
        return [each[1] for each in self.all if each[0] == kind]

    def before(self, *start: str) -> "Happened":
        """Return what happened before the first happening that begins so; all without one."""
        return Happened(self.all[: next(iter(self.where(*start)), len(self.all))])

    def since(self, *start: str) -> "Happened":
        """Return what happened since then, with it; nothing without one."""
        return Happened(self.all[next(iter(self.where(*start)), len(self.all)) :])


def answered(
    groups: Mapping[str, Any], functions: Mapping[str, Any], runs: Mapping[str, Any]
) -> dict[str, dict[str, Answer]]:
    """Return the answers of the groups whose first question has a run, by group and column.

    A group has for each column the question, the name of a function, and arguments.
    """
    return {
        group: {
            column: functions[name](runs[question], *more) if question in runs else NONE
            for column, (question, name, *more) in columns.items()
        }
        for group, columns in groups.items()
        if next(iter(columns.values()))[0] in runs
    }
