"""README.md can be followed from top to bottom, and has the results as they were recorded."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
RESULT = re.compile(r"- .+ [\d.]+: (?:\d+ PASS|never calls)")


def line(subject: dict[str, Any]) -> str:
    found = {name: subject["counts"][name] for name in ("pass", "warn", "fail", "info", "skip")}
    counts = ", ".join(f"{count} {name.upper()}" for name, count in found.items() if count)
    version = next(iter(subject["versions"].values()))
    none = "never calls the application with a lifespan scope"
    return f"- {subject['name']} {version}: {counts if found['pass'] else none}"


def test_readme_has_a_line_for_each_server() -> None:
    record = json.loads((ROOT / "docs/matrix/servers.json").read_text("utf-8"))
    lines = (ROOT / "README.md").read_text("utf-8").splitlines()
    wanted = sorted(map(line, record["subjects"]))  # two that are added seldom stand side by side
    says = "README.md: write these lines, as docs/matrix/servers.json has them now:"
    assert [text for text in lines if RESULT.match(text)] == wanted, "\n".join([says, *wanted])


FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SAVED = re.compile(r"[Ss]ave this as `([\w.]+)`")
OWN = "make", ".", "pip"  # .ci/run carries out the first; all that the others give is here


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_readme_is_carried_out_in_its_order(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    (tmp_path / "lifespec").symlink_to(ROOT)
    (folder := tmp_path / "a shop").mkdir()
    bin_folder = Path(sys.executable).parent
    path = f"{bin_folder}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "PYTHONPATH": ""}
    printed, done, before = "", [], 0

    def run(command: str) -> str:
        done.append(command)
        words = shlex.split(command, comments=True)
        call = {"cwd": folder, "env": environment, "text": True, "timeout": 300}
        found = subprocess.run(words, check=False, capture_output=True, **call)  # type: ignore[call-overload]
        assert found.returncode == 0, f"{command}\n{found.stdout}{found.stderr}"
        return str(found.stdout)

    for block in FENCE.finditer(text):
        language, body = block.groups()
        if language == "python":
            (name,) = SAVED.findall(text[before : block.start()])
            (folder / name).write_text(body, "utf-8")
        elif language == "text":
            printed = body
        else:
            for line in body.splitlines():
                if line.startswith("pip"):
                    assert (folder / line.split()[2] / "pyproject.toml").is_file()
                if line.split()[0] not in OWN and run(line) != printed:
                    assert not line.startswith("python ")
        before = block.end()
    run("pytest -q test_shop.py")
    assert (folder / "lifespan.py").exists()
    called = [line.split()[0] for line in done]
    assert called == ["python3", "python", *["lifespec"] * 4, "pytest"]


def test_readme_has_no_link_that_a_package_index_breaks() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    assert re.findall(r"\]\((?!https://)[^)]*\)", text) == []
