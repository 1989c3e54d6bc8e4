"""The action of .github/actions/check: its script, with inputs in the environment as there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

FOLDER = Path(__file__).parents[1] / ".github" / "actions" / "check"
ACTION = yaml.safe_load((FOLDER / "action.yml").read_text("utf-8"))
APP = """
async def careless(scope, receive, send):
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await send({"type": "lifespan.shutdown.complete"})
"""
IGNORED = "receive-refuses-unknown startup-answered"


def checked(folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run the last step, with the defaults of the action for what is not given."""
    (folder / "shop.py").write_text(APP)
    step = ACTION["runs"]["steps"][-1]
    given = {name: row.get("default", "") for name, row in ACTION["inputs"].items()}
    given |= {"target": "shop:careless", "python": sys.executable, **inputs}
    names = {f"${{{{ inputs.{name} }}}}": value for name, value in given.items()}
    environment = {name: names[text] for name, text in step["env"].items()}
    environment |= {"GITHUB_ACTION_PATH": str(FOLDER), "LC_ALL": "C.UTF-8"}
    environment |= {"GITHUB_STEP_SUMMARY": str(folder / "summary.md")}
    environment |= {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    return subprocess.run(
        ["bash", "-c", step["run"]],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    ("inputs", "status", "words"),
    [
        ({"junit": "a.xml"}, 0, "WARN receive-refuses-unknown"),
        (
            {"target": "", "command": "python -m uvicorn shop:careless"},
            0,
            "uvicorn shop:careless: s",
        ),
        ({"strict": "true", "ignore": IGNORED}, 1, "1 missed: unknown-scope-rejected"),
    ],
)
def test_the_report_is_the_log_and_the_summary(
    inputs: dict[str, str], status: int, words: str, tmp_path: Path
) -> None:
    found = checked(tmp_path, **inputs)
    assert (found.returncode, words in found.stdout) == (status, True), found.stderr
    assert (tmp_path / "summary.md").read_text("utf-8") == f"```text\n{found.stdout}```\n"
    assert (tmp_path / "a.xml").exists() == ("junit" in inputs)


@pytest.mark.parametrize(
    ("inputs", "sentence"),
    [
        ({"strict": "yes"}, "strict is 'yes': give true or false."),
        ({"target": ""}, "give a target or a command, and not both."),
        ({"command": "uvicorn shop:careless"}, "give a target or a command, and not both."),
        ({"target": "", "command": "x", "subject": "server"}, "command is for an application: w"),
        ({"subject": "application"}, "subject is 'application': give app, middleware or server."),
        ({"target": "shop:careless $(touch ran)", "subject": "server"}, "lifespec: the command"),
        ({"target": "echo {app} {port}", "subject": "server"}, "lifespec: echo {app} {port} ended"),
    ],
)
def test_wrong_inputs(inputs: dict[str, str], sentence: str, tmp_path: Path) -> None:
    """One sentence and status 2; what is written in an input is never run."""
    found = checked(tmp_path, **inputs)
    assert (found.returncode, found.stdout) == (2, "")
    assert found.stderr.startswith(sentence)
    assert not (tmp_path / "ran").exists()
