"""A project of its own, with the wheel in an environment of its own: what a user does with it.

That environment is made once: each worker of pytest that had one of several tests would make it.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
NEEDS = ("starlette", "httpx", "pytest", "pytest-asyncio")
PYTHON = "env/bin/python"
FILES = {
    "pytest.ini": "[pytest]\nasyncio_mode = auto\n",
    "shop/main.py": "from starlette.applications import Starlette\n\napp = Starlette()\n",
    "shop/leaves.py": """
import lifespec

async def app(scope, receive, send):
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
""",
    "test_shop.py": """
import pytest
import shop.leaves, shop.main

@pytest.mark.parametrize("app", [shop.main.app, shop.leaves.app])
async def test_it(lifespan, app):
    async with lifespan(app):
        pass
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
        capture_output=True,
        text=True,
    )
    assert found.returncode == status, found.stdout + found.stderr
    return found.stdout


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_what_a_user_does_with_the_wheel(tmp_path: Path) -> None:
    project = made(tmp_path / "a shop")
    the_command_has_all_that_it_uses(project)
    types_are_found(project)
    the_fixture_names_the_rule(project)
    the_hook_of_pre_commit_checks(project)
    the_action_installs_its_own_commit(project)


def made(folder: Path) -> Path:
    """Return the folder of the project; `env` in it has the wheel and what the project needs."""
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
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


def the_command_has_all_that_it_uses(project: Path) -> None:
    run("env/bin/lifespec", "copy", "server", "--to", "lifespan.py", folder=project)
    run(PYTHON, "-I", "lifespan.py", folder=project)
    assert "start-and-stop" in run("env/bin/lifespec", "cases", folder=project)
    explain = ("explain", "startup-sent", "--language", "zh")
    assert "服务器必须" in run(PYTHON, "-I", "-m", "lifespec", *explain, folder=project)
    (wheel,) = project.glob("*.whl")  # can be imported from, as any zip
    assert "服务器必须" in run(
        sys.executable, "-S", "-m", "lifespec", *explain, folder=project, PYTHONPATH=str(wheel)
    )


def types_are_found(project: Path) -> None:
    """Let mypy look, which refuses an import that carries none."""
    mypy = (sys.executable, "-m", "mypy", "--config-file=", "--python-executable", PYTHON)
    run(*mypy, "shop/leaves.py", folder=project)


def the_fixture_names_the_rule(project: Path) -> None:
    output = run(PYTHON, "-m", "pytest", "-q", folder=project, status=1)
    assert "1 failed, 1 passed" in output
    assert "shutdown-answered" in output


def the_hook_of_pre_commit_checks(project: Path) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    command = f"env/bin/{hook['entry']}".split()
    run(*command, "shop.main:app", "--strict", folder=project)
    run(*command, "shop.leaves:app", "--strict", folder=project, status=1)


def the_action_installs_its_own_commit(project: Path) -> None:
    """tests/test_action.py runs its other step."""
    action = ROOT / ".github" / "actions" / "check"
    install, _ = yaml.safe_load((action / "action.yml").read_text("utf-8"))["runs"]["steps"]
    source = install["env"]["LIFESPEC_SOURCE"].replace("${{ github.action_path }}", str(action))
    environment = {"LIFESPEC_PYTHON": PYTHON, "LIFESPEC_SOURCE": source}
    run("bash", "-euc", install["run"], folder=project, **environment)
    run("env/bin/lifespec", "check", "app", "shop.main:app", folder=project)
