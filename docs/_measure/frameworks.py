"""Measure what applications of frameworks do with a lifespan: `make frameworks`.

`frameworks.toml` has the rows, and pyproject.toml what they need, in the group `frameworks`.
`drive.py` asks an application each question in a process of its own, and uvicorn shows what a user
sees.
"""

import contextlib
import json
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from environments import Needs
from framework_answers import answers
from records import Row, measure, table, versions
from serving import FRAME, NUMBER, Program, free_port

PROGRAMS = Path(__file__).parents[2] / "docs" / "programs" / "frameworks"
LIMIT = 300  # seconds for all questions
PATIENCE = 20.0  # seconds, in which a server begins to answer, or ends after a signal
NOISE = re.compile(  # times, addresses of objects, and folders
    r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[\d.,]*( [+-]\d{4})?|\b0x[0-9a-f]+|(?<![\w.:/])/([\w.+-]+/)+"
)
IN_GROUP = re.compile(r"[\s+|-]+\| (?=(?:\w+\.)*\w*(?:Error|Exception|Group)\b)")
OMITTED = "DeprecationWarning", "platform: ", "Exception Group Traceback"
ROWS = table("frameworks")
UNDER = ROWS["under"]  # what is added to `resources.py`
SUBJECTS = ROWS["rows"]


def observed(environment: Path, program: str, *questions: str) -> dict[str, list[list[Any]]]:
    """Ask an application all questions, or some; return what happened."""
    driver, python = Path(__file__).with_name("drive.py"), environment / "bin" / "python"
    command: list[str | Path] = [python, driver, PROGRAMS / f"{program}.py", *questions]
    run = subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", timeout=LIMIT, check=False
    )
    if run.returncode:
        raise RuntimeError(f"{program}: {run.stderr}")
    return json.loads(run.stdout)  # type: ignore[no-any-return]


def served(environment: Path, program: str, failing: str = "") -> list[list[Any]]:
    """Run a program under uvicorn, with a request and SIGTERM; return what a user sees."""
    port = free_port()
    command: list[str | Path] = [
        environment / "bin" / "python",
        "-m",
        "uvicorn",
        f"{program}:app",
        "--port",
    ]
    with contextlib.ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        shutil.copytree(PROGRAMS, place, dirs_exist_ok=True)
        with (place / "resources.py").open("a", encoding="utf-8") as file:
            file.write(failing)
        server = Program([*command, str(port)], place, PYTHONWARNINGS="ignore")
        stack.enter_context(server)
        with contextlib.ExitStack() as opened:
            status = server.request(port, PATIENCE, opened)
        before = len(server.lines)
        if status:
            server.process.send_signal(signal.SIGTERM)
        code = server.wait(PATIENCE)
    if code is None:  # on a busy machine: no application has done this on an idle one
        raise RuntimeError(f"{program} under uvicorn did not end within {PATIENCE:g} s")
    done: list[list[Any]] = [["request", status], ["SIGTERM"]] if status else []
    return [
        ["server", f"uvicorn {versions(environment, ['uvicorn'])['uvicorn']}"],
        *logged(server.lines[:before]),
        *done,
        *logged(server.lines[before:]),
        ["exit status", code],
    ]


def logged(text: Sequence[str]) -> list[list[Any]]:
    """Return what `resources.py` prints, and the lines of a log without times and frames.

    The traceback of an exception group is indented, and so are its exceptions, which are kept.
    """
    lines = [IN_GROUP.sub("", line, count=1) for line in text]
    lines = [NUMBER.sub("…", NOISE.sub("…", line)).rstrip() for line in lines]
    return [
        line.split() if line.startswith(("connect ", "disconnect ")) else ["logs", line]
        for line in lines
        if line and not FRAME.match(line) and not any(each in line for each in OMITTED)
    ]


def row(environment: Path, name: str) -> Row:
    """Observe a subject; return its row of the record."""
    subject = SUBJECTS[name]
    variants = subject.get("variants", {})
    with ThreadPoolExecutor() as pool:  # a server is waited for
        under = {
            question: pool.submit(served, environment, subject["program"], failing)
            for question, failing in UNDER.items()
        }
        happened = observed(environment, subject["program"])
        happened |= {question: each.result() for question, each in under.items()}
    for kind, program in variants.items():
        question = ROWS["variants"][kind]
        seen = question in UNDER and served(environment, program, UNDER[question])
        happened[kind] = seen or observed(environment, program, question)[question]
    return {
        "name": name,
        **{key: subject[key] for key in ("framework", "program")},
        "versions": versions(environment, subject["packages"]),
        "variants": variants,
        "answers": answers(happened),
        "happened": happened,
    }


if __name__ == "__main__":
    needs = {
        name: Needs("frameworks", [*subject["packages"], "uvicorn"])
        for name, subject in SUBJECTS.items()
    }
    sys.exit(measure(sys.argv[1:], needs, row))
