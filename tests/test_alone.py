"""The command that runs each test file alone sees what is missing, and says where."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from alone import longest_first

__all__: list[str] = []

ALONE = Path(__file__).with_name("alone.py")
MODULE = """
def sign(number: int) -> str:
    word = "positive"
    if number < 0:
        word = "negative"
    return word
"""
WHOLE = """
from lifespec.thing import sign

def test_both(): assert [sign(1), sign(-1)] == ["positive", "negative"]
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Make a project with one module and its own test file, and a second file that covers all."""
    for folder in "src/lifespec", "docs/_ext", "tests":
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "src/lifespec/__init__.py").touch()
    (tmp_path / "src/lifespec/thing.py").write_text(MODULE)
    settings = (
        '[tool.pytest]\npythonpath = ["src"]\naddopts = ["-ra"]\n[tool.coverage.run]\nbranch = true'
    )
    (tmp_path / "pyproject.toml").write_text(settings)
    (tmp_path / "tests/test_thing.py").write_text(WHOLE)
    (tmp_path / "tests/test_other.py").write_text(WHOLE)
    return tmp_path


def alone(project: Path, *names: str) -> tuple[int, str]:
    """Run the command in the project."""
    command = [sys.executable, str(ALONE), *(f"tests/test_{name}.py" for name in names)]
    quick = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    ran = subprocess.run(
        command, cwd=project, env=quick, check=False, capture_output=True, text=True
    )
    return ran.returncode, ran.stdout + ran.stderr


def test_a_module_that_is_covered_by_its_own_file_passes(project: Path) -> None:
    """All lines and branches run by tests/test_thing.py: status 0."""
    status, output = alone(project)
    assert status == 0, output
    assert "tests/test_thing.py: 1 passed, covers thing.py\n" in output
    assert "tests/test_other.py: 1 passed\n" in output
    assert "test: 2 files, 2 passed; 0 faults" in output


def test_a_line_that_only_another_file_runs_is_missing(project: Path) -> None:
    """What another file covers does not count, and the line is named."""
    (project / "tests/test_thing.py").write_text(
        WHOLE.split("sign(-1)", maxsplit=1)[0] + '] == ["positive"]'
    )
    status, output = alone(project, "thing")
    assert status == 1
    assert "src/lifespec/thing.py:5: tests/test_thing.py does not run this line" in output


def test_a_branch_that_is_never_taken_is_missing(project: Path) -> None:
    """A branch counts as a line does: the line where it parts is named, and where it never goes."""
    text = WHOLE.replace("sign(1), ", "").replace('"positive", ', "")
    (project / "tests/test_thing.py").write_text(text)
    status, output = alone(project, "thing")
    assert status == 1
    assert "src/lifespec/thing.py:4: tests/test_thing.py goes from here never to 6" in output


def test_a_module_that_its_own_file_never_imports_is_missing(project: Path) -> None:
    """A test file that leaves its module alone covers nothing of it."""
    (project / "tests/test_thing.py").write_text("def test_nothing(): pass")
    status, output = alone(project, "thing")
    assert status == 1
    assert "src/lifespec/thing.py:1: tests/test_thing.py does not run this module" in output


def test_an_extension_of_the_documents_is_held_to_its_file_too(project: Path) -> None:
    """docs/_ext is measured like src."""
    (project / "docs/_ext/table.py").write_text("def rows(): return 1\n")
    (project / "tests/test_table.py").write_text("def test_nothing(): pass")
    status, output = alone(project, "table")
    assert status == 1
    assert "docs/_ext/table.py:1: tests/test_table.py does not run this module" in output


@pytest.mark.parametrize("text", ["def test_it(): assert 1 == 2", "import nowhere"])
def test_a_file_that_fails_shows_what_pytest_said(project: Path, text: str) -> None:
    """A test that fails, a file that does not import, or holds no tests: status 1 and the file."""
    (project / "tests/test_other.py").write_text(text)
    status, output = alone(project, "other")
    assert status == 1
    assert "test_other.py:1: " in output
    assert "tests/test_other.py: pytest ended with status" in output


def test_a_file_without_tests_fails(project: Path) -> None:
    """A file that lost its tests is a fault."""
    (project / "tests/test_other.py").write_text("x = 1")
    status, output = alone(project, "other")
    assert status == 1
    assert "tests/test_other.py: pytest ended with status 5" in output


def test_a_file_that_never_ends_is_ended(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit of seconds for each file, should the tests' own not ring: it fails, and is named."""
    (project / "tests/test_other.py").write_text("while True: pass")
    monkeypatch.setenv("LIFESPEC_LIMIT", "1")
    status, output = alone(project, "other")
    assert status == 1
    assert "Timeout (0:00:01)!" in output
    assert 'tests/test_other.py", line 1 in' in output
    assert "tests/test_other.py: pytest ended with status 1" in output


def test_a_file_that_kills_its_process_fails(project: Path) -> None:
    """Its status is the signal, and the others run."""
    (project / "tests/test_other.py").write_text("import os\nos.kill(os.getpid(), 9)")
    status, output = alone(project)
    assert status == 1
    assert "tests/test_other.py: pytest ended with status -9" in output
    assert "test: 2 files, 1 passed; 1 faults" in output


ALONE_HERE = """
import atexit, builtins, pathlib, sys

assert "lifespec" not in sys.modules
assert not hasattr(builtins, "touched")
builtins.touched = True
atexit.register(pathlib.Path(__file__).with_suffix(".left").touch)

def test_it(): from lifespec import thing
"""


def test_a_file_finds_nothing_of_the_project_or_of_another_file(project: Path) -> None:
    """Its process has loaded pytest and its plugins alone; it ends as any other."""
    names = [f"n{number}" for number in range(9)]
    for name in names:
        (project / f"tests/test_{name}.py").write_text(ALONE_HERE)
    status, output = alone(project, *names)
    assert status == 0, output
    assert len(list(project.glob("tests/*.left"))) == len(names)


def test_what_took_longest_begins(project: Path) -> None:
    """By the run before; what is new comes first."""
    files = [Path(f"tests/test_{name}.py") for name in ("short", "long", "new")]
    took = {str(files[0]): 1.0, str(files[1]): 2.0}
    assert [file.stem[5:] for file in longest_first(files, took)] == ["new", "long", "short"]
    alone(project)
    took = json.loads((project / "build/coverage/seconds.json").read_text())
    assert took.keys() == {"tests/test_thing.py", "tests/test_other.py"}


def test_what_did_not_run_is_told_at_the_end(project: Path) -> None:
    """A skip is no fault here, but its reason is shown."""
    text = 'import pytest\ndef test_it(): pytest.skip("redis-server is not installed: not run")'
    (project / "tests/test_other.py").write_text(text)
    status, output = alone(project)
    assert status == 0
    assert "SKIPPED [1] tests/test_other.py:2: redis-server is not installed: not run" in output
    assert "test: 2 files, 1 passed, 1 skipped; 0 faults" in output
