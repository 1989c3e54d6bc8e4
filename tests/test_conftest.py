"""A test that needs a program says so where it is missing, and fails where nothing may skip."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

__all__: list[str] = []

SETTINGS = "[pytest]\nmarkers = needs\naddopts = -ra --strict-markers -p no:cacheprovider"
HERE, MISSING = Path(sys.executable).name, "no-such-program"


def outcome(folder: Path, test: str, allow_no_skip: str = "") -> tuple[int, str]:
    """Run one test file under a copy of our conftest."""
    (folder / "pytest.ini").write_text(SETTINGS)
    (folder / "conftest.py").write_text(Path(__file__).with_name("conftest.py").read_text())
    (folder / "test_it.py").write_text("import pytest\n" + test)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = os.environ | {"LIFESPEC_ALLOW_NO_SKIP": allow_no_skip, "PATH": path}
    command = [sys.executable, "-m", "pytest", "-q", str(folder)]
    ran = subprocess.run(
        command, env=environment, cwd=folder, check=False, capture_output=True, text=True
    )
    return ran.returncode, ran.stdout


def needing(program: str) -> str:
    """Write a test that needs a program."""
    return f'@pytest.mark.needs("{program}")\ndef test_it(): pass'


def test_a_program_that_is_here_lets_the_test_run(tmp_path: Path) -> None:
    """The mark does nothing where the program is found, even where nothing may skip."""
    status, output = outcome(tmp_path, needing(HERE), "1")
    assert status == 0
    assert "1 passed" in output


def test_a_program_that_is_missing_is_named(tmp_path: Path) -> None:
    """The test is skipped, and the reason says which program was not found."""
    status, output = outcome(tmp_path, needing(MISSING))
    assert status == 0
    assert "1 skipped" in output
    assert "no-such-program is not installed: not run" in output


@pytest.mark.parametrize(
    "test",
    [
        needing(MISSING),
        'def test_it(): pytest.skip("no-such-program is not installed")',
        '@pytest.mark.skip(reason="no-such-program is not installed")\ndef test_it(): pass',
        'pytest.skip("no-such-program is not installed", allow_module_level=True)',
        'pytest.importorskip("no_such_module", reason="no-such-program is not installed")',
    ],
    ids=["needs", "skip", "mark", "module", "import"],
)
def test_a_skip_fails_where_nothing_may_skip(tmp_path: Path, test: str) -> None:
    """However a test skips, it fails under LIFESPEC_ALLOW_NO_SKIP, with its file and reason."""
    status, output = outcome(tmp_path, test, "1")
    assert status != 0
    assert "skipped" not in output.splitlines()[-1]
    assert "test_it.py:" in output
    assert "no-such-program is not installed" in output
    assert "LIFESPEC_ALLOW_NO_SKIP is set: this must run" in output


def test_an_expected_failure_is_no_skip(tmp_path: Path) -> None:
    """A test marked xfail ran: it stays what it is."""
    test = '@pytest.mark.xfail(reason="known")\ndef test_it(): raise ValueError'
    status, output = outcome(tmp_path, test, "1")
    assert status == 0
    assert "1 xfailed" in output
