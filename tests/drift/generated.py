"""Makes the mutants of a file, as JSON lines: in the environment that has mutmut.

python tests/drift/generated.py NAME
"""

import itertools
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "mutation"))

from mutants import mutants

__all__ = ["main"]


def main(name: str) -> None:
    """Write them, a line each."""
    text = (ROOT / "src" / "lifespec" / f"{name}.py").read_text("utf-8")
    for mutant in itertools.chain(mutants(text, tables=False), mutants(text, tables=True)):
        sys.stdout.write(json.dumps(mutant._asdict()) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
