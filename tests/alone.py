"""Runs each test file alone, and holds each module to its own test file: `make test`.

A file that runs alone owes nothing to the others, and a module is known to be covered by its own
tests: no import, cache or fixture of another file can have run its lines. As many files run at a
time as there are processors.

    python tests/alone.py [FILE...]

Exit status 0: all passed, and each module of src and docs/_ext was covered in full, branches too.
"""

import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, NamedTuple, cast

__all__ = ["Result", "files", "main", "modules_of", "run"]

MODULES = "src/lifespec", "docs/_ext"
OWN_FILE = {"__init__": "layout", "__main__": "main"}  # the others: module.py, test_module.py
WORDS = "passed", "failed", "error", "skipped", "xfailed"
COUNTS = re.compile(rf"(\d+) ({'|'.join(WORDS)})")
TOLD = re.compile("^(?:SKIPPED|FAILED|ERROR) .*", re.MULTILINE)
FOLDER = Path("build/coverage")
LIMIT = int(os.environ.get("LIFESPEC_LIMIT", "300"))  # seconds for one file


class Result(NamedTuple):
    """What became of one test file."""

    file: Path
    modules: list[Path]
    status: int
    output: str
    missing: list[str]
    seconds: float

    @property
    def counts(self) -> Counter[str]:
        """How many passed, failed, skipped, by pytest's last line."""
        lines = [COUNTS.findall(line) for line in self.output.splitlines() if COUNTS.search(line)]
        return Counter({word: int(number) for number, word in (lines or [[]])[-1]})

    @property
    def faults(self) -> list[str]:
        """Sentences that begin with the file, and the line where there is one."""
        failed = f"{self.file}: pytest ended with status {self.status}; what it said stands above"
        return [failed] if self.status else self.missing


def files() -> list[Path]:
    """All test files; the largest first, so that the last to end is a short one."""
    return sorted(Path("tests").rglob("test_*.py"), key=lambda file: -file.stat().st_size)


def modules_of(file: Path) -> list[Path]:
    """Find the modules whose own test file this is: one, or none."""
    paths = (path for folder in MODULES for path in sorted(Path(folder).rglob("*.py")))
    return [path for path in paths if file.stem == f"test_{OWN_FILE.get(path.stem, path.stem)}"]


def missing(module: Path, file: Path, measured: dict[str, Any]) -> list[str]:
    """Name each line and branch of the module that its own test file did not run."""
    if str(module) not in measured:
        return [f"{module}:1: {file} does not run this module"]
    lines, branches = (measured[str(module)][f"missing_{kind}"] for kind in ("lines", "branches"))
    return [f"{module}:{line}: {file} does not run this line" for line in lines] + [
        f"{module}:{start}: {file} goes from here never to {end if end > 0 else 'the end'}"
        for start, end in branches
        if start not in lines
    ]


def measured(data: Path) -> dict[str, Any]:
    """Read what coverage saw: nothing, where there was nothing to see."""
    report = data.with_suffix(".json")
    report.unlink(missing_ok=True)
    write = [sys.executable, "-m", "coverage", "json", f"--data-file={data}", "-o", str(report)]
    subprocess.run(write, check=False, capture_output=True)
    files = json.loads(report.read_text())["files"] if report.exists() else {}
    return cast("dict[str, Any]", files)


def said(command: list[str]) -> tuple[int, str]:
    """Run a command; end it where the limit of the tests themselves did not."""
    output, errors = subprocess.PIPE, subprocess.STDOUT
    with subprocess.Popen(command, stdout=output, stderr=errors, text=True) as process:
        try:
            text, _ = process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            process.kill()
            text, _ = process.communicate()
            text += f"ended after {LIMIT} seconds"
        return process.returncode, text


def run(file: Path) -> Result:
    """Run one test file in a process of its own; measure its module where it has one."""
    began = time.monotonic()
    modules, data = modules_of(file), FOLDER / file.stem
    command = [sys.executable, "-m", "pytest", "-q", str(file)]
    if modules:
        include = ",".join(map(str, modules))
        command[1:1] = f"-m coverage run --include={include} --data-file={data}".split()
    status, output = said(command)
    covered = [] if status else modules
    seen = measured(data) if covered else {}
    unseen = [fault for module in covered for fault in missing(module, file, seen)]
    seconds = time.monotonic() - began
    return Result(file, modules, status, output, unseen, seconds)


def counted(counts: Counter[str]) -> str:
    """Put numbers in words."""
    return ", ".join(f"{counts[word]} {word}" for word in WORDS if counts[word]) or "no tests"


def tell(result: Result, progress: str) -> None:
    """Show one line for a file that passed, and all that pytest said of one that did not."""
    if result.status:
        print(result.output)
    covers = "" if result.faults else "  ".join(f"covers {module}" for module in result.modules)
    line = f"{progress}  {result.file!s:30} {counted(result.counts):22} {result.seconds:5.1f} s  "
    print(line + covers, *result.missing, sep="\n", flush=True)


def main(names: list[str]) -> int:
    """Run the files that are named, or all."""
    chosen = [Path(name) for name in names] or files()
    FOLDER.mkdir(parents=True, exist_ok=True)
    results: list[Result] = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for running in as_completed([pool.submit(run, file) for file in chosen]):
            results.append(running.result())
            tell(results[-1], f"{len(results):3}/{len(chosen)}")
    told = [line for result in results for line in TOLD.findall(result.output)]
    faults = [fault for result in results for fault in result.faults]
    print(*told, *faults, sep="\n")
    counts = sum((result.counts for result in results), Counter[str]())
    print(f"test: {len(chosen)} files, {counted(counts)}; {len(faults)} faults")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
