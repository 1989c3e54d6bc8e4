"""The commands: locked, named rightly on the pages, clear in what they lack and refuse."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
LOCKS = {"requirements": ("docs", "test", "real", "check", "build"), "release": ("release",)}
GROUPS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["dependency-groups"]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PIN = r"[\w.-]+==[\w.]+( ; [\w.'*<>=!, ()]+)?( +--hash=sha256:[0-9a-f]{64})+"


@pytest.fixture(scope="module")
def targets() -> set[str]:
    """Return the commands of the Makefile, as make lists them."""
    ask = ["make", "--print-data-base", "--question", "help"]
    listed = subprocess.run(ask, capture_output=True, text=True, cwd=ROOT).stdout
    (line,) = [line for line in listed.splitlines() if line.startswith(".PHONY:")]
    return {*line.split()[1:]}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_command_on_a_page_exists(path: Path, targets: set[str]) -> None:
    shown = re.findall(r"(?:`|^)make ([a-z.]+\b)", path.read_text("utf-8"), re.MULTILINE)
    assert {*shown} <= targets, f"{path.name}:1: the Makefile has no { ({*shown} - targets) }"


def requirements(group: str) -> list[Requirement]:
    """Return what a group of pyproject.toml names, with what it includes."""
    found = []
    for entry in GROUPS[group]:
        if isinstance(entry, dict):
            found += requirements(entry["include-group"])
        else:
            found.append(Requirement(entry))
    return found


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_has_names_versions_and_hashes_of_each_group(name: str) -> None:
    text = (ROOT / ".ci" / f"{name}.lock").read_text("utf-8").replace("\\\n", "")
    lines = text.splitlines()
    assert [line for line in lines if not re.fullmatch(PIN, line)] == []
    pins = [Requirement(line.partition("--hash")[0]) for line in lines]
    for requirement in (each for group in LOCKS[name] for each in requirements(group)):
        locked = [each for each in pins if canonicalize_name(requirement.name) == each.name]
        assert locked, f".ci/{name}.lock:1: {requirement.name} is missing: make lock"
        for pin in locked:
            version = str(pin.specifier).removeprefix("==")
            assert version in requirement.specifier, f".ci/{name}.lock:1: {pin}: make lock"


def refused(folder: Path, *arguments: str) -> str:
    """Run it where it must refuse; return its sentence."""
    command = ["sh", ".ci/release", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    assert done.returncode == 1, done.stdout
    return done.stderr.strip()


def test_a_release_has_the_version_of_its_tag() -> None:
    sentence = refused(ROOT, "v0.0.0")
    assert sentence.startswith("release: the tag is v0.0.0, and pyproject.toml has version ")
    assert sentence.endswith(", or change pyproject.toml.")


def test_the_first_page_of_all_versions_leads_to_the_stable_one(tmp_path: Path) -> None:
    for folder, items in ("latest", 1), ("stable", 2):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "404.html").write_text(folder)
        subprocess.run(["sh", ".ci/release", "first-page", str(tmp_path)], check=True, cwd=ROOT)
        page = (tmp_path / "index.html").read_text("utf-8")
        assert f'content="0; url={folder}/index.html"' in page
        assert page.count('<li><a href="') == items
        assert (tmp_path / "404.html").read_text() == folder
