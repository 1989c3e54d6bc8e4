"""The action of .github/actions/check: its script, with inputs in the environment as there."""

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import yaml

__all__: list[str] = []

FOLDER = Path(__file__).parents[1] / ".github" / "actions" / "check"
ACTION = yaml.safe_load((FOLDER / "action.yml").read_text("utf-8"))
APPS = """
async def good(scope, receive, send):
    if scope["type"] != "lifespan":
        raise NotImplementedError(scope["type"])
    for wanted in ("lifespan.startup", "lifespan.shutdown"):
        event = await receive()
        if event["type"] != wanted:
            raise ValueError(event["type"])
        await send({"type": f"{wanted}.complete"})


async def leaves(scope, receive, send):
    if scope["type"] != "lifespan":
        raise NotImplementedError(scope["type"])
    event = await receive()
    if event["type"] != "lifespan.startup":
        raise ValueError(event["type"])
    await send({"type": "lifespan.startup.complete"})
    await receive()


async def careless(scope, receive, send):
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await send({"type": "lifespan.shutdown.complete"})
"""


def checked(folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run the last step, with the defaults of the action for what is not given."""
    (folder / "shop.py").write_text(APPS)
    step = ACTION["runs"]["steps"][-1]
    given = {name: row.get("default", "") for name, row in ACTION["inputs"].items()}
    given |= {"python": sys.executable, **inputs}
    environment = {
        name: given[text.removeprefix("${{ inputs.").removesuffix(" }}")]
        for name, text in step["env"].items()
    }
    environment |= {"GITHUB_ACTION_PATH": str(FOLDER), "LC_ALL": "C.UTF-8"}
    environment |= {"GITHUB_STEP_SUMMARY": str(folder / "summary.md")}
    environment = {**os.environ, **environment}
    return subprocess.run(
        ["bash", "-c", step["run"]],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
    )


def test_every_input_reaches_the_script() -> None:
    """All but the folder, which is that of the step."""
    step = ACTION["runs"]["steps"][-1]
    used = {text.removeprefix("${{ inputs.").removesuffix(" }}") for text in step["env"].values()}
    assert used == ACTION["inputs"].keys() - {"working-directory"}
    assert step["working-directory"] == "${{ inputs.working-directory }}"


@pytest.mark.parametrize(
    ("inputs", "status", "words"),
    [
        ({"target": "shop:careless"}, 0, "WARN unknown-scope-rejected"),
        ({"target": "shop:careless", "strict": "true"}, 1, "WARN unknown-scope-rejected"),
        (
            {
                "target": "shop:careless",
                "strict": "true",
                "ignore": "receive-refuses-unknown unknown-scope-rejected",
            },
            0,
            "shop:careless keeps lifespan 2.0 (ASGI)",
        ),
        ({"target": "shop:good", "spec": "pagi"}, 0, "shop:good keeps PAGI 0.3"),
    ],
)
def test_an_application(inputs: dict[str, str], status: int, words: str, tmp_path: Path) -> None:
    """The step ends with the status of the command, whose report is the log."""
    found = checked(tmp_path, **inputs)
    assert (found.returncode, words in found.stdout) == (status, True), found.stderr


@pytest.mark.parametrize(
    ("inputs", "sentence"),
    [
        ({"strict": "yes"}, "strict is 'yes': give true or false."),
        ({"subject": "application"}, "subject is 'application': give app, middleware or server."),
        ({"spec": "asgi 9"}, "lifespec: there is no specification asgi 9"),
        ({"ignore": "nosuch"}, "lifespec: there is no rule nosuch"),
        ({"target": "shop:good", "subject": "server"}, "lifespec: the command has no {app}"),
    ],
)
def test_wrong_inputs(inputs: dict[str, str], sentence: str, tmp_path: Path) -> None:
    """One sentence and status 2; what is written in an input is never run."""
    found = checked(tmp_path, **{"target": "shop:good", **inputs})
    assert (found.returncode, found.stdout) == (2, "")
    assert found.stderr.startswith(sentence)
    assert not (tmp_path / "ran").exists()


def test_the_files(tmp_path: Path) -> None:
    """The report as JUnit XML, and as text in the summary of the job."""
    found = checked(tmp_path, target="shop:leaves", junit="a.xml")
    assert found.returncode == 1
    assert ET.parse(tmp_path / "a.xml").getroot().attrib["failures"] != "0"
    assert (tmp_path / "summary.md").read_text("utf-8") == f"```text\n{found.stdout}```\n"


@pytest.mark.slow
def test_a_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its command has spaces and places."""
    folders = [str(Path(sys.executable).parent), os.environ["PATH"]]
    monkeypatch.setenv("PATH", os.pathsep.join(folders))
    command = "python -m uvicorn {app} --port {port}"
    found = checked(tmp_path, subject="server", target=command)
    assert (found.returncode, "PASS  startup-sent" in found.stdout) == (0, True), found.stderr


PROGRAMS = Path(__file__).parents[1] / "docs" / "programs"


def commands() -> list[tuple[str, str]]:
    """Return the checks of the files that pages show, each with the file."""
    github = yaml.safe_load((PROGRAMS / "github-actions.yml").read_text("utf-8"))
    gitlab = yaml.safe_load((PROGRAMS / "gitlab-ci.yml").read_text("utf-8"))
    hooks = yaml.safe_load((PROGRAMS / "pre-commit.yaml").read_text("utf-8"))
    steps = [step.get("run", "") for step in github["jobs"]["lifespan"]["steps"]]
    entries = [hook["entry"] for repo in hooks["repos"] for hook in repo["hooks"]]
    found = [
        *(("github", step) for step in steps),
        *(("gitlab", s) for s in gitlab["lifespan"]["script"]),
    ]
    found += [("pre-commit", entry) for entry in entries]
    return [(name, command) for name, command in found if command.startswith("lifespec ")]


@pytest.mark.parametrize("command", sorted({command for _, command in commands()}))
def test_the_files_that_pages_show(command: str, tmp_path: Path) -> None:
    """Their check fails for an application that is not sound."""
    (tmp_path / "shop").mkdir()
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
    }
    (tmp_path / "shop" / "main.py").write_text(f"{APPS}\n\napp = leaves\n")
    words = ["bash", "-c", command]
    found = subprocess.run(
        words, cwd=tmp_path, env=environment, capture_output=True, check=False, timeout=60
    )
    assert found.returncode == 1, found.stderr
