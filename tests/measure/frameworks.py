"""Measure what applications of frameworks do with a lifespan: `make frameworks`.

    python tests/measure/frameworks.py PYTHON FILE [SUBJECT...]

PYTHON has the frameworks of `.ci/frameworks.txt`, and FILE is the record, which is written after
each subject.  Where subjects are named, the rows of the others stay as they are.  `frameworks.toml`
has the subjects.  `drive.py` asks an application each question in a process of its own, and uvicorn
shows what a user sees.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from framework_answers import answers
from kept import keep, select, versions
from loglines import FRAME, NUMBER, free_port

__all__ = ["SUBJECTS", "Subject", "main", "observed"]

PROGRAMS = Path(__file__).parents[2] / "docs" / "programs" / "frameworks"
DRIVER, ROWS = map(Path(__file__).with_name, ("drive.py", "frameworks.toml"))
LIMIT = 300  # seconds for all questions
PATIENCE = 20.0  # seconds, in which a server begins to answer, or ends after a signal
FAILING = """

async def connect(name):
    print("connect", name, flush=True)
    if name == "cache":
        raise OSError("no cache")
    return name
"""
UNDER = {"under uvicorn": "", "under uvicorn, a hook raises": FAILING}
NOISE = re.compile(  # times, addresses of objects, and folders
    r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[\d.,]*( [+-]\d{4})?|\b0x[0-9a-f]+|(?<![\w.:/])/([\w.+-]+/)+"
)
IN_GROUP = re.compile(r"[\s+|-]+\| (?=(?:\w+\.)*\w*(?:Error|Exception|Group)\b)")
OMITTED = "DeprecationWarning", "platform: ", "Exception Group Traceback"


class Subject(NamedTuple):
    """A row of `frameworks.toml`; a variant is another program, which mounts one, for example."""

    framework: str
    program: str
    packages: Sequence[str]
    variants: Sequence[str] = ()

    def variant(self, kind: str) -> str:
        """Return the program of a variant: of this one, or of the framework."""
        own = f"{self.program}_{kind}"
        exists = (PROGRAMS / f"{own}.py").exists()
        return own if exists else f"{self.program.partition('_')[0]}_{kind}"


VARIANTS = {  # by kind, the question
    "mounted": "mounted",
    "bare": "mounted",
    "nested": "usual",
    "combined": "usual",
    "router": "under uvicorn",
    "task": "a task raises",
    "group": "a task raises",
    "state": "state",
}
SUBJECTS = {name: Subject(**row) for name, row in tomllib.loads(ROWS.read_text("utf-8")).items()}


def observed(python: str, program: Path, *questions: str) -> dict[str, list[list[Any]]]:
    """Ask an application all questions, or some; return what happened."""
    command = [python, str(DRIVER), str(program), *questions]
    run = subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", timeout=LIMIT, check=False
    )
    if run.returncode:
        raise RuntimeError(f"{program.name}: {run.stderr}")
    found: dict[str, list[list[Any]]] = json.loads(run.stdout)
    return found


def served(python: str, program: str, failing: str = "") -> list[list[Any]]:
    """Run a program under uvicorn, with a request and SIGTERM; return what a user sees."""
    port = free_port()
    with tempfile.TemporaryDirectory() as place:
        shutil.copytree(PROGRAMS, place, dirs_exist_ok=True)
        with Path(place, "resources.py").open("a", encoding="utf-8") as file:
            file.write(failing)
        with Path(place, "log").open("wb") as output:
            running = subprocess.Popen(
                [python, "-m", "uvicorn", f"{program}:app", "--port", str(port)],
                cwd=place,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, "NO_COLOR": "1", "PYTHONWARNINGS": "ignore"},
            )
        try:
            found = [["server", f"uvicorn {versions(python, ['uvicorn'])['uvicorn']}"]]
            found += seen(running, port, Path(place, "log"))
        finally:
            if running.poll() is None:
                os.killpg(running.pid, signal.SIGKILL)
            running.wait(PATIENCE)
    return found


def seen(running: "subprocess.Popen[bytes]", port: int, log: Path) -> list[list[Any]]:
    """Return what a server logs until its request and until its end, and how it ends."""
    status = requested(running, port)
    before = log.read_text("utf-8", "replace")
    found = logged(before)
    if status:
        found += [["request", status], ["SIGTERM"]]
        running.send_signal(signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        running.wait(PATIENCE)
    found += logged(log.read_text("utf-8", "replace")[len(before) :])
    code = running.poll()
    if code is None:
        return [*found, ["did not end"]]
    return [*found, ["exit status", code if code >= 0 else 128 - code]]  # as a shell has it


def requested(running: "subprocess.Popen[bytes]", port: int) -> int:
    """Send a request as soon as somebody listens; return its status, or 0 if the server ends."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and running.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5) as response:
                status: int = response.status
                return status
        except urllib.error.HTTPError as error:
            error.close()
            return error.code
        except OSError:
            time.sleep(0.2)
    return 0


def logged(text: str) -> list[list[Any]]:
    """Return what `resources.py` prints, and the lines of a log without times and frames.

    The traceback of an exception group is indented, and so are its exceptions, which are kept.
    """
    lines = [IN_GROUP.sub("", line, count=1) for line in text.splitlines()]
    lines = [NUMBER.sub("…", NOISE.sub("…", line)).rstrip() for line in lines]
    return [
        line.split() if line.startswith(("connect ", "disconnect ")) else ["logs", line]
        for line in lines
        if line and not FRAME.match(line) and not any(each in line for each in OMITTED)
    ]


def row(python: str, name: str) -> dict[str, Any]:
    """Observe a subject; return its row of the record."""
    subject = SUBJECTS[name]
    with ThreadPoolExecutor() as pool:  # a server is waited for
        under = {
            question: pool.submit(served, python, subject.program, failing)
            for question, failing in UNDER.items()
        }
        happened = observed(python, PROGRAMS / f"{subject.program}.py")
        happened |= {question: each.result() for question, each in under.items()}
    programs = {kind: subject.variant(kind) for kind in subject.variants}
    for kind, program in programs.items():
        happened[kind] = variant(python, program, VARIANTS[kind])
    return {
        "name": name,
        "framework": subject.framework,
        "program": subject.program,
        "versions": versions(python, subject.packages),
        "variants": programs,
        "answers": answers(happened),
        "happened": happened,
    }


def variant(python: str, program: str, question: str) -> list[list[Any]]:
    """Ask another program of a framework one question; return what happened."""
    if question in UNDER:
        return served(python, program, UNDER[question])
    return observed(python, PROGRAMS / f"{program}.py", question)[question]


def rows(python: str, names: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Observe the subjects, one after the other."""
    for name in names:
        began = time.monotonic()
        yield row(python, name)
        print(f"{name}: {time.monotonic() - began:.0f} s", flush=True)


def main(arguments: Sequence[str]) -> int:
    """Observe the subjects that are named, or all."""
    python, file, *names = arguments
    keep(Path(file), [*SUBJECTS], rows(str(Path(python).absolute()), select(names, SUBJECTS)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
