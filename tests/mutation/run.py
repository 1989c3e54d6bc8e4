"""Mutates the files to copy, and tells which mutants no test notices: what `make mutation` runs.

mutmut changes a copy of the tree, in build/mutation, one place at a time, and runs the tests of
the module.  A mutant that survives is either a test that is missing, or stands in equivalent.toml
beside this file with the reason why it is no other program.  The result goes to
docs/matrix/mutation.json.

Exit status: 0 every survivor is listed with its reason, 1 one is not, or one listed is gone.
"""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
import sys
import time
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

__all__: list[str] = []

ROOT = Path(__file__).resolve().parents[2]
TREE = ROOT / "build" / "mutation" / "tree"
EQUIVALENT = Path(__file__).with_name("equivalent.toml")
RESULT = ROOT / "docs" / "matrix" / "mutation.json"
MUTMUT = str(Path(sys.executable).with_name("mutmut"))


def copy() -> None:
    """Copy what git tracks."""
    shutil.rmtree(TREE, ignore_errors=True)
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    for name in filter(None, names.split("\0")):
        target = TREE / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target)


def mutmut(*arguments: str) -> str:
    """Ask mutmut something about the run."""
    done = subprocess.run(
        [MUTMUT, *arguments], cwd=TREE, capture_output=True, text=True, check=True
    )
    return done.stdout


def survivors() -> list[dict[str, str]]:
    """Return each mutant that no test noticed: where, the line before and after."""
    rows = (line.partition(":") for line in mutmut("results").splitlines())
    return [
        {"mutant": name.strip(), "what": what.strip(), **changed(name.strip())}
        for name, _, what in rows
        if what.strip() not in {"", "killed"}
    ]


def changed(name: str) -> dict[str, str]:
    """Return the lines that a mutant changes."""
    lines = mutmut("show", name).splitlines()
    old = (each[1:].strip() for each in lines if each.startswith("-") and each[:3] != "---")
    new = (each[1:].strip() for each in lines if each.startswith("+") and each[:3] != "+++")
    return {"old": " ".join(old), "new": " ".join(new)}


def reasons() -> dict[tuple[str, str], str]:
    """Return why the listed survivors are no other program, by the lines before and after."""
    rows: list[dict[str, Any]] = tomllib.loads(EQUIVALENT.read_text("utf-8"))["equivalent"]
    return {(row["old"], row["new"]): row["reason"] for row in rows}


def main() -> int:
    """Run it all."""
    copy()
    began = time.monotonic()
    subprocess.run([MUTMUT, "run", "--max-children", "2"], cwd=TREE, check=False)
    mutmut("export-cicd-stats")
    stats = json.loads((TREE / "mutants" / "mutmut-cicd-stats.json").read_text())
    known, found = reasons(), survivors()
    new = [row for row in found if (row["old"], row["new"]) not in known]
    gone = known.keys() - {(row["old"], row["new"]) for row in found}
    for row in new:
        print(f"{row['mutant']}: {row['what']}\n    - {row['old']}\n    + {row['new']}")
    for old, _ in gone:
        print(f"{EQUIVALENT.relative_to(ROOT)}: no mutant of this line survives: {old}")
    result = {
        "mutants": stats["total"],
        "killed": stats["killed"],
        "equivalent": len(found) - len(new),
        "survived": len(new),
        "seconds": round(time.monotonic() - began),
        "python": platform.python_version(),
        "mutmut": metadata.version("mutmut"),
    }
    RESULT.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(", ".join(f"{name} {value}" for name, value in result.items()))
    return 1 if new or gone else 0


if __name__ == "__main__":
    sys.exit(main())
