"""Record what the current servers log and do about the lifespan of an application: `make loglines`.

`loglines.toml` has the servers and the programs.  Each program runs under each server, gets a
request, and then a signal: once SIGTERM, which supervisors send, and once SIGINT, which Ctrl-C
sends.  Those of IN_TWO run with two workers, too.  A line is recorded if the same server does not
log it for the program `answers`, which has no fault.  Beside them stands what it logs if an
application of Starlette has the same fault, since that is what most readers have.
"""

import contextlib
import signal
import sys
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from records import Row, measure, table, versions
from serving import Program, conditions, plain

from loopback import free_port
from matrix import RECORDS

ROWS = table("loglines")
SERVERS, PROGRAMS, STREAMS = ROWS["servers"], ROWS["programs"], ROWS["streams"]["program"]
STARLETTE = {
    name: ROWS["head"]["starlette"] + program for name, program in ROWS["starlette"].items()
}
FAULTLESS = "answers"
IN_TWO = FAULTLESS, "fails", "fails-to-stop"
PATIENCE = 75.0  # seconds: longer than the timeout of any server
BEFORE_TIMEOUT = 5.0  # seconds after which a server that starts gets its signal
AFTER_REQUEST = 1.0  # seconds in which an application can crash
AFTER_SIGNAL = 10.0
OFTEN = 5  # times that a program of IN_TWO is run which fails: its status can differ
LOGGED = "lines", "served", "alone", "shutdown", "ended", "statuses"
WAITED = "shutdown", "cancelled", "ended", "seconds"
LIMIT = 6  # seconds, the value of the option for open requests


class Way(NamedTuple):
    """How a program is run: its signal at the end, its workers, an option, and how long it has."""

    signal: signal.Signals
    workers: int = 1
    option: str = ""
    after_signal: float = AFTER_SIGNAL


WAYS = {
    "SIGTERM": Way(signal.SIGTERM),
    "SIGINT": Way(signal.SIGINT),
    "two workers": Way(signal.SIGTERM, 2),
}


def run(environment: Path, server: str, source: str, way: Way, patience: float = PATIENCE) -> Row:
    """Run one program under one server; return what it did.

    `alone` is whether it ended without a signal, `ended` whether it did so in time, and `seconds`
    the time from the signal to its end.
    """
    port = free_port()
    command = RECORDS["servers"][SERVERS[server]["row"]].command
    first, *words = command.format(app="shop:app", port=port, workers=way.workers).split()
    words = [environment / "bin" / first, *words, *way.option.split()]
    with contextlib.ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        (place / "shop.py").write_text(source, "utf-8")
        program = stack.enter_context(Program(words, place, PYTHONUNBUFFERED="1"))
        answered = program.request(port, patience, stack)
        time.sleep(AFTER_REQUEST)
        if not (alone := program.over):
            program.process.send_signal(way.signal)
        signalled = time.monotonic()
        status = program.wait(way.after_signal)
        seconds = round(time.monotonic() - signalled)
        noted = {name: (place / name).exists() for name in ("shutdown", "cancelled")}
    found = {"lines": plain(program.lines), "served": bool(answered), "alone": alone, **noted}
    statuses = [] if status is None else [status]
    return found | {"ended": status is not None, "statuses": statuses, "seconds": seconds}


def recorded(environment: Path, server: str, programs: Mapping[str, str]) -> dict[str, Row]:
    """Run programs under a server; return what the record has of them, with every status seen."""
    workers = "{workers}" in RECORDS["servers"][SERVERS[server]["row"]].command
    wanted = [
        (program, way)
        for program in programs
        for way in WAYS
        if WAYS[way].workers == 1 or (workers and program in IN_TWO)
    ]

    def run_one(each: tuple[str, str]) -> Row:
        program, way = each
        done = run(environment, server, programs[program], WAYS[way])
        if program in IN_TWO[1:]:
            more = [run(environment, server, programs[program], WAYS[way]) for _ in range(1, OFTEN)]
            for other in more:
                done["alone"] &= other["alone"]
                done["statuses"] = sorted({*done["statuses"], *other["statuses"]})
        if program != "hangs-at-startup":
            return done
        early = run(environment, server, programs[program], WAYS[way], BEFORE_TIMEOUT)
        return done | {key: early[key] for key in ("ended", "statuses")}  # before a timeout

    with ThreadPoolExecutor() as pool:
        runs = dict(zip(wanted, pool.map(run_one, wanted), strict=True))
    found: dict[str, Row] = {}
    for (program, way), done in runs.items():
        faultless = runs[FAULTLESS, way]["lines"]
        own = {**done, "lines": [line for line in done["lines"] if line not in faultless]}
        found.setdefault(program, {})[way] = {key: own[key] for key in LOGGED}
    return found


def with_starlette(environment: Path, server: str) -> dict[str, Row]:
    """Return what programs of Starlette do under a server, at each signal."""
    signals = [way for way, each in WAYS.items() if each.workers == 1]

    def run_one(each: tuple[str, str]) -> Row:
        return run(environment, server, STARLETTE[each[0]], WAYS[each[1]], BEFORE_TIMEOUT)

    wanted = [(program, way) for program in STARLETTE for way in signals]
    with ThreadPoolExecutor() as pool:
        runs = dict(zip(wanted, pool.map(run_one, wanted), strict=True))
    found: dict[str, Row] = {}
    for (program, way), done in runs.items():
        own = {
            **done,
            "lines": [x for x in done["lines"] if x not in runs[FAULTLESS, way]["lines"]],
        }
        found.setdefault(program, {})[way] = {key: own[key] for key in LOGGED}
    return found


def waits(environment: Path, server: str) -> dict[str, Row]:
    """Return what becomes of a response that is open at SIGTERM, without and with a limit."""
    options = dict.fromkeys(["", SERVERS[server].get("limit", "")])
    ways = [
        Way(signal.SIGTERM, option=f"{option} {LIMIT}" if option else "", after_signal=PATIENCE)
        for option in options
    ]
    with ThreadPoolExecutor() as pool:
        runs = pool.map(lambda way: run(environment, server, STREAMS, way), ways)
        facts = [{key: each[key] for key in WAITED} for each in runs]
    return dict(zip(options, facts, strict=True))


def row(environment: Path, name: str) -> Row:
    """Return the row of a server."""
    server, port = RECORDS["servers"][SERVERS[name]["row"]], free_port()
    return {
        "name": name,
        "command": server.command,
        "versions": versions(environment, [*server.packages, "starlette"]),
        "conditions": conditions(server.words(environment, port), port),
        "options": SERVERS[name].get("options", []),
        "runs": recorded(environment, name, PROGRAMS),
        "starlette": with_starlette(environment, name),
        "waits": waits(environment, name),
    }


if __name__ == "__main__":
    # in the background of a shell SIGINT is ignored, which servers would inherit
    signal.signal(signal.SIGINT, signal.default_int_handler)
    about = {"programs": PROGRAMS, "starlette": STARLETTE, "streams": STREAMS, "limit": LIMIT}
    sys.exit(measure(sys.argv[1:], SERVERS, row, at_once=2, **about))
