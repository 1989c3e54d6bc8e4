"""Measures how fast it is, against the least there can be and against others: `make bench`.

Only ratios within one run count, for other work on the machine changes all times.  So the
candidates take turns, a few runs each, and the shortest turn of many is a candidate's time.
Time is the processor's; garbage is not collected meanwhile, but where that is said.

    python tests/bench/bench.py FILE [PYTHON...]    writes what it measured as JSON, and prints it

On each other PYTHON, which has the same packages, one lifespan is measured too.

One process is faster at one candidate, another at another, by some percent, through where things
lie in memory.  So several processes measure a part each, and the median of their times counts.
"""

import argparse
import asyncio
import datetime as dt
import gc
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any

import lifespec
from rivals import DRIVERS, Floor, app, installed

__all__ = ["joined", "main", "measured", "several"]

Row = dict[str, Any]
INFINITE = float("inf")
WARM = 20  # runs of a turn that are not counted: the others' code was in the processor's cache
PROCESSES = 9
RUNS = 20  # those that are: so few that some turn goes uninterrupted
LONG = 2000  # runs of a long turn: Python's own memory and the processor's caches fill up
MOST = 10_000  # lifespans at once
IMPORT = "import time; start = time.thread_time(); import {}; print(time.thread_time() - start)"


async def turns(
    runs: Mapping[str, Callable[[], Awaitable[object]]], rounds: int, count: int = RUNS
) -> dict[str, float]:
    """Let the candidates take turns; return the seconds that one run of each takes."""
    best = dict.fromkeys(runs, INFINITE)
    for _ in range(rounds):
        for name, run in runs.items():
            for _ in range(WARM if count > 1 else 0):
                await run()
            start = time.thread_time()
            for _ in range(count):
                await run()
            best[name] = min(best[name], (time.thread_time() - start) / count)
        if count > RUNS:  # so much garbage would fill the memory of a process
            gc.collect()
    return best


def whole(driver: Callable[[Any], Any], application: Any = app) -> Callable[[], Awaitable[None]]:
    """Return what takes the application through one whole lifespan."""

    async def run() -> None:
        async with driver(application):
            pass

    return run


async def lifespan(rounds: int, count: int = RUNS) -> list[Row]:
    """Start and stop, by each driver that is installed."""
    versions = {name: installed(name) for name in DRIVERS}
    runs = {name: whole(DRIVERS[name]()) for name in DRIVERS if versions[name] is not None}
    best = await turns(runs, rounds, count)
    return [{"name": n, "version": versions[n], "seconds": took} for n, took in best.items()]


async def long_lifespan(rounds: int) -> list[Row]:
    """Do the same in long turns."""
    return await lifespan(rounds, LONG)


async def state(rounds: int) -> list[Row]:
    """Give a request its copy of the state."""
    request = {"type": "http", "method": "GET", "path": "/", "headers": []}
    async with lifespec.Lifespan(app) as started:
        live = started.scope["state"]
        live["pool"] = object()

        async def inline() -> None:
            for _ in range(100):
                {**request, "state": live.copy()}

        async def with_state() -> None:
            for _ in range(100):
                started.with_state(request)

        best = await turns({"inline": inline, "with_state()": with_state}, rounds)
    return [{"name": name, "seconds": seconds / 100} for name, seconds in best.items()]


async def validator(rounds: int) -> list[Row]:
    """Take an application through one lifespan, watched and unwatched."""
    if not hasattr(lifespec, "validator"):
        return []
    runs = {
        "without validator": whole(lifespec.Lifespan),
        "with validator": whole(lifespec.Lifespan, lifespec.validator(app)),
    }
    best = await turns(runs, rounds)
    return [{"name": name, "seconds": seconds} for name, seconds in best.items()]


async def at_once(rounds: int, driver: Callable[[Any], Any] = lifespec.Lifespan) -> list[Row]:
    """Start so many lifespans one after another, then stop them: all of them live at once."""
    few: Row = {"name": "%s at once", "count": 100, "seconds": INFINITE}
    many, collected = few | {"count": MOST}, few | {"count": MOST}
    collected["name"] = "%s at once, with garbage collection"
    rows = [few, many, collected]
    for _ in range(rounds):
        for row in rows:
            if row is collected:
                gc.enable()
            for _ in range(MOST // row["count"]):
                seconds, _ = await lived(driver, row["count"])
                row["seconds"] = min(row["seconds"], seconds)
            gc.disable()
            gc.collect()
    for row in few, many:
        tracemalloc.start()
        _, row["bytes"] = await lived(driver, row["count"])
        tracemalloc.stop()
    return rows


async def lived(driver: Callable[[Any], Any], count: int) -> tuple[float, int]:
    """Return what each of so many lifespans took: seconds, and bytes if these are traced."""
    start = time.thread_time()
    lifespans = [driver(app) for _ in range(count)]
    for each in lifespans:
        await each.__aenter__()
    memory = tracemalloc.get_traced_memory()[0]
    for each in lifespans:
        await each.__aexit__(None, None, None)
    return (time.thread_time() - start) / count, memory // count


async def floor_at_once(rounds: int) -> list[Row]:
    """Do the same with the floor."""
    return await at_once(rounds, Floor)


async def compose(rounds: int, counts: tuple[int, ...] = (10, 100, 1000)) -> list[Row]:
    """Take so many applications, composed, through one lifespan; the seconds are for each."""
    runs = {n: whole(lifespec.Lifespan, lifespec.combine_lifespans(*[app] * n)) for n in counts}
    best = await turns({str(n): run for n, run in runs.items()}, rounds, count=1)
    return [{"name": "%s applications", "count": n, "seconds": best[str(n)] / n} for n in counts]


async def imports(rounds: int) -> list[Row]:
    """Import in a fresh process, as compiled by one before it."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    best = {"asyncio": INFINITE, "lifespec": INFINITE}
    for _ in range(rounds):
        for name, seconds in best.items():
            command = [sys.executable, "-c", IMPORT.format(name)]
            said = subprocess.check_output(command, text=True, env=environment)  # noqa: ASYNC221
            best[name] = min(seconds, float(said))
    return [{"name": f"import {name}", "seconds": seconds} for name, seconds in best.items()]


def machine() -> str:
    """Say on what this runs: the kind of processor, and how many."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    kind = next(named, platform.machine())
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} × {kind}"


# what is measured, and by how many rounds in full
MEASURES: dict[str, tuple[Callable[[int], Coroutine[Any, Any, list[Row]]], int]] = {
    "lifespan": (lifespan, 2000),
    "long-lifespan": (long_lifespan, 60),
    "state": (state, 2000),
    "validator": (validator, 2000),
    "at-once": (at_once, 10),
    "floor-at-once": (floor_at_once, 10),
    "compose": (compose, 20),
    "import": (imports, 60),
}


def measured(part: float = 1, names: Sequence[str] = ()) -> dict[str, Any]:
    """Measure everything, or what is named, in so great a part of the rounds."""
    found: dict[str, Any] = {
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "machine": machine(),
    }
    gc.disable()
    try:
        for name in names or MEASURES:
            measure, rounds = MEASURES[name]
            found[name] = asyncio.run(measure(max(1, round(rounds * part))))
            gc.collect()
    finally:
        gc.enable()
    return found


def joined(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Join what several processes measured: the median of the seconds, else the first's word."""
    found = dict(parts[0])
    for name in found.keys() & MEASURES.keys():
        rows = zip(*(part[name] for part in parts), strict=True)
        found[name] = [
            each[0] | {"seconds": statistics.median(row["seconds"] for row in each)}
            for each in rows
        ]
    return found


def apart(part: float, python: str, *names: str) -> dict[str, Any]:
    """Measure a part in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "part.json"
        subprocess.run([python, __file__, "--part", str(part), str(file), *names], check=True)
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def several(python: str = sys.executable, *names: str) -> dict[str, Any]:
    """Measure in several processes, one after another."""
    parts = []
    for number in range(PROCESSES):
        print(f"{python}: part {number + 1} of {PROCESSES}", file=sys.stderr, flush=True)
        parts.append(apart(1 / PROCESSES, python, *names))
    return joined(parts)


def on_pythons(own: Mapping[str, Any], others: Sequence[str]) -> list[dict[str, Any]]:
    """Return one lifespan as measured here, and measure it on the others, by version."""
    found = [own, *(several(python, "lifespan") for python in others)]
    rows = [{"python": each["python"], "lifespan": each["lifespan"]} for each in found]
    return sorted(rows, key=lambda row: [int(n) for n in row["python"].split()[1].split(".")])


def told(found: Mapping[str, Any]) -> str:
    """Write it as lines: what, time, ratio to the first of its kind."""
    lines = [f"{found['python']}, {found['machine']}, {found['date']}"]
    for name in MEASURES:
        for row in found[name]:
            label = row["name"] % row["count"] if "count" in row else row["name"]
            ratio = row["seconds"] / found[name][0]["seconds"]
            memory = f"{row['bytes']:,} bytes each" if "bytes" in row else row.get("version", "")
            lines.append(
                f"{name:14}{label:42}{row['seconds'] * 1e6:10.3f} µs{ratio:8.2f} ×   {memory}"
            )
    for each in found.get("pythons", ()):
        floor, *others = each["lifespan"]
        ratios = (f"{row['name']} {row['seconds'] / floor['seconds']:.2f} ×" for row in others)
        lines.append(f"{each['python']}: {', '.join(ratios)}")
    return "\n".join(lines)


def main(arguments: list[str]) -> None:
    """Measure in full; a part of it in this process, without a word."""
    parser = argparse.ArgumentParser(description="Measure how fast it is.")
    parser.add_argument("--part", type=float, help="of what is measured, in this process")
    parser.add_argument("file", type=Path, help="the JSON file to write")
    parser.add_argument("names", nargs="*", help="other Pythons; of a part, what to measure")
    given = parser.parse_args(arguments)
    if given.part:
        found = measured(given.part, given.names)
    else:
        found = several()
        found["pythons"] = on_pythons(found, given.names)
        print(told(found))
    given.file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
