"""Records what the current servers log about the lifespan of an application: `make loglines`.

    python tests/matrix/loglines.py FOLDER FILE

FOLDER is the environment with the servers, FILE is where the record is kept.  Each program of
PROGRAMS runs under each of SERVERS on a loopback port, gets a request, and then a Ctrl-C.  A line
is recorded if the same server does not log it for the program `answers`, in which all is well.
"""

import contextlib
import datetime as dt
import json
import os
import platform
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from run import SERVERS as COMMANDS
from run import versions

__all__ = ["PROGRAMS", "SERVERS", "recorded"]

SERVERS = {  # by the name on the page, that in run.py
    "uvicorn": "uvicorn",
    "hypercorn": "hypercorn, asyncio",
    "granian": "granian",
    "gunicorn": "gunicorn, asgi",
    "daphne": "daphne",
}
WELL = "answers"
PATIENCE = 75.0  # seconds: longer than the timeout of any server
BEFORE_TIMEOUT = 5.0  # seconds after which a server that starts gets its Ctrl-C
AFTER_REQUEST = 1.0  # seconds in which an application can crash
AFTER_INTERRUPT = 10.0

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
STOPPED = 'await send({"type": "lifespan.shutdown.complete"})'


def program(*steps: str) -> str:
    """Return an application that does this after it has received startup."""
    return LIFESPAN.replace("{steps}", "\n".join(f"        {step}" for step in steps))


PROGRAMS = {
    WELL: program(STARTED, "await receive()", STOPPED),
    "raises": program('raise ConnectionError("no database")'),
    "fails": program('await send({"type": "lifespan.startup.failed", "message": "no database"})'),
    "fails-to-stop": program(
        STARTED,
        "await receive()",
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
    "hangs-at-shutdown": program(STARTED, "await receive()", "await asyncio.sleep(3600)", STOPPED),
}


class Run(NamedTuple):
    """What a server did with a program."""

    lines: list[str]
    served: bool
    ended: bool  # within AFTER_INTERRUPT of a Ctrl-C, or by itself


def requested(port: int, running: "subprocess.Popen[bytes]", patience: float) -> bool:
    """Send a request as soon as somebody listens; tell whether it was answered."""
    end = time.monotonic() + patience
    while time.monotonic() < end and running.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=2):
                return True
        except urllib.error.HTTPError:
            return True
        except OSError:
            time.sleep(0.2)
    return False


def free_port() -> int:
    """Return a port that nothing listens on."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        number: int = free.getsockname()[1]
        return number


def tried(folder: Path, command: str, source: str, patience: float = PATIENCE) -> Run:
    """Run one program under one server."""
    port = free_port()
    filled = command.format(app="shop:app", port=port, workers=1).split()
    with tempfile.TemporaryDirectory() as place, tempfile.TemporaryFile() as output:
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
            served = requested(port, running, patience)
            time.sleep(AFTER_REQUEST)
            if running.poll() is None:
                running.send_signal(signal.SIGINT)
            ended = True
            try:
                running.wait(AFTER_INTERRUPT)
            except subprocess.TimeoutExpired:
                ended = False
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)
            running.wait(AFTER_INTERRUPT)
        output.seek(0)
        text = output.read().decode("utf-8", "replace")
    return Run(list(plain(text)), served, ended)


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
    with ThreadPoolExecutor() as pool:
        runs = dict(
            zip(
                programs,
                pool.map(lambda source: tried(folder, command, source), programs.values()),
                strict=True,
            )
        )
    usual = runs[WELL].lines
    for of in {"hangs-at-startup"} & {*programs}:  # this one is interrupted before a timeout, too
        ended = tried(folder, command, programs[of], BEFORE_TIMEOUT).ended
        runs[of] = runs[of]._replace(ended=ended)
    return {
        "name": name,
        "command": command,
        "versions": versions(folder, packages),
        "runs": {
            of: {**run._asdict(), "lines": [line for line in run.lines if line not in usual]}
            for of, run in runs.items()
            if of != WELL
        },
    }


def main(arguments: Sequence[str]) -> int:
    """Record all servers, one after the other."""
    folder, file = arguments
    rows = []
    for name in SERVERS:
        rows.append(recorded(Path(folder, "bin").absolute(), name))
        print(f"{name}: {len(PROGRAMS)} programs")
    found = {
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": platform.system(),
        "programs": PROGRAMS,
        "subjects": rows,
    }
    Path(file).write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
