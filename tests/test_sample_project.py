"""A project of its own, with the wheel in an environment of its own: what a user does with it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

__all__: list[str] = []

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

ROOT = Path(__file__).parents[1]
ACTION = ROOT / ".github" / "actions" / "check"
NEEDS = ("starlette", "httpx", "pytest", "pytest-asyncio")
PYTHON = "env/bin/python"
LEAVES = """
import lifespec

running: type[lifespec.Lifespan] = lifespec.Lifespan


async def app(scope, receive, send):
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
"""
FILES = {
    "pytest.ini": "[pytest]\nasyncio_mode = auto\n",
    "shop/__init__.py": "",
    "shop/main.py": """
import contextlib

from starlette.applications import Starlette


@contextlib.asynccontextmanager
async def lifespan(app):
    yield {"pool": "3 connections"}


app = Starlette(lifespan=lifespan)
""",
    "shop/leaves.py": LEAVES,
    "test_shop.py": """
import pytest
import shop.leaves
import shop.main


@pytest.mark.parametrize("app", [shop.main.app, shop.leaves.app])
async def test_it(lifespan, app):
    async with lifespan(app) as running:
        assert running.state in ({"pool": "3 connections"}, {})
""",
}


def run(*command: str | Path, folder: Path, status: int = 0, **environment: str) -> str:
    """Run a command as a user would, whose settings are not ours; return its output."""
    ours = ("PYTHON", "PYTEST", "COV", "LIFESPEC_", "VIRTUAL_ENV", "GITHUB_")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    found = subprocess.run(
        list(map(str, command)),
        cwd=folder,
        env=inherited | {"LC_ALL": "C.UTF-8"} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=240,
    )
    assert found.returncode == status, found.stdout
    return found.stdout


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the project; `env` in it has the wheel and what the project needs."""
    folder = tmp_path_factory.mktemp("a shop")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    build = (sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT)
    run(*build, folder=folder)
    (wheel,) = folder.glob("*.whl")
    run(sys.executable, "-m", "venv", "env", folder=folder)
    pip = (sys.executable, "-m", "pip", "--python", PYTHON, "--quiet", "install", "--no-compile")
    lock = ("--require-hashes", "--constraint", ROOT / ".ci" / "requirements.lock")
    run(*pip, *lock, *NEEDS, folder=folder)
    run(*pip, "--no-index", wheel, folder=folder)
    return folder


def test_the_wheel_has_all_that_the_command_uses(project: Path) -> None:
    run("env/bin/lifespec", "copy", "server", "--to", "lifespan.py", folder=project)
    run(PYTHON, "-I", "lifespan.py", folder=project)
    assert "start-and-stop" in run("env/bin/lifespec", "cases", folder=project)
    explain = ("explain", "startup-sent", "--language", "zh")
    assert "服务器必须" in run(PYTHON, "-I", "-m", "lifespec", *explain, folder=project)
    (wheel,) = project.glob("*.whl")  # can be imported from, as any zip
    assert "服务器必须" in run(
        sys.executable, "-S", "-m", "lifespec", *explain, folder=project, PYTHONPATH=str(wheel)
    )


def test_the_wheel_has_its_types(project: Path) -> None:
    """An import that carries none is refused."""
    mypy = (sys.executable, "-m", "mypy", "--config-file=", "--python-executable", PYTHON)
    run(*mypy, "shop/leaves.py", folder=project)


def test_the_fixture_of_pytest(project: Path) -> None:
    output = run(PYTHON, "-m", "pytest", "-q", folder=project, status=1)
    assert "1 failed, 1 passed" in output
    assert "shutdown-answered" in output


def test_the_hook_of_pre_commit(project: Path) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    command = f"env/bin/{hook['entry']}".split()
    run(*command, "shop.main:app", "--strict", folder=project)
    run(*command, "shop.leaves:app", "--strict", folder=project, status=1)


@pytest.mark.parametrize(("module", "status"), [("main", 0), ("leaves", 1)])
def test_every_step_of_the_action(module: str, status: int, project: Path) -> None:
    """In order, as a runner of GitHub calls them."""
    action = yaml.safe_load((ACTION / "action.yml").read_text("utf-8"))
    given = {name: row.get("default", "") for name, row in action["inputs"].items()}
    given |= {"target": f"shop.{module}:app", "python": PYTHON}
    values = {f"inputs.{name}": value for name, value in given.items()}
    values["github.action_path"] = str(ACTION)
    install, check = action["runs"]["steps"]
    for step, expected in (install, 0), (check, status):
        environment = {
            name: re.sub(r"\$\{\{ (\S+) \}\}", lambda found: values[found[1]], text)
            for name, text in step["env"].items()
        }
        bash = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"])
        run(*bash, folder=project, status=expected, GITHUB_ACTION_PATH=str(ACTION), **environment)
