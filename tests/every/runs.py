"""Every application of up to N actions against a server that stops at every moment.

    python tests/every/runs.py [N]     `make exhaustive`

Writes docs/matrix/exhaustive.json. Exit status 0: no difference from the oracle.

The moments. The body of the server ends after 0, 1, 2 … turns of the loop, the last time when
everything waits. For each of these the server is cancelled besides, 1, 2, 3 … turns after the body
ended (or after the beginning, where it ends at once), the last time when everything waits or the
server is done. Then, once, there is no limit, and the body ends when everything waits.
"""

import asyncio
import datetime as dt
import itertools
import json
import os
import platform
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from logging import DEBUG
from pathlib import Path
from typing import Any, NamedTuple

from actors import ENDS, MOVES, Actor, Manner, Script, below, watched
from lifespec import Lifespan
from lifespec.testing.clock import Deadlock, VirtualLoop
from oracle import LIMIT, Result, expected

FILE = Path(__file__).parents[2] / "docs" / "matrix" / "exhaustive.json"
SIZES = 5, 6  # numbers of actions that `make exhaustive` runs


class Stop(NamedTuple):
    """When the server stops."""

    turns: int  # of the body
    cancelled: int | None = None  # so many turns after the body, or after the beginning
    limit: float | None = LIMIT


class Job(NamedTuple):
    """All applications whose scripts begin so."""

    begin: Script
    manner: Manner = "either"


@dataclass
class Tally:
    """What was counted, and each difference as a sentence."""

    applications: int = 0
    tried: int = 0
    by_length: Counter[int] = field(default_factory=Counter)  # runs, by the number of actions
    most: int = 0  # stop points of one application
    hangs: int = 0  # without a limit, where the application waits for what does not come
    differences: list[str] = field(default_factory=list)


class Reporting(Lifespan):
    """Keeps the highest level of what it reports; debug is as good as silence."""

    level = 0

    def report(self, level: int, *_: object) -> None:
        """Keep the level, unless there was a higher one."""
        self.level = max(self.level, level if level > DEBUG else 0)


class Run:
    """One application, one server, one moment."""

    def __init__(self, actor: Actor, stop: Stop, loop: "Loop") -> None:
        self.actor, self.stop, self.loop = actor, stop, loop
        self.lifespan = Reporting(actor, startup_timeout=stop.limit, shutdown_timeout=stop.limit)
        self.ended: int | None = None
        self.cancelled: int | None = None
        self.at_rest = False  # everything waited when the server stopped

    async def serves(self) -> None:
        """Serve until it is time to stop."""
        async with self.lifespan:
            for _ in range(self.stop.turns):
                await asyncio.sleep(0)
            self.ended, self.at_rest = self.actor.begun, self.loop.at_rest()

    def note_cancelled(self) -> None:
        """Note the moment at which a cancellation reaches the server."""
        self.cancelled = self.actor.begun

    async def watched(self) -> None:
        """Serve, and note a cancellation."""
        await watched(self.serves(), self.note_cancelled)

    def cancels(self, task: asyncio.Task[None], later: int) -> None:
        """Cancel the server when it is time."""
        while self.stop.turns and self.ended is None and not self.loop.at_rest():
            self.loop.turn()
        for _ in range(later):
            self.loop.turn()
        self.at_rest = task.done() or self.loop.at_rest()
        task.cancel()

    def result(self) -> Result:
        """Run, and say what became of it."""
        raised, hangs, began = "", False, self.loop.time()
        task = self.loop.create_task(self.watched())
        if self.stop.cancelled is not None:
            self.cancels(task, self.stop.cancelled)
        try:
            self.loop.run_until_complete(task)
        except Deadlock:
            hangs, cancelled = True, self.cancelled
            self.loop.clear()
            self.cancelled = cancelled
        except (Exception, asyncio.CancelledError) as error:
            raised = type(error).__name__
        actor = self.actor
        seen = (self.ended is not None, tuple(actor.heard), tuple(actor.refused), actor.begun)
        if hangs:
            return Result(*seen, hangs=True)
        seconds = round(self.loop.time() - began, 3)
        return Result(*seen, self.lifespan.outcome or "", raised, self.lifespan.level, seconds)


class Loop(VirtualLoop):
    """A virtual loop that can be run turn by turn, and tells of what nobody waited for."""

    def __init__(self) -> None:
        super().__init__()
        self.complaints: list[str] = []
        self.set_exception_handler(lambda _, what: self.complaints.append(str(what)))

    def at_rest(self) -> bool:
        """Say whether nothing is ready to go on."""
        return not self._ready

    def turn(self) -> None:
        """Run what is ready, once."""
        if self._ready:
            self.stop()
            self.run_forever()

    def clear(self) -> None:
        """Cancel what is left of a run that hangs, or that left its application behind."""
        while left := asyncio.all_tasks(self):
            for task in left:
                task.cancel()
            self.turn()
        self.complaints.clear()


class Runner:
    """Tries applications on one loop, and holds each run against the oracle."""

    def __init__(self, size: int, moves: Script = MOVES) -> None:
        self.size, self.moves = size, moves
        self.loop = Loop()
        self.tally = Tally()
        self.reached = self.refused = False

    def try_one(self, script: Script, stop: Stop, *, swallows: bool) -> Run:
        """Make one run, and compare."""
        run = Run(Actor(script, swallows=swallows), stop, self.loop)
        found = run.result()
        limit = stop.limit is not None
        wanted = expected(script, run.ended, run.cancelled, swallows=swallows, limit=limit)
        complaints, self.loop.complaints = self.loop.complaints, []
        if found.begun and not run.actor.over:
            complaints.append("The application still runs.")
            self.loop.clear()
        if found != wanted or complaints:
            what = f"{' '.join(script)} ({swallows=}, {stop}): {wanted} was expected, not {found}"
            self.tally.differences.append(" ".join([what, *complaints]))
        self.tally.by_length[len(script)] += 1
        self.tally.hangs += found.hangs
        self.reached |= found.begun == len(script)
        self.refused |= bool(found.refused)
        return run

    def try_all(self, script: Script, *, swallows: bool) -> None:
        """Stop at each moment."""
        before = self.tally.by_length[len(script)]
        for turns in itertools.count():
            run = self.try_one(script, Stop(turns), swallows=swallows)
            self.cancel_each(script, turns, swallows=swallows)
            if run.at_rest or run.ended is None:  # None: nothing was served, no body ended
                break
        self.try_one(script, Stop(turns, limit=None), swallows=swallows)
        self.tally.tried += 1
        self.tally.most = max(self.tally.most, self.tally.by_length[len(script)] - before)

    def cancel_each(self, script: Script, turns: int, *, swallows: bool) -> None:
        """Cancel at each moment after a body of so many turns."""
        for later in itertools.count(0 if turns else 1):
            if self.try_one(script, Stop(turns, later), swallows=swallows).at_rest:
                return

    def visit(self, job: Job) -> list[Job]:
        """Try what ends after this beginning; return what goes on.

        Where no run came to the end, the applications that begin so cannot be told apart: each
        of their runs is one of these. They are counted, and not tried again.
        """
        begin, swallows = job.begin, job.manner == "swallows"
        room = self.size - len(begin)
        self.reached = self.refused = False
        self.try_all((*begin, ENDS[0]), swallows=swallows)
        manner, more = job.manner, []
        if manner == "either" and self.refused:
            manner, more = "passes", [Job(begin, "swallows")]
        if not self.reached:
            self.tally.applications += below(room, self.moves)
            return more
        for end in ENDS[1:]:
            self.try_all((*begin, end), swallows=swallows)
        self.tally.applications += len(ENDS)
        if room > 1:
            more += [Job((*begin, move), manner) for move in self.moves]
        return more


def explore(size: int, moves: Script = MOVES) -> Tally:
    """Try all applications of up to so many actions, of these kinds."""
    runner, jobs = Runner(size, moves), [Job(())]
    while jobs:
        jobs += runner.visit(jobs.pop())
    runner.loop.close()
    return runner.tally


def counted(size: int) -> tuple[dict[str, int], list[int]]:
    """Try them, and return what was counted in the words of the page, and the runs by length."""
    began, tally = time.monotonic(), explore(size)
    runs = [tally.by_length[length] for length in range(1, size + 1)]
    print(f"N = {size}: {sum(runs):,} runs", *tally.differences[:20], sep="\n", flush=True)
    counts = {
        "applications": tally.applications,
        "told apart": tally.tried,
        "stop points of one": tally.most,
        "runs": sum(runs),
        "wait for ever without a limit": tally.hangs,
        "differences": len(tally.differences),
        "seconds": round(time.monotonic() - began),
    }
    return counts, runs


def main(size: int = SIZES[-1]) -> int:
    """Record what was counted for each number of actions from the least on."""
    counts: dict[str, dict[str, int]] = {}
    for number in range(SIZES[0], max(size, SIZES[0]) + 1):
        counts[str(number)], by_length = counted(number)  # the last has the others in it
    whole: dict[str, Any] = {
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "python": platform.python_version(),
        "platform": platform.platform(terse=True),
        "cpus": os.cpu_count(),
        "actions": size,
        "server": counts,
        "runs by length": by_length,
    }
    FILE.write_text(json.dumps(whole, indent=2) + "\n")
    return any(each["differences"] for each in counts.values())


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
