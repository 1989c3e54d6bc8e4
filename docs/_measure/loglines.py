"""Record what the current servers log and do about the lifespan of an application: `make loglines`.

`loglines.toml` has the servers and the programs.  Each program runs under each server, gets a
request, and then a signal: once SIGTERM, which supervisors send, and once SIGINT, which Ctrl-C
sends.  Those of IN_TWO run with two workers, too.  A line is recorded if the same server does not
log it for the program `answers`, which has no fault.  Beside them stands what it logs if an
application of Starlette has the same fault, since that is what most readers have.  A server that
hangs is given up with the keys that people press: which of them end it?
"""

import contextlib
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from matrix import RECORDS
from records import Row, measure, table, versions
from serving import Program, free_port, plain

ROWS = table("loglines")
SERVERS, PROGRAMS, STREAMS = ROWS["servers"], ROWS["programs"], ROWS["streams"]["program"]
STARLETTE = {
    name: ROWS["head"]["starlette"] + program for name, program in ROWS["starlette"].items()
}
HANGS = {  # what a server waits for, and the program that makes it wait
    "startup": PROGRAMS["hangs-at-startup"],
    "requests": STREAMS,
    "tasks": STARLETTE["works-after-response"],
    "shutdown": PROGRAMS["hangs-at-shutdown"],
    "threads": ROWS["threads"]["program"],
}
KEYS = {  # after one Ctrl-C; kill -9 goes to the process that was started alone
    "Ctrl-C": [signal.SIGINT],
    "Ctrl-C twice": [signal.SIGINT, signal.SIGINT],
    "Ctrl-\\": [signal.SIGINT, signal.SIGQUIT],
    "kill -9": [signal.SIGINT, signal.SIGKILL],
}
FAULTLESS = "answers"
IN_TWO = FAULTLESS, "fails", "fails-to-stop"
PATIENCE = 75.0  # seconds: longer than the timeout of any server
BEFORE_TIMEOUT = 5.0  # seconds after which a server that starts gets its signal
AFTER_REQUEST = 1.0  # seconds in which an application can crash
AFTER_SIGNAL = 10.0
BEFORE_KEYS = 12.0  # seconds for a startup that hangs, below any timeout of a server
AGAIN = 3  # times that each key is tried
AFTER_KEYS = 3.0  # seconds until the next key, and for what outlives the process that ended
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


@contextlib.contextmanager
def requested(
    environment: Path, server: str, source: str, way: Way, patience: float
) -> Iterator[tuple[Program, Path, int]]:
    """Run a program and send it a request; yield it, its folder and the status of the answer."""
    port = free_port()
    subject = RECORDS["servers"][SERVERS[server]["row"]]
    words = subject.words(environment, app="shop:app", port=port, workers=way.workers)
    words += way.option.split()
    with contextlib.ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        (place / "shop.py").write_text(source, "utf-8")
        program = stack.enter_context(Program(words, place, PYTHONUNBUFFERED="1"))
        answered = program.request(port, patience, stack)
        time.sleep(AFTER_REQUEST)
        yield program, place, answered


def run(environment: Path, server: str, source: str, way: Way, patience: float = PATIENCE) -> Row:
    """Run one program under one server; return what it did.

    `alone` is whether it ended without a signal, `ended` whether it did so in time, and `seconds`
    the time from the signal to its end.
    """
    with requested(environment, server, source, way, patience) as (program, place, answered):
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

    def run_one(program: str, way: str) -> Row:
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
        return run(environment, server, STARLETTE[program], WAYS[way], BEFORE_TIMEOUT)

    ways = [way for way, each in WAYS.items() if each.workers == 1]
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


def given_up(environment: Path, server: str) -> dict[str, Row]:
    """Return by what a server waits for: its last line if it goes on after Ctrl-C, and the keys.

    A key ends it if it did so each time, and leaves a process if it did so once.
    """

    def press(each: tuple[str, str]) -> Row:
        way, patience = Way(signal.SIGINT), BEFORE_KEYS if each[0] == "startup" else PATIENCE
        with requested(environment, server, HANGS[each[0]], way, patience) as (program, _, _):
            first, *rest = KEYS[each[1]]
            os.killpg(program.process.pid, first)
            for each_signal in rest:
                program.wait(AFTER_KEYS)
                if each_signal == signal.SIGKILL:
                    program.process.kill()
                elif in_group(program.process.pid):
                    os.killpg(program.process.pid, each_signal)
            ended = program.wait(AFTER_SIGNAL) is not None
            gone = time.monotonic() + AFTER_KEYS
            while (left := ended and in_group(program.process.pid)) and time.monotonic() < gone:
                time.sleep(0.2)
            return {"ended": ended, "left": left, "last": plain(program.lines)[-1:]}

    wanted = [(hang, keys) for hang in HANGS for keys in KEYS]
    found: dict[str, Row] = {hang: {"last": []} for hang in HANGS}
    with ThreadPoolExecutor(4) as pool:
        for (hang, keys), done in zip(wanted * AGAIN, pool.map(press, wanted * AGAIN), strict=True):
            seen = found[hang].setdefault(keys, {"ended": True, "left": False})
            seen["ended"] &= done["ended"]
            seen["left"] |= done["left"]
            if keys == "Ctrl-C" and not done["ended"]:
                found[hang]["last"] = done["last"]
    return found


def in_group(group: int) -> bool:
    """Whether a process of a group runs."""
    for each in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, of, *_ = each.read_text("utf-8").rpartition(")")[2].split()
            if int(of) == group and state != "Z":
                return True
    return False


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
        "waits": waits(environment, name),
        "given up": given_up(environment, name),
    }


if __name__ == "__main__":
    # in the background of a shell SIGINT is ignored, which servers would inherit
    signal.signal(signal.SIGINT, signal.default_int_handler)
    about = {"programs": PROGRAMS, "starlette": STARLETTE, "streams": STREAMS, "limit": LIMIT}
    sys.exit(measure(sys.argv[1:], SERVERS, row, at_once=2, **about))
