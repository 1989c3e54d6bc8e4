"""The programs of a page joined as one file."""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest

from lifespec_docs.examples.download import joined
from lifespec_docs.examples.runner import TRACEBACK, Example, ExampleFailed

if TYPE_CHECKING:
    from pathlib import Path

__all__: list[str] = []

SHOWN = f"{TRACEBACK}\n  ...\n{{}}"


def block(source: str, expected: str | None = None, language: str = "python", **of: Any) -> Example:
    """Return a block that begins in line 41 of a page."""
    return Example("docs/startup.md", 41, language, dedent(source).strip("\n"), expected, **of)


def test_joined(tmp_path: Path) -> None:
    """The programs of a page joined are one file that runs to its end."""
    first = """
        '''A program.'''
        from __future__ import (
            annotations,
        )
        x: unknown = 1
    """
    second = """
        print("started")

        raise ValueError(
            "no"
        )
    """
    blocks = [
        block(first),
        block(">>> y = 1", language="pycon"),
        block(second, SHOWN.format("ValueError: no")),
        block("# nothing", SHOWN),
        block("from __future__ import annotations\nprint('last')", kind="real"),
    ]
    program = tmp_path / "program.py"
    program.write_text(joined(blocks), encoding="utf-8")
    ran = subprocess.run([sys.executable, program], capture_output=True, text=True, check=True)
    assert ran.stdout == "started\nlast\n"
    assert ran.stderr.endswith("ValueError: no\n")
    assert program.read_text(encoding="utf-8").startswith(
        "from __future__ import annotations\nimport traceback\n\n\n'''A program.'''\n"
    )


def test_joined_plain() -> None:
    """Where nothing needs to be said first, the file begins with the first program."""
    assert joined([block("x = 1"), block("y = 2")]) == "x = 1\n\n\ny = 2\n"


def test_joined_broken() -> None:
    """A program that does not parse is told when the file is made."""
    with pytest.raises(ExampleFailed, match=r"docs/startup\.md:41: The example does not"):
        joined([block("def")])
