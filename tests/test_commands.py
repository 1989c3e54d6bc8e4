"""The commands: there where a text tells of them, locked, and clear in what they lack."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from functools import partial
from pathlib import Path

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

__all__: list[str] = []

ROOT = Path(__file__).parents[1]
LOCK = ROOT / ".ci" / "requirements.lock"
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
NAMES = (
    *("peers", "matrix", "matrix-pytest-amgi", "mutation", "release"),
    *("frameworks", "middleware", "hosts", "recipes"),
)
OTHERS = {name: ROOT / ".ci" / f"{name}.txt" for name in NAMES}
APART = {  # what a lock is there for, or has for a framework
    "matrix-pytest-amgi": {"amgi-common", "amgi-types"},
    "frameworks": {"docutils", "soupsieve"},
    "hosts": {"opentelemetry-api"},
}
GROUPS = PYPROJECT["dependency-groups"]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"^([a-z]+):", MAKEFILE, re.MULTILINE))
TOLD = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *(p for p in (ROOT / ".ci").rglob("*") if p.is_file()),
]
CONFIGURED = [*TOLD, ROOT / "Makefile", ROOT / "pyproject.toml", *(ROOT / ".github").rglob("*.yml")]
# The oldest Python that Debian 12 has, this one, and the newest: what markers say of each.
HERE = {key: str(value) for key, value in default_environment().items()}
PYTHONS = {
    version: HERE | {"python_version": version.rpartition(".")[0], "python_full_version": version}
    for version in ("3.11.2", HERE["python_full_version"], "3.14.0")
}


def show(path: Path) -> str:
    """Show a path as one writes it in the project's folder."""
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", TOLD, ids=show)
def test_every_command_that_is_told_of_exists(path: Path) -> None:
    """Where a text shows `make word`, alone or at the start of a line, there is such a target."""
    text = path.read_text(encoding="utf-8")
    shown = set(re.findall(r"(?:`|^)make ([a-z]+)", text, re.MULTILINE))
    assert shown <= TARGETS, f"{show(path)}:1: the Makefile has no {shown - TARGETS}"


def lines(lock: Path) -> list[str]:
    """Read a lock, each package with its hashes on one line."""
    return lock.read_text(encoding="utf-8").replace("\\\n", "").splitlines()


def applies(requirement: Requirement, environment: dict[str, str]) -> bool:
    """Tell whether a requirement is one on that Python."""
    marker = requirement.marker
    return marker is None or marker.evaluate(environment)


def pins(lock: Path, environment: dict[str, str]) -> dict[str, str]:
    """Give name and version of each package that a lock installs on that Python."""
    named = [line.partition("--hash")[0] for line in lines(lock) if not line.startswith("#")]
    return {
        canonicalize_name(each.name): str(each.specifier).removeprefix("==")
        for each in map(Requirement, named)
        if applies(each, environment)
    }


@pytest.mark.parametrize("lock", [LOCK, *OTHERS.values()], ids=show)
def test_a_lock_is_names_versions_and_hashes(lock: Path) -> None:
    """No address, no option, no range: name==version, when, and the hashes of what may come."""
    comment, pin = (
        r"#[^:/]*:[^:/]*",
        r"[\w.-]+==[\w.]+( ; [\w.'*<>=!, ()]+)?( +--hash=sha256:[0-9a-f]{64})+",
    )
    for line in lines(lock):
        assert re.fullmatch(f"{comment}|{pin}", line), f"{show(lock)}:1: {line}"


@pytest.mark.parametrize("version", PYTHONS)
def test_the_locks_agree(version: str) -> None:
    """What several locks have, they have in the same version."""
    environment = PYTHONS[version]
    ours = pins(LOCK, environment)
    for name, lock in OTHERS.items():
        theirs = pins(lock, environment)
        both = (ours.keys() & theirs.keys()) - APART.get(name, set())
        assert {each: theirs[each] for each in both} == {each: ours[each] for each in both}, name


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("version", PYTHONS)
def test_the_lock_covers_each_group(version: str, group: str) -> None:
    """Each dependency of pyproject.toml is locked, at a version that it allows."""
    lock, environment = OTHERS.get(group, LOCK), PYTHONS[version]
    found = pins(lock, environment)
    for requirement in map(Requirement, GROUPS[group]):
        pinned = found.get(canonicalize_name(requirement.name))
        assert pinned, f"{show(lock)}:1: {requirement.name} is missing: make lock"
        assert pinned in requirement.specifier, f"{show(lock)}:1: {requirement}: make lock"


@pytest.mark.parametrize("path", CONFIGURED, ids=show)
def test_no_file_names_a_package_index(path: Path) -> None:
    """Where packages come from is the machine's affair."""
    options = r"(?<![\w-])--?(extra-)?(index-url|find-links|trusted-host)"
    named = rf"{options}|index_url|/simple\b|pypi\.|_proxy"
    assert not re.search(named, path.read_text(encoding="utf-8"), re.IGNORECASE), show(path)


def test_assertions_of_tests_hold_under_optimization(tmp_path: Path) -> None:
    """`python -O -m pytest` fails where a test's assertion does: a run under -O is one."""
    tests = "def test_one():\n    assert True\n\n\ndef test_two():\n    assert False\n"
    (tmp_path / "test_it.py").write_text(tests)
    command = [sys.executable, "-O", "-m", "pytest", "-c", "pyproject.toml", str(tmp_path)]
    run = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert (run.returncode, "1 failed, 1 passed" in run.stdout) == (1, True), run.stdout


TOOLS = (
    *("basename", "bash", "cat", "chmod", "cmp", "cp", "dirname", "flock", "grep", "id", "ls"),
    *("make", "mkdir", "mktemp", "rm", "sed", "sh", "tail", "tar", "timeout"),
)
# Pythons as a shell sees them
TOO_OLD = "exit 1"
NO_ENSUREPIP = 'case "$2" in *ensurepip*) exit 1 ;; esac'
NO_VENV = 'case "$*" in *venv*/*) exit 1 ;; --version) echo Python 3.12.0 ;; esac'


def path_of(folder: Path, programs: dict[str, str]) -> dict[str, str]:
    """Make a PATH that holds plain tools and the programs that are given as scripts."""
    folder.mkdir()
    for tool in TOOLS:
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
        encoding="utf-8",
    )
    return result.returncode, result.stdout


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Copy what the commands consist of into an empty folder."""
    for name in ("Makefile", "pyproject.toml", ".ci/venv", ".ci/requirements.lock"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


VENV = "sh", ".ci/venv", ".venv"


@pytest.mark.parametrize(
    ("programs", "asked", "sentence"),
    [
        ({"python3": TOO_OLD}, [], "No Python 3.11 or newer was found: install python3"),
        (
            {"python3": TOO_OLD, "python3.12": NO_ENSUREPIP},  # that is taken
            [],
            "python3.12 cannot make virtual environments: install python3.12-venv",
        ),
        (
            {"python3": "", "mine": TOO_OLD},  # no other is taken in its place
            ["mine"],
            "PYTHON=mine is no Python 3.11 or newer that runs: name another one.\n",
        ),
        (
            {"python3": NO_ENSUREPIP},
            [],
            "python3 cannot make virtual environments: install python3-venv (Debian: apt-get ",
        ),
    ],
    ids=["none", "newer", "asked for", "without venv"],
)
def test_a_python_that_will_not_do(
    programs: dict[str, str], asked: list[str], sentence: str, clone: Path
) -> None:
    """One sentence says what to install."""
    status, said = ran(clone, programs, *VENV, *asked)
    assert (status, said[: len(sentence)], said.count("\n")) == (1, sentence, 1)


def test_an_environment_that_was_not_finished_is_not_whole(clone: Path) -> None:
    """What was there is removed first, and `complete` is written last."""
    (clone / ".venv").mkdir()
    (clone / ".venv/complete").write_text(str(clone))
    status, _ = ran(clone, {"python3": NO_VENV}, *VENV)
    assert status != 0
    assert not (clone / ".venv").exists()


# A Python whose pip does as it is told: {lock} when it installs the lock, {project} the project.
PRETENDED = """echo "$*" >>calls
case "$*" in
    --version) echo Python 3.12.0 ;;
    "-m venv "*) mkdir -p "$3/bin" "$3/lib/python3.12/site-packages/half.dist-info"
        cp "$0" "$3/bin/python" ;;
    *--require-hashes*) {lock} ;;
    *--editable*) {project} ;;
esac"""
WORKS = PRETENDED.format(lock="", project="")
UNREACHED = PRETENDED.format(
    lock="echo 'WARNING: Failed to establish a new connection'; echo 'ERROR: nothing'; exit 1",
    project="",
)
REFUSED = PRETENDED.format(lock="echo 'ERROR: No space left on device'; exit 1", project="")
INTERRUPTED = PRETENDED.format(lock="kill -INT $PPID; exit 1", project="")
NO_PROJECT = PRETENDED.format(lock="", project="exit 1")


@pytest.mark.parametrize(
    ("python", "sentence"),
    [
        (UNREACHED, "no package index answers. Is there a network?"),
        (REFUSED, "No space left on device"),
        (INTERRUPTED, ".venv: interrupted; make goes on from here."),
        (NO_PROJECT, "could not install the project itself: it ended without a word."),
    ],
    ids=["unreached", "refused", "interrupted", "project"],
)
def test_an_installation_that_ends_early_is_gone_on_with(
    clone: Path, python: str, sentence: str
) -> None:
    """One sentence says why; the next call keeps what is there, but for what was half installed."""
    status, said = ran(clone, {"python3": python}, *VENV)
    assert status == 1
    assert sentence in said
    assert said.count("\n") == 2, "the first says that it installs"
    site = clone / ".venv/lib/python3.12/site-packages"
    assert not (clone / ".venv/complete").exists()
    (site / "whole.dist-info").mkdir()
    (site / "whole.dist-info/RECORD").touch()
    (clone / ".venv/bin/python").write_text(f"#!/bin/sh\n{WORKS}\n")
    shutil.rmtree(clone / "bin")
    assert ran(clone, {"python3": TOO_OLD}, *VENV)[0] == 0
    assert [each.name for each in site.iterdir()] == ["whole.dist-info"]
    assert (clone / ".venv/complete").read_text(encoding="utf-8") == f"{clone}\n"


def test_a_second_call_waits_for_the_first(clone: Path) -> None:
    """What the first installs is not removed under its hands, nor installed again."""
    for name in "at", "go":
        os.mkfifo(clone / name)
    slow = PRETENDED.format(lock="echo here >at; cat go", project="")
    environment = path_of(clone / "bin", {"python3": slow})
    begin = partial(
        subprocess.Popen, VENV, cwd=clone, env=environment, stdout=subprocess.PIPE, encoding="utf-8"
    )
    with begin() as first:
        assert (clone / "at").read_text() == "here\n"
        with begin() as second:
            assert second.stdout
            said = second.stdout.readline()
            assert said == ".venv: another make installs here: waiting for its end\n"
            (clone / "go").write_text("")
            assert (first.wait(60), second.wait(60)) == (0, 0)
    calls = (clone / "calls").read_text(encoding="utf-8")
    steps = "-m venv .venv", "--require-hashes", "--editable"
    assert [calls.count(each) for each in steps] == [1, 1, 1]


@pytest.mark.parametrize("change", ["lock", "python", "place", "broken"])
def test_an_environment_for_something_else_is_made_anew(clone: Path, change: str) -> None:
    """For another lock, another Python that is asked for, another place; where it does not run."""
    status, said = ran(clone, {"python3": WORKS}, *VENV)
    assert status == 0, said
    (clone / "calls").unlink()
    if change == "lock":
        (clone / ".ci/requirements.lock").write_text("other==1\n")
    if change == "place":
        for name in "begun", "complete":
            (clone / ".venv" / name).write_text("/elsewhere\n")
    if change == "broken":
        (clone / ".venv/bin/python").unlink()
    shutil.rmtree(clone / "bin")
    other = WORKS.replace("3.12.0", "3.13.0")
    asked = ["python3.13"] if change == "python" else []
    status, said = ran(clone, {"python3": WORKS, "python3.13": other}, *VENV, *asked)
    assert status == 0, said
    assert "-m venv .venv\n" in (clone / "calls").read_text(encoding="utf-8")


def test_make_finds_an_environment_that_is_whole(clone: Path) -> None:
    """Then it does nothing; a Python that is gone, or another that is asked for, is noticed."""
    programs = {"python3": WORKS, "python3.13": WORKS.replace("3.12.0", "3.13.0")}
    make = "make", ".venv/complete"
    for command, made in [
        (make, True),
        (make, False),
        ((*make, "PYTHON=python3"), False),
        ((*make, "PYTHON=python3.13"), True),
        (make, False),
    ]:
        status, said = ran(clone, programs, *command)
        assert status == 0, said
        assert ("installing" in said) == made, command
        shutil.rmtree(clone / "bin")
    (clone / ".venv/bin/python").unlink()
    assert "installing" in ran(clone, programs, *make)[1]


def test_make_stops_where_the_environment_cannot_be_built(clone: Path) -> None:
    """A command of a fresh clone ends with that sentence, and with a status other than 0."""
    status, said = ran(clone, {"python3": NO_ENSUREPIP}, "make", "test")
    assert status != 0
    assert "install python3-venv" in said
