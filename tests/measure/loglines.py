"""Record what the current servers log and do about the lifespan of an application: `make loglines`.

    python tests/measure/loglines.py FOLDER FILE [SERVER...]

FOLDER is the environment with the servers, FILE is the record. Each program of PROGRAMS runs under
each of SERVERS on a loopback port, gets a request, and then a signal: once SIGTERM, which
supervisors send, and once SIGINT, which Ctrl-C sends. Those of IN_TWO run with two workers, too.
A line is recorded if the same server does not log it for the program `answers`, which has no
fault. STREAMS runs with and without an option of LIMITS, and its response is still open when
SIGTERM comes.
"""

import contextlib
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from kept import keep, select, versions
from run import SERVERS as COMMANDS

__all__ = ["PROGRAMS", "SERVERS", "recorded"]

SERVERS = {  # by the name on the page, that in run.py
    "uvicorn": "uvicorn",
    "hypercorn": "hypercorn, asyncio",
    "granian": "granian",
    "gunicorn": "gunicorn, asgi",
    "daphne": "daphne",
}
OPTIONS = {  # of each server about lifespans
    "uvicorn": ["--lifespan on", "--lifespan off"],
    "granian": ["--interface asginl"],
    "gunicorn": ["--asgi-lifespan on", "--asgi-lifespan off"],
}
FAULTLESS = "answers"
PATIENCE = 75.0  # seconds: longer than the timeout of any server
BEFORE_TIMEOUT = 5.0  # seconds after which a server that starts gets its signal
AFTER_REQUEST = 1.0  # seconds in which an application can crash
AFTER_SIGNAL = 10.0
BELOW = range(10240, 32768)  # below the ports that a system gives to connections
PORTS = iter(random.sample(BELOW, len(BELOW)))

LIFESPAN = """\
import asyncio


async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        await receive()
{steps}
        return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"ok"})
"""
STARTED = 'await send({"type": "lifespan.startup.complete"})'
RECEIVED = "shutdown"  # the file that an application writes when it has received that event
CANCELLED = "cancelled"  # and the one that its request writes when it is
STOPS = f'await receive(); open("{RECEIVED}", "x").close()'
STOPPED = 'await send({"type": "lifespan.shutdown.complete"})'


def program(*steps: str) -> str:
    """Return an application that does this after it has received startup."""
    return LIFESPAN.replace("{steps}", "\n".join(f"        {step}" for step in steps))


PROGRAMS = {
    FAULTLESS: program(STARTED, STOPS, STOPPED),
    "raises": program('raise ConnectionError("no database")'),
    "fails": program('await send({"type": "lifespan.startup.failed", "message": "no database"})'),
    "fails-to-stop": program(
        STARTED,
        STOPS,
        'await send({"type": "lifespan.shutdown.failed", "message": "3 jobs are lost"})',
    ),
    "crashes-later": program(
        STARTED, "await asyncio.sleep(0.2)", 'raise ConnectionError("the database is gone")'
    ),
    "ignores-the-scope": "async def app(scope, receive, send):\n"
    "    await receive()\n"
    f"    {STARTED}\n"
    "    await receive()\n"
    f"    {STOPPED}\n",
    "hangs-at-startup": program("await asyncio.sleep(3600)", STARTED),
    "hangs-at-shutdown": program(STARTED, STOPS, "await asyncio.sleep(3600)", STOPPED),
}
IN_TWO = "fails", "fails-to-stop"
STREAMS = f"""\
import asyncio


async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        await receive()
        {STARTED}
        {STOPS}
        {STOPPED}
        return
    await send({{"type": "http.response.start", "status": 200, "headers": []}})
    try:
        while True:
            await send({{"type": "http.response.body", "body": b".", "more_body": True}})
            await asyncio.sleep(0.1)
    except asyncio.CancelledError:
        open("{CANCELLED}", "x").close()
        raise
"""
LIMITS = {  # of each server, its option for the seconds that it waits for open requests
    "uvicorn": "--timeout-graceful-shutdown",
    "hypercorn": "--graceful-timeout",
    "granian": "--workers-kill-timeout",
    "gunicorn": "--graceful-timeout",
}
LIMIT = 6


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


class Run(NamedTuple):
    """What a server did with a program."""

    lines: list[str]
    served: bool
    alone: bool  # it ended without a signal
    shutdown: bool  # the application received lifespan.shutdown
    cancelled: bool  # its request was cancelled
    ended: bool  # in time after the signal, or alone
    status: int | None  # the exit status as a shell has it, 128 and more after a signal
    seconds: int  # from the signal to its end


SIGNALLED = 128  # what a shell adds to the number of a signal
LOGGED = "lines", "served", "alone", "shutdown", "ended", "status"
WAITED = "shutdown", "cancelled", "ended", "seconds"


def served(
    port: int, running: "subprocess.Popen[bytes]", patience: float, response: contextlib.ExitStack
) -> bool:
    """Send a request as soon as somebody listens; tell whether it was answered.

    What was answered stays open for as long as `response` is.
    """
    end = time.monotonic() + patience
    while time.monotonic() < end and running.poll() is None:
        try:
            with contextlib.suppress(urllib.error.HTTPError):  # an answer, too
                address = f"http://127.0.0.1:{port}/"
                response.enter_context(urllib.request.urlopen(address, timeout=2))
        except OSError:
            time.sleep(0.2)
        else:
            return True
    return False


def free_port() -> int:
    """Return a port that nothing listens on, each one once: servers start side by side."""
    for port in PORTS:
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise SystemExit("no port of 127.0.0.1 is free")


def run(folder: Path, command: str, source: str, way: Way, patience: float = PATIENCE) -> Run:
    """Run one program under one server."""
    port = free_port()
    filled = command.format(app="shop:app", port=port, workers=way.workers).split()
    filled += way.option.split()
    with (
        contextlib.ExitStack() as response,
        tempfile.TemporaryDirectory() as place,
        tempfile.TemporaryFile() as output,
    ):
        Path(place, "shop.py").write_text(source, "utf-8")
        running = subprocess.Popen(
            [str(folder / filled[0]), *filled[1:]],
            cwd=place,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, "NO_COLOR": "1", "PYTHONUNBUFFERED": "1"},
        )
        try:
            answered = served(port, running, patience, response)
            time.sleep(AFTER_REQUEST)
            alone = running.poll() is not None
            if not alone:
                running.send_signal(way.signal)
            signalled = time.monotonic()
            with contextlib.suppress(subprocess.TimeoutExpired):
                running.wait(way.after_signal)
            status, seconds = running.poll(), round(time.monotonic() - signalled)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)
            running.wait(AFTER_SIGNAL)
        output.seek(0)
        lines = plain(output.read().decode("utf-8", "replace"))
        noted = [Path(place, name).exists() for name in (RECEIVED, CANCELLED)]
    ended = status is not None
    if status is not None and status < 0:
        status = SIGNALLED - status
    return Run(lines, answered, alone, *noted, ended, status, seconds)


TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:,\d+| [+-]\d{4})"
PREFIX = re.compile(rf"^(?:\[{TIME}\] \[\d+\] |{TIME} )")  # when, and in which process
NUMBER = re.compile(r"(?<=\[)\d+(?=\])|\d{4,}")  # of a process or a port
FRAME = re.compile(
    r"\s|$|Process |\w+: *Traceback|Traceback|During handling|The above exception|[\w.]+Error$"
)


def plain(text: str) -> list[str]:
    """Return the lines of a log, each once; without times, processes, requests and frames."""
    lines = [PREFIX.sub("", line) for line in text.splitlines() if not FRAME.match(line)]
    kept = [NUMBER.sub("…", line).rstrip() for line in lines if '"GET /' not in line]
    return list(dict.fromkeys(kept))


def recorded(folder: Path, name: str, programs: Mapping[str, str] = PROGRAMS) -> dict[str, Any]:
    """Run the programs under a server, and return its row of the record."""
    packages, command = COMMANDS[SERVERS[name]]
    wanted = [
        (program, way)
        for program in programs
        for way in WAYS
        if WAYS[way].workers == 1 or ("{workers}" in command and program in (FAULTLESS, *IN_TWO))
    ]

    def run_one(each: tuple[str, str]) -> Run:
        program, way = each
        done = run(folder, command, programs[program], WAYS[way])
        if program != "hangs-at-startup":
            return done
        early = run(folder, command, programs[program], WAYS[way], BEFORE_TIMEOUT)
        return done._replace(ended=early.ended, status=early.status)  # signalled before a timeout

    with ThreadPoolExecutor() as pool:
        runs = dict(zip(wanted, pool.map(run_one, wanted), strict=True))
    found: dict[str, dict[str, Any]] = {}
    for (program, way), done in runs.items():
        usual = runs[FAULTLESS, way].lines
        own = done._replace(lines=[line for line in done.lines if line not in usual])
        found.setdefault(program, {})[way] = {fact: getattr(own, fact) for fact in LOGGED}
    return {
        "name": name,
        "command": command,
        "versions": versions(str(folder / "python"), packages),
        "options": OPTIONS.get(name, []),
        "runs": found,
    }


def waits(folder: Path, name: str) -> dict[str, Any]:
    """Return what becomes of a response that is open at SIGTERM, without and with a limit."""
    _, command = COMMANDS[SERVERS[name]]
    option = LIMITS.get(name, "")
    limits = {"": "", **({option: f"{option} {LIMIT}"} if option else {})}
    ways = [Way(signal.SIGTERM, option=given, after_signal=PATIENCE) for given in limits.values()]
    with ThreadPoolExecutor() as pool:
        runs = list(pool.map(lambda way: run(folder, command, STREAMS, way), ways))
    return {
        given: {fact: getattr(done, fact) for fact in WAITED}
        for given, done in zip(limits, runs, strict=True)
    }


def main(arguments: Sequence[str]) -> int:
    """Record the servers that are named, or all, one after the other."""
    folder, file, *names = arguments
    programs = Path(folder, "bin").absolute()
    # in the background of a shell SIGINT is ignored, which servers would inherit
    signal.signal(signal.SIGINT, signal.default_int_handler)

    def rows() -> Iterator[dict[str, Any]]:
        for name in select(names, SERVERS):
            yield recorded(programs, name) | {"waits": waits(programs, name)}
            print(f"{name}: {len(PROGRAMS)} programs", flush=True)

    keep(Path(file), [*SERVERS], rows(), programs=PROGRAMS, streams=STREAMS, limit=LIMIT)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
