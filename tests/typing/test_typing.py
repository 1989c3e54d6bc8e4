"""mypy --strict and pyright agree with the examples; an ignore that is idle is an error."""

import importlib.util
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

__all__: list[str] = []

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "share-state.md"
EXAMPLES = Path(__file__).with_name("examples.py")
Found = dict[Path, set[int]]  # the lines of each file in which there is an error


def said(*command: str) -> str:
    """Run a checker in the project's folder, and return what it found."""
    ran = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert ran.returncode in (0, 1), ran.stdout + ran.stderr
    return ran.stdout


def mypy(files: list[Path], folder: Path) -> Found:
    """Let mypy check files by the project's own settings, which are strict."""
    cache = ("--cache-dir", str(folder / "mypy"))
    output = said(sys.executable, "-m", "mypy", "--output=json", *cache, *map(str, files))
    errors = map(json.loads, filter(None, output.splitlines()))
    return lines((each["file"], each["line"]) for each in errors if each["severity"] == "error")


def pyright(files: list[Path], folder: Path) -> Found:
    """Let pyright check the files that the project names, these in the place of the examples."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pyright"]
    own = str(EXAMPLES.relative_to(ROOT))
    assert own in settings["include"]
    include = [ROOT / each for each in settings["include"] if each != own] + files
    settings["include"] = [os.path.relpath(each, folder) for each in include]
    settings["extraPaths"] = [str(ROOT / each) for each in settings["extraPaths"]]
    (folder / "pyright.json").write_text(json.dumps(settings))
    spec = importlib.util.find_spec("pyright")  # its command would ask the network for news
    assert spec
    assert spec.origin
    program = str(Path(spec.origin).parent / "dist" / "index.js")
    options = ("--outputjson", "-p", str(folder / "pyright.json"), "--pythonpath", sys.executable)
    report = json.loads(said("node", program, *options))
    assert report["summary"]["filesAnalyzed"] == len(include)
    errors = report["generalDiagnostics"]
    return lines((each["file"], each["range"]["start"]["line"] + 1) for each in errors)


def lines(errors: Iterable[tuple[str, int]]) -> Found:
    """Sort errors by their file."""
    found: Found = {}
    for file, line in errors:
        found.setdefault(ROOT / file, set()).add(line)
    return found


def page(file: Path) -> None:
    """Write the programs of the page's section about types into a file."""
    section = PAGE.read_text().partition("\n## Types\n")[2].partition("\n## ")[0]
    programs = re.findall(r"^```python\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    assert len(programs) == 2
    file.write_text("# pyright: strict\n" + "".join(programs))


@pytest.mark.parametrize(
    "checker",
    [pytest.param(mypy), pytest.param(pyright, marks=pytest.mark.needs("node"))],
    ids=lambda checker: checker.__name__,
)
def test_the_errors_are_seen_and_no_others(
    checker: Callable[[list[Path], Path], Found], tmp_path: Path
) -> None:
    """The examples and the programs of the page have no error, and no ignore that is idle."""
    wrong, shown = tmp_path / "wrong.py", tmp_path / "page.py"
    wrong.write_text('"""Be wrong."""\n\nnumber: str = 1\n')
    page(shown)
    assert checker([EXAMPLES, wrong, shown], tmp_path) == {wrong: {3}}
