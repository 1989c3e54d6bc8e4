"""The programs of the pages of problems: what has the fault, as the page shows it."""

import re
from pathlib import Path
from typing import NamedTuple

from lifespec_pages.page import blocks

FOLDER = Path(__file__).parents[2] / "docs" / "problems"


class Program(NamedTuple):
    """A program with a fault; `hangs` says whether its check has a limit, `only` names cases."""

    source: str
    hangs: bool
    only: list[str]


def _programs() -> dict[str, Program]:
    """Return the programs by the name of their problem."""
    found = {}
    for path in sorted(FOLDER.glob("*.md")):
        for block in blocks(path, path.name):
            explains = f"lifespec explain {path.stem}" in (block.output or "")
            if "report" in block.classes and explains:  # else `lifespec watch` shows it
                hangs = "--timeout" in block.source
                only = re.findall(r"--only (\S+)", block.source)
                program = Program(dict(block.files)["shop.py"], hangs, only)
                found.setdefault(path.stem, program)
    return found


PROGRAMS = _programs()
