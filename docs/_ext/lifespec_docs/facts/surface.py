"""What a user can name of lifespec, and what of it no check and no program of a page tries.

An argument is tried where a call passes it, or by a check of its own entry in api.rst; outcomes,
phases, options, settings, markers and environment variables where something that runs names them.
"""

import ast
import inspect
import re
import typing
from collections.abc import Iterable, Iterator
from pathlib import Path
from pkgutil import resolve_name

from lifespec import server
from lifespec.testing import plugin
from lifespec_docs.facts.blocks import blocks
from lifespec_docs.facts.entries import entries
from lifespec_docs.facts.names import names

__all__ = ["faults", "surface"]

API = "docs/api.rst"
RUN = {"check", "example"}
SHELL = re.compile(r"^\{\.real[^}]*\}\n```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
READ = re.compile(r"^.*\benviron(?:ment)?\.get\(.*$", re.MULTILINE)
VARIABLE = re.compile(r'"([A-Z][A-Z_]+)"')
PASSED_ON = {"PATH", "PYTHONPATH"}  # to the programs that a check starts
EVERYWHERE = {"--help"}
HIDDEN = re.compile(r"^\.\. autoclass:: ([\w.]+)\(\)", re.MULTILINE)  # its arguments are ours
CALLS_ANOTHER = {"aside", "partial"}
GATHERING = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}


def surface(root: Path) -> Iterator[tuple[str, str]]:
    """Yield the kind and the name of each thing, as a program names it, but for arguments."""
    yield from (("outcome", f'"{each}"') for each in typing.get_args(server.Outcome))
    yield from (("phase", f'"{each}"') for each in typing.get_args(server.Phase))
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


def faults(root: Path) -> Iterator[str]:
    """Yield a line for each thing that neither a check nor a program tries."""
    if not (root / API).exists():  # the table of contents names it, and Sphinx says that it is gone
        return
    run = [*_run(root)]
    untried = [
        f"the {kind} {name}"
        for kind, name in dict.fromkeys(surface(root))
        if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", "\n".join(run))
    ]
    for what in (*untried, *_arguments(root, run)):
        yield (
            f"docs: no check and no program of a page tries {what}: state what it does where its"
            " reader looks for it, and let a check below show that."
        )


def _run(root: Path) -> Iterator[str]:
    """Yield what runs on the pages."""
    for path in sorted((root / "docs").glob("*.md")):
        page = path.read_text(encoding="utf-8")
        above = ["", *page.splitlines()]
        for block in blocks(page):
            if block.kind in RUN and ".not-run" not in above[block.line - 1]:
                yield block.text
        yield from SHELL.findall(page)
    yield from _checks(root).values()


def _checks(root: Path) -> dict[str, str]:
    """Return the checks of each entry of api.rst."""
    found, name = dict[str, str](), ""
    for block in entries((root / API).read_text(encoding="utf-8")):
        if block.kind == "text":
            name = block.about
        found[name] = found.get(name, "") + (block.text if block.kind == "check" else "")
    return found


def _arguments(root: Path, run: Iterable[str]) -> Iterator[str]:
    """Yield the arguments of the entries of api.rst that nothing passes."""
    passed, hidden = _passed(run), HIDDEN.findall((root / API).read_text(encoding="utf-8"))
    for name, check in _checks(root).items():
        what, short = resolve_name(name), name.rpartition(".")[2]
        called = what.__init__ if inspect.isclass(what) else what
        raised = inspect.isclass(what) and issubclass(what, BaseException)  # by us
        if not inspect.isfunction(called) or short[0] == "_" or raised or name in hidden:
            continue
        parameters = inspect.signature(called).parameters.values()
        wanted = [each for each in parameters if each.name != "self"]
        for place, each in enumerate(wanted):
            tried = {each.name, place} & passed.get(short, set())
            public = each.kind not in GATHERING and each.name[0] != "_"
            if public and not tried and not re.search(rf"\b{each.name}\b", check):
                yield f"the argument {each.name} of {name}"


def _passed(run: Iterable[str]) -> dict[str, set[str | int]]:
    """Return by callable the names and the places of the arguments that any call passes."""
    found: dict[str, set[str | int]] = {}
    for text in run:
        try:
            nodes = [*ast.walk(ast.parse(text))]
        except SyntaxError:  # a command, or Perl
            continue
        for node in nodes:
            if isinstance(node, ast.Call):
                function, *given = node.func, *node.args
                if _named(function) in CALLS_ANOTHER and given:
                    function, *given = given
                passed = {*range(len(given)), *(each.arg for each in node.keywords if each.arg)}
                found.setdefault(_named(function), set()).update(passed)
    return found


def _named(function: ast.expr) -> str:
    return str(getattr(function, "id", getattr(function, "attr", "")))
