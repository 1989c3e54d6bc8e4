"""Runs each test file alone, and holds each module to its own test file: `make test`.

A file that runs alone owes nothing to the others, and a module is known to be covered by its own
tests: no import, cache or fixture of another file can have run its lines. Each file's process is a
fork of this one, which has loaded pytest, its plugins and coverage, and nothing of the project.

    python tests/alone.py [FILE...]

Exit status 0: all passed, and each module of src and docs/_ext was covered in full, branches too.
"""

import contextlib
import faulthandler
import functools
import gc
import io
import json
import os
import re
import signal
import sys
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest
from coverage import Coverage
from coverage.exceptions import NoDataError

__all__ = ["Result", "files", "main", "modules_of"]

MODULES = "src/lifespec", "docs/_ext"
OWN_FILE = {"__init__": "layout", "__main__": "main"}  # the others: module.py, test_module.py
WORDS = "passed", "failed", "error", "skipped", "xfailed"
COUNTS = re.compile(rf"(\d+) ({'|'.join(WORDS)})")
TOLD = re.compile("^(?:SKIPPED|FAILED|ERROR) .*", re.MULTILINE)
FOLDER = Path("build/coverage")
TOOK = FOLDER / "seconds.json"  # the processor's, of each file when it last passed
LIMIT = int(os.environ.get("LIFESPEC_LIMIT", "900"))  # seconds for one file
WIDTH = (os.cpu_count() or 1) + 1  # one more than there are processors: many tests wait
PYTEST = "-q", "-p", "no:faulthandler"  # its limit would end ours


class Result(NamedTuple):
    """What became of one test file."""

    file: Path
    modules: list[Path]
    status: int
    output: str
    missing: list[str]
    seconds: float  # by the clock
    work: float  # seconds of the processor, its own and those of processes that it waited for

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
    """All test files: first the one that builds the site, for which others wait, then by size."""
    found = Path("tests").rglob("test_*.py")
    return sorted(found, key=lambda file: (file.stem != "test_site", -file.stat().st_size))


@functools.cache
def modules() -> list[Path]:
    """All modules that are held to a test file."""
    return [path for folder in MODULES for path in sorted(Path(folder).rglob("*.py"))]


def modules_of(file: Path) -> list[Path]:
    """Find the modules whose own test file this is: one, or none."""
    own = {path: f"test_{OWN_FILE.get(path.stem, path.stem)}" for path in modules()}
    return [path for path, name in own.items() if file.stem == name]


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


def measured(report: Path) -> dict[str, Any]:
    """Read what coverage saw: nothing, where there was nothing to see."""
    found = json.loads(report.read_text())["files"] if report.exists() else {}
    return cast("dict[str, Any]", found)


def tested(file: Path, report: Path) -> int:
    """Run a test file in this process; write what ran of its module, where it has one."""
    errors = os.dup(2)  # pytest captures the other
    faulthandler.enable(errors)
    faulthandler.dump_traceback_later(LIMIT, exit=True, file=errors)
    sys.path[0] = str(Path.cwd())  # as `python -m pytest` has it
    own = modules_of(file)
    watch = Coverage(data_file=None, include=[str(module) for module in own])
    if own:
        watch.start()
    status = pytest.main([*PYTEST, str(file)])
    if own:
        watch.stop()
        with contextlib.suppress(NoDataError):
            watch.json_report(outfile=str(report))
    return int(status)


def started(file: Path, report: Path, output: Path) -> int:
    """Start a test file in a process of its own; what it says is written to a file."""
    report.unlink(missing_ok=True)
    sys.stdout.flush()
    if process := os.fork():
        return process
    with output.open("wb") as said:
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
    sys.exit(tested(file, report))


def side_by_side(chosen: Sequence[Path]) -> Iterator[Result]:
    """Run files, some at a time; give what became of each when it has ended."""
    waiting, running = deque(chosen), dict[int, tuple[Path, float]]()
    while waiting or running:
        while waiting and len(running) < WIDTH:
            file = waiting.popleft()
            running[started(file, *places(file))] = file, time.monotonic()
        process, status, used = os.wait4(-1, 0)
        file, began = running.pop(process)
        ended, work = time.monotonic(), used.ru_utime + used.ru_stime
        yield result(file, os.waitstatus_to_exitcode(status), ended - began, work)


def places(file: Path) -> tuple[Path, Path]:
    """Return where a file's coverage is written, and what it says."""
    return FOLDER / f"{file.stem}.json", FOLDER / f"{file.stem}.txt"


def result(file: Path, status: int, seconds: float, work: float) -> Result:
    """Put together what became of a file that has ended."""
    report, output = places(file)
    own = modules_of(file)
    seen = measured(report)
    unseen = [] if status else [fault for each in own for fault in missing(each, file, seen)]
    said = output.read_text(encoding="utf-8", errors="replace")
    return Result(file, own, status, said, unseen, seconds, work)


def counted(counts: Counter[str]) -> str:
    """Put numbers in words."""
    return ", ".join(f"{counts[word]} {word}" for word in WORDS if counts[word]) or "no tests"


def tell(result: Result, progress: str) -> None:
    """Show one line for a file that passed, and all that pytest said of one that did not."""
    if result.status:
        print(result.output)
    covers = "" if result.faults else "".join(f", covers {each.name}" for each in result.modules)
    line = f"{progress} {result.seconds:5.1f} s  {result.file}: {counted(result.counts)}{covers}"
    print(line, *result.missing, sep="\n", flush=True)


def warmed() -> None:
    """Load what pytest loads for every file: its plugins; what is forked then has them."""
    with contextlib.redirect_stdout(io.StringIO()):
        pytest.main([*PYTEST, "--noconftest", str(FOLDER)])
    gc.freeze()


def longest_first(chosen: Sequence[Path], took: dict[str, float]) -> list[Path]:
    """Sort files by their work, so that the last to end is a short one; the unknown first."""
    return sorted(chosen, key=lambda file: -took.get(str(file), float("inf")))


def main(names: list[str]) -> int:
    """Run the files that are named, or all."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    took = json.loads(TOOK.read_text()) if TOOK.exists() else {}
    chosen = longest_first([Path(name) for name in names] or files(), took)
    results: list[Result] = []
    warmed()
    for each in side_by_side(chosen):
        results.append(each)
        tell(each, f"{len(results):3}/{len(chosen)}")
    TOOK.write_text(json.dumps(took | {str(r.file): r.work for r in results if not r.status}))
    told = [line for each in results for line in TOLD.findall(each.output)]
    faults = [fault for each in results for fault in each.faults]
    print(*told, *faults, sep="\n")
    counts = sum((each.counts for each in results), Counter[str]())
    print(f"test: {len(chosen)} files, {counted(counts)}; {len(faults)} faults")
    return bool(faults)


if __name__ == "__main__":
    # what a shell starts in the background ignores Ctrl-C, and so would the examples that press it
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(main(sys.argv[1:]))
