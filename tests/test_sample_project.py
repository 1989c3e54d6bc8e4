"""A project of its own, with the wheel in an environment of its own: what a user does with it."""

import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import yaml

__all__: list[str] = []

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

ROOT = Path(__file__).parents[1]
ACTION = ROOT / ".github" / "actions" / "check"
NEEDS = ("starlette", "httpx", "pytest", "pytest-asyncio", "pytest-xdist")
FILES = {
    "pyproject.toml": """
[project]
name = "shop"
version = "1"

[tool.lifespec]
app = "shop.main:app"

[tool.pytest.ini_options]
asyncio_mode = "auto"
""",
    "shop/__init__.py": "",
    "shop/main.py": """
import contextlib

from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route


@contextlib.asynccontextmanager
async def lifespan(app):
    yield {"pool": "3 connections"}


async def stock(request):
    return PlainTextResponse(request.state.pool)


app = Starlette(lifespan=lifespan, routes=[Route("/", stock)])


async def leaves(scope, receive, send):
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
""",
    "tests/test_shop.py": """
import httpx
import pytest

from shop.main import app, leaves


async def test_stock(lifespan):
    async with lifespan(app) as running:
        transport = httpx.ASGITransport(running.app)
        async with httpx.AsyncClient(transport=transport) as client:
            response = await client.get("http://shop.example/")
    assert response.text == "3 connections"


async def test_leaves(lifespan):
    async with lifespan(leaves):
        pass
""",
}


def run(*command: str | Path, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a user of the project would, who knows nothing of ours."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "PYTEST", "COV_", "LIFESPEC_", "VIRTUAL_ENV", "GITHUB_"))
    }
    return subprocess.run(
        list(map(str, command)),
        cwd=folder,
        env={**inherited, "LC_ALL": "C.UTF-8", **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )


def succeed(*command: str | Path, folder: Path) -> None:
    """Run a command that must not fail."""
    found = run(*command, folder=folder)
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the project; `env` in it has the wheel and what the project needs."""
    folder = tmp_path_factory.mktemp("a shop")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    build = (sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT)
    succeed(*build, folder=folder)
    (wheel,) = folder.glob("*.whl")
    # the versions of the lock, without its hashes: pip would want one of the wheel, too
    lock = (ROOT / ".ci" / "requirements.lock").read_text("utf-8")
    pinned = re.findall(r"(?m)^[a-z0-9.-]+==\S+(?: ;.*?)?(?= \\$|$)", lock)
    (folder / "versions.txt").write_text("\n".join(pinned), "utf-8")
    succeed(sys.executable, "-m", "venv", "env", folder=folder)
    pip = ("env/bin/python", "-m", "pip", "--quiet", "--disable-pip-version-check")
    succeed(*pip, "install", "--constraint", "versions.txt", wheel, *NEEDS, folder=folder)
    return folder


def pytest_of(project: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the project's own pytest."""
    return run("env/bin/python", "-m", "pytest", "-q", *options, folder=project)


def test_the_fixture(project: Path) -> None:
    """A sound application passes; one that returns without an answer fails with the rule."""
    found = pytest_of(project, "tests")
    assert "1 failed, 1 passed" in found.stdout
    assert "shutdown-answered" in found.stdout
    assert found.returncode == 1


def test_the_command(project: Path) -> None:
    found = run("env/bin/lifespec", "check", "app", "shop.main:app", "--strict", folder=project)
    assert found.returncode == 0, found.stdout + found.stderr
    assert found.stdout.startswith("shop.main:app keeps lifespan 2.0 (ASGI)\n")


@pytest.mark.parametrize(("target", "outcome"), [("app", 0), ("leaves", 1)])
def test_every_step_of_the_action(target: str, outcome: int, project: Path) -> None:
    """In order, as the runner of GitHub calls them: the one that installs, the one that checks."""
    action = yaml.safe_load((ACTION / "action.yml").read_text("utf-8"))
    given = {name: row.get("default", "") for name, row in action["inputs"].items()}
    given |= {"target": f"shop.main:{target}", "python": "env/bin/python", "junit": "found.xml"}
    values = {f"inputs.{name}": value for name, value in given.items()}
    values["github.action_path"] = str(ACTION)

    def filled(text: str) -> str:
        return re.sub(r"\$\{\{ (\S+) \}\}", lambda found: values[found[1]], text)

    ended = []
    for step in action["runs"]["steps"]:
        environment = {name: filled(text) for name, text in step["env"].items()}
        found = run(
            *("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]),
            folder=project / filled(step.get("working-directory", ".")),
            GITHUB_ACTION_PATH=str(ACTION),
            **environment,
        )
        ended.append(found.returncode)
    assert ended == [0, outcome], found.stdout + found.stderr
    failed = {
        case.attrib["classname"]
        for case in ET.parse(project / "found.xml").iter("testcase")
        if case.find("failure") is not None
    }
    assert ("lifespec.shutdown-answered" in failed) == bool(outcome)
