"""Where what is measured is installed: an environment for each group of pyproject.toml and Python.

What is measured is the newest: `make clean`, or `rm -r build/matrix-*`, and it is installed anew.
"""

import fcntl
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from packaging.dependency_groups import resolve_dependency_groups

ROOT = Path(__file__).parents[2]
OLDEST = (3, 11)  # that this project supports
VERSION = "import sys; print(*sys.version_info[:2])"
NAME = re.compile(r"[\w.-]+")  # of a package, at the beginning of a requirement
INSTALLING = 1800  # seconds


class Needs(NamedTuple):
    """What a row needs: packages of a group of pyproject.toml, or requirements of its own."""

    group: str
    packages: Sequence[str]
    requirements: Sequence[str] = ()


class Python(NamedTuple):
    """A Python of this machine, by its version, such as "3.11"."""

    version: str
    program: str


@cache
def pythons() -> list[Python]:
    """Return the Python that runs this, and the newest other one that is newer.

    PYTHONS names the programs to choose from, in place of all on PATH and in pyenv's folder.
    """
    if named := os.environ.get("PYTHONS"):
        known = list(_versions(named.split()))
        return [Python(*known[0]), *(Python(*each) for each in known[-1:] if each != known[0])]
    own = Python("{}.{}".format(*sys.version_info), sys.executable)
    folder = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    programs = [f"python3.{minor}" for minor in range(OLDEST[1], 30)]
    programs += map(str, folder.glob("versions/3.*/bin/python3"))
    newer = [each for each in _versions(programs) if _order(each[0]) > _order(own.version)]
    return [own, *(Python(*each) for each in newer[-1:])]


def _versions(programs: Sequence[str]) -> list[tuple[str, str]]:
    """Return version and path of the Pythons that run, the oldest first, each version once."""
    found: dict[str, str] = {}
    for program in programs:
        path = shutil.which(program)
        if path is None:
            continue
        # a program of pyenv exists for versions that are switched off, too
        done = subprocess.run([path, "-c", VERSION], capture_output=True, text=True, timeout=60)
        version = ".".join(done.stdout.split())
        if not done.returncode and _order(version) >= OLDEST:
            found.setdefault(version, path)
    return sorted(found.items(), key=lambda each: _order(each[0]))


def _order(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def environment(needs: Needs, python: Python, *, alone: bool = False) -> Path:
    """Return a folder with a Python and all packages of a group; install them where they lack.

    For a row that is measured alone only the packages that it needs are installed, unless there is
    an environment of its whole group.
    """
    packages = "-".join(map(_key, needs.packages))
    own_folder = ROOT / "build" / "rows" / f"{needs.group}-{packages}-{python.version}"
    if needs.requirements:
        folder, requirements = own_folder, list(needs.requirements)
    else:
        folder = ROOT / "build" / f"{needs.group}-{python.version}"
        project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
        requirements = list(resolve_dependency_groups(project["dependency-groups"], needs.group))
        if alone and not _is_complete(folder, requirements):
            folder, requirements = own_folder, list(_chosen(requirements, needs))
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several programs of `make measure` need the same one
        if not _is_complete(folder, requirements):
            _install(folder, python, requirements)
    return folder


def _chosen(requirements: Sequence[str], needs: Needs) -> Iterator[str]:
    wanted = {_key(each) for each in needs.packages}
    chosen = [each for each in requirements if _key(NAME.match(each)[0]) in wanted]  # type: ignore[index]
    if not chosen:
        packages = ", ".join(needs.packages)
        raise SystemExit(f"The group {needs.group} of pyproject.toml lacks {packages}: add it.")
    yield from chosen


def _key(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower())


def _is_complete(folder: Path, requirements: Sequence[str]) -> bool:
    complete = folder / "complete"
    return complete.exists() and complete.read_text("utf-8") == "\n".join(requirements)


def _install(folder: Path, python: Python, requirements: Sequence[str]) -> None:
    print(
        f"{folder.relative_to(ROOT)}: installing {len(requirements)} packages"
        f" for Python {python.version}, once",
        file=sys.stderr,
        flush=True,
    )
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([python.program, "-m", "venv", folder], check=True, timeout=INSTALLING)
    pip: list[str | Path] = [
        folder / "bin" / "python",
        "-m",
        "pip",
        "--quiet",
        "--disable-pip-version-check",
    ]
    subprocess.run([*pip, "install", *requirements], check=True, timeout=INSTALLING)
    (folder / "complete").write_text("\n".join(requirements), "utf-8")
