"""The commands: locked, named rightly on the pages, and clear in what they lack."""

import re
import shutil
import subprocess
import sys
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


def test_assertions_of_tests_hold_under_optimization(tmp_path: Path) -> None:
    """`python -O -m pytest` fails where a test's assertion does."""
    (tmp_path / "test_it.py").write_text("def test_it():\n    assert False\n")
    command = [sys.executable, "-O", "-m", "pytest", "-c", "pyproject.toml", str(tmp_path)]
    run = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert (run.returncode, "1 failed" in run.stdout) == (1, True), run.stdout


TOOLS = (
    *("basename", "cat", "cksum", "cp", "find", "grep", "make"),
    *("mkdir", "rm", "sed", "sh", "tail", "touch", "tr"),
)
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
    """Make .venv where nothing is installed but plain tools and these Pythons."""
    programs = clone / "bin"
    shutil.rmtree(programs, ignore_errors=True)
    programs.mkdir()
    for tool in TOOLS:
        (programs / tool).symlink_to(shutil.which(tool) or tool)
    for name, script in pythons.items():
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)
    (clone / "calls").write_text("")
    command = [str(programs / "make"), ".venv/complete", *([f"PYTHON={python}"] if python else [])]
    environment = {"PATH": str(programs)}
    run = subprocess.run(
        command, cwd=clone, env=environment, check=False, capture_output=True, text=True, timeout=60
    )
    return run.returncode, run.stdout + run.stderr


@pytest.mark.parametrize(
    ("pythons", "python", "sentence"),
    [
        ({"python3": TOO_OLD}, "", "No Python 3.11 or newer was found: install python3"),
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
    status, output = install(clone, python3=TOO_OLD)
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
