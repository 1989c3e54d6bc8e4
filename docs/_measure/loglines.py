"""Record what the current servers log and do about the lifespan of an application: `make loglines`.

`loglines.toml` has the servers and the programs.  Each program runs under each server, gets a
request, and then a signal: once SIGTERM, which supervisors send, and once SIGINT, which Ctrl-C
sends.  Those of IN_TWO run with two workers, too.  A line is recorded if the same server does not
log it for the program `answers`, which has no fault.  Beside them stands what it logs if an
application of Starlette has the same fault, since that is what most readers have.  What ends a
server that hangs, and what becomes of open requests, is in another record: see `signals.py`.
"""

import contextlib
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from environments import Needs
from matrix import RECORDS
from records import Row, measure, table, versions
from serving import free_port, plain, running

ROWS = table("loglines")
SERVERS, PROGRAMS = ROWS["servers"], ROWS["programs"]
STARLETTE = {
    name: ROWS["head"]["starlette"] + program for name, program in ROWS["starlette"].items()
}
FAULTLESS = "answers"
IN_TWO = FAULTLESS, "fails", "fails-to-stop"
PATIENCE = 75.0  # seconds until it serves or ends: longer than the timeout of any server
BEFORE_TIMEOUT = 5.0  # seconds after which a server without lifespan gets its signal
EARLY = 20.0  # seconds from the start to that signal at most: the first timeout of a server is 30
AFTER_REQUEST = 1.0  # seconds in which an application can crash
AFTER_SIGNAL = 10.0
OFTEN = 5  # times that a program of IN_TWO is run which fails: its status can differ
TRIES = 3  # that a run has on a busy machine
LOGGED = "lines", "served", "alone", "shutdown", "ended", "statuses"


class Way(NamedTuple):
    """How a program is run: its signal at the end, and its workers."""

    signal: signal.Signals
    workers: int = 1


WAYS = {
    "SIGTERM": Way(signal.SIGTERM),
    "SIGINT": Way(signal.SIGINT),
    "two workers": Way(signal.SIGTERM, 2),
}


def run(environment: Path, server: str, source: str, way: Way, patience: float = PATIENCE) -> Row:
    """Run one program under one server; return what it did.

    `alone` is whether it ended without a signal, `ended` whether it did so in time.
    """
    port = free_port()
    subject = RECORDS["servers"][SERVERS[server]["row"]]
    words = subject.words(environment, app="shop:app", port=port, workers=way.workers)
    with running(words, source) as (program, place), contextlib.ExitStack() as opened:
        answered = program.request(port, patience, opened)
        time.sleep(AFTER_REQUEST)
        alone = program.over
        if not alone:
            program.process.send_signal(way.signal)
        status = program.wait(AFTER_SIGNAL)
        shutdown = (place / "shutdown").exists()
    return {
        "lines": plain(program.lines),
        "served": bool(answered),
        "alone": alone,
        "shutdown": shutdown,
        "ended": status is not None,
        "statuses": [] if status is None else [status],
    }


def stopped_early(environment: Path, server: str, source: str, way: Way) -> Row:
    """Stop a server whose startup hangs before any timeout of it; return whether that ended it.

    No request is sent: a server that listens already would keep it, and the signal would be late.
    """
    port = free_port()
    subject = RECORDS["servers"][SERVERS[server]["row"]]
    words = subject.words(environment, app="shop:app", port=port, workers=way.workers)
    for _ in range(TRIES):
        with running(words, source) as (program, place):
            began = time.monotonic()
            starts = SERVERS[server].get("lifespan", True)
            patience = EARLY if starts else BEFORE_TIMEOUT
            while not (place / "startup").exists() and time.monotonic() - began < patience:
                time.sleep(0.1)
            time.sleep(AFTER_REQUEST)
            if starts and time.monotonic() - began > EARLY:
                continue  # a busy machine: a timeout of the server may have passed
            program.process.send_signal(way.signal)
            status = program.wait(AFTER_SIGNAL)
            return {
                "ended": status is not None,
                "statuses": [] if status is None else [status],
            }
    raise RuntimeError(f"the machine is too busy: each signal came {EARLY:.0f} s after the start")


def recorded(environment: Path, server: str, programs: Mapping[str, str]) -> dict[str, Row]:
    """Run programs under a server; return what the record has of them, with every status seen."""
    workers = "{workers}" in RECORDS["servers"][SERVERS[server]["row"]].command

    def run_one(program: str, way: str) -> Row:
        done = run(environment, server, programs[program], WAYS[way])
        if program in IN_TWO[1:]:
            more = [run(environment, server, programs[program], WAYS[way]) for _ in range(1, OFTEN)]
            for other in more:
                done["alone"] &= other["alone"]
                done["statuses"] = sorted({*done["statuses"], *other["statuses"]})
        if program == "hangs-at-startup":
            done |= stopped_early(environment, server, programs[program], WAYS[way])
        return done

    wanted = [
        (program, way)
        for program in programs
        for way in WAYS
        if WAYS[way].workers == 1 or (workers and program in IN_TWO)
    ]
    return logged(wanted, run_one)


def with_starlette(environment: Path, server: str) -> dict[str, Row]:
    """Return what programs of Starlette do under a server, at each signal."""

    def run_one(program: str, way: str) -> Row:
        return run(environment, server, STARLETTE[program], WAYS[way])

    ways = [name for name, way in WAYS.items() if way.workers == 1]
    return logged([(program, way) for program in STARLETTE for way in ways], run_one)


def logged(wanted: Sequence[tuple[str, str]], run_one: Callable[[str, str], Row]) -> dict[str, Row]:
    """Return by program and way what was done, without the lines of a program that has no fault."""
    with ThreadPoolExecutor() as pool:
        runs = dict(zip(wanted, pool.map(lambda each: run_one(*each), wanted), strict=True))
    found: dict[str, Row] = {}
    for (program, way), done in runs.items():
        usual = runs[FAULTLESS, way]["lines"]
        own = done | {"lines": [line for line in done["lines"] if line not in usual]}
        found.setdefault(program, {})[way] = {key: own[key] for key in LOGGED}
    return found


def row(environment: Path, name: str) -> Row:
    """Return the row of a server."""
    server = RECORDS["servers"][SERVERS[name]["row"]]
    return {
        "name": name,
        "command": server.command,
        "versions": versions(environment, [*server.packages, "starlette"]),
        "conditions": server.conditions(environment),
        "options": SERVERS[name].get("options", []),
        "runs": recorded(environment, name, PROGRAMS),
        "starlette": with_starlette(environment, name),
    }


if __name__ == "__main__":
    needs = {
        name: Needs("matrix", [*RECORDS["servers"][server["row"]].packages, "starlette"])
        for name, server in SERVERS.items()
    }
    about = {"programs": PROGRAMS, "starlette": STARLETTE}
    on_both = SERVERS.__contains__
    sys.exit(measure(sys.argv[1:], needs, row, on_newest=on_both, at_once=2, **about))
