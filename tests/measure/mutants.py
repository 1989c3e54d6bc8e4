"""Change the files to copy in places drawn at random, and run the pages after each change.

python tests/measure/mutants.py [NUMBER [SEED]]

The changes are those of mutmut, a dropped operand of each `and` and `or`, and the first or last
statement of each `try` moved out of it; as many are drawn for each file.  The programs and checks
of all pages run until the first one fails; a change with which all of them pass is printed.
docs/matrix/mutants.json has the counts.
"""

import difflib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import libcst
from mutmut.mutation.file_mutation import create_mutations

ROOT = Path(__file__).parents[2]
FILES = "server.py", "server_trio.py", "application.py", "validate.py", "composition.py"
LIMIT = 1200  # seconds of one change


def run(src: Path, *pages: str) -> tuple[bool, str]:
    """Run the pages with the package in this folder; return whether all pass, and the output.

    Six programs run at a time, because most of them wait.
    """
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "6", "-p", "no:cacheprovider"]
    command += ["--durations=0", *pages, "docs"]
    environment = os.environ | {"PYTHONPATH": str(src)}
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, timeout=LIMIT, text=True
        )
    except subprocess.TimeoutExpired:
        return False, f"FAILED docs/: not within {LIMIT} s"
    return not done.returncode, done.stdout


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


def main(number: int = 75, seed: int = 1) -> None:
    """Try so many changes; print those that no page notices, and how many it did of each file."""
    noticed, seconds = Counter[str](), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        src = Path(shutil.copytree(ROOT / "src", Path(folder, "src")))
        passed, output = run(src)
        programs = re.search(r"(\d+) passed", output)
        if not passed or not programs:
            sys.exit(f"{output}\nThe pages fail without any change.")
        for time, page in re.findall(r"^([\d.]+)s call +(docs/.*?)::", output, re.MULTILINE):
            seconds[page] += float(time)
        texts = {name: (src / "lifespec" / name).read_text("utf-8") for name in FILES}
        files: dict[str, dict[str, int]] = {}
        for name, text in texts.items():
            drawn = random.Random(seed).sample(changes_of(name, text), number // len(FILES))  # noqa: S311  no secret
            files[name] = {"changes": len(drawn), "noticed": 0}
            for mutant in drawn:
                (src / "lifespec" / name).write_text(mutant, "utf-8")
                # first the pages that noticed most, and then the quickest
                pages = sorted(seconds, key=lambda page: (-noticed[page], seconds[page]))
                passed, output = run(src, *pages)
                if not passed:
                    page = re.search(
                        r"^(?:FAILED|ERROR) (docs/\S+?)(?::| |$)", output, re.MULTILINE
                    )
                    if not page:
                        sys.exit(f"{output}\nNo page could run.")
                    noticed[page[1]] += 1
                    files[name]["noticed"] += 1
                else:
                    lines = text.splitlines(), mutant.splitlines()
                    print(*difflib.unified_diff(*lines, name, name, n=1, lineterm=""), sep="\n")
                print(".", end="", flush=True)
            (src / "lifespec" / name).write_text(text, "utf-8")
    for name, counts in files.items():
        print(f"{name}: {counts['noticed']} of {counts['changes']} changes were noticed.")
    changes, found = (sum(each[key] for each in files.values()) for key in ("changes", "noticed"))
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    record: dict[str, Any] = {
        "date": today,
        "programs": int(programs[1]),
        "changes": changes,
        "noticed": found,
    }
    record["files"] = files
    (ROOT / "docs/matrix/mutants.json").write_text(json.dumps(record, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
