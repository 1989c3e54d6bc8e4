"""Measures the newest release of each year before this record, and records what was otherwise.

    python tests/measure/history.py FOLDER FILE [SUBJECT...]        (make history)

FOLDER gets an environment for each year and subject, in which nothing is newer than that year.
FILE is where the record is kept: by subject and year the versions, the rules by verdict, and what
differs from docs/matrix/servers.json or docs/matrix/frameworks.json.  It is written after each
release, and what it already has is not measured again as long as the suite stays the same.
"""

import concurrent.futures
import datetime as dt
import json
import platform
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

import frameworks
import run

from lifespec.conformance.report import Verdict
from lifespec.conformance.server import check as server_check
from lifespec_docs.facts.recorded import made_with

__all__ = ["SUBJECTS", "Release", "counted", "main", "measured"]

YEARS = 4  # before this one, whose releases the other records have
MATRIX = Path(__file__).parents[2] / "docs" / "matrix"
AT_ONCE = 3  # releases; a check mostly waits
LIMIT = 300  # seconds to install a release

Row = dict[str, Any]


class Release(NamedTuple):
    """The newest release of a subject in a year, in an environment of its own."""

    folder: Path
    name: str
    year: int

    @property
    def record(self) -> str:
        """Name the record that has the newest release."""
        return "servers" if self.name in run.SERVERS else "frameworks"

    @property
    def packages(self) -> Sequence[str]:
        """Return the packages to install; before 2024 uvicorn had the worker of gunicorn."""
        if self.record == "frameworks":
            return frameworks.SUBJECTS[self.name].packages
        packages = run.SERVERS[self.name][0]
        old = self.year < 2024
        return [each for each in packages if not (old and each == "uvicorn-worker")]

    @property
    def command(self) -> str:
        """Return the command of a server, as far as the options were known at that time."""
        words = run.SERVERS[self.name][1].replace("--no-control-socket ", "")
        if "uvicorn-worker" in self.packages:
            return words
        return words.replace("uvicorn_worker.", "uvicorn.workers.")

    @property
    def environment(self) -> Path:
        """Return where it is installed."""
        return self.folder / str(self.year) / self.name.replace(", ", "-")

    def install(self) -> dict[str, str]:
        """Install the packages and what they need, as of the end of the year; return versions."""
        uv = str(self.folder / "uv" / "bin" / "uv")
        python = str(self.environment / "bin" / "python")
        date = f"{self.year + 1}-01-01T00:00:00Z"
        wanted = [*self.packages, *(["setuptools"] if self.record == "servers" else [])]
        for words in (
            ["venv", "--allow-existing", "--python", sys.executable, str(self.environment)],
            ["pip", "install", "--python", python, "--exclude-newer", date, *wanted],
        ):
            subprocess.run(
                [uv, "--quiet", *words], check=True, timeout=LIMIT, capture_output=True, text=True
            )
        return frameworks.versions(python, self.packages)

    def observed(self) -> Row:
        """Measure it; return what the record of the newest release would have."""
        if self.record == "frameworks":
            python = str(self.environment / "bin" / "python")
            program = frameworks.SUBJECTS[self.name].program
            return {"happened": frameworks.observed(python, frameworks.PROGRAMS / f"{program}.py")}
        subject = run.server(self.packages, self.command)
        job = subject.job(self.environment.absolute() / "bin")
        return {"findings": run.findings(job, server_check.chosen(slow=True))}


SUBJECTS = [
    *(name for name in run.SERVERS if name != "gunicorn, asgi"),  # a worker of 2026
    *(
        name
        for name, each in frameworks.SUBJECTS.items()
        if each.framework in {"Starlette", "FastAPI"}
    ),
]


def counted(findings: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Count the rules by the verdict that counts."""
    verdicts: dict[str, list[Verdict]] = {}
    for each in findings:
        verdicts.setdefault(each["rule"], []).append(Verdict.named(each["verdict"]))
    return dict(sorted(Counter(Verdict.of(each).value for each in verdicts.values()).items()))


def told(versions: dict[str, str], seen: Row, newest: Row) -> Row:
    """Return what the record keeps of a release: its versions, and what differs."""
    if "happened" in seen:
        differs = {
            name: happened
            for name, happened in seen["happened"].items()
            if happened != newest["happened"].get(name)
        }
        return {"versions": versions, "happened": differs}
    row = run.compared(seen | {"versions": {}}, "", newest)
    return {
        "versions": versions,
        "rules": counted(seen["findings"]),
        "differs": row["before"]["changed"],
    }


def measured(release: Release, done: Sequence[Row]) -> Row:
    """Install and measure a release; one that an earlier year had is not measured again."""
    versions = release.install()
    for each in done:
        if each["versions"] == versions:
            return each | {"year": release.year}
    rows = json.loads((MATRIX / f"{release.record}.json").read_text("utf-8"))["subjects"]
    newest = next(each for each in rows if each["name"] == release.name)
    return {"year": release.year} | told(versions, release.observed(), newest)


def years(name: str, folder: Path, found: list[Row], keep: Callable[[], None]) -> None:
    """Measure each year of a subject that is not in the record."""
    this = dt.datetime.now(dt.UTC).year
    found[:] = [each for each in found if each["year"] >= this - YEARS]
    for year in range(this - YEARS, this):
        if year in {each["year"] for each in found}:
            continue
        try:
            found.append(measured(Release(folder, name, year), found))
        except (subprocess.SubprocessError, RuntimeError) as error:
            reason = (getattr(error, "stderr", "") or str(error)).strip().splitlines()[-1]
            found.append({"year": year, "reason": reason})
        print(name, year, found[-1].get("versions") or found[-1]["reason"], flush=True)
        keep()


def main(arguments: Sequence[str]) -> int:
    """Measure the subjects, a few at a time."""
    folder, file, *names = arguments
    path = Path(file)
    before = json.loads(path.read_text("utf-8")) if path.exists() else {"subjects": []}
    digests, rows = made_with("history"), {}
    if names or before.get("made_with") == digests:  # else all of it is measured anew
        digests = before.get("made_with", digests)
        rows = {each["name"]: each["releases"] for each in before["subjects"]}

    def keep() -> None:
        record = {
            "date": dt.datetime.now(dt.UTC).date().isoformat(),
            "python": f"{platform.python_implementation()} {platform.python_version()}",
            "system": platform.system(),
            "made_with": digests,
            "subjects": [
                {"name": name, "releases": rows[name]} for name in SUBJECTS if name in rows
            ],
        }
        path.write_text(json.dumps(record, indent=1) + "\n", "utf-8")

    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        jobs = [
            pool.submit(partial(years, name, Path(folder), rows.setdefault(name, []), keep))
            for name in names or SUBJECTS
        ]
        for job in jobs:
            job.result()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
