"""mypy --strict and pyright agree with the examples."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

__all__: list[str] = []

ROOT = Path(__file__).parents[2]


def test_mypy() -> None:
    check(sys.executable, "-m", "mypy", "tests/typing/examples.py")


@pytest.mark.needs("node")
def test_pyright() -> None:
    spec = importlib.util.find_spec("pyright")  # its command would ask the network for news
    assert spec
    assert spec.origin
    program = str(Path(spec.origin).parent / "dist" / "index.js")
    check("node", program, "-p", "pyproject.toml", "--pythonpath", sys.executable)


def check(*command: str) -> None:
    ran = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
