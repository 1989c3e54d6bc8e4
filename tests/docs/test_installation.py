"""What a served copy of the site installs, by each of the ways that it offers."""

import hashlib
import os
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

PIP = ("-m", "pip", "--isolated", "--disable-pip-version-check", "install", "--no-deps")


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """Return an empty environment's Python."""
    folder = tmp_path / "empty"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    return folder / "bin" / "python"


@pytest.fixture
def wheel(site: Path) -> Path:
    (found,) = site.glob("*.whl")
    return found


@pytest.mark.parametrize("way", ["index", "address", "file"])
def test_each_way_installs_it(
    installed: Path, site: Path, address: str, wheel: Path, way: str
) -> None:
    """From the index, from the address of the wheel, and from the folder of the site."""
    wanted = {
        "index": ("--index-url", f"{address}/simple", "lifespec"),
        "address": (f"{address}/{wheel.name}",),
        "file": (f"./{wheel.name}",),
    }[way]
    direct = os.environ | {"NO_PROXY": "127.0.0.1"}
    subprocess.run([installed, *PIP, *wanted], check=True, cwd=site, timeout=120, env=direct)
    where = [installed, "-I", "-c", "import lifespec; print(lifespec.__file__)"]
    found = subprocess.run(where, check=True, capture_output=True, text=True).stdout
    assert Path(found.strip()).is_relative_to(installed.parents[1])


def test_a_file_to_copy_is_the_one_of_the_sources(site: Path, address: str) -> None:
    """Downloaded by its address, it has the checksum that the site says."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"{address}/server.py", timeout=30) as answer:
        got = answer.read()
    lines = (site / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    sums = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    assert hashlib.sha256(got).hexdigest() == sums["server.py"]
