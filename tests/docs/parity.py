"""Runs the examples of the site under Pyodide in node, as a page does: `make parity`.

What came of them goes to docs/matrix/parity.json.

Exit status: 0 each prints what its page shows.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from lifespec_docs.facts.recorded import made_with

__all__ = ["RESULT", "counted", "measured"]

ROOT = Path(__file__).resolve().parents[2]
RESULT = ROOT / "docs" / "matrix" / "parity.json"
KNOWN = ROOT / "build" / "docs" / "en" / "doctrees" / "examples.json"
SCRIPT = Path(__file__).with_name("parity.mjs")
LANGUAGES = {"en": "en", "zh-cn": "zh"}
LIMIT = 300  # seconds

Row = dict[str, Any]


def measured(site: Path) -> Row:
    """Return what Pyodide is, and the result of each example of a site that can run there."""
    command = ["node", SCRIPT, site]
    done = subprocess.run(
        command, check=False, capture_output=True, encoding="utf-8", timeout=LIMIT
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    found: Row = json.loads(done.stdout)
    return found


def counted(found: Row, examples: dict[str, int]) -> dict[str, dict[str, int]]:
    """Return for each page how many examples it has, can run, and are the same."""
    counts = {
        page: {"examples": count, "virtual": 0, **dict.fromkeys(LANGUAGES.values(), 0)}
        for page, count in sorted(examples.items())
    }
    for row in found["results"]:
        counts[row["page"]]["virtual"] += row["language"] == "en"
        counts[row["page"]][LANGUAGES[row["language"]]] += row["same"]
    return counts


def main() -> int:
    """Write the record; return the exit status."""
    digests = made_with("parity")
    found = measured(ROOT / "site")
    manifest = json.loads((ROOT / "site" / "live" / "manifest.json").read_text(encoding="utf-8"))
    known = json.loads(KNOWN.read_text(encoding="utf-8"))
    examples = {page: len(row["blocks"]) for page, row in known.items() if row["blocks"]}
    record = {
        "python": f"CPython {manifest['lock']['info']['python']}",
        "pyodide": found["pyodide"],
        "made_with": digests,
        "pages": counted(found, examples),
    }
    RESULT.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    different = [row for row in found["results"] if not row["same"]]
    for row in different:
        print(row["language"], row["complaint"])
    print(f"{len(found['results'])} examples ran, {len(different)} print something else.")
    return bool(different)


if __name__ == "__main__":
    sys.exit(main())
