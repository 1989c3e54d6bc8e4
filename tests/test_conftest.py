"""A skip fails where nothing may skip."""

import os
import re
import subprocess
import sys
from pathlib import Path

import lifespec_docs

__all__: list[str] = []

SETTINGS = (
    "[pytest]\nmarkers =\n    needs\n    slow\naddopts = -ra --strict-markers -p no:cacheprovider"
)
HERE, MISSING = Path(sys.executable).name, "no-such-program"


def outcome(folder: Path, allow_no_skip: str, *tests: str) -> tuple[int, str]:
    """Run test files under a copy of our conftest."""
    (folder / "pytest.ini").write_text(SETTINGS)
    (folder / "conftest.py").write_text(Path(__file__).with_name("conftest.py").read_text())
    for number, test in enumerate(tests):
        (folder / f"test_{number}.py").write_text("import pytest\n" + test)
    path = f"{folder / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = os.environ | {"LIFESPEC_ALLOW_NO_SKIP": allow_no_skip, "PATH": path}
    environment["PYTHONPATH"] = str(Path(lifespec_docs.__file__).parents[1])
    command = [sys.executable, "-m", "pytest", "-q", "--continue-on-collection-errors"]
    ran = subprocess.run(
        command, env=environment, cwd=folder, check=False, capture_output=True, text=True
    )
    return ran.returncode, ran.stdout


def needing(program: str) -> str:
    """Write a test that needs a program."""
    return f'@pytest.mark.needs("{program}")\ndef test_it(): pass'


def test_a_skip_fails_where_nothing_may_skip(tmp_path: Path) -> None:
    """However a test skips, it fails under LIFESPEC_ALLOW_NO_SKIP, with its file and reason."""
    tests = (
        needing(MISSING),
        f'def test_it(): pytest.skip("{MISSING} is not here")',
        f'@pytest.mark.skip(reason="{MISSING} is not here")\ndef test_it(): pass',
        f'pytest.skip("{MISSING} is not here", allow_module_level=True)',
        f'pytest.importorskip("no_such_module", reason="{MISSING} is not here")',
    )
    expected = '@pytest.mark.xfail(reason="known")\ndef test_it(): raise ValueError'
    status, output = outcome(tmp_path, "1", *tests, needing(HERE), expected)
    assert status != 0
    # under -O pytest warns that assertions do nothing
    assert re.search("1 failed, 1 passed, 1 xfailed, (1 warning, )?4 errors in", output)
    told = re.findall(r"(\w+\.py):\d+: .*no-such-program.*: this must run", output)
    assert sorted(set(told)) == [f"test_{number}.py" for number in range(5)]
