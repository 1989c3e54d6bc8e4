"""Names the records that have a row which `ONLY` names, or refuses the name.

    python tests/measure/only.py MODULE [NAME]

MODULE is one of this folder, which has RECORDS or SUBJECTS.
Exit status: 0 there is such a row, or no name was given; 2 there is none, and what was meant.
"""

import sys
from collections.abc import Sequence
from importlib import import_module

from lifespec.conformance.unchecked import near

__all__ = ["main"]


def main(arguments: Sequence[str]) -> int:
    """Print the records that have the name; return the exit status."""
    module, *names = arguments
    home = import_module(module)
    records = getattr(home, "RECORDS", None) or {module: home.SUBJECTS}
    known = dict.fromkeys(each for rows in records.values() for each in rows)
    for name in filter(None, names):
        if name not in known:
            lower = {each.lower(): each for each in known}
            meant = " or ".join(lower[each] for each in near(name, lower))
            question = f"did you mean {meant}?" if meant else f"there are {', '.join(known)}."
            sys.stderr.write(f"{home.__file__} has no row {name!r}: {question}\n")
            return 2
        records = {record: rows for record, rows in records.items() if name in rows}
    sys.stdout.write(" ".join(records) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
