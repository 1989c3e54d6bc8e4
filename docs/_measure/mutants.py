"""Change programs in places drawn at random, and run pages and tests after each change.

python docs/_measure/mutants.py [NUMBER [ROOM ...]]

NUMBER may be "all". ROOM is one of ROOMS or a file to copy; without it all of these are changed.

The changes are those of mutmut, and those of careless people: a dropped operand of each `and` and
`or`, the first or last statement of each `try` moved out of it, a falsy value that is accepted,
Exception in place of BaseException, and the number of a line ± 1.

For each file to copy NUMBER are drawn, for another room as many of all its files: by the date, so
that a second run of a day shows what a new test notices. The programs and checks of the pages that
begin no other program run until one fails, and then the tests; of another room the tests come
first, those before the others that name the module most. A change that nothing notices is printed;
docs/matrix/mutants.json has the counts of the last run of each row, and tests/mutants/survivors.md
the kinds that leave the behaviour as it was.
"""

import difflib
import importlib.metadata
import json
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import libcst
import pytest
from mutmut.mutation.file_mutation import create_mutations

ROOT = Path(__file__).parents[2]
RECORD = ROOT / "docs/matrix/mutants.json"
SRC = "src/lifespec"
FILES = "server.py", "server_trio.py", "application.py", "validate.py", "composition.py"
TESTS = {name: [f"tests/test_{Path(name).stem}.py", "tests/every"] for name in FILES}
TESTS["server.py"].append("tests/test_server_asyncio.py")
WORKERS = "-n", "4", "--maxschedchunk", "1"  # tests that wait for servers; they keep their order
ROOMS = {  # folders that are changed, each with its tests
    "conformance": (f"{SRC}/conformance", ["tests/conformance", "tests/sentences"]),
    "diagnosis": (f"{SRC}/diagnosis", ["tests/diagnosis", "tests/conformance"]),
    "testing": (f"{SRC}/testing", ["tests/testing"]),
    "watch": (f"{SRC}/watch", ["tests/watch"]),
    "lifespec_pages": ("docs/_ext/lifespec_pages", ["tests/docs"]),
}
LINES = {"lineno", "tb_lineno", "f_lineno", "co_firstlineno", "end_lineno"}
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", ".*_cache", "build*", "site", "__pycache__")
OTHERS = re.compile(  # in a block that begins another program, or plays the cases of the suite
    r"\bcommand\(|subprocess|conformance(?!\.(rules|cases)\b)|\bsockets?\b|thread|pytest"
    r"|uvicorn|hypercorn|granian|Process"
)
LIMIT = 600.0  # seconds of the pages without a change
TIMES = 5  # as long may they take with one, before they hang
LOADED = "ignore:Module already imported:pytest.PytestAssertRewriteWarning"
# the package itself, and plugins that a test loads anew: pytest warns there if they were imported
NOT_LOADED = "lifespec", "xdist", "pytest_timeout"
FIRST = "docs/api.rst", "docs/rules.md", "docs/edge-cases.md"  # these notice most


class _Blocks:
    """Keep the blocks that begin no other program, and note which passed and which failed."""

    def __init__(self, notes: Path) -> None:
        self.notes = notes

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = [
            item
            for item in items
            if not hasattr(item, "block")
            or (item.block.kind != "process" and not OTHERS.search(item.block.source))
        ]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.failed:
            with self.notes.open("a", encoding="utf-8") as notes:
                notes.write(f"{report.nodeid} {report.outcome}\n")


def run(folder: Path, tests: list[str], limit: float) -> tuple[int, list[str]]:
    """Run pages or tests of a copy of the project; return pytest's exit status, and what passed.

    A fork has loaded all that the pages import, except the package. What the tests start finds
    the package of the copy, too.
    """
    notes = folder / "notes"
    notes.write_text("", "utf-8")
    child = os.fork()
    if not child:
        os.setpgid(0, 0)
        output = os.open(folder / "output", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.chdir(folder)
        sys.path.insert(0, str(folder / "src"))
        os.environ["PYTHONPATH"] = str(folder / "src")
        status = 70
        try:
            options = ["-q", "-x", "-p", "no:cacheprovider", "-m", "not slow", "-W", LOADED]
            status = pytest.main([*options, *tests], [_Blocks(notes)])
        finally:
            sys.stdout.flush()
            os._exit(status)
    end = time.monotonic() + limit
    ended = status = 0
    while not ended and time.monotonic() < end:
        time.sleep(0.02)
        ended, status = os.waitpid(child, os.WNOHANG)
    if not ended:  # a block hangs: that is noticed
        os.killpg(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    rows = notes.read_text("utf-8").splitlines()
    passed = [line.partition("::")[0] for line in rows if line.endswith(" passed")]
    return status, passed


class Change(NamedTuple):
    """A node of a file, and what takes its place."""

    file: str
    module: libcst.Module
    before: Any
    after: Any

    def text(self) -> str:
        """Return the file with the change: made for those that are drawn, because it takes long."""
        changed = self.module.deep_replace(self.before, self.after)
        if not isinstance(changed, libcst.Module):
            raise TypeError(f"a change of {self.file} leaves no module")
        return changed.code


def changes_of(file: str) -> list[Change]:
    """Return each change of a file."""
    module, mutations, *_ = create_mutations(file, (ROOT / file).read_text("utf-8"))
    careless = _Careless()
    module.visit(careless)
    changes = [Change(file, module, before, after) for before, after in careless.pairs]
    for mutation in mutations:
        if mutation.contained_by_top_level_function:
            changes.append(Change(file, module, mutation.original_node, mutation.mutated_node))
    return changes


class _Careless(libcst.CSTVisitor):
    """The changes that mutmut does not make: pairs of a node and what takes its place."""

    def __init__(self) -> None:
        super().__init__()
        self.pairs: list[tuple[libcst.CSTNode, Any]] = []

    def visit_BooleanOperation(self, node: libcst.BooleanOperation) -> None:  # noqa: N802
        """Drop an operand."""
        self.pairs += [(node, node.left), (node, node.right)]

    def visit_Try(self, node: libcst.Try) -> None:  # noqa: N802
        """Move the first or the last statement out of the block."""
        first, *others = node.body.body
        *before, last = node.body.body
        if others:
            later = node.with_deep_changes(node.body, body=others)
            sooner = node.with_deep_changes(node.body, body=before)
            self.pairs.append((node, libcst.FlattenSentinel([first, later])))
            self.pairs.append((node, libcst.FlattenSentinel([sooner, last])))

    def visit_Comparison(self, node: libcst.Comparison) -> None:  # noqa: N802
        """Take each false value for None."""
        match node.comparisons:
            case [libcst.ComparisonTarget(libcst.Is(), libcst.Name("None"))]:
                self.pairs.append((node, _not(node.left)))
            case [libcst.ComparisonTarget(libcst.IsNot(), libcst.Name("None"))]:
                self.pairs.append((node, node.left))

    def visit_If(self, node: libcst.If) -> None:  # noqa: N802
        """Accept a false value of another type."""
        match node.test:
            case libcst.UnaryOperation(
                libcst.Not(), libcst.Call(libcst.Name("isinstance"), [first, _])
            ):
                both = libcst.BooleanOperation(_bracketed(first.value), libcst.And(), node.test)
                self.pairs.append((node.test, both))

    def visit_Call(self, node: libcst.Call) -> None:  # noqa: N802
        """Take a false value for one that is missing."""
        match node:
            case libcst.Call(libcst.Attribute(attr=libcst.Name("get")), [key, default]):
                alone = key.with_changes(comma=libcst.MaybeSentinel.DEFAULT)
                value = node.with_changes(args=[alone])
                either = libcst.BooleanOperation(value, libcst.Or(), default.value)
                self.pairs.append((node, _bracketed(either)))

    def visit_ExceptHandler(self, node: libcst.ExceptHandler) -> None:  # noqa: N802
        """Forget cancellations and exits."""
        match node.type:
            case libcst.Name("BaseException"):
                self.pairs.append((node.type, libcst.Name("Exception")))

    def visit_Attribute(self, node: libcst.Attribute) -> None:  # noqa: N802
        """Be off by one line."""
        if node.attr.value in LINES:
            for operator in libcst.Add(), libcst.Subtract():
                moved = libcst.BinaryOperation(node, operator, libcst.Integer("1"))
                self.pairs.append((node, _bracketed(moved)))


def _not(node: Any) -> libcst.UnaryOperation:
    return libcst.UnaryOperation(libcst.Not(), _bracketed(node))


def _bracketed(node: Any) -> Any:
    return node.with_changes(lpar=[libcst.LeftParen()], rpar=[libcst.RightParen()])


def _load() -> None:
    """Import what pytest and the pages import, but nothing of the package."""
    for plugin in importlib.metadata.entry_points(group="pytest11"):
        if not plugin.module.startswith(NOT_LOADED):
            plugin.load()
    for name in ("trio.testing", "anyio", "fastapi", "starlette.testclient", "httpx", "uvicorn"):
        importlib.import_module(name)


class Row(NamedTuple):
    """What is changed, of which files, and the tests that run after the pages."""

    name: str
    files: list[str]
    tests: list[str]


def row_of(room: str) -> Row:
    """Return the row of a room, or of a file to copy."""
    if room in FILES:
        return Row(room, [f"{SRC}/{room}"], TESTS[room])
    folder, tests = ROOMS[room]
    return Row(room, _files(folder, "*.py"), tests)


def _files(folder: str, pattern: str) -> list[str]:
    return sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob(pattern))


def drawn(row: Row, number: str, date: str) -> list[Change]:
    """Return the changes that are tried."""
    changes = [change for file in row.files for change in changes_of(file)]
    if number == "all":
        return changes
    return random.Random(date).sample(changes, int(number))  # noqa: S311  no secret


def nearest(row: Row, file: str) -> list[str]:
    """Return the tests of a room, those first that name the module of a file most often."""
    if row.name in FILES:
        return row.tests
    name = re.compile(rf"\b{Path(file).stem}\b")
    tests = [test for folder in row.tests for test in _files(folder, "test_*.py")]
    tests.sort(key=lambda test: -len(name.findall((ROOT / test).read_text("utf-8"))))
    return [*WORKERS, *tests]


def noticed(folder: Path, row: Row, file: str, pages: list[str], limit: float) -> str:
    """Return what notices a change of a file: "page", "test" or ""."""
    runs = [("page", pages, limit), ("test", nearest(row, file), LIMIT)]
    if row.name not in FILES:  # of which few pages show anything
        runs.reverse()
    for by, tests, seconds in runs:
        if run(folder, tests, seconds)[0]:
            return by
    return ""


def main(number: str = "20", *rooms: str) -> None:
    """Try changes; print those that nothing notices, and record the counts."""
    date = f"{datetime.now(UTC):%Y-%m-%d}"
    _load()
    record: dict[str, Any] = json.loads(RECORD.read_text("utf-8"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "copy")
        shutil.copytree(ROOT, folder, ignore=LEFT_OUT)
        began = time.monotonic()
        failed, passed = run(folder, ["docs"], LIMIT)
        limit = TIMES * (time.monotonic() - began)
        pages = [*FIRST, *sorted({*passed} - {*FIRST})]
        if failed or not passed:
            sys.exit(f"{(folder / 'output').read_text('utf-8')}\nThe pages fail without a change.")
        for row in map(row_of, rooms or FILES):
            if run(folder, nearest(row, row.files[0]), LIMIT)[0]:
                text = (folder / "output").read_text("utf-8")
                sys.exit(f"{text}\nThe tests fail without a change.")
            counts = Counter[str]()
            changes = drawn(row, number, date)
            for change in changes:
                file, text = change.file, change.text()
                original = (ROOT / file).read_text("utf-8")
                (folder / file).write_text(text, "utf-8")
                by = noticed(folder, row, file, pages, limit)
                (folder / file).write_text(original, "utf-8")
                counts[by] += 1
                if not by:
                    lines = original.splitlines(), text.splitlines()
                    print(*difflib.unified_diff(*lines, file, file, n=1, lineterm=""), sep="\n")
                print(by[:1] or "-", end="", flush=True)
            print(f"\n{row.name}: {dict(counts)} of {len(changes)}", flush=True)
            record["rows"][row.name] = {
                "date": date,
                "changes": len(changes),
                "page": counts["page"],
                "test": counts["test"],
            }
    record["programs"] = len(passed)
    RECORD.write_text(json.dumps(record, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
