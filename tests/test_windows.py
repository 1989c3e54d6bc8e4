"""What Windows lacks: the library does without it, and the checks refuse with a sentence."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

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
POSIX = "lifespec: a check needs the processes and signals of Linux or macOS"


@pytest.mark.parametrize(
    ("program", "status", "says"),
    [
        ("import pytest\nsys.exit(pytest.main(['-q', '-Wignore', 'test_shop.py']))", 0, "1 passed"),
        ("from lifespec.cli import main\nsys.exit(main(['copy', 'server']))", 0, "0BSD"),
        ("from lifespec.cli import main\nsys.exit(main(['check', 'app', 'shop:app']))", 2, POSIX),
        ("from lifespec.cli import main\nsys.exit(main(['check', 'server', '-']))", 2, POSIX),
        ("from lifespec.cli import main\nsys.exit(main(['watch', 'uvicorn']))", 2, POSIX),
    ],
)
def test_what_windows_lacks_is_not_missed(
    tmp_path: Path, program: str, status: int, says: str
) -> None:
    (tmp_path / "shop.py").write_text(APP)
    (tmp_path / "test_shop.py").write_text(TEST)
    command, there = [sys.executable, "-c", LACKS + program], os.environ | {"LC_ALL": "C.UTF-8"}
    call: Any = {"cwd": tmp_path, "env": there, "capture_output": True, "text": True}
    done = subprocess.run(command, timeout=60, **call)
    assert done.returncode == status, done.stdout + done.stderr
    assert says in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
