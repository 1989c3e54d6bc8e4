"""A test that needs a program says so where it is missing, and fails where nothing may skip."""

import os
import re
import subprocess
import sys
from pathlib import Path

__all__: list[str] = []

SETTINGS = "[pytest]\nmarkers = needs\naddopts = -ra --strict-markers -p no:cacheprovider"
HERE, MISSING = Path(sys.executable).name, "no-such-program"


def outcome(folder: Path, allow_no_skip: str, *tests: str) -> tuple[int, str]:
    """Run test files under a copy of our conftest."""
    (folder / "pytest.ini").write_text(SETTINGS)
    (folder / "conftest.py").write_text(Path(__file__).with_name("conftest.py").read_text())
    for number, test in enumerate(tests):
        (folder / f"test_{number}.py").write_text("import pytest\n" + test)
    path = f"{folder / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = os.environ | {"LIFESPEC_ALLOW_NO_SKIP": allow_no_skip, "PATH": path}
    command = [sys.executable, "-m", "pytest", "-q", "--continue-on-collection-errors"]
    ran = subprocess.run(
        command, env=environment, cwd=folder, check=False, capture_output=True, text=True
    )
    return ran.returncode, ran.stdout


def needing(program: str) -> str:
    """Write a test that needs a program."""
    return f'@pytest.mark.needs("{program}")\ndef test_it(): pass'


def test_a_program_that_is_here_lets_the_test_run(tmp_path: Path) -> None:
    """The mark does nothing where the program is found, even where nothing may skip."""
    status, output = outcome(tmp_path, "1", needing(HERE))
    assert status == 0
    assert "1 passed" in output


def test_a_program_that_is_missing_is_named(tmp_path: Path) -> None:
    """The test is skipped, and the reason says which program was not found."""
    status, output = outcome(tmp_path, "", needing(MISSING))
    assert status == 0
    assert "1 skipped" in output
    assert "no-such-program is not installed: not run" in output


def test_a_perl_without_the_modules_is_told_apart(tmp_path: Path) -> None:
    """Debian has a perl everywhere; what an application of PAGI needs is not."""
    perl = tmp_path / "bin" / "perl"
    perl.parent.mkdir()
    perl.write_text("""#!/bin/sh\necho '{"did":"lacking","what":"Future::AsyncAwait"}'\n""")
    perl.chmod(0o755)
    _, output = outcome(tmp_path, "", needing("perl"))
    assert "1 skipped" in output
    assert "Future::AsyncAwait is not installed: not run" in output
    perl.write_text("""#!/bin/sh\necho '{"did":"ready","loop":"blocking"}'\n""")
    _, output = outcome(tmp_path, "", needing("perl"))
    assert "1 passed" in output


def test_a_skip_fails_where_nothing_may_skip(tmp_path: Path) -> None:
    """However a test skips, it fails under LIFESPEC_ALLOW_NO_SKIP, with its file and reason."""
    tests = (
        needing(MISSING),
        f'def test_it(): pytest.skip("{MISSING} is not here")',
        f'@pytest.mark.skip(reason="{MISSING} is not here")\ndef test_it(): pass',
        f'pytest.skip("{MISSING} is not here", allow_module_level=True)',
        f'pytest.importorskip("no_such_module", reason="{MISSING} is not here")',
    )
    status, output = outcome(tmp_path, "1", *tests)
    assert status != 0
    assert "1 failed, 4 errors in" in output
    told = re.findall(r"(\w+\.py):\d+: .*no-such-program.*: this must run", output)
    assert sorted(set(told)) == [f"test_{number}.py" for number in range(5)]


def test_an_expected_failure_is_no_skip(tmp_path: Path) -> None:
    """A test marked xfail ran: it stays what it is."""
    test = '@pytest.mark.xfail(reason="known")\ndef test_it(): raise ValueError'
    status, output = outcome(tmp_path, "1", test)
    assert status == 0
    assert "1 xfailed" in output
