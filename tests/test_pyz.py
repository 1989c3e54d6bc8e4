"""One file to carry: every command of lifespec.pyz, on a Python without lifespec."""

import shlex
import subprocess
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BARE = getattr(sys, "_base_executable", sys.executable)
PLAIN = """\
async def app(scope, receive, send):
    if scope["type"] != "lifespan":
        raise ValueError(scope["type"])
    for event in "startup", "shutdown":
        if (await receive())["type"] != f"lifespan.{event}":
            raise ValueError
        await send({"type": f"lifespan.{event}.complete"})

def wrap(app):
    return app
"""
SAID = {  # by command: a part of what it says
    "--version": f"lifespec {version('lifespec')}",
    "check app shop:app": "12 kept",
    "check app shop:app --language zh": "启动 是",
    "check middleware shop:wrap": "shop:wrap keeps lifespan 2.0",
    "check server --only well-behaved -- {python} -m uvicorn {{app}} --port {{port}}": "uvicorn",
    "check app --quick -- {python} -m uvicorn shop:app --port 1": "shop:app keeps lifespan 2.0",
    "check app --quick --language zh -- {python} -m uvicorn shop:app --port 1": "关闭 是",
    "watch -- {python} -c 1": "exit status 0",
    "explain startup-sent": "The server must send `lifespan.startup`",
    "explain never-ran": "- fastapi#811 (https://github.com/fastapi/fastapi/issues/811)",
    "explain never-ran --language zh": "挂载的应用程序的 lifespan 没有运行",
    "explain": "A background task fails, and nobody notices",
    "cases --role application": "start-and-stop",
    "copy server": "SPDX-License-Identifier: 0BSD",
}


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_every_command_runs_from_one_file(tmp_path: Path) -> None:
    subprocess.run(["make", "--silent", "lifespec.pyz"], cwd=ROOT, check=True)
    file = tmp_path / "lifespec.pyz"
    file.write_bytes((ROOT / file.name).read_bytes())
    (tmp_path / "shop.py").write_text(PLAIN)
    missing = subprocess.run([BARE, "-c", "import lifespec"], cwd=tmp_path, capture_output=True)
    assert missing.returncode == 1
    (wheel,) = (ROOT / "build" / "pyz").glob("*.whl")
    zipfile.ZipFile(wheel).extractall(tmp_path / "installed")
    ran = subprocess.run(
        [BARE, "-m", "lifespec", "explain", "cut-off", "--language", "zh"],
        env={"PYTHONPATH": str(tmp_path / "installed"), "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
    )
    assert ran.stdout.startswith("清理代码停在第一个 `await` 处\n"), ran
    for line, wanted in SAID.items():
        words = shlex.split(line.format(python=shlex.quote(sys.executable)))
        ran = subprocess.run(
            [BARE, file.name, *words], cwd=tmp_path, capture_output=True, text=True, timeout=120
        )
        # how lines wrap depends on where this Python is
        words_printed = " ".join((ran.stdout + ran.stderr).split())
        assert (wanted in words_printed, ran.returncode) == (True, 0), (line, ran)
