"""The recipes of libraries, and the one for MCP, print what their page shows."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lifespec_pages.sandbox import plain

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "docs" / "programs" / "recipes"
SHOWN = re.compile(
    r"^```\{shown\} programs/recipes/(\w+\.py)\n```\n(?:```\{output\}\n(.*?)```\n)?",
    re.MULTILINE | re.DOTALL,
)
PAGES = [ROOT / "docs" / f"{name}.md" for name in ("recipes", "mount-applications")]
OUTPUTS = dict(found for page in PAGES for found in SHOWN.findall(page.read_text("utf-8")))
RUN = {name: output for name, output in OUTPUTS.items() if output}
LIMIT = 120.0  # seconds; none takes five


def test_each_program_is_shown() -> None:
    """And what is shown without output is imported by one that runs."""
    assert set(OUTPUTS) == {path.name for path in PROGRAMS.glob("*.py")}
    texts = [(PROGRAMS / name).read_text("utf-8") for name in RUN]
    for name in OUTPUTS.keys() - RUN:
        module = name.removesuffix(".py")
        assert any(re.search(rf"\b{module}\b", text) for text in texts), name


@pytest.mark.slow
@pytest.mark.parametrize("name", RUN)
def test_it_prints_what_is_shown(name: str, tmp_path: Path) -> None:
    """A file of tests is run by pytest, whose last line is shown without the time."""
    folder = tmp_path / "recipes"
    shutil.copytree(PROGRAMS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    tests = name.startswith("test_")
    by = ["-m", "pytest", "-q"] if tests else []
    run = subprocess.run(
        [sys.executable, *by, name],
        cwd=folder,
        env=plain() | {"PYTHONPATH": os.fspath(ROOT / "src"), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    printed = run.stdout
    if tests:
        printed = re.sub(r" in [\d.]+s.*", "", printed.splitlines()[-1]) + "\n"
    assert (printed, run.returncode) == (RUN[name], 0), run.stdout
