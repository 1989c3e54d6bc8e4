"""Changes the files to copy, one place at a time, and tells what no test notices.

    python tests/mutation/run.py [PART... | --again]

What mutmut would change is changed, and the tables besides: see mutants.py.  Each mutant is
tried in a process of its own, which imports it anew, so that what runs at import is changed too.
The tests of the module run first, then the examples and checks of the pages, then all other tests,
those that run every application among them; the first that fails has noticed it.

A mutant that survives is either a test that is missing, or it stands in equivalent.toml beside
this file, with the reason why it is no other program.  The result of a run of all files goes to
docs/matrix/mutation.json.  `--again` tries those alone that survived the last such run, and adds
to its result: tests that were added meanwhile can only have noticed more.

Exit status: 0 every survivor is listed with its reason, 1 one is not, or one listed is gone.
"""

import faulthandler
import hashlib
import json
import os
import platform
import py_compile
import resource
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterable, Iterator
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import by_examples
import mutated

from mutants import Mutant, mutants

__all__ = ["EQUIVALENT", "NAMES", "RESULT", "ROOT"]

ROOT = Path(__file__).resolve().parents[2]
TREE = ROOT / "build" / "mutation" / "tree"
EQUIVALENT = Path(__file__).with_name("equivalent.toml")
STATE = TREE.with_name("state.json")
RESULT = ROOT / "docs" / "matrix" / "mutation.json"
Named = tuple[str, Mutant]
Key = tuple[str, str, str, str]  # file, function, the lines before and after
NAMES = ("server", "application", "validate")
PARTS = ("server", "server tables", "application", "validate", "validate tables")
TESTS = [f"tests/test_{name}.py" for name in ("server", "server_asyncio", *NAMES[1:])]
TESTS += ["tests/limits/test_exits.py"]
TESTS += ["tests/limits/test_cancellation.py"]
TESTS += ["tests/every/test_every.py::test_what_was_left_out_could_not_be_told_apart"]
ARGUMENTS = ["-x", "-q", "--tb=no", "-p", "no:cacheprovider", "--timeout=10", "-W", "ignore"]
ARGUMENTS += ["-p", "pytest_asyncio.plugin", "-p", "pytest_timeout"]
WARM = [
    "pytest_asyncio",
    "pytest_timeout",
    "unittest.mock",
    "trio.testing",
]  # imported once, for all
SECONDS, BYTES = 90, 4 << 30  # of one mutant: the processor's time, and memory
FAILED = (1, 2, 4)  # a test failed, or the module could not even be imported


def copy() -> None:
    """Copy what git tracks, or would track."""
    shutil.rmtree(TREE, ignore_errors=True)
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        if name.startswith(("src", "tests", "docs", "pyproject")) and (ROOT / name).exists():
            target = TREE / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target)


def slot(number: int) -> Path:
    """Copy src once more, compiled, for the mutants that are tried one after another there."""
    target = TREE / f"slot-{number}"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(ROOT / "src", target, ignore=shutil.ignore_patterns("__pycache__"))
    for path in target.rglob("*.py"):
        if path.stem not in NAMES:  # these change
            py_compile.compile(str(path))
    return target


def examples() -> mutated.Pages:
    """Return what the pages run in this process, in virtual time."""

    def apart(block: dict[str, Any]) -> bool:
        return block["kind"] == "real" or "command(" in block["source"]

    pages = by_examples.pages().items()
    return {page: [one for one in blocks if not apart(one)] for page, blocks in pages}


def tested(tests: list[str]) -> int:
    """Run tests; return the status of pytest."""
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # it takes time
    status = int(import_module("pytest").main([*ARGUMENTS, *tests]))
    del os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"]  # an example may run pytest
    return status


def begin(source: Path, name: str, pages: mutated.Pages) -> int:
    """Fork a process that runs the tests over these sources, those of the module first."""
    if process := os.fork():
        return process
    status = 3
    try:
        os.chdir(TREE)
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
        faulthandler.dump_traceback_later(mutated.WAIT, exit=True, file=nothing)
        sys.dont_write_bytecode = bool(name)
        sys.path.insert(0, str(source))
        own = [test for test in TESTS if name and f"/test_{name}" in test] or TESTS[:1]
        others = [test for test in TESTS if test not in own]
        status = tested(own)
        status = status or int(bool(mutated.noticed(name or NAMES[0], pages)[0]))
        status = status or tested(others)
    finally:
        os._exit(status)


def ended() -> tuple[int, bool]:
    """Wait for one of the processes: which, and whether a test failed there."""
    process, raw = os.wait()
    status = os.waitstatus_to_exitcode(raw)
    if status > 0 and status not in FAILED:
        raise RuntimeError(f"pytest ended with status {status}")
    return process, status != 0  # a signal: it never ended, or took all memory


def survivors(found: Iterable[Named], pages: mutated.Pages) -> tuple[list[Named], int]:
    """Try all, one on each processor; return what no test noticed, and how many there were."""
    free = [slot(number) for number in range(os.cpu_count() or 1)]
    running: dict[int, tuple[Path, str, Mutant]] = {}
    total = 0
    alive, waiting = [], iter(found)
    while True:
        while free and (one := next(waiting, None)):
            name, mutant = one
            where = free.pop()
            (where / "lifespec" / f"{name}.py").write_text(mutant.source, "utf-8")
            running[begin(where, name, pages)] = where, name, mutant
            total += 1
            if total % 100 == 0:
                print(f"{time.strftime('%X')}: {total} of {name} tried", flush=True)
        if not running:
            return alive, total
        process, noticed = ended()
        where, name, mutant = running.pop(process)
        shutil.copy2(ROOT / "src" / "lifespec" / f"{name}.py", where / "lifespec")
        free.append(where)
        if not noticed:
            alive.append((name, mutant))
            print(told(name, mutant), flush=True)


def told(name: str, mutant: Mutant) -> str:
    """Show a mutant."""
    place = f"src/lifespec/{name}.py:{mutant.line}: {mutant.where}"
    return f"{place}\n    - {mutant.old}\n    + {mutant.new}"


def reasons() -> dict[Key, str]:
    """Return why the listed survivors are no other program."""
    rows: list[dict[str, Any]] = tomllib.loads(EQUIVALENT.read_text("utf-8"))["equivalent"]
    return {(row["file"], row["function"], row["old"], row["new"]): row["reason"] for row in rows}


def key(name: str, mutant: Mutant) -> Key:
    """Name a mutant as the list does."""
    return name, mutant.where, mutant.old, mutant.new


def made(part: str) -> Iterator[tuple[str, Mutant]]:
    """Make the mutants of a part, with the name of the file."""
    name, _, tables = part.partition(" ")
    text = (ROOT / "src" / "lifespec" / f"{name}.py").read_text("utf-8")
    return ((name, mutant) for mutant in mutants(text, tables=bool(tables)))


def counted(state: dict[str, Any]) -> dict[str, Any]:
    """Count the mutants of each part, and what became of them."""
    known, table = reasons(), {}
    for part in filter(state.__contains__, PARTS):
        name, row = part.split()[0], state[part]
        lived = [key(name, Mutant(**one)) in known for one in row["alive"]]
        table[part] = {
            "mutants": row["mutants"],
            "noticed": row["mutants"] - len(lived),
            "equivalent": lived.count(True),
            "survived": lived.count(False),
        }
    return table


def differences(state: dict[str, Any]) -> bool:
    """Tell of survivors that are not listed, and of what is listed and was noticed."""
    known = reasons()
    alive = [(part.split()[0], Mutant(**one)) for part in state for one in state[part]["alive"]]
    lived = {key(name, one) for name, one in alive}
    new = [(name, one) for name, one in alive if key(name, one) not in known]
    gone = known.keys() - lived
    for each in new:
        print("Not listed:", told(*each))
    for name, where, old, change in gone:
        print(f"{EQUIVALENT.name}: no survivor of {name}: {where}\n    - {old}\n    + {change}")
    return bool(new or gone)


def digest(part: str) -> str:
    """Tell a file from what it was when it was mutated."""
    name = part.partition(" ")[0]
    return hashlib.sha256((ROOT / "src" / "lifespec" / f"{name}.py").read_bytes()).hexdigest()


def last_time() -> dict[str, Any]:
    """Return what became of the files that are still what they were."""
    state: dict[str, Any] = json.loads(STATE.read_text("utf-8")) if STATE.exists() else {}
    return {part: row for part, row in state.items() if row["digest"] == digest(part)}


def write(state: dict[str, Any]) -> None:
    """Write the result, of the parts that were tried as they are."""
    STATE.write_text(json.dumps(state), encoding="utf-8")
    result = {
        "parts": counted(state),
        "seconds": sum(row["seconds"] for row in state.values()),
        "python": platform.python_version(),
        "mutmut": metadata.version("mutmut"),
        "date": time.strftime("%Y-%m-%d"),
    }
    print(json.dumps(result, indent=2))
    RESULT.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def main(arguments: list[str]) -> int:
    """Run it all."""
    copy()
    pages = examples()
    for module in WARM:
        import_module(module)
    begin(ROOT / "src", "", pages)
    if ended()[1]:
        print("The tests fail where nothing is changed.")
        return 1
    again = arguments == ["--again"]
    chosen = last_time() if again else arguments or PARTS
    for part in [part for part in PARTS if part in chosen]:
        began, old = time.monotonic(), last_time().get(part)
        if again and old:
            name = part.partition(" ")[0]
            lived, _ = survivors(((name, Mutant(**one)) for one in old["alive"]), pages)
            total, before = old["mutants"], old["seconds"]
        else:
            (lived, total), before = survivors(made(part), pages), 0
        row = {
            "digest": digest(part),
            "mutants": total,
            "seconds": round(before + time.monotonic() - began),
            "alive": [mutant._asdict() for _, mutant in lived],
        }
        write({**last_time(), part: row})
    return differences(last_time())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
