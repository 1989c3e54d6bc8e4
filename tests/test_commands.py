"""The commands: locked, named rightly on the pages, clear in what they lack and refuse."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

__all__: list[str] = []

ROOT = Path(__file__).parents[1]
LOCKS = {"requirements": ("docs", "test", "real", "check", "build"), "release": ("release",)}
GROUPS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["dependency-groups"]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PIN = r"[\w.-]+==[\w.]+( ; [\w.'*<>=!, ()]+)?( +--hash=sha256:[0-9a-f]{64})+"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_command_on_a_page_exists(path: Path) -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    rules = re.findall(r"^([a-z ]+):(?!=)", makefile, re.MULTILINE)
    targets = {name for rule in rules for name in rule.split()}
    shown = re.findall(r"(?:`|^)make ([a-z]+)", path.read_text("utf-8"), re.MULTILINE)
    assert {*shown} <= targets, f"{path.name}:1: the Makefile has no { ({*shown} - targets) }"


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_has_names_versions_and_hashes_of_each_group(name: str) -> None:
    text = (ROOT / ".ci" / f"{name}.lock").read_text("utf-8").replace("\\\n", "")
    lines = text.splitlines()
    assert [line for line in lines if not re.fullmatch(PIN, line)] == []
    pins = [Requirement(line.partition("--hash")[0]) for line in lines]
    for requirement in (Requirement(each) for group in LOCKS[name] for each in GROUPS[group]):
        locked = [each for each in pins if canonicalize_name(requirement.name) == each.name]
        assert locked, f".ci/{name}.lock:1: {requirement.name} is missing: make lock"
        for pin in locked:
            version = str(pin.specifier).removeprefix("==")
            assert version in requirement.specifier, f".ci/{name}.lock:1: {pin}: make lock"


TOO_OLD = "exit 1"
NO_ENSUREPIP = 'case "$2" in *ensurepip*) exit 1 ;; esac'
# A Python whose pip answers `lock` to the installation of the lock.
WORKS = """echo "$*" >>calls
case "$*" in
    --version) echo Python 3.12.0 ;;
    "-m venv "*) mkdir -p "$3/bin" "$3/lib/python3.12/site-packages/half.dist-info"
        cp "$0" "$3/bin/python" ;;
    *--require-hashes*) lock ;;
esac"""
FULL = WORKS.replace("lock ;;", "echo 'ERROR: No space left on device'; exit 1 ;;")
ENDED = WORKS.replace("lock ;;", "kill -KILL $PPID ;;")
WORKS = WORKS.replace("lock ;;", ";;")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Copy what the commands consist of into an empty folder."""
    for name in ("Makefile", "pyproject.toml", ".ci/venv", ".ci/requirements.lock"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    for name in ("docs/_ext", "locales", "src"):
        (tmp_path / name).mkdir(parents=True)
    return tmp_path


def install(clone: Path, python: str = "", **pythons: str) -> tuple[int, str]:
    """Make .venv where these are the only Pythons that will do."""
    programs = clone / "bin"
    programs.mkdir(exist_ok=True)
    for name in ("python3", *(f"python3.{minor}" for minor in range(11, 15)), *pythons):
        (programs / name).write_text(f"#!/bin/sh\n{pythons.get(name, TOO_OLD)}\n")
        (programs / name).chmod(0o755)
    (clone / "calls").write_text("")
    command = ["make", ".venv/complete", *([f"PYTHON={python}"] if python else [])]
    environment = {"PATH": f"{programs}:/usr/bin:/bin"}
    run = subprocess.run(command, cwd=clone, env=environment, capture_output=True, text=True)
    return run.returncode, run.stdout + run.stderr


@pytest.mark.parametrize(
    ("pythons", "python", "sentence"),
    [
        ({}, "", "No Python 3.11 or newer was found: install python3"),
        ({"python3": "", "mine": TOO_OLD}, "mine", "PYTHON=mine is no Python 3.11 or newer that"),
        ({"python3": NO_ENSUREPIP}, "", "virtual environments: install python3-venv (Debian: apt"),
        ({"python3": FULL}, "", "pip could not install .ci/requirements.lock: No space left"),
    ],
    ids=["no Python", "too old", "no venv", "no room"],
)
def test_a_sentence_says_what_is_missing(
    pythons: dict[str, str], python: str, sentence: str, clone: Path
) -> None:
    status, output = install(clone, python, **pythons)
    assert status != 0
    assert sentence in output


def test_an_installation_that_was_ended_goes_on(clone: Path) -> None:
    """What is there is kept, but for packages that were half installed."""
    assert install(clone, python3=ENDED)[0] != 0
    site = clone / ".venv/lib/python3.12/site-packages"
    (site / "whole.dist-info").mkdir()
    (site / "whole.dist-info/RECORD").touch()
    (clone / ".venv/bin/python").write_text(f"#!/bin/sh\n{WORKS}\n")
    status, output = install(clone)
    assert (status, (clone / ".venv/complete").exists()) == (0, True), output
    assert [each.name for each in site.iterdir()] == ["whole.dist-info"]


@pytest.mark.parametrize("change", ["nothing", "lock", "python", "place", "broken"])
def test_an_environment_for_something_else_is_made_anew(change: str, clone: Path) -> None:
    pythons = {"python3": WORKS, "python3.13": WORKS.replace("3.12.0", "3.13.0")}
    assert install(clone, **pythons)[0] == 0
    if change == "lock":
        (clone / ".ci/requirements.lock").write_text("other==1\n")
    if change == "place":
        (clone / ".venv/begun").write_text("/elsewhere\n")
    if change == "broken":
        (clone / ".venv/bin/python").unlink()
    status, output = install(clone, "python3.13" if change == "python" else "", **pythons)
    assert status == 0, output
    assert ("installing" in output) == (change != "nothing")


def refused(folder: Path, *arguments: str) -> str:
    """Run it where it must refuse; return its sentence."""
    command = ["sh", ".ci/release", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    assert done.returncode == 1, done.stdout
    return done.stderr.strip()


def test_a_release_has_the_version_of_its_tag() -> None:
    said = refused(ROOT, "v0.0.0")
    assert said.startswith("release: the tag is v0.0.0, and pyproject.toml has version ")
    assert said.endswith(", or change pyproject.toml.")


def test_a_release_has_its_section_and_is_committed(tmp_path: Path) -> None:
    for name in ("pyproject.toml", ".ci/release", "docs/changelog.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    changelog = tmp_path / "docs" / "changelog.md"
    text = changelog.read_text(encoding="utf-8")
    changelog.write_text(text.replace("## 0.", "## 9."), encoding="utf-8")
    assert refused(tmp_path).startswith("release: docs/changelog.md has no section 0.")
    changelog.write_text(text, encoding="utf-8")
    subprocess.run(["git", "init", "--quiet"], check=True, cwd=tmp_path, timeout=60)
    assert refused(tmp_path).startswith("release: these changes are not committed: ?? .ci/")


def test_the_first_page_of_all_versions_leads_to_the_stable_one(tmp_path: Path) -> None:
    for folder, items in ("latest", 1), ("stable", 2):
        (tmp_path / folder).mkdir()
        subprocess.run(["sh", ".ci/release", "first-page", str(tmp_path)], check=True, cwd=ROOT)
        page = (tmp_path / "index.html").read_text("utf-8")
        assert f'content="0; url={folder}/index.html"' in page
        assert page.count('<li><a href="') == items
