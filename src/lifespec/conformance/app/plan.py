"""What a check plays: which cases, how often that starts the application, how many at a time."""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from lifespec.conformance import cases
from lifespec.conformance.app.observation import Observation
from lifespec.conformance.cases import Case
from lifespec.conformance.finding import unknown
from lifespec.conformance.processes import free_memory
from lifespec.diagnosis.fact import Fact, fact

SERVING = cases.COURSE[1]
MOSTLY_WAITED = 0.5  # seconds of the processor: a first case that took fewer mostly waited
PROCESSORS = os.cpu_count() or 1  # cases at a time, and
MOST_AT_ONCE = 8  # cases at a time if the first one mostly waited


class Plan(NamedTuple):
    """The cases that are played, by name; `first` is played alone, before the others.

    `limit` is how many the user wants at a time at most, None if that follows from the first one.
    """

    first: str
    cases: Mapping[str, Case]
    limit: int | None = None

    def lives(self, names: Iterable[str]) -> Iterator[str]:
        """Yield what is played for these cases: a name each, but one for all that are alike."""
        alike, others = [], []
        for name in names:
            if name in cases.ALIKE:
                alike.append(name)
            else:
                others.append(name)
        if alike:
            yield "+".join(alike)
        yield from others

    def all_lives(self) -> list[str]:
        """Return what is played if all goes well, in its order."""
        others = [name for name in self.cases if name != self.first]
        return [self.first, *self.lives(others)]

    def starts(self) -> int:
        """Return how often the application is called with a lifespan scope."""
        count = 0
        for life in self.all_lives():
            for action in cases.named(life).script:
                if action.verb == "call" and "type" not in action.keys:
                    count += 1
        return count

    def fact(self) -> Fact:
        """Return what will be run, as a sentence."""
        starts = self.starts()
        # the first is played even if it is not among those that are wanted
        count = len(set(self.cases) | {self.first})
        if starts == 1:
            return Fact("plan-once")
        if self.limit == 1:
            return fact("plan-one-by-one", count=count, starts=starts)
        return fact("plan", count=count, starts=starts, at_once=self.limit or MOST_AT_ONCE)

    def at_once(self, seen: Observation) -> tuple[int, Fact]:
        """Return how many cases may be played side by side by what the first one took, and why.

        All of them take at most half of the memory that is free, and half of what the application
        has already, unless the processor would be idle then.
        """
        if self.limit:
            return self.limit, fact("pace-asked", count=self.limit)
        count = MOST_AT_ONCE if seen.cost < MOSTLY_WAITED else PROCESSORS
        free = free_memory()
        if seen.memory and free:  # both are 0 where /proc does not say
            count = min(count, max(PROCESSORS, seen.total // 2 // seen.memory))
            count = max(1, min(count, free // 2 // seen.memory))
        pace = fact(
            "pace",
            count=count,
            cost=f"{seen.cost:.2f}",
            memory=round(seen.memory / 1e6),
            total=round(seen.total / 1e6),
            free=round(free / 1e6),
        )
        return count, pace


def planned(
    role: cases.Role,
    spec: str,
    only: Collection[str] = (),
    *,
    quick: bool = False,
    limit: int | None = None,
) -> Plan:
    """Return what is played for a role by a specification; raise Unchecked for an unknown case."""
    known = {}
    for case in cases.load():
        if case.role == role and spec in case.specs:
            known[case.name] = case
    for name in only:
        if name not in known:
            raise unknown("case", name, known, f"lifespec cases --role {role}")
    if quick:
        return Plan(SERVING, {SERVING: known[SERVING]}, limit)
    first = cases.FIRST[role]
    wanted = set(only or known)
    # the first of all is also the first that is told
    chosen = {name: known[name] for name in (first, *known) if name in wanted}
    return Plan(first, chosen, limit)
