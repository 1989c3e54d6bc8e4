"""Change the files to copy in places drawn at random, and run the pages after each change.

python tests/measure/mutants.py [NUMBER [SEED]]

The changes are those of mutmut.  The programs and checks of all pages run until the first one
fails; a change with which all of them pass is printed.
"""

import difflib
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from mutmut.mutation.file_mutation import create_mutations, deep_replace

ROOT = Path(__file__).parents[2]
FILES = "server.py", "application.py", "validate.py"
LIMIT = 1200  # seconds of one change


def is_caught(src: Path) -> bool:
    """Return whether a program or check of a page fails with the package in this folder."""
    command = [sys.executable, "-m", "pytest", "-qxn", "auto", "-p", "no:cacheprovider", "docs"]
    environment = os.environ | {"PYTHONPATH": str(src)}
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, timeout=LIMIT, check=False
        )
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0


def main(number: int = 60, seed: int = 1) -> None:
    """Make so many changes; print those with which all pages pass, and the number of the others."""
    found = 0
    with tempfile.TemporaryDirectory() as folder:
        src = Path(shutil.copytree(ROOT / "src", Path(folder, "src")))
        if is_caught(src):
            sys.exit("The pages fail without any change.")
        texts = {name: (src / "lifespec" / name).read_text("utf-8") for name in FILES}
        changes = []
        for name, text in texts.items():
            module, mutations, *_ = create_mutations(name, text)
            changes += [
                (name, module, each) for each in mutations if each.contained_by_top_level_function
            ]
        for name, module, each in random.Random(seed).sample(changes, number):  # noqa: S311  no secret
            mutant = deep_replace(module, each.original_node, each.mutated_node).code
            (src / "lifespec" / name).write_text(mutant, "utf-8")
            if is_caught(src):
                found += 1
            else:
                lines = texts[name].splitlines(), mutant.splitlines()
                print(*difflib.unified_diff(*lines, name, name, n=1, lineterm=""), sep="\n")
            (src / "lifespec" / name).write_text(texts[name], "utf-8")
    print(f"{found} of {number} changes, drawn from {len(changes)}, made a page fail.")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
