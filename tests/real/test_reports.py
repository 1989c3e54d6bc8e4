"""Public reports whose cause is in the words of a library: the command names the cause of each.

tests/conformance/causes.py has those that need no library.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).with_name("reports")
LIMIT = 180.0  # seconds, on a machine that is busy: an import of mcp alone took ten

REPORTS: dict[str, tuple[int, tuple[str, ...]]] = {
    "fastapi_811": (0, ("`open_orders`", "given to orders.on_event, and nothing ran it")),
    "litestar_3601": (0, ("`channels`", "given to Litestar, and nothing ran it")),
    "mcp_1467": (0, ("`Mount`, mcp_1467.py:8 mounts an application of mcp that has a lifespan",)),
    "field_mounted": (0, ("`open_pool`, field_mounted.py:", "given to inner.before_serving")),
    "field_text": (
        2,
        ("KeyError: 'DATABASE_URL_OF_SHOP', in `start`", "Quart sends only \"'DATABASE_URL_OF"),
    ),
    "field_module": (
        2,
        ("'module' object is not callable", "which FastAPI was given as its lifespan, is a modul"),
    ),
}


@pytest.mark.parametrize("name", REPORTS)
def test_the_command_names_the_cause(name: str) -> None:
    status, sentences = REPORTS[name]
    done = subprocess.run(
        [sys.executable, "-m", "lifespec", "check", "app", f"{name}:app", "--timeout", "90"],
        cwd=PROGRAMS,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    text = " ".join(done.stdout.split())
    assert [each for each in sentences if each not in text] == [], done.stdout + done.stderr
    assert done.returncode == status, done.stdout
