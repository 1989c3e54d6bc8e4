"""The commands: there where a text tells of them, locked, and clear in what they lack."""

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
LOCKS = [ROOT / ".ci" / "requirements.lock", *sorted((ROOT / ".ci").glob("*.txt"))]
PIN = re.compile(r"^([\w.-]+)==([\w.]+)", re.MULTILINE)
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
GROUPS = PYPROJECT["dependency-groups"]
MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = set(re.findall(r"^([a-z]+):", MAKEFILE, re.MULTILINE))
TOLD = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *(ROOT / ".ci").iterdir()]
CONFIGURED = [*TOLD, ROOT / "Makefile", ROOT / "pyproject.toml", *(ROOT / ".github").rglob("*.yml")]


def show(path: Path) -> str:
    """Show a path as one writes it in the project's folder."""
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", TOLD, ids=show)
def test_every_command_that_is_told_of_exists(path: Path) -> None:
    """Where a text shows `make word`, alone or at the start of a line, there is such a target."""
    text = path.read_text()
    shown = set(re.findall(r"(?:`|^)make ([a-z]+)", text, re.MULTILINE))
    assert shown <= TARGETS, f"{show(path)}:1: the Makefile has no {shown - TARGETS}"


@pytest.mark.parametrize("lock", LOCKS, ids=show)
def test_a_lock_is_names_versions_and_hashes(lock: Path) -> None:
    """No address, no option, no range; and no package without its hash."""
    text = lock.read_text().replace("\\\n", "")
    for line in text.splitlines():
        plain = r"#[^:/]*:[^:/]*|[\w.-]+==[\w.]+( ; [^:/]+?)?( +--hash=sha256:[0-9a-f]{64})+"
        assert re.fullmatch(plain, line.rstrip()), f"{show(lock)}: {line}"


@pytest.mark.parametrize("group", GROUPS)
def test_the_lock_covers_each_group(group: str) -> None:
    """Each dependency of pyproject.toml is locked, at a version that it allows."""
    own = ROOT / ".ci" / f"{group}.txt"
    lock = own if own in LOCKS else LOCKS[0]
    pins = {canonicalize_name(name): version for name, version in PIN.findall(lock.read_text())}
    for requirement in map(Requirement, GROUPS[group]):
        version = pins.get(canonicalize_name(requirement.name))
        assert version, f"{show(lock)}:1: {requirement.name} is missing: make lock"
        assert version in requirement.specifier, f"{show(lock)}:1: {requirement}: make lock"


@pytest.mark.parametrize("path", CONFIGURED, ids=show)
def test_no_file_names_a_package_index(path: Path) -> None:
    """Where packages come from is the machine's affair."""
    named = r"(\s--?(extra-)?(index-url|find-links|trusted-host)|index_url|/simple\b|pypi\.|_proxy)"
    assert not re.search(named, path.read_text(), re.IGNORECASE), show(path)


def test_only_the_command_needs_what_is_installed_with_the_package() -> None:
    """Rich is for the report in a terminal; `import lifespec` loads the standard library."""
    assert [Requirement(each).name for each in PYPROJECT["project"]["dependencies"]] == ["rich"]


@pytest.mark.parametrize(("claim", "status"), [("True", 0), ("False", 1)])
def test_assertions_of_tests_hold_under_optimization(
    tmp_path: Path, claim: str, status: int
) -> None:
    """`python -O -m pytest` fails where a test's assertion does: a trial under -O is one."""
    (tmp_path / "test_it.py").write_text(f"def test_it():\n    assert {claim}\n")
    command = [sys.executable, "-O", "-m", "pytest", "-c", "pyproject.toml", str(tmp_path)]
    assert subprocess.run(command, cwd=ROOT, check=False, capture_output=True).returncode == status


# Pythons as a shell sees them
TOO_OLD = "exit 1"
NO_ENSUREPIP = 'case "$2" in *ensurepip*) exit 1 ;; esac'
NO_VENV = 'case "$*" in *venv*/*) exit 1 ;; --version) echo Python 3.12.0 ;; esac'


def path_of(folder: Path, programs: dict[str, str]) -> dict[str, str]:
    """Make a PATH that holds plain tools and the programs that are given as scripts."""
    folder.mkdir()
    for tool in (
        "basename",
        "dirname",
        "cat",
        "cmp",
        "cp",
        "grep",
        "id",
        "make",
        "mkdir",
        "rm",
        "sed",
        "sh",
    ):
        (folder / tool).symlink_to(shutil.which(tool) or tool)
    for name, script in programs.items():
        (folder / name).unlink(missing_ok=True)
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    return {"PATH": str(folder)}


def ran(folder: Path, programs: dict[str, str], *command: str) -> tuple[int, str]:
    """Run a command on a machine that has nothing but these programs."""
    path = path_of(folder / "bin", programs)
    first = shutil.which(command[0]) or command[0]
    output = subprocess.PIPE
    result = subprocess.run(
        [first, *command[1:]],
        cwd=folder,
        env=path,
        check=False,
        stdout=output,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return result.returncode, result.stdout


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Copy what the commands consist of into an empty folder."""
    for name in "Makefile", "pyproject.toml", ".ci/venv", ".ci/run", ".ci/requirements.lock":
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


VENV = "sh", ".ci/venv", ".venv"


def test_no_python_that_is_new_enough(clone: Path) -> None:
    """One sentence says what to install."""
    status, said = ran(clone, {"python3": TOO_OLD}, *VENV)
    assert status == 1
    assert said.startswith("No Python 3.11 or newer was found: install python3")
    assert said.count("\n") == 1


def test_a_newer_python_is_found_where_python3_is_too_old(clone: Path) -> None:
    """python3.12 is taken, though python3 comes first."""
    status, said = ran(clone, {"python3": TOO_OLD, "python3.12": NO_ENSUREPIP}, *VENV)
    assert status == 1
    assert said.startswith("python3.12 cannot make virtual environments: install python3.12-venv")
    assert said.count("\n") == 1


def test_a_python_that_is_asked_for_is_not_replaced(clone: Path) -> None:
    """PYTHON names one that does not run: the sentence names it, and no other is taken."""
    status, said = ran(clone, {"python3": "", "mine": TOO_OLD}, *VENV, "mine")
    assert status == 1
    assert said == "PYTHON=mine is no Python 3.11 or newer that runs: name another one.\n"


def test_a_python_without_venv(clone: Path) -> None:
    """Debian's python3 lacks ensurepip until python3-venv is installed: the sentence says so."""
    status, said = ran(clone, {"python3": NO_ENSUREPIP}, *VENV)
    assert status == 1
    assert said == (
        "python3 cannot make virtual environments: install python3-venv"
        " (Debian: apt-get install python3-venv).\n"
    )


def test_an_environment_that_was_not_finished_is_not_whole(clone: Path) -> None:
    """What was there is removed first, and `complete` is written last."""
    (clone / ".venv").mkdir()
    (clone / ".venv/complete").write_text(str(clone))
    status, _ = ran(clone, {"python3": NO_VENV}, *VENV)
    assert status != 0
    assert not (clone / ".venv").exists()


def test_make_stops_where_the_environment_cannot_be_built(clone: Path) -> None:
    """A command of a fresh clone ends with that sentence, and with a status other than 0."""
    status, said = ran(clone, {"python3": NO_ENSUREPIP}, "make", "test")
    assert status != 0
    assert "install python3-venv" in said


MAKE = 'echo "made $* $LIFESPEC_ALLOW_NO_SKIP"'
INSTALLED, LACKING = "printf installed", "exit 1"


def test_ci_runs_what_the_readme_says(clone: Path) -> None:
    """.ci/run takes the test command from the README, then checks and documents; none may skip."""
    shutil.copy(ROOT / "README.md", clone)
    status, said = ran(clone, {"dpkg-query": INSTALLED, "make": MAKE}, "bash", ".ci/run")
    assert status == 0, said
    made = [line for line in said.splitlines() if line.startswith("made")]
    assert made == ["made test 1", "made check docs 1"]


@pytest.mark.parametrize("readme", ["", "make tests", "make test\nmake test"])
def test_ci_refuses_a_readme_without_the_command(clone: Path, readme: str) -> None:
    """Where the README does not say what to run, nothing runs."""
    (clone / "README.md").write_text(readme)
    status, said = ran(clone, {"dpkg-query": INSTALLED, "make": MAKE}, "bash", ".ci/run")
    assert status == 1
    assert said == "README.md has no line, or more than one, that begins with: make test\n"


def test_ci_installs_what_is_lacking(clone: Path) -> None:
    """As root, apt-get installs what dpkg does not know; what fails there, fails."""
    shutil.copy(ROOT / "README.md", clone)
    programs = {"dpkg-query": LACKING, "make": MAKE, "id": "echo 0", "apt-get": 'echo "got $*" >&2'}
    status, said = ran(clone, programs, "bash", ".ci/run")
    assert status == 0, said
    assert re.search("got install .* make python3-venv chromium fonts-noto-cjk nodejs", said)


def test_ci_says_what_is_lacking_where_it_may_not_install(clone: Path) -> None:
    """Another user than root is told which packages to install."""
    programs = {"dpkg-query": LACKING, "make": MAKE, "id": "echo 1000"}
    status, said = ran(clone, programs, "bash", ".ci/run")
    assert status == 1
    assert "apt-get install make python3-venv chromium fonts-noto-cjk nodejs" in said
