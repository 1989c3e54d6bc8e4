"""Runs every application of up to N actions against `Lifespan`: `make exhaustive`.

    python tests/every/exhaustive.py [N]

Writes docs/matrix/exhaustive.json.  Exit status 0: no difference from the oracle.
"""

import datetime as dt
import json
import os
import platform
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from runs import Job, Tally, explore

__all__ = ["FAST", "counted", "main", "run"]

FILE = Path(__file__).parents[2] / "docs" / "matrix" / "exhaustive.json"
FAST = 5  # what `make test` runs
FULL = 6
WORKERS = 2
DEPTH = 2  # actions by which the work is divided


def say(text: str) -> None:
    """Show how far it is."""
    print(f"{time.strftime('%H:%M:%S')}  {text}", flush=True)


def run(size: int, pool: ProcessPoolExecutor) -> dict[str, Any]:
    """Run every application of up to so many actions."""
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


def main(size: int) -> int:
    """Run all of it, keep what is known so far in the file, and say what was found."""
    whole: dict[str, Any] = {
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "python": platform.python_version(),
        "platform": platform.platform(terse=True),
        "cpus": os.cpu_count(),
        "actions": size,
        "server": {},
    }
    with ProcessPoolExecutor(WORKERS) as pool:
        for each in range(FAST, max(size, FAST) + 1):
            whole["server"][str(each)] = run(each, pool)
            FILE.parent.mkdir(exist_ok=True)
            FILE.write_text(json.dumps(whole, indent=2) + "\n")
    differences = sum(each["differences"] for each in whole["server"].values())
    say(f"exhaustive: up to {size} actions, {differences} differences; see {FILE}")
    return bool(differences)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if sys.argv[1:] else FULL))
