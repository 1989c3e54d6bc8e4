"""Observes applications of frameworks in a lifespan, and records it: `make frameworks`.

    python tests/matrix/frameworks.py PYTHON FILE [SUBJECT...]

PYTHON has the frameworks of `.ci/frameworks.txt`.  FILE is where the record is kept; it is written
after each subject.  Where subjects are named, only they are observed, and the record of the others
stays, with what it says of the state of the code that it was made with.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kept import keep, left, versions

__all__ = ["SUBJECTS", "Subject", "main", "observed"]

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "docs" / "programs" / "frameworks"
DRIVER = Path(__file__).with_name("drive.py")
LIMIT = 300  # seconds for all questions


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
        """Return the program of a variant."""
        return f"{self.program.partition('_')[0]}_{kind}"


VARIANTS = {"mounted": "mounted", "combined": "usual"}  # by kind, the question
BOTH = [*VARIANTS]


SUBJECTS = {
    "Starlette": Subject("Starlette", "starlette_lifespan", ["starlette"], ["mounted"]),
    "FastAPI, lifespan": Subject("FastAPI", "fastapi_lifespan", ["fastapi", "starlette"], BOTH),
    "FastAPI, on_event": Subject("FastAPI", "fastapi_on_event", ["fastapi", "starlette"]),
    "Litestar, lifespan": Subject("Litestar", "litestar_lifespan", ["litestar"], BOTH),
    "Litestar, on_startup": Subject("Litestar", "litestar_on_startup", ["litestar"]),
    "Quart, while_serving": Subject("Quart", "quart_while_serving", ["quart"], ["combined"]),
    "Quart, before_serving": Subject("Quart", "quart_before_serving", ["quart"]),
    "Django": Subject("Django", "django_plain", ["django"]),
    "django-asgi-lifespan": Subject(
        "Django", "django_with_lifespan", ["django-asgi-lifespan", "django"]
    ),
    "Channels": Subject("Django", "channels_router", ["channels", "django"]),
    "Falcon": Subject("Falcon", "falcon_middleware", ["falcon"]),
    "BlackSheep, lifespan": Subject("BlackSheep", "blacksheep_lifespan", ["blacksheep"], BOTH),
    "BlackSheep, on_start": Subject("BlackSheep", "blacksheep_on_start", ["blacksheep"]),
    "Sanic": Subject("Sanic", "sanic_listeners", ["sanic"]),
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
    "Lilya": Subject("Lilya", "lilya_lifespan", ["lilya"], BOTH),
    "Ravyn": Subject("Ravyn", "ravyn_lifespan", ["ravyn", "lilya"], ["mounted"]),
    "Muffin": Subject("Muffin", "muffin_on_startup", ["muffin", "asgi-tools"]),
    "Muffin, strict": Subject("Muffin", "muffin_strict", ["muffin", "asgi-tools"]),
    "Microdot": Subject("Microdot", "microdot_functions", ["microdot"]),
    "Flama": Subject("Flama", "flama_lifespan", ["flama"]),
    "Flama, called twice": Subject("Flama", "flama_twice", ["flama"], ["mounted"]),
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


def row(python: str, name: str) -> dict[str, Any]:
    """Observe a subject; return its row of the record."""
    subject = SUBJECTS[name]
    return {
        "name": name,
        "framework": subject.framework,
        "program": subject.program,
        "versions": versions(python, subject.packages),
        "happened": observed(python, PROGRAMS / f"{subject.program}.py"),
        "variants": {
            kind: variant(python, subject.variant(kind), VARIANTS[kind])
            for kind in subject.variants
        },
    }


def variant(python: str, program: str, question: str) -> dict[str, Any]:
    """Ask another program of a framework one question; return its part of the row."""
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
    found = rows(str(Path(python).absolute()), names or left(path, "frameworks", [*SUBJECTS]))
    keep(path, "frameworks", [*SUBJECTS], found, whole=not names)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
