"""What a user can name of lifespec, and what of it no check and no program of a page tries.

That is: arguments, outcomes, phases, options of the commands and of pytest, settings, markers and
environment variables.  Classes and functions are entries of api.rst, each with a check of its own.
"""

from __future__ import annotations

import inspect
import re
import typing
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from lifespec import server
from lifespec.testing import plugin
from lifespec_docs.facts.blocks import blocks
from lifespec_docs.facts.entries import entries
from lifespec_docs.facts.names import names

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["faults", "surface"]

API = "docs/api.rst"
RUN = {"check", "example"}
SHELL = re.compile(r"^\{\.real[^}]*\}\n```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
READ = re.compile(r"^.*\benviron(?:ment)?\.get\(.*$", re.MULTILINE)
VARIABLE = re.compile(r'"([A-Z][A-Z_]+)"')
PASSED_ON = {"PATH", "PYTHONPATH"}  # to the programs that a check starts
EVERYWHERE = {"--help"}
GATHERING = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}


def surface(root: Path) -> Iterator[tuple[str, str]]:
    """Yield the kind and the name of each thing."""
    for entry in entries((root / API).read_text(encoding="utf-8")):
        if entry.kind == "text":
            yield from _arguments(resolve_name(entry.about))
    yield from (("outcome", each) for each in typing.get_args(server.Outcome))
    yield from (("phase", each) for each in typing.get_args(server.Phase))
    commands = {option for options in names().commands.values() for option in options}
    for option in sorted({each for each in commands if each[:2] == "--"} - EVERYWHERE):
        yield "option", option
    yield from (("option of pytest", each) for each in names().of_pytest.options)
    yield from (("setting of pytest", each) for each in names().of_pytest.settings)
    yield from (("marker", each.partition("(")[0]) for each in plugin.MARKERS)
    for path in sorted((root / "src").rglob("*.py")):
        read = "".join(READ.findall(path.read_text(encoding="utf-8")))
        for name in VARIABLE.findall(read):
            if name not in PASSED_ON:
                yield "environment variable", name


def _arguments(what: object) -> Iterator[tuple[str, str]]:
    """Yield the arguments of a function, or of a class."""
    called = what.__init__ if inspect.isclass(what) else what
    if inspect.isfunction(called):
        for name, argument in inspect.signature(called).parameters.items():
            if argument.kind not in GATHERING and name[0] != "_" and name != "self":
                yield "argument", name


def faults(root: Path) -> Iterator[str]:
    """Yield a line for each thing that neither a check nor a program names."""
    if not (root / API).exists():  # the table of contents names it, and Sphinx says that it is gone
        return
    run = "\n".join(_run(root))
    for kind, name in dict.fromkeys(surface(root)):
        if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", run):
            yield (
                f"docs: no check and no program of a page tries the {kind} {name!r}: state what it"
                " does where its reader looks for it, and let a check below show that."
            )


def _run(root: Path) -> Iterator[str]:
    """Yield what runs on the pages."""
    for path in sorted((root / "docs").glob("*.md")):
        page = path.read_text(encoding="utf-8")
        yield from (block.text for block in blocks(page) if block.kind in RUN)
        yield from SHELL.findall(page)
    yield from (
        block.text
        for block in entries((root / API).read_text(encoding="utf-8"))
        if block.kind in RUN
    )
