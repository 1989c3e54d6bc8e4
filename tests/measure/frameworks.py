"""Observes applications of frameworks in a lifespan, and records it: `make frameworks`.

Each application runs under uvicorn, too, which shows what a user sees.

    python tests/measure/frameworks.py PYTHON FILE [SUBJECT...]

PYTHON has the frameworks of `.ci/frameworks.txt`.  FILE is where the record is kept; it is written
after each subject.  Where subjects are named, only they are observed, and the record of the others
stays, with what it says of the state of the code that it was made with.
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
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from kept import keep, versions
from loglines import FRAME, NUMBER, free_port

__all__ = ["SUBJECTS", "Subject", "main", "observed"]

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "docs" / "programs" / "frameworks"
DRIVER = Path(__file__).with_name("drive.py")
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
OMITTED = "DeprecationWarning", "platform: "


class Subject(NamedTuple):
    """The framework, the program, and the packages whose versions count.

    A variant is another program of the framework: with a mounted application, or with both kinds
    of hooks.
    """

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
    "nested": "usual",
    "combined": "usual",
    "router": "under uvicorn",
    "task": "a task raises",
    "group": "a task raises",
    "state": "state",
}
MOUNTS, TASKS = ["mounted", "nested"], ["task", "group"]
BOTH = [*MOUNTS, "combined"]


SUBJECTS = {
    "Starlette": Subject(
        "Starlette", "starlette_lifespan", ["starlette"], [*MOUNTS, *TASKS, "state"]
    ),
    "FastAPI, lifespan": Subject(
        "FastAPI", "fastapi_lifespan", ["fastapi", "starlette"], [*BOTH, *TASKS, "router", "state"]
    ),
    "FastAPI, on_event": Subject(
        "FastAPI", "fastapi_on_event", ["fastapi", "starlette"], ["router"]
    ),
    "Litestar, lifespan": Subject(
        "Litestar", "litestar_lifespan", ["litestar"], ["mounted", "combined", *TASKS]
    ),
    "Litestar, on_startup": Subject("Litestar", "litestar_on_startup", ["litestar"]),
    "Litestar, one hook": Subject("Litestar", "litestar_strict", ["litestar"]),
    "Quart, while_serving": Subject(
        "Quart", "quart_while_serving", ["quart"], ["combined", "router", *TASKS]
    ),
    "Quart, before_serving": Subject("Quart", "quart_before_serving", ["quart"], ["router"]),
    "Quart, one function": Subject("Quart", "quart_strict", ["quart"]),
    "Django": Subject("Django", "django_plain", ["django"]),
    "django-asgi-lifespan": Subject(
        "Django", "django_with_lifespan", ["django-asgi-lifespan", "django"]
    ),
    "Channels": Subject("Django", "channels_router", ["channels", "django"]),
    "Falcon": Subject("Falcon", "falcon_middleware", ["falcon"]),
    "Falcon, one middleware": Subject("Falcon", "falcon_strict", ["falcon"]),
    "BlackSheep, lifespan": Subject(
        "BlackSheep", "blacksheep_lifespan", ["blacksheep"], [*BOTH, *TASKS]
    ),
    "BlackSheep, one function": Subject("BlackSheep", "blacksheep_strict", ["blacksheep"]),
    "BlackSheep, on_start": Subject("BlackSheep", "blacksheep_on_start", ["blacksheep"]),
    "Sanic": Subject("Sanic", "sanic_listeners", ["sanic"], ["router"]),
    "Sanic, one listener": Subject("Sanic", "sanic_strict", ["sanic"]),
    "Connexion": Subject("Connexion", "connexion_lifespan", ["connexion", "starlette"]),
    "MCP SDK": Subject("MCP SDK", "mcp_streamable_http", ["mcp", "starlette"]),
    "FastMCP": Subject("FastMCP", "fastmcp_lifespan", ["fastmcp", "starlette"], ["mounted"]),
    "NiceGUI, on_startup": Subject("NiceGUI", "nicegui_run_with", ["nicegui", "fastapi"]),
    "NiceGUI, lifespan": Subject("NiceGUI", "nicegui_lifespan", ["nicegui", "fastapi"]),
    "python-socketio": Subject(
        "python-socketio",
        "socketio_on_startup",
        ["python-socketio", "python-engineio"],
        ["mounted"],
    ),
    "python-socketio, exit stack": Subject(
        "python-socketio", "socketio_strict", ["python-socketio", "python-engineio"]
    ),
    "Lilya": Subject("Lilya", "lilya_lifespan", ["lilya"], [*BOTH, "state"]),
    "Ravyn": Subject("Ravyn", "ravyn_lifespan", ["ravyn", "lilya"], MOUNTS),
    "Muffin": Subject("Muffin", "muffin_on_startup", ["muffin", "asgi-tools"]),
    "Muffin, strict": Subject("Muffin", "muffin_strict", ["muffin", "asgi-tools"]),
    "Microdot": Subject("Microdot", "microdot_functions", ["microdot"]),
    "Microdot, exit stack": Subject("Microdot", "microdot_strict", ["microdot"]),
    "MicroPie": Subject("MicroPie", "micropie_handlers", ["micropie"]),
    "Flama": Subject("Flama", "flama_lifespan", ["flama"]),
    "Flama, called twice": Subject("Flama", "flama_twice", ["flama"], MOUNTS),
    "FastHTML": Subject("FastHTML", "fasthtml_lifespan", ["python-fasthtml", "starlette"], BOTH),
    "Responder": Subject("Responder", "responder_lifespan", ["responder", "starlette"], BOTH),
    "rpc.py": Subject("rpc.py", "rpcpy_server", ["rpc-py"]),
    "a2wsgi": Subject("a2wsgi", "a2wsgi_wsgi", ["a2wsgi"]),
    "asgiref": Subject("asgiref", "asgiref_wsgi", ["asgiref"]),
}


def observed(python: str, program: Path, *questions: str) -> dict[str, list[list[Any]]]:
    """Ask an application of a Python all questions, or some; return what happened."""
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
    """Return what `resources.py` prints, and the lines of a log without times and frames."""
    lines = [NUMBER.sub("…", NOISE.sub("…", line)).rstrip() for line in text.splitlines()]
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
    return {
        "name": name,
        "framework": subject.framework,
        "program": subject.program,
        "versions": versions(python, subject.packages),
        "happened": happened,
        "variants": {
            kind: variant(python, subject.variant(kind), question)
            for kind, question in VARIANTS.items()
            if kind in subject.variants
        },
    }


def variant(python: str, program: str, question: str) -> dict[str, Any]:
    """Ask another program of a framework one question; return its part of the row."""
    if question in UNDER:
        return {"program": program, "happened": served(python, program, UNDER[question])}
    found = observed(python, PROGRAMS / f"{program}.py", question)
    return {"program": program, "happened": found[question]}


def rows(python: str, names: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Observe the subjects, one after the other."""
    for name in names:
        began = time.monotonic()
        yield row(python, name)
        print(f"{name}: {time.monotonic() - began:.0f} s", flush=True)


def main(arguments: Sequence[str]) -> int:
    """Observe the subjects that are named, or all."""
    python, file, *names = arguments
    path = Path(file)
    found = rows(str(Path(python).absolute()), names or [*SUBJECTS])
    keep(path, [*SUBJECTS], found)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
