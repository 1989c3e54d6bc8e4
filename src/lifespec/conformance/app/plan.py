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
LITTLE = 0.5  # seconds of the processor: a first case that took fewer mostly waited
AT_ONCE = os.cpu_count() or 1  # cases at a time, and
MOST = 8  # cases at a time if the first one mostly waited


class Plan(NamedTuple):
    """The cases that are played, by name; `first` is played alone, before the others.

    `limit` is how many the user wants at a time at most, None if that follows from the first one.
    """

    first: str
    cases: Mapping[str, Case]
    limit: int | None = None

    def lives(self, names: Iterable[str]) -> Iterator[str]:
        """Yield what is played for these cases: a name each, but one for all that are alike."""
        names = [*names]
        alike = [name for name in names if name in cases.ALIKE]
        if alike:
            yield "+".join(alike)
        yield from (name for name in names if name not in alike)

    def all_lives(self) -> list[str]:
        """Return what is played if all goes well, in its order."""
        others = (name for name in self.cases if name != self.first)
        return [self.first, *self.lives(others)]

    def starts(self) -> int:
        """Return how often the application is called with a lifespan scope."""
        actions = [action for life in self.all_lives() for action in cases.named(life).script]
        return sum(action.verb == "call" and "type" not in action.keys for action in actions)

    def fact(self) -> Fact:
        """Return what will be run, as a sentence."""
        starts, count = self.starts(), len({self.first, *self.cases})
        if starts == 1:
            return Fact("plan-once")
        if self.limit == 1:
            return fact("plan-one-by-one", count=count, starts=starts)
        return fact("plan", count=count, starts=starts, at_once=self.limit or MOST)

    def at_once(self, seen: Observation) -> tuple[int, Fact]:
        """Return how many cases may be played side by side by what the first one took, and why.

        All of them take at most half of the memory that is free, and half of what the application
        has already, unless the processor would be idle then.
        """
        if self.limit:
            return self.limit, fact("pace-asked", count=self.limit)
        count, free = MOST if seen.cost < LITTLE else AT_ONCE, free_memory()
        if seen.memory and free:
            count = min(count, max(AT_ONCE, seen.total // 2 // seen.memory))
            count = max(1, min(count, free // 2 // seen.memory))
        took = {"cost": f"{seen.cost:.2f}", "memory": round(seen.memory / 1e6)}
        took["total"] = round(seen.total / 1e6)
        return count, fact("pace", count=count, **took, free=round(free / 1e6))


def planned(
    role: cases.Role,
    spec: str,
    only: Collection[str] = (),
    *,
    quick: bool = False,
    limit: int | None = None,
) -> Plan:
    """Return what is played for a role by a specification; raise Unchecked for an unknown case."""
    known = {each.name: each for each in cases.load() if each.role == role and spec in each.specs}
    for name in only:
        if name not in known:
            raise unknown("case", name, known, f"lifespec cases --role {role}")
    if quick:
        return Plan(SERVING, {SERVING: known[SERVING]}, limit)
    first = cases.FIRST[role]
    chosen = {name: known[name] for name in (first, *known) if name in (only or known)}
    return Plan(first, chosen, limit)
