"""Change the files to copy in places drawn at random, and run the pages after each change.

python docs/_measure/mutants.py [NUMBER [SEED [FILE ...]]]

The changes are those of mutmut, a dropped operand of each `and` and `or`, and the first or last
statement of each `try` moved out of it; NUMBER are drawn for each file.  The programs and checks
that begin no other program run until one fails; a change with which all of them pass is printed.
docs/matrix/mutants.json has the counts of the last run of each file.
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
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import libcst
import pytest
from mutmut.mutation.file_mutation import create_mutations

ROOT = Path(__file__).parents[2]
RECORD = ROOT / "docs/matrix/mutants.json"
FILES = "server.py", "server_trio.py", "application.py", "validate.py", "composition.py"
OTHERS = re.compile(  # in a block that begins another program, or plays the cases of the suite
    r"\bcommand\(|subprocess|conformance|socket|thread|pytest|uvicorn|hypercorn|granian|Process"
)
LIMIT = 600.0  # seconds of the pages without a change
TIMES = 5  # as long may they take with one, before they hang
LOADED = "ignore:Module already imported:pytest.PytestAssertRewriteWarning"
FIRST = "docs/api.rst", "docs/rules.md", "docs/edge-cases.md"  # these notice most


class _Blocks:
    """Keep the blocks that begin no other program, and note which passed and which failed."""

    def __init__(self, notes: Path) -> None:
        self.notes = notes

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = [
            each
            for each in items
            if each.block.kind != "process" and not OTHERS.search(each.block.source)
        ]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.failed:
            with self.notes.open("a", encoding="utf-8") as notes:
                notes.write(f"{report.nodeid} {report.outcome}\n")


def run(folder: Path, pages: list[str], limit: float) -> tuple[int, list[str]]:
    """Run pages with the package in a folder; return pytest's exit status, and the pages that ran.

    A fork has loaded all that the pages import, except the package.
    """
    notes = folder / "notes"
    notes.write_text("", "utf-8")
    child = os.fork()
    if not child:
        os.setpgid(0, 0)
        output = os.open(folder / "output", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        sys.path.insert(0, str(folder / "src"))
        status = 70
        try:
            options = ["-q", "-x", "-p", "no:cacheprovider", "-W", LOADED]
            status = pytest.main([*options, *pages], [_Blocks(notes)])
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


def changes_of(name: str, text: str) -> list[str]:
    """Return a file with each change."""
    module, mutations, *_ = create_mutations(name, text)
    pairs = [
        (each.original_node, each.mutated_node)
        for each in mutations
        if each.contained_by_top_level_function
    ]
    replaced = (module.deep_replace(*pair) for pair in (*pairs, *_other_changes(module)))
    return [each.code for each in replaced if isinstance(each, libcst.Module)]


def _other_changes(module: libcst.Module) -> Iterator[tuple[Any, Any]]:
    """Yield the changes that mutmut does not make: a node, and what takes its place."""
    found = _Found()
    module.visit(found)
    for each in found.operations:
        yield from ((each, operand) for operand in (each.left, each.right))
    for each in found.tries:
        first, *others = each.body.body
        *before, last = each.body.body
        if others:
            for body, around in ((others, (first, None)), (before, (None, last))):
                inner = each.with_deep_changes(each.body, body=body)
                nodes = [node for node in (around[0], inner, around[1]) if node is not None]
                yield each, libcst.FlattenSentinel(nodes)


class _Found(libcst.CSTVisitor):
    """The operations and blocks of a module that are changed."""

    def __init__(self) -> None:
        super().__init__()
        self.operations: list[libcst.BooleanOperation] = []
        self.tries: list[libcst.Try] = []

    def visit_BooleanOperation(self, node: libcst.BooleanOperation) -> None:  # noqa: N802
        self.operations.append(node)

    def visit_Try(self, node: libcst.Try) -> None:  # noqa: N802
        self.tries.append(node)


def _load() -> None:
    """Import what pytest and the pages import, but nothing of the package."""
    for plugin in importlib.metadata.entry_points(group="pytest11"):
        if not plugin.module.startswith("lifespec"):
            plugin.load()
    for name in ("trio.testing", "anyio", "fastapi", "starlette.testclient", "httpx", "uvicorn"):
        importlib.import_module(name)


def main(number: int = 20, seed: int = 1, *files: str) -> None:
    """Try so many changes of each file; print those that nothing notices, and record the counts."""
    _load()
    os.chdir(ROOT)
    record: dict[str, Any] = json.loads(RECORD.read_text("utf-8"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(ROOT / "src", folder / "src")
        began = time.monotonic()
        failed, passed = run(folder, ["docs"], LIMIT)
        limit = TIMES * (time.monotonic() - began)
        if failed or not passed:
            sys.exit(f"{(folder / 'output').read_text('utf-8')}\nThe pages fail without a change.")
        for file in files or FILES:
            original = (ROOT / "src/lifespec" / file).read_text("utf-8")
            drawn = random.Random(seed).sample(changes_of(file, original), number)  # noqa: S311  no secret
            noticed = 0
            for change in drawn:
                (folder / "src/lifespec" / file).write_text(change, "utf-8")
                others = sorted({*passed} - {*FIRST})
                status = run(folder, list(FIRST), limit)[0] or run(folder, others, limit)[0]
                if status:
                    noticed += 1
                else:
                    lines = original.splitlines(), change.splitlines()
                    print(*difflib.unified_diff(*lines, file, file, n=1, lineterm=""), sep="\n")
                print("T" if status == signal.SIGKILL else ".", end="", flush=True)
            (folder / "src/lifespec" / file).write_text(original, "utf-8")
            print(f"{file}: {noticed} of {number} changes were noticed.", flush=True)
            record["files"][file] = {"changes": number, "noticed": noticed, "seed": seed}
    record |= {"date": f"{datetime.now(UTC):%Y-%m-%d}", "programs": len(passed)}
    for key in ("changes", "noticed"):
        record[key] = sum(each[key] for each in record["files"].values())
    RECORD.write_text(json.dumps(record, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]), *sys.argv[3:])
