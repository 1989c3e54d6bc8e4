"""pyright agrees with the examples; `make types` has mypy read them."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.needs("node")
def test_pyright() -> None:
    spec = importlib.util.find_spec("pyright")  # its command would ask the network for news
    assert spec
    assert spec.origin
    program = Path(spec.origin).parent / "dist" / "index.js"
    command = ["node", program, "-p", "pyproject.toml", "--pythonpath", sys.executable]
    root = Path(__file__).parents[2]
    ran = subprocess.run(command, cwd=root, check=False, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
