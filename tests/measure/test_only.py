"""What `make matrix ONLY=…` and its like say of a name."""

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs" / "_ext"


def said(*arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, HERE / "only.py", *arguments],
        env={"PYTHONPATH": str(DOCS)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("module", ["frameworks", "middleware", "hosts", "run"])
def test_an_unknown_name_is_refused(module: str) -> None:
    status, sentence = said(module, "starlett")
    assert status == 2
    assert f"{module}.py has no row 'starlett': did you mean " in sentence
    assert "tarlette" in sentence


def test_a_name_has_its_records() -> None:
    """A server can be in two of them; without a name all are renewed."""
    assert said("run", "granian") == (0, "servers adapted\n")
    assert said("run", "") == (0, "servers adapted drivers amgi pagi\n")
