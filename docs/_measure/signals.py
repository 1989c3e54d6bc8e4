"""Record what ends a server, and what becomes of clean-up and open requests: `make signals`.

`signals.toml` has the servers and the applications.  What is recorded depends on conditions, so it
is measured under each of them: with one worker and with two, with the signal sent to the process
that was started ("to the parent": `kill`, `docker stop`) and to all its processes ("to the group":
Ctrl-C in a terminal, systemd), and on each Python, which has rows of its own.

A value that varies is a set: each fact of a record is the list of all values that were seen.
"""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from environments import Needs
from matrix import RECORDS, Subject
from records import Row, measure, table, versions
from serving import Program, free_port, plain, running

ROWS = table("signals")
SERVERS = ROWS["servers"]
PROGRAMS, HANGS = (
    {name: ROWS["head"]["source"] + source for name, source in ROWS[key].items()}
    for key in ("programs", "hangs")
)
ONE, TWO = "one worker", "two workers"
WORKERS = {ONE: 1, TWO: 2}
PARENT, GROUP = "to the parent", "to the group"
KEYS = {  # what is pressed or typed, and which processes it reaches
    "Ctrl-C": [(signal.SIGINT, GROUP)],
    "Ctrl-C twice": [(signal.SIGINT, GROUP), (signal.SIGINT, GROUP)],
    "Ctrl-C, Ctrl-\\": [(signal.SIGINT, GROUP), (signal.SIGQUIT, GROUP)],
    "Ctrl-\\": [(signal.SIGQUIT, GROUP)],
    "kill -9": [(signal.SIGKILL, PARENT)],
}
SIGNALS = signal.SIGTERM, signal.SIGINT
LIMIT = 6  # seconds, the value of the option for open requests
BEGINS = 60.0  # seconds in which a server begins on a busy machine
EARLY = 20.0  # seconds from the start to the signal: below each limit of a server, the first is 30
SETTLES = 1.0  # seconds that a server has after its start
PATIENCE = 45.0  # seconds after the signal: longer than gunicorn's limit of 30
AFTER_KEYS = 3.0  # seconds until the next key, and for what outlives the process that ended
AFTER_LAST = 10.0  # seconds after the last key
AGAIN, OFTEN = 3, 5  # how often all is run, and how often what varied then
TRIES = 3  # that a run has on a machine which is too busy for it
POOL = ThreadPoolExecutor(12)  # they wait most of the time

Facts = dict[str, Any]


class PremiseError(RuntimeError):
    """A run did not do what it is there for, such as to send its signal in time."""


class Stage:
    """A server with an application, and what that has noted."""

    def __init__(self, program: Program, place: Path, workers: int) -> None:
        self.program, self.workers = program, workers
        self.noted_in = place / "noted"
        self.began = time.monotonic()

    def noted(self) -> dict[str, list[str]]:
        """Return what each process has noted, in the order of their first words."""
        found: dict[str, list[str]] = {}
        if self.noted_in.exists():
            for line in self.noted_in.read_text("utf-8").splitlines():
                process, _, words = line.partition(" ")
                found.setdefault(process, []).append(words)
        return found

    def until(self, word: str, processes: int = 1) -> None:
        """Wait until so many processes have noted a word."""
        end = time.monotonic() + BEGINS
        while sum(word in words for words in self.noted().values()) < processes:
            if time.monotonic() > end or self.program.over:
                raise PremiseError(f"{word!r} was not reached: {self.program.lines[-5:]}")
            time.sleep(0.05)

    def send(self, number: signal.Signals, to: str) -> None:
        """Send a signal to the process that was started, or to all of its group."""
        with contextlib.suppress(ProcessLookupError):
            if to == GROUP:
                os.killpg(self.program.process.pid, number)
            else:
                self.program.process.send_signal(number)

    def send_first(self, number: signal.Signals, to: str) -> float:
        """Send the first signal; return when.  It must come before any limit of the server."""
        now = time.monotonic()
        if self.program.over:
            raise PremiseError(f"it ended before the signal: {self.program.lines[-5:]}")
        if now - self.began > EARLY:
            raise PremiseError(f"the signal came {now - self.began:.0f} s after the start")
        self.send(number, to)
        return now


def subject_of(name: str) -> Subject:
    """Return the row of matrix.toml of a server."""
    about = SERVERS[name]
    subject: Subject = RECORDS["servers"][about["row"]]
    if "environment" in about:
        return subject._replace(environment=about["environment"])
    return subject


def option_of(name: str) -> str:
    """Return a server's option for the seconds that it waits for open requests, "" without one."""
    return subject_of(name).limit.partition(" ")[0]


def has_lifespan(name: str) -> bool:
    """Tell whether a server starts a lifespan."""
    return bool(SERVERS[name].get("lifespan", True))


@contextlib.contextmanager
def staged(
    environment: Path, name: str, source: str, workers: int, option: str = ""
) -> Iterator[tuple[Stage, Callable[[], None]]]:
    """Start a server with an application; yield both, and what sends a request that stays open."""
    port = free_port()
    words = subject_of(name).words(environment, app="shop:app", port=port, workers=workers)
    words += option.split()
    with running(words, source) as (program, place), contextlib.ExitStack() as opened:
        stage = Stage(program, place, workers)

        def ask() -> None:
            if not program.request(port, BEGINS, opened):
                raise PremiseError(f"no request was answered: {program.lines[-5:]}")

        yield stage, ask


def tried(run: Callable[[], Facts]) -> Facts:
    """Run; once more if the premise of the run did not hold."""
    for _ in range(1, TRIES):
        with contextlib.suppress(PremiseError):
            return run()
    return run()


def often(run: Callable[[], Facts]) -> Callable[[], Facts]:
    """Begin to run AGAIN times; return what waits, and has by fact each value that was seen.

    If one fact has two values, there are OFTEN runs more.
    """
    begun: list[Future[Facts]] = [POOL.submit(tried, run) for _ in range(AGAIN)]

    def wait() -> Facts:
        runs = [each.result() for each in begun]
        if any(each != runs[0] for each in runs):
            more = [POOL.submit(tried, run) for _ in range(OFTEN)]
            runs += [each.result() for each in more]
        return {fact: distinct(each[fact] for each in runs) for fact in runs[0]}

    return wait


def distinct(values: Iterator[list[Any]]) -> list[Any]:
    """Return each value once, sorted by how they are written."""
    return sorted({value for each in values for value in each}, key=repr)


def ways(
    server: Subject, signals: Sequence[signal.Signals]
) -> list[tuple[signal.Signals, str, str]]:
    """Return each signal, whom it is sent to, and the number of workers."""
    several = [ONE, TWO] if "{workers}" in server.command else [ONE]
    return [(number, to, many) for number in signals for to in (PARENT, GROUP) for many in several]


def stopped(environment: Path, name: str, number: signal.Signals, to: str, many: str) -> Facts:
    """Stop a server that serves nothing; return what became of the application's clean-up.

    `shutdown` is whether `lifespan.shutdown` was sent, and `cleans` how many of the three seconds
    of clean-up have run.
    """
    with staged(environment, name, PROGRAMS["cleans"], WORKERS[many]) as (stage, ask):
        if has_lifespan(name):
            stage.until("startup", WORKERS[many])
        ask()
        time.sleep(SETTLES)
        moment = stage.send_first(number, to)
        status = stage.program.wait(PATIENCE)
        seconds = int(time.monotonic() - moment)  # a limit never ends early
        left = is_left(stage.program.process.pid) if status is not None else False
        workers = [words for words in stage.noted().values() if "startup" in words]
    return {
        "shutdown": ["shutdown" in words for words in workers],
        "cleans": [cleaned(words) for words in workers],
        "statuses": [] if status is None else [status],
        "seconds": [None if status is None else seconds],
        "left": [left],
    }


def cleaned(words: Sequence[str]) -> int:
    """Return for how many seconds a clean-up ran that takes three."""
    return 3 if "cleaned" in words else round(words.count("cleans") / 10)


def waited(
    environment: Path, name: str, program: str, option: str, way: tuple[signal.Signals, str, str]
) -> Facts:
    """Stop a server while a response is open; return what became of that, in its worker.

    `pool` is whether what startup opened was open when the response was cancelled, and `finished`
    the same half a second later; "" if that was not reached.
    """
    number, to, many = way
    with staged(environment, name, PROGRAMS[program], WORKERS[many], option) as (stage, ask):
        if has_lifespan(name):
            stage.until("startup", WORKERS[many])
        ask()
        stage.until("request")
        time.sleep(SETTLES)
        moment = stage.send_first(number, to)
        status = stage.program.wait(PATIENCE)
        seconds = int(time.monotonic() - moment)  # a limit never ends early
        (words,) = (words for words in stage.noted().values() if "request" in words)
    return {
        "cancelled": ["cancelled" in words],
        "pool": [after("pool", words)],
        "finished": [after("finished", words)],
        "shutdown": ["shutdown" in words],
        "statuses": [] if status is None else [status],
        "seconds": [None if status is None else seconds],
    }


def after(word: str, words: Sequence[str]) -> str:
    """Return what was noted with a word, "" without it."""
    return next((each.partition(" ")[2] for each in words if each.startswith(f"{word} ")), "")


def pressed(environment: Path, name: str, hang: str, many: str, keys: str) -> Facts:
    """Make a server hang and press keys; return whether it ended, and what was left.

    The last line is the one of the log that was there when the next key could be pressed.
    """
    with staged(environment, name, HANGS[hang], WORKERS[many]) as (stage, ask):
        if has_lifespan(name):
            stage.until("startup", WORKERS[many])
        if hang != "startup":
            ask()
            stage.until("request")
        time.sleep(SETTLES)
        first, *rest = KEYS[keys]
        before = set(stage.noted())
        stage.send_first(*first)
        for number, to in rest:
            stage.program.wait(AFTER_KEYS)
            stage.send(number, to)
        ended = stage.program.wait(AFTER_LAST) is not None
        group = stage.program.process.pid
        return {
            "ended": [ended],
            "left": [is_left(group) if ended else False],
            "starts anew": [bool(set(stage.noted()) - before)],
            "last": [] if ended else plain(stage.program.lines)[-1:],
        }


def is_left(group: int) -> bool:
    """Whether a process of a group still runs after a while."""
    gone = time.monotonic() + AFTER_KEYS
    while in_group(group):
        if time.monotonic() > gone:
            return True
        time.sleep(0.2)
    return False


def in_group(group: int) -> bool:
    """Whether a process of a group runs."""
    for each in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, of, *_ = each.read_text("utf-8").rpartition(")")[2].split()
            if int(of) == group and state != "Z":
                return True
    return False


def stops(environment: Path, name: str) -> dict[str, Row]:
    """Return by way what a signal does to a server that serves nothing."""
    waits = {
        way: often(partial(stopped, environment, name, *way))
        for way in ways(subject_of(name), SIGNALS)
    }
    return {named(way): wait() for way, wait in waits.items()}


def waits(environment: Path, name: str) -> list[Row]:
    """Return what becomes of a response that is open at SIGTERM, without and with a limit."""
    limit = option_of(name)
    options = ["", f"{limit} {LIMIT}"] if limit else [""]
    each_way = ways(subject_of(name), [signal.SIGTERM])
    wanted = [("streams", option, way) for option in options for way in each_way]
    wanted += [("streams, bare", option, each_way[0]) for option in options]
    begun = [
        often(partial(waited, environment, name, program, option, way))
        for program, option, way in wanted
    ]
    return [
        {"program": program, "option": option, "way": named(way)} | wait()
        for (program, option, way), wait in zip(wanted, begun, strict=True)
    ]


def given_up(environment: Path, name: str) -> dict[str, dict[str, Row]]:
    """Return by what a server waits for and by workers which keys end it.

    More keys are tried only where one Ctrl-C did not end it each time.
    """

    def ends(hang: str, many: str, keys: str) -> Callable[[], Facts]:
        return often(partial(pressed, environment, name, hang, many, keys))

    several = [many for number, to, many in ways(subject_of(name), SIGNALS[:1]) if to == PARENT]
    mildest, *others = KEYS
    hangs = HANGS if has_lifespan(name) else ()
    first = {(hang, many): ends(hang, many, mildest) for hang in hangs for many in several}
    found: dict[str, dict[str, Row]] = {hang: {} for hang in hangs}
    more: list[tuple[str, str, str, Callable[[], Facts]]] = []
    for (hang, many), wait in first.items():
        seen = found[hang][many] = {mildest: wait()}
        if seen[mildest]["ended"] != [True] or seen[mildest]["left"] != [False]:
            more += [(hang, many, keys, ends(hang, many, keys)) for keys in others]
    for hang, many, keys, wait in more:
        found[hang][many][keys] = wait()
    return found


def named(way: tuple[signal.Signals, str, str]) -> str:
    """Return the name of a way in the record."""
    number, to, many = way
    return f"{number.name}, {to}, {many}"


def row(environment: Path, name: str) -> Row:
    """Return the row of a server."""
    server = subject_of(name)
    return {
        "name": name,
        "command": server.command,
        "versions": versions(environment, [*server.packages, "starlette"]),
        "conditions": server.conditions(environment),
        "limit": option_of(name),
        "stops": stops(environment, name),
        "waits": waits(environment, name),
        "given up": given_up(environment, name),
    }


if __name__ == "__main__":
    needs = {
        name: Needs(server.environment, [*server.packages, "starlette"])
        for name, server in ((each, subject_of(each)) for each in SERVERS)
    }
    on_both = SERVERS.__contains__
    sys.exit(measure(sys.argv[1:], needs, row, on_newest=on_both, at_once=2, limit=LIMIT))
