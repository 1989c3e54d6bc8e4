"""What Windows lacks: the library does without it, and the checks refuse with a sentence."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

LACKS = """
import asyncio, os, signal, sys

KEPT = "SIGABRT", "SIGFPE", "SIGILL", "SIGINT", "SIGSEGV", "SIGTERM", "SIG_DFL", "SIG_IGN"
for name in "fork killpg setsid register_at_fork wait wait3 WNOHANG getpgid getuid".split():
    delattr(os, name)
for name in dir(signal):
    if name.startswith("SIG") and name not in KEPT or name in ("alarm", "setitimer", "sigwait"):
        delattr(signal, name)
sys.modules |= dict.fromkeys(["fcntl", "pwd", "pty", "resource", "termios"])
"""
APP = """
from lifespec import with_lifespan

app = with_lifespan(print, lambda app: Pool())

class Pool:
    async def __aenter__(self):
        return {"pool": 1}

    async def __aexit__(self, *error):
        pass
"""
TEST = """
import pytest
from shop import app

@pytest.mark.asyncio
async def test_it(lifespan):
    async with lifespan(app) as running:
        assert running.state == {"pool": 1}
"""
REFUSED = """
from lifespec.cli import main

checks = ["check", "app", "shop:app"], ["check", "server", "-"], ["watch", "uvicorn"]
sys.exit([main(each) for each in (["copy", "server"], *checks)] != [0, 2, 2, 2])
"""
POSIX = "lifespec: a check needs the processes and signals of Linux or macOS"


def run(folder: Path, program: str) -> tuple[str, str]:
    """Run a program as on Windows; return what it wrote on both streams."""
    command, there = [sys.executable, "-c", LACKS + program], os.environ | {"LC_ALL": "C.UTF-8"}
    call: Any = {"cwd": folder, "env": there, "capture_output": True, "text": True}
    done = subprocess.run(command, timeout=200, **call)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, done.stderr


def test_the_fixture_needs_nothing_of_it(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(APP)
    (tmp_path / "test_shop.py").write_text(TEST)
    program = "import pytest\nsys.exit(pytest.main(['-q', '-Wignore', 'test_shop.py']))"
    assert "1 passed" in run(tmp_path, program)[0]


def test_a_file_is_copied_and_what_needs_processes_is_refused(tmp_path: Path) -> None:
    copied, said = run(tmp_path, REFUSED)
    assert "0BSD" in copied
    assert [line[: len(POSIX)] for line in said.splitlines()] == [POSIX] * 3
