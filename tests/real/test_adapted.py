"""The lifespan classes of docs/programs work in copies of uvicorn and hypercorn.

Each failure is logged once, in the server's own log.
"""

import os
import re
import shutil
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

import loopback
from serving import free_port

ROOT = Path(__file__).parents[2]
PROGRAMS, SERVER = "docs/programs", "src/lifespec/server.py"
FILES = {  # a file of the package, and what replaces it
    "uvicorn": {"lifespan/server.py": SERVER, "lifespan/on.py": f"{PROGRAMS}/uvicorn_lifespan.py"},
    "hypercorn": {
        "server.py": SERVER,
        "server_trio.py": "src/lifespec/server_trio.py",
        "asyncio/lifespan.py": f"{PROGRAMS}/hypercorn_lifespan.py",
        "trio/lifespan.py": f"{PROGRAMS}/hypercorn_trio_lifespan.py",
    },
}
COMMANDS = {
    "uvicorn": "-m uvicorn shop:app --port {port}",
    "hypercorn": "-m hypercorn shop:app --bind 127.0.0.1:{port}",
    "hypercorn, trio": "-m hypercorn shop:app --worker-class trio --bind 127.0.0.1:{port}",
}
APP = """
import anyio


async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        await receive()
        scope["state"]["shop"] = b"served"
        {steps}
        return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": scope["state"].get("shop", b"no shop")})
"""
START = 'await send({"type": "lifespan.startup.complete"})'
STOP = "await receive()", 'await send({"type": "lifespan.shutdown.complete"})'
FAILED = 'await send({"type": "lifespan.startup.failed", "message": "no database"})'
RAISE = 'raise ConnectionError("no " + "database")'  # a traceback shows the line, too
TRACEBACK = "Traceback (most recent call last)"
each_server = pytest.mark.parametrize("name", COMMANDS)


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the installed servers, and put the classes into them as their docstrings say."""
    folder = tmp_path_factory.mktemp("packages")
    for name, files in FILES.items():
        found = find_spec(name)
        assert found
        assert found.origin
        shutil.copytree(Path(found.origin).parent, folder / name)
        for path, source in files.items():
            shutil.copy(ROOT / source, folder / name / path)
    return folder


def served(place: Path, packages: Path, name: str, steps: Sequence[str]) -> tuple[str | None, str]:
    """Serve an application until it answers, and stop it; return the answer and the log."""
    (place / "shop.py").write_text(APP.replace("{steps}", "\n        ".join(steps)))
    port = free_port()
    command = [sys.executable, *COMMANDS[name].format(port=port).split()]
    paths = os.pathsep.join([str(packages), str(place)])
    return loopback.served(command, place, port, PYTHONPATH=paths)


@each_server
def test_requests_find_the_state_and_no_error(tmp_path: Path, packages: Path, name: str) -> None:
    answer, log = served(tmp_path, packages, name, [START, *STOP])
    assert answer == "served"
    assert not re.search(f"ERROR|{re.escape(TRACEBACK)}|The application", log)


@each_server
def test_an_application_that_raises_at_startup_is_served_and_its_exception_is_logged_once(
    tmp_path: Path, packages: Path, name: str
) -> None:
    answer, log = served(tmp_path, packages, name, [RAISE])
    assert answer == "served"
    assert log.count(TRACEBACK) == 1


@each_server
@pytest.mark.parametrize("steps", [[FAILED], [FAILED, RAISE]], ids=["sends", "raises"])
def test_failures_are_logged_once(
    tmp_path: Path, packages: Path, name: str, steps: list[str]
) -> None:
    answer, log = served(tmp_path, packages, name, steps)
    assert answer is None
    assert log.count("no database") == 1 + log.count("ConnectionError: no database")


@each_server
def test_a_crash_is_logged_with_its_traceback(tmp_path: Path, packages: Path, name: str) -> None:
    _, log = served(tmp_path, packages, name, [START, RAISE])
    assert re.search(rf"ERROR.*The application crashed .*\n{TRACEBACK[:9]}", log)
    assert log.count(TRACEBACK) == 1
