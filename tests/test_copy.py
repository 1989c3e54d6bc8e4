"""Each file that is made to be copied works where nothing of ours is.

Its bytes, its imports and its types are looked at elsewhere: by the tests of `lifespec copy`, by a
contract of the imports and by `make types`, which checks each file alone.
"""

import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import lifespec
from lifespec import commands
from lifespec.arguments import COPIES

# The interpreter below the virtual environment: it has no lifespec that a copy could lean on.
PYTHON = sys._base_executable  # type: ignore[attr-defined]
SRC = Path(lifespec.__file__).parent
ALONE = [name for name in COPIES if name != "server_trio"]
ON_TRIO = """
import sys
import trio
from shop import server, server_trio

async def app(scope, receive, send):
    for stage in "startup", "shutdown":
        await receive()
        await send({"type": f"lifespan.{stage}.complete"})

async def main():
    async with server_trio.Lifespan(app) as lifespan:
        pass
    print(lifespan.outcome, isinstance(lifespan, server.Lifespan), "lifespec" in sys.modules)

trio.run(main)
"""


@pytest.mark.parametrize("name", ALONE)
def test_a_file_runs_alone_and_says_nothing(name: str, tmp_path: Path) -> None:
    shutil.copy(SRC / f"{name}.py", tmp_path)
    command = [PYTHON, "-I", f"{name}.py"]
    output = subprocess.check_output(command, cwd=tmp_path, stderr=subprocess.STDOUT, timeout=60)
    assert output == b""


def test_the_server_for_trio_uses_the_copy_beside_it(tmp_path: Path) -> None:
    package = tmp_path / "shop"
    package.mkdir()
    command = ["-m", "lifespec", "copy", "server", "server_trio", "--to", str(package)]
    subprocess.run([sys.executable, *command], check=True)
    (tmp_path / "program.py").write_text(ON_TRIO)
    command = [sys.executable, "program.py"]
    assert subprocess.check_output(command, cwd=tmp_path, text=True) == "complete True False\n"


@pytest.mark.parametrize("name", COPIES)
def test_a_copy_says_its_origin_and_is_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIFESPEC_BASE_URL", "https://example.org/stable")
    docstring, code = commands.content(name).split(commands.DOCSTRING_END, 1)
    assert docstring.splitlines()[-3:] == [
        f"From lifespec {metadata.version('lifespec')}, for Python >=3.11.",
        "The rules: https://example.org/stable/en/rules.html",
        "SPDX-License-Identifier: 0BSD",
    ]
    assert (SRC / f"{name}.py").read_text("utf-8").endswith(commands.DOCSTRING_END + code)


def test_a_copy_of_what_is_not_installed_says_its_licence(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: str) -> None:
        raise metadata.PackageNotFoundError

    monkeypatch.delenv("LIFESPEC_BASE_URL", raising=False)
    monkeypatch.setattr(metadata, "metadata", missing)
    docstring = commands.content("server").split(commands.DOCSTRING_END, 1)[0]
    assert docstring.endswith("into your project.\nSPDX-License-Identifier: 0BSD")


def test_the_package_loads_the_standard_library_only_and_no_part_of_the_suite() -> None:
    """So a server that imports it, and each run of pytest, waits for nothing else."""
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); import lifespec.testing; print(*sys.modules)"
    )
    command = [PYTHON, "-I", "-S", "-c", program, str(SRC.parent)]
    loaded = {*subprocess.check_output(command, text=True).split()}
    assert {name.split(".")[0] for name in loaded} <= {
        *sys.stdlib_module_names,
        "__main__",
        "lifespec",
    }
    assert "lifespec.conformance" not in loaded
