"""Servers with server.py in place of their own lifespan log each failure once, as their own.

The classes of docs/programs are put into copies of the servers, as `adapted.py` does for the
record.  A record that does not begin as the server's own did not pass the `report` of the class.
"""

import contextlib
import os
import re
import runpy
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from loopback import asked, free_port

__all__: list[str] = []

ROOT = Path(__file__).parents[2]
SUBJECTS = runpy.run_path(str(ROOT / "tests" / "measure" / "run.py"))["RECORDS"]["adapted"]
MATRIX = ROOT / "build" / "matrix"
LIMIT = 60.0  # seconds, on a machine that is busy
APP = """
import anyio


async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        await receive()
        scope["state"]["shop"] = b"served"
        {steps}
        return
    body = scope["state"].get("shop", b"no shop")
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})
"""
START = 'await send({"type": "lifespan.startup.complete"})', "await receive()"
STOP = 'await send({"type": "lifespan.shutdown.complete"})'
NOT_STARTED = 'await send({"type": "lifespan.startup.failed", "message": "no database"})'
NOT_STOPPED = 'await send({"type": "lifespan.shutdown.failed", "message": "no database"})'
RAISE = 'raise ConnectionError("no " + "database")'  # a traceback shows the line, too
HANG = "await anyio.sleep_forever()"
RECORD = {  # how a record of each server begins, at the level
    "uvicorn": "{level}: +",
    "hypercorn": r"\[[-\d: +]+\] \[\d+\] \[{level}\] ",
    "granian": r"\[{level}\] ",
    "gunicorn": r"\[[-\d: +]+\] \[\d+\] \[{level}\] ",
}
SWITCHED = {"uvicorn": "--lifespan on", "gunicorn, asgi": "--asgi-lifespan on"}
IN_ITS_WORDS = {"uvicorn": "ASGI 'lifespan' protocol appears unsupported."}
HYPERCORN = [name for name in SUBJECTS if "hypercorn" in name]
TRACEBACK = "Traceback (most recent call last)"


def bin_of(name: str) -> Path:
    """Return the folder with the programs of an environment that has the server."""
    if name.startswith(("uvicorn", "hypercorn")):
        return Path(sys.executable).parent
    if not (MATRIX / "complete").exists():
        pytest.skip(f"{name} is not installed: make build/matrix/complete")
    return MATRIX / "bin"


def record(name: str, level: str, sentence: str) -> str:
    """Return the pattern of a record."""
    begins = RECORD[re.split(r"\W", name)[0]].replace("{level}", level)
    return f"(?m)^{begins}{sentence}"


def ran(place: Path, name: str, steps: Sequence[str], options: str = "") -> tuple[str | None, str]:
    """Serve an application until it answers, and stop it; return the answer and the log."""
    (place / "shop.py").write_text(APP.replace("{steps}", "\n        ".join(steps)))
    port = free_port()
    values = {"{app}": "shop:app", "{workers}": "1"}
    command = [
        values.get(word, word.replace("{port}", str(port)))
        for word in [*SUBJECTS[name].job(bin_of(name)).command, *options.split()]
    ]
    environment = os.environ | {"PYTHONPATH": str(place), "PYTHONUNBUFFERED": "1", "NO_COLOR": "1"}
    output = place / "output"
    with (
        output.open("w") as file,
        subprocess.Popen(
            command,
            cwd=place,
            env=environment,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process,
    ):
        try:
            answer, end = None, time.monotonic() + LIMIT
            while answer is None and process.poll() is None and time.monotonic() < end:
                time.sleep(0.1)
                answer = asked(port)
            process.send_signal(signal.SIGTERM)
            process.wait(LIMIT)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    return answer, output.read_text()


@pytest.mark.parametrize("name", SUBJECTS)
def test_all_is_well(tmp_path: Path, name: str) -> None:
    """A request finds the state, and no error is logged."""
    answer, said = ran(tmp_path, name, [*START, STOP])
    assert answer == "served"
    assert not re.search(f"ERROR|{re.escape(TRACEBACK)}|The application", said)


@pytest.mark.parametrize("name", SUBJECTS)
def test_an_application_without_support_is_served(tmp_path: Path, name: str) -> None:
    """That is one line, and the exception, which came after startup was received, another."""
    answer, said = ran(tmp_path, name, [RAISE])
    assert answer == "served"
    unsupported = IN_ITS_WORDS.get(name, "The application does not support lifespan")
    assert len(re.findall(record(name, "INFO", unsupported), said)) == 1
    assert re.search(record(name, "ERROR", rf"The application raised .*\n{TRACEBACK[:9]}"), said)
    assert said.count(TRACEBACK) == 1


@pytest.mark.parametrize(("name", "options"), SWITCHED.items())
def test_a_server_that_demands_lifespan(tmp_path: Path, name: str, options: str) -> None:
    """It does not serve, and the exception is logged once."""
    answer, said = ran(tmp_path, name, [RAISE], options)
    assert answer is None
    assert said.count(TRACEBACK) == 1
    assert re.search(record(name, "ERROR", rf".*\n{TRACEBACK[:9]}"), said)


@pytest.mark.parametrize("steps", [[NOT_STARTED], [NOT_STARTED, RAISE]], ids=["sends", "raises"])
@pytest.mark.parametrize("name", SUBJECTS)
def test_a_failed_startup_is_told_once(tmp_path: Path, name: str, steps: list[str]) -> None:
    """By the server or by server.py; an exception after the message only with its traceback."""
    answer, said = ran(tmp_path, name, steps)
    assert answer is None
    assert said.count("no database") == 1 + said.count("ConnectionError: no database")
    assert said.count("ConnectionError: no database") <= 1


@pytest.mark.parametrize("name", SUBJECTS)
def test_a_failed_shutdown_is_told_once(tmp_path: Path, name: str) -> None:
    """By the server or by server.py."""
    answer, said = ran(tmp_path, name, [*START, NOT_STOPPED])
    assert answer == "served"
    assert said.count("no database") == 1


@pytest.mark.parametrize("name", SUBJECTS)
def test_a_crash_is_logged_once(tmp_path: Path, name: str) -> None:
    """With its traceback, in the server's own log."""
    _, said = ran(tmp_path, name, [START[0], RAISE])
    assert re.search(record(name, "ERROR", rf"The application crashed .*\n{TRACEBACK[:9]}"), said)
    assert said.count(TRACEBACK) == 1


@pytest.mark.parametrize("steps", [[HANG], [*START, HANG]], ids=["startup", "shutdown"])
@pytest.mark.parametrize("name", HYPERCORN)
def test_a_timeout_is_told_once(tmp_path: Path, name: str, steps: list[str]) -> None:
    """Hypercorn has timeouts of its own, and its exception says where the application was."""
    (tmp_path / "timeouts.toml").write_text("startup_timeout = 0.5\nshutdown_timeout = 0.5\n")
    answer, said = ran(tmp_path, name, steps, f"--config {tmp_path / 'timeouts.toml'}")
    assert answer == ("served" if len(steps) > 1 else None)
    stage = "shutdown" if answer else "startup"
    assert said.count(f"The application did not answer {stage} within 0.5 s") == 1
    assert said.count(f"Timeout whilst awaiting {stage}.") == 1
