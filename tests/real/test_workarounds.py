"""The workarounds of docs/matrix/notes.toml do what they promise, on the servers installed here.

The lock has some of the servers; `make build/matrix/complete`, and so `make check`, installs all.
"""

import os
import re
import runpy
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from loopback import asked, free_port

__all__: list[str] = []

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "docs" / "programs" / "workarounds"
NOTES = tomllib.loads((ROOT / "docs" / "matrix" / "notes.toml").read_text("utf-8"))
RECORDS = runpy.run_path(str(ROOT / "tests" / "measure" / "run.py"))["RECORDS"]
SUBJECTS = {
    name: subject
    for record, subjects in RECORDS.items()
    for name, subject in subjects.items()
    if record != "adapted"  # the servers as they are
}
MATRIX = ROOT / "build" / "matrix"
LIMIT = 60.0  # seconds, on a machine that is busy
HOST = "lifespec.conformance.server.client_host"
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


class Run(NamedTuple):
    """A workaround, and what it is run with."""

    folder: Path
    words: list[str]
    served: bool
    shows: str


def installed(name: str) -> Path | None:
    """Return a folder with the programs of a subject, of the lock or of the matrix."""
    here = Path(sys.executable).parent
    package = SUBJECTS[name].packages[0].replace("-", "_")
    if find_spec(package.lower()) and find_spec(SUBJECTS[name].packages[-1].lower()):
        return here
    own = MATRIX / name / "bin"
    folder = own if own.exists() else MATRIX / "bin"
    return folder if (MATRIX / "complete").exists() else None


def words(name: str, note: dict[str, Any], folder: Path) -> list[str]:
    """Return the command with which users start a server; a test client gets a port."""
    command = SUBJECTS[name].command
    if "check driver" in command:
        return [str(folder / "python"), "-m", HOST, name, "{app}", "{port}"]
    for old, new in note.get("instead", ()):
        assert old in command
        command = command.replace(old, new)
    program, *rest = f"{command} {note.get('options', '')}".split()
    return [str(folder / program), *rest]


def runs() -> Iterator[Any]:
    """Yield a case for each note and each subject that can be run here."""
    for note in NOTES["notes"]:
        for name in note.get("run", note["of"]):
            program = note.get("program")
            if program and program != "once":  # which starts no server
                folder = installed(name)
                lacks = pytest.mark.skipif(not folder, reason=f"{name} is not installed")
                folder = folder or MATRIX / "bin"
                expected = NOTES["programs"][program]
                command = words(name, note, folder)
                filled = [word.replace("{app}", f"{program}:app") for word in command]
                run = Run(folder, filled, expected["served"], expected["shows"])
                yield pytest.param(run, id=f"{name} {program}", marks=lacks)


@pytest.mark.parametrize("run", [*runs()])
def test_a_workaround_works(run: Run, tmp_path: Path) -> None:
    """Who is to be served is, who is not is not, and the output has what was promised."""
    port = free_port()
    values = {"{port}": str(port), "{workers}": "1"}
    command = [values.get(word, word.replace("{port}", str(port))) for word in run.words]
    paths = os.pathsep.join([str(PROGRAMS), str(ROOT / "src")])
    environment = os.environ | {"PYTHONPATH": paths, "PYTHONUNBUFFERED": "1", "NO_COLOR": "1"}
    output = tmp_path / "output"
    with (
        output.open("w") as file,
        subprocess.Popen(
            command, cwd=tmp_path, env=environment, stdout=file, stderr=subprocess.STDOUT
        ) as process,
    ):
        try:
            answer, end = None, time.monotonic() + LIMIT
            while answer is None and process.poll() is None and time.monotonic() < end:
                time.sleep(0.1)
                answer = asked(port)
            if run.served:
                time.sleep(0.3)  # a program that crashes has its time
            process.send_signal(signal.SIGTERM)
            process.wait(LIMIT)
        finally:
            process.kill()
    said = output.read_text()
    assert run.shows in said
    if run.served:
        assert answer == "served", said
    else:
        assert answer is None or re.match(r"5\d\d ", answer), said


def test_a_function_starts_its_application_once() -> None:
    """Mangum alone would start it for each event."""
    folder = installed("mangum")
    if not folder:
        pytest.skip("mangum is not installed")
    paths = os.pathsep.join([str(PROGRAMS), str(ROOT / "src")])
    command = [str(folder / "python"), "-c", INVOCATIONS]
    said = subprocess.check_output(
        command, env=os.environ | {"PYTHONPATH": paths}, text=True, timeout=LIMIT
    )
    assert said.splitlines() == [NOTES["programs"]["once"]["shows"], "served", "served"]
