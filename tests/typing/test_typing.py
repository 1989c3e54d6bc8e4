"""mypy --strict and pyright agree with the examples, and see each line that must be an error."""

import importlib.util
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

__all__: list[str] = []

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "typing.md"
EXAMPLES = Path(__file__).with_name("examples.py")
IGNORES = {
    "mypy": re.compile(r"  # type: ignore\[[^]]*\]"),
    "pyright": re.compile(r"  # pyright: ignore\[[^]]*\]"),
}
# An assert_type that holds, and what it is tampered to.
WRONG = (
    'assert_type(request["state"], AppState)',
    'assert_type(request["state"], dict[str, bytes])',
)

Found = set[tuple[str, int]]  # file and line of each error


def said(*command: str) -> str:
    """Run a checker in the project's folder, and return what it found."""
    ran = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert ran.returncode in (0, 1), ran.stdout + ran.stderr
    return ran.stdout


def mypy(file: Path, folder: Path) -> Found:
    """Let mypy judge the file by the project's own settings, which are strict."""
    cache = ("--cache-dir", str(folder / "mypy"))
    output = said(sys.executable, "-m", "mypy", "--output=json", *cache, str(file))
    errors = map(json.loads, filter(None, output.splitlines()))
    return {(each["file"], each["line"]) for each in errors if each["severity"] == "error"}


def pyright(file: Path, folder: Path) -> Found:
    """Let pyright judge the files that the project names, this one in the place of the examples."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pyright"]
    own = str(EXAMPLES.relative_to(ROOT))
    assert own in settings["include"]
    include = [file if each == own else ROOT / each for each in settings["include"]]
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
    places = [
        (each["file"], each["range"]["start"]["line"]) for each in report["generalDiagnostics"]
    ]
    return {(each, line + 1) for each, line in places}


checkers = pytest.mark.parametrize(
    "checker",
    [pytest.param(mypy), pytest.param(pyright, marks=pytest.mark.needs("node"))],
    ids=lambda checker: checker.__name__,
)
Checker = Callable[[Path, Path], Found]


@checkers
def test_the_examples_are_well_typed(checker: Checker, tmp_path: Path) -> None:
    """No error is left, every type is what it is said to be, and no ignore is idle."""
    assert checker(EXAMPLES, tmp_path) == set()


@checkers
def test_the_errors_are_seen(checker: Checker, tmp_path: Path) -> None:
    """Without its ignores a checker reports the lines that had one, and a type that is wrong."""
    ignore = IGNORES[checker.__name__]
    text = EXAMPLES.read_text().replace(*WRONG)
    expected = {
        number
        for number, line in enumerate(text.splitlines(), 1)
        if ignore.search(line) or WRONG[1] in line
    }
    assert len(expected) > 10
    assert text.count(WRONG[1]) == 1
    bare = tmp_path / "bare.py"
    bare.write_text(ignore.sub("", text))
    assert checker(bare, tmp_path) == {(str(bare), number) for number in expected}


@checkers
def test_the_page_is_well_typed(checker: Checker, tmp_path: Path) -> None:
    """The programs of the page about types are a file without an error."""
    programs = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    assert len(programs) > 2
    page = tmp_path / "page.py"
    page.write_text("# pyright: strict\n" + "".join(programs))
    assert checker(page, tmp_path) == set()
