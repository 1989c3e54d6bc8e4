"""Every program of a guide passes `lifespec check app --strict` and serves under uvicorn."""

import asyncio
import os
import re
import sys
from pathlib import Path

import httpx
import pytest
from published import ROOT

from lifespec import cli
from programs import Program, guides, programs

LIMIT = 60.0  # seconds; nothing here takes ten
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")


def found() -> list[Program]:
    """Return the programs of the guides and of the README."""
    index = (ROOT / "docs/index.md").read_text("utf-8")
    files = ["README.md", *(f"docs/{name}.md" for name in guides(index))]
    return [
        program
        for file in files
        if (ROOT / file).exists()
        for program in programs(file, (ROOT / file).read_text("utf-8"))
    ]


PROGRAMS = found()


def test_the_guides_are_those_of_the_index() -> None:
    index = "```{toctree}\n:caption: Get started\n\nself\nTitle <a>\n```\n```{toctree}\n\nb\n```\n"
    assert guides(index) == ["index", "a"]
    files = {program.file for program in PROGRAMS}
    assert files >= {"README.md", "docs/share-state.md", "docs/timeouts.md"}


@pytest.fixture
def target(program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Write a program and its modules into a folder of their own; return what to serve."""
    name = f"{Path(program.file).stem.replace('-', '_')}_{program.line}"
    for module, text in {**program.modules, name: program.text}.items():
        (tmp_path / f"{module}.py").write_text(text, encoding="utf-8")
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return f"{name}:app"


def place(program: Program) -> str:
    """Name a program by file and line."""
    return f"{program.file}:{program.line}"


each_program = pytest.mark.parametrize("program", PROGRAMS, ids=place)


@pytest.mark.slow
@each_program
def test_it_passes_the_check(target: str, capfd: pytest.CaptureFixture[str]) -> None:
    status = cli.main(["check", "app", "--strict", "--timeout", "10", target])
    assert status == 0, capfd.readouterr().out


@pytest.mark.slow
@each_program
def test_it_serves_under_uvicorn(target: str, tmp_path: Path) -> None:
    """With lifespan switched on; a request gets an answer, and it is no error."""
    assert asyncio.run(answered(target, tmp_path)) < 500


async def answered(target: str, folder: Path) -> int:
    """Serve an application on a free port of the loopback interface; return the status."""
    command = ["-m", "uvicorn", target, "--lifespan", "on", "--port", "0", "--no-use-colors"]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *command,
        cwd=folder,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said = ""
    try:
        async with asyncio.timeout(LIMIT):
            assert process.stdout
            while not (address := ADDRESS.search(said)):
                line = (await process.stdout.readline()).decode()
                assert line, said
                said += line
            async with httpx.AsyncClient(trust_env=False, timeout=LIMIT) as client:
                return (await client.get(address[0])).status_code
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
