"""Each file that is made to be copied works alone, beside nothing of ours."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import lifespec

__all__: list[str] = []

# The interpreter below the virtual environment: it has no lifespec that a copy could lean on.
PYTHON = sys._base_executable  # type: ignore[attr-defined]
SRC = Path(lifespec.__file__).parent

SERVER = """
import asyncio
from server import Lifespan

async def app(scope, receive, send):
    await receive()
    scope["state"]["ready"] = True
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await send({"type": "lifespan.shutdown.complete"})

async def main():
    async with Lifespan(app) as lifespan:
        print(lifespan.with_state({"type": "http"}))
    print(lifespan.outcome)

asyncio.run(main())
"""
APPLICATION = """
import asyncio
import contextlib
from application import with_lifespan

@contextlib.asynccontextmanager
async def pool():
    print("open")
    yield {"pool": 1}
    print("closed")

async def main():
    events = iter([{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}])
    scope = {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}, "state": {}}

    async def receive():
        return next(events)

    async def send(message):
        print(message["type"])

    await with_lifespan(pool)(scope, receive, send)
    print(scope["state"])

asyncio.run(main())
"""
VALIDATE = """
import asyncio
from validate import scope, validator

async def app(scope, receive, send):
    await send({"type": "lifespan.ready"})

async def send(message):
    raise ValueError

judge = validator(app, raises=True)
try:
    asyncio.run(judge(scope("asgi", "2.0"), None, send))
except Exception as violation:
    print(violation.slug)
"""
MESSAGES = """
import messages

print(len(messages.__all__) > 0)
"""
# Each file, a program beside it, and what the program prints.
COPIES = {
    "server": (SERVER, "{'type': 'http', 'state': {'ready': True}}\ncomplete\n"),
    "application": (
        APPLICATION,
        "open\nlifespan.startup.complete\nclosed\nlifespan.shutdown.complete\n{'pool': 1}\n",
    ),
    "validate": (
        VALIDATE,
        "events-known\n",
    ),
    "messages": (MESSAGES, "True\n"),
}
HERE = {name: copy for name, copy in COPIES.items() if (SRC / f"{name}.py").exists()}


def printed(folder: Path, *command: str) -> str:
    """Run Python in the folder, as a reader with nothing else installed would."""
    environment = {key: text for key, text in os.environ.items() if key != "PYTHONPATH"}
    ran = subprocess.run(
        [PYTHON, *command],
        cwd=folder,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


@pytest.fixture(params=HERE)
def name(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Copy one of the files into an empty folder."""
    name: str = request.param
    (tmp_path / f"{name}.py").write_bytes((SRC / f"{name}.py").read_bytes())
    return name


def test_the_interpreter_has_nothing_of_ours(tmp_path: Path) -> None:
    """What a copy imports, it imports from itself or the standard library."""
    program = "import importlib.util; print(importlib.util.find_spec('lifespec'))"
    assert printed(tmp_path, "-c", program) == "None\n"


def test_it_runs_alone(name: str, tmp_path: Path) -> None:
    """The file loads with -I, in a folder that holds nothing else, and says nothing."""
    assert printed(tmp_path, "-I", f"{name}.py") == ""


def test_a_program_beside_it_uses_it(name: str, tmp_path: Path) -> None:
    """A reader's program beside the file imports it by its name, and it does its work."""
    program, expected = HERE[name]
    (tmp_path / "program.py").write_text(program)
    assert printed(tmp_path, "program.py") == expected


def test_every_file_to_copy_is_tried() -> None:
    """The files that call themselves COPY ME are the ones tried here."""
    marked = {path.stem for path in SRC.glob("*.py") if "COPY ME" in path.read_text()}
    assert marked == set(HERE)
