"""The workarounds on the pages do what they promise, on the servers that the lock has."""

import os
import re
import runpy
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from loopback import asked, free_port

__all__: list[str] = []

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "docs" / "programs" / "workarounds"
BIN = Path(sys.executable).parent
LIMIT = 60.0  # seconds, on a machine that is busy
HOST = str(ROOT / "tests" / "measure" / "client_host.py")


class Workaround(NamedTuple):
    """A program, the servers and clients for which the pages name it, and what it does then."""

    subjects: tuple[str, ...]
    shows: str
    served: bool = True
    options: str = ""
    instead: tuple[str, str] = ("", "")  # words of the server's command, and what stands there


HYPERCORN = "hypercorn, asyncio", "hypercorn, trio"
OTHERS = "mangum", "amgi-common"
CLIENTS = "starlette", "litestar", "asgi-lifespan", "quart"
STRICT = "uvicorn_worker.UvicornWorker", "strict_worker.StrictWorker"
CRASH = "RuntimeError: the warehouse is closed"
WORKAROUNDS = [
    ("deadline", Workaround(("uvicorn", "gunicorn, asgi"), "not answer within 1 s", served=False)),
    ("crash", Workaround(("uvicorn",), CRASH, options="--lifespan on")),
    ("crash", Workaround(("granian", "gunicorn, asgi"), CRASH)),
    ("crash", Workaround(("gunicorn, uvicorn-worker",), CRASH, instead=STRICT)),
    (
        "failed",
        Workaround((*HYPERCORN, *CLIENTS, "mangum", "amgi-common"), "no database", served=False),
    ),
    ("unsupported", Workaround(("hypercorn, trio", "amgi-common"), "")),
    ("state", Workaround(("hypercorn, trio", "granian", "asgi-lifespan"), "requests: 1")),
    ("first_request", Workaround(("daphne",), "open the pool")),
    ("versions", Workaround(CLIENTS, "ASGI 3.0")),
]
INVOCATIONS = """
import once

event = {
    "version": "2.0",
    "rawPath": "/",
    "rawQueryString": "",
    "headers": {},
    "requestContext": {"http": {"method": "GET", "path": "/", "sourceIp": "127.0.0.1"}},
    "isBase64Encoded": False,
}
for _ in range(2):
    print(once.handler(event, None)["body"])
"""


def subjects() -> dict[str, Any]:
    """Return what `make matrix` measures, by name."""
    sys.path.insert(0, str(ROOT / "tests" / "measure"))
    try:
        records = runpy.run_path(str(ROOT / "tests" / "measure" / "run.py"))["RECORDS"]
    finally:
        sys.path.pop(0)
    return {name: subject for record in records.values() for name, subject in record.items()}


SUBJECTS = subjects()


def command(name: str, workaround: Workaround) -> list[str]:
    """Return the command with which users start a server; a test client gets a port."""
    typed = SUBJECTS[name].command
    if "client_host.py" in typed:
        return [sys.executable, HOST, name, "{app}", "{port}"]
    old, new = workaround.instead
    assert old in typed
    program, *rest = f"{typed.replace(old, new)} {workaround.options}".split()
    return [str(BIN / program), *rest]


def runs() -> Iterator[Any]:
    """Yield a case for each workaround and each subject."""
    for program, workaround in WORKAROUNDS:
        for name in workaround.subjects:
            words = command(name, workaround)
            filled = [word.replace("{app}", f"{program}:app") for word in words]
            yield pytest.param(filled, workaround, id=f"{name} {program}")


@pytest.mark.parametrize(("words", "workaround"), [*runs()])
def test_a_workaround_works(words: list[str], workaround: Workaround, tmp_path: Path) -> None:
    port = free_port()
    values = {"{port}": str(port), "{workers}": "1"}
    filled = [values.get(word, word.replace("{port}", str(port))) for word in words]
    paths = os.pathsep.join([str(PROGRAMS), str(ROOT / "src")])
    environment = os.environ | {"PYTHONPATH": paths, "PYTHONUNBUFFERED": "1", "NO_COLOR": "1"}
    output = tmp_path / "output"
    with (
        output.open("w") as file,
        subprocess.Popen(
            filled, cwd=tmp_path, env=environment, stdout=file, stderr=subprocess.STDOUT
        ) as process,
    ):
        try:
            answer, end = None, time.monotonic() + LIMIT
            while answer is None and process.poll() is None and time.monotonic() < end:
                time.sleep(0.1)
                answer = asked(port)
            second = time.monotonic() + 1  # in which a program can crash
            while workaround.shows not in output.read_text() and time.monotonic() < second:
                time.sleep(0.1)
            process.send_signal(signal.SIGTERM)
            process.wait(LIMIT)
        finally:
            process.kill()
    text = output.read_text()
    assert workaround.shows in text
    if workaround.served:
        assert answer == "served", text
    else:
        assert answer is None or re.match(r"5\d\d ", answer), text


def test_a_function_starts_its_application_once() -> None:
    """Mangum alone would start it for each event."""
    paths = os.pathsep.join([str(PROGRAMS), str(ROOT / "src")])
    python = [sys.executable, "-c", INVOCATIONS]
    text = subprocess.check_output(
        python, env=os.environ | {"PYTHONPATH": paths}, text=True, timeout=LIMIT
    )
    assert text.splitlines() == ["open the pool", "served", "served"]
