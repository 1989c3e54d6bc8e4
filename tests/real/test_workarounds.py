"""The workarounds on the pages do what they promise, on the servers that the lock has."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import matrix
from loopback import served
from serving import free_port

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "docs" / "programs" / "workarounds"
BIN = Path(sys.executable).parent
LIMIT = 60.0  # seconds, on a machine that is busy
PATHS = os.pathsep.join([str(PROGRAMS), str(ROOT / "src")])


class Workaround(NamedTuple):
    """A program, the servers and clients for which the pages name it, and what it does then."""

    subjects: tuple[str, ...]
    shows: str
    served: bool = True
    options: str = ""
    instead: tuple[str, str] = ("", "")  # words of the server's command, and what stands there


HYPERCORN = "hypercorn, asyncio", "hypercorn, trio"
CLIENTS = "starlette", "litestar", "asgi-lifespan", "quart"
STRICT = "uvicorn_worker.UvicornWorker", "strict_worker.StrictWorker"
CRASH = "RuntimeError: the warehouse is closed"
WORKAROUNDS = [
    ("deadline", Workaround(("uvicorn", "gunicorn, asgi"), "not answer within 1 s", served=False)),
    ("crash", Workaround(("uvicorn",), CRASH, options="--lifespan on")),
    ("crash", Workaround(("granian", "gunicorn, asgi"), CRASH)),
    ("crash", Workaround(("gunicorn, uvicorn-worker",), CRASH, instead=STRICT)),
    ("failed", Workaround((*HYPERCORN, *CLIENTS, "mangum"), "no database", served=False)),
    ("unsupported", Workaround(("hypercorn, trio",), "")),
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


SUBJECTS = {**matrix.RECORDS["servers"], **matrix.RECORDS["drivers"]}
RUNS = [(name, program, each) for program, each in WORKAROUNDS for name in each.subjects]


@pytest.mark.parametrize(
    ("name", "program", "workaround"), RUNS, ids=[" ".join(each[:2]) for each in RUNS]
)
def test_workaround_works(name: str, program: str, workaround: Workaround, tmp_path: Path) -> None:
    typed, port = SUBJECTS[name].command, free_port()
    old, new = workaround.instead
    assert old in typed
    command = f"{typed.replace(old, new)} {workaround.options}"
    first, *words = command.format(app=f"{program}:app", port=port, workers=1).split()
    words = [str(BIN / first), *(each.replace("docs/", f"{ROOT}/docs/") for each in words)]
    answer, text = served(words, tmp_path, port, shows=workaround.shows, PYTHONPATH=PATHS)
    assert workaround.shows in text
    if workaround.served:
        assert answer == "served", text
    else:
        assert answer is None or re.match(r"5\d\d ", answer), text


def test_a_function_starts_its_application_once() -> None:
    """Mangum alone would start it for each event."""
    python = [sys.executable, "-c", INVOCATIONS]
    text = subprocess.check_output(
        python,
        env=os.environ | {"PYTHONPATH": PATHS},
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT,
    )
    assert text.splitlines() == ["open the pool", "served", "served", "close the pool"]
