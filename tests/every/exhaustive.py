"""Runs every application, against our server and against others: `make exhaustive`.

    python tests/every/exhaustive.py [N]

Writes docs/matrix/exhaustive.json. Exit status 0: no difference.
"""

import datetime as dt
import json
import os
import platform
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib import metadata
from pathlib import Path
from typing import Any

import drivers
from runs import Job, Tally, explore

__all__ = ["counted", "main", "ours", "theirs"]

FILE = Path(__file__).parents[2] / "docs" / "matrix" / "exhaustive.json"
FAST = 5  # what `make test` does again, for our server
FULL = 6
FAST_DRIVERS = 4  # the same for the drivers: in `make test` those that are installed there
FULL_DRIVERS = 6
WORKERS = 2
DEPTH = 2  # actions by which the work is divided


def say(text: str) -> None:
    """Show how far it is."""
    print(f"{time.strftime('%H:%M:%S')}  {text}", flush=True)


def ours(size: int, pool: ProcessPoolExecutor) -> dict[str, Any]:
    """Try every application of up to so many actions on our server."""
    began = time.monotonic()
    tally, jobs = explore(size, [Job(())], min(DEPTH, size - 1))
    running = [pool.submit(explore, size, [job]) for job in jobs]
    for done, each in enumerate(as_completed(running), 1):
        tally.add(each.result()[0])
        if done % 10 == 0 or done == len(running):
            say(f"lifespec, N = {size}: part {done} of {len(running)}, {tally.runs:,} runs")
    for difference in tally.differences[:20]:
        say(difference)
    return counted(tally) | {"seconds": round(time.monotonic() - began)}


def counted(tally: Tally) -> dict[str, int]:
    """Put a tally into the words of the page."""
    return {
        "applications": tally.applications,
        "told apart": tally.tried,
        "stop points of one": tally.most,
        "runs": tally.runs,
        "wait for ever without a limit": tally.hangs,
        "differences": len(tally.differences),
    }


def theirs(sizes: tuple[int, ...], pool: ProcessPoolExecutor) -> Iterator[tuple[str, Any]]:
    """Try the applications that let errors pass on each driver."""
    running = {
        name: {size: pool.submit(drivers.verdicts_of, name, size) for size in sizes}
        for name in drivers.DRIVERS
    }
    for name, each in running.items():
        counts = {str(size): done.result() for size, done in each.items()}
        for verdict, number in counts[str(sizes[-1])].items():
            say(f"{name:14} {number:9,} {verdict}")
        yield name, {"version": metadata.version(name) if name != "lifespec" else "", **counts}


def main(size: int) -> int:
    """Run all of it, keep what is known so far in the file, and say what was found."""
    whole: dict[str, Any] = {
        "python": platform.python_version(),
        "platform": platform.platform(terse=True),
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "cpus": os.cpu_count(),
        "actions": {"drivers": min(size, FULL_DRIVERS)},
        "server": {},
    }
    with ProcessPoolExecutor(WORKERS) as pool:
        whole["drivers"] = dict(theirs((FAST_DRIVERS, min(size, FULL_DRIVERS)), pool))
        for each in range(FAST, max(size, FAST) + 1):
            whole["actions"]["server"] = each
            whole["server"][str(each)] = ours(each, pool)
            FILE.parent.mkdir(exist_ok=True)
            FILE.write_text(json.dumps(whole, indent=2) + "\n")
    differences = sum(each["differences"] for each in whole["server"].values())
    say(f"exhaustive: up to {size} actions, {differences} differences; see {FILE}")
    return bool(differences)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if sys.argv[1:] else FULL))
