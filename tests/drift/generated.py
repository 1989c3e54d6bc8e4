"""Makes the mutants of a file, as JSON lines: in the environment that has mutmut.

    python tests/drift/generated.py NAME [SEED NUMBER]

With a seed, so many of them, chosen by it: the others are not made.
"""

import itertools
import json
import random
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "mutation"))

from mutants import mutants  # noqa: E402  they stand in the folder of `make mutation`

__all__ = ["main"]


def main(name: str, seed: str = "", number: str = "") -> None:
    """Write them, a line each."""
    text = (ROOT / "src" / "lifespec" / f"{name}.py").read_text("utf-8")
    shuffle = random.Random(seed).shuffle if seed else None  # noqa: S311  a sample
    most = (int(number) + 1) // 2 if seed else None
    parts = (mutants(text, tables=tables, shuffle=shuffle) for tables in (False, True))
    for mutant in itertools.chain.from_iterable(itertools.islice(part, most) for part in parts):
        sys.stdout.write(json.dumps(mutant._asdict()) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
