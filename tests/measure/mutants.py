"""Change the files to copy in places drawn at random, and run the pages after each change.

python tests/measure/mutants.py [NUMBER [SEED]]

The changes are those of mutmut.  The programs and checks of all pages run until the first one
fails; a change with which all of them pass is printed.  docs/matrix/mutants.json has the counts.
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
from datetime import UTC, datetime
from pathlib import Path

from mutmut.mutation.file_mutation import create_mutations, deep_replace

ROOT = Path(__file__).parents[2]
FILES = "server.py", "application.py", "validate.py"
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


def main(number: int = 60, seed: int = 1) -> None:
    """Try so many changes; print those that no page notices, and how many it did."""
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
        changes = []
        for name, text in texts.items():
            module, mutations, *_ = create_mutations(name, text)
            changes += [
                (name, module, each) for each in mutations if each.contained_by_top_level_function
            ]
        for name, module, each in random.Random(seed).sample(changes, number):  # noqa: S311  no secret
            mutant = deep_replace(module, each.original_node, each.mutated_node).code
            (src / "lifespec" / name).write_text(mutant, "utf-8")
            # first the pages that noticed most, and then the quickest
            pages = sorted(seconds, key=lambda page: (-noticed[page], seconds[page]))
            passed, output = run(src, *pages)
            if not passed:
                page = re.search(r"^FAILED (docs/\S+?):", output, re.MULTILINE)
                if not page:
                    sys.exit(f"{output}\nNo page could run.")
                noticed[page[1]] += 1
            else:
                lines = texts[name].splitlines(), mutant.splitlines()
                print(*difflib.unified_diff(*lines, name, name, n=1, lineterm=""), sep="\n")
            (src / "lifespec" / name).write_text(texts[name], "utf-8")
            print(".", end="", flush=True)
    found = noticed.total()
    print(f"{found} of {number} changes, drawn from {len(changes)}, were noticed.")
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    record = {"date": today, "programs": int(programs[1]), "changes": number, "noticed": found}
    (ROOT / "docs/matrix/mutants.json").write_text(json.dumps(record, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
