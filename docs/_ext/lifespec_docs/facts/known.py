"""The facts that code and data know, each by the words of its role.

default Lifespan.grace             the default of an argument, with its unit if it is a timeout
option "check app" --timeout         the default of an option of the command
choices "check app" --isolation    the values that an option takes
level "waiting raised"             the level at which `Lifespan` logs a transition
outcomes, phases                   the values of `Lifespan.outcome` and of `Lifespan.phase`
message lifespan.startup.failed    what a missing `message` of an event is read as
constant testing.plugin.TIMEOUT    a number that a module of lifespec defines in capital letters
seconds testing.plugin.TIMEOUT     the same, with the unit
constant bench.PROCESSES           such a number of one of the long commands, listed in COMMANDS
count rules                        how many there are
version uvicorn                    the version that was measured
locked starlette                   the version that the examples of the pages run with
date servers                       when a record of docs/matrix was measured
seen slow-start wait-for-startup pass    the measured servers with this verdict in a case
python oldest, python newest       the versions of Python that are supported
"""

from __future__ import annotations

import argparse
import ast
import difflib
import inspect
import json
import pkgutil
import re
import sys
import tomllib
import typing
from functools import lru_cache
from importlib import import_module
from logging import getLevelName, getLevelNamesMapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import lifespec
from lifespec import cli, server, validate
from lifespec_docs.facts import recorded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

__all__ = [
    "ROOT",
    "SOURCES",
    "TIMEOUTS",
    "Value",
    "canonical",
    "defaults",
    "facts",
    "known",
    "main",
    "nearest",
    "parsers",
    "shown",
]

ROOT = Path(__file__).resolve().parents[4]
# The files that facts are read from, beside src and the lock, which concern every page.
RECORDS = "servers", "drivers", "amgi", "pagi", "bench", "mutation"  # the first has precedence
PROJECT = "pyproject.toml"
SENTENCES = "tests/sentences/sentences.toml"
LOCK = ".ci/requirements.lock"
COMMANDS = "tests/bench/bench.py", "tests/every/exhaustive.py", "tests/measure/loglines.py"
SOURCES = PROJECT, SENTENCES, *COMMANDS
CASES = "src/lifespec/conformance/data/cases.toml"
API = "lifespec", "lifespec.testing"
TIMEOUTS = re.compile(r"timeout|grace|limit|seconds", re.IGNORECASE)
WORD = re.compile(r'"[^"]*"|\S+')


class Value(NamedTuple):
    """What a fact is: words, each of them a literal if `code`; `file` is where it is read."""

    words: tuple[str, ...]
    code: bool = False
    seconds: bool = False
    file: str = ""


def canonical(text: str) -> str:
    """Return the words of a role as they are known: one space between two of them."""
    return " ".join(WORD.findall(text))


@lru_cache(maxsize=1)
def facts() -> dict[str, Value]:
    """Return the facts of this project."""
    return known(ROOT)


def known(root: Path) -> dict[str, Value]:
    """Return every fact of a project by the words of its role."""
    sources: tuple[Iterator[tuple[str, Value]], ...] = (
        iter(defaults()),
        _options(),
        _transitions(),
        _messages(),
        _constants(),
        _of_commands(root),
        _counts(root),
        _versions(root),
        _seen(root),
        _pythons(root),
    )
    found: dict[str, Value] = {}
    for name, value in (pair for source in sources for pair in source):
        found.setdefault(name, value)
    return found


def nearest(name: str, names: Mapping[str, object]) -> list[str]:
    """Return the names that are most like one that is not known."""
    return difflib.get_close_matches(name, names, n=3, cutoff=0.5)


def shown(value: Value, translate: Callable[[str], str]) -> str:
    """Return a fact as text, in the language of `translate`; a literal in backquotes."""
    words = [f"`{word}`" if value.code else word for word in value.words]
    text = translate(", ").join(words)
    if value.seconds:
        return (translate("%s second") if text == "1" else translate("%s seconds")) % text
    return text


def _plain(value: object, *, seconds: bool = False, file: str = "") -> Value:
    """Return a value of Python: a number as it is written in prose, anything else as code."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        whole = value == int(value)
        return Value((str(int(value) if whole else value),), seconds=seconds, file=file)
    text = json.dumps(value) if isinstance(value, str) else repr(value)
    return Value((text,), code=True, file=file)


@lru_cache(maxsize=1)
def defaults() -> tuple[tuple[str, Value], ...]:
    """Return the defaults of the API, as they are before a page that documents it is read."""
    members = (
        (name, getattr(each, name)) for each in map(import_module, API) for name in each.__all__
    )
    return tuple(pair for name, what in members for pair in _arguments(name, what))


def _arguments(name: str, what: Any) -> Iterator[tuple[str, Value]]:
    """Yield the defaults of a function, or of a class and of its methods."""
    if inspect.isclass(what):
        for method, function in inspect.getmembers(what, inspect.isfunction):
            if not method.startswith("_") and function.__module__.startswith("lifespec."):
                yield from _arguments(f"{name}.{method}", function)
        what = None if issubclass(what, Exception) else what.__init__
    if inspect.isfunction(what):
        for each in inspect.signature(what).parameters.values():
            if isinstance(each.default, bool | int | float | str | None):
                seconds = bool(TIMEOUTS.search(each.name))
                yield f"default {name}.{each.name}", _plain(each.default, seconds=seconds)


def _options() -> Iterator[tuple[str, Value]]:
    for command, parser in parsers():
        for action in parser._actions:  # noqa: SLF001  there is no other way to list them
            if not action.option_strings:
                continue
            name = f'"{command}" {action.option_strings[-1]}'
            if action.choices:
                yield f"choices {name}", Value(tuple(map(str, action.choices)), code=True)
            if action.default not in (None, False, [], "", argparse.SUPPRESS):
                seconds = action.metavar == "SECONDS"
                yield f"option {name}", _plain(action.default, seconds=seconds)


def parsers() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield the parser of each command by its words, `lifespec` itself by ""."""
    yield from _parsers("", cli._parser())  # noqa: SLF001  the command has no other


def _parsers(name: str, parser: cli.Parser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    fill, parser.fill = parser.fill, None
    if fill:
        fill(parser)
    yield name, parser
    for action in parser._actions:  # noqa: SLF001  there is no other way to list them
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001  the same
            for word, inner in action.choices.items():
                yield from _parsers(f"{name} {word}".strip(), inner)


def _transitions() -> Iterator[tuple[str, Value]]:
    yield "outcomes", Value(typing.get_args(server.Outcome), code=True)
    yield "phases", Value(typing.get_args(server.Phase), code=True)
    for phase, row in server.TABLE.items():
        for what, (_, _, level, _) in row.items():
            if level:
                yield f'level "{phase} {what}"', Value((getLevelName(level),), code=True)


def _messages() -> Iterator[tuple[str, Value]]:
    for event, row in validate.EVENTS.items():
        for default in row.defaults.values():
            yield f"message {event}", _plain(default)


def _constants() -> Iterator[tuple[str, Value]]:
    levels = getLevelNamesMapping()
    for module in pkgutil.walk_packages(lifespec.__path__, "lifespec."):
        if module.name != "lifespec.__main__":
            place = module.name.partition(".")[2]
            for name, value in vars(import_module(module.name)).items():
                if name.isupper() and name[0] != "_" and name not in levels:
                    yield from _constant(f"{place}.{name}", value)


def _of_commands(root: Path) -> Iterator[tuple[str, Value]]:
    """Yield the numbers of the long commands, which are no modules of the package."""
    for file in COMMANDS:
        for node in ast.parse((root / file).read_text(encoding="utf-8")).body:
            match node:
                case ast.Assign([ast.Name(name)], ast.Constant(value)) if name.isupper():
                    yield from _constant(f"{Path(file).stem}.{name}", value, file)


def _constant(name: str, value: object, file: str = "") -> Iterator[tuple[str, Value]]:
    if isinstance(value, str) and value.isdecimal():
        value = int(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield f"constant {name}", _plain(value, file=file)
        yield f"seconds {name}", _plain(value, seconds=True, file=file)


def _counts(root: Path) -> Iterator[tuple[str, Value]]:
    rules = _toml(root / "src/lifespec/conformance/data/rules.toml")
    cases = _toml(root / CASES)
    sentences = [row for text in _toml(root / SENTENCES)["text"] for row in text["sentences"]]
    counted = {
        "rules": (rules, ""),
        "cases": (cases, CASES),
        "specifications": (validate.SPECS, ""),
        "events": (validate.EVENTS, ""),
        "outcomes": (typing.get_args(server.Outcome), ""),
        "phases": (typing.get_args(server.Phase), ""),
        "sentences": (sentences, SENTENCES),
        **{
            name: (recorded.read(root, file)["subjects"], f"docs/matrix/{file}.json")
            for name, file in (("servers", "servers"), ("clients", "drivers"))
        },
    }
    for name, (things, file) in counted.items():
        yield f"count {name}", Value((str(len(things)),), file=file)


def _versions(root: Path) -> Iterator[tuple[str, Value]]:
    yield "version lifespec", Value((_toml(root / PROJECT)["project"]["version"],), file=PROJECT)
    for name in RECORDS:
        file, record = f"docs/matrix/{name}.json", recorded.read(root, name)
        for subject in record.get("subjects", ()):
            for package, version in subject["versions"].items():
                yield f"version {package.lower()}", Value((version,), file=file)
        if "mutmut" in record:
            yield "version mutmut", Value((record["mutmut"],), file=file)
        if "date" in record:
            yield f"date {name}", Value((record["date"],), file=file)
    for line in (root / LOCK).read_text(encoding="utf-8").splitlines():
        if pinned := re.match(r"([\w.-]+)==([\w.]+)", line):
            yield f"locked {pinned[1]}", Value((pinned[2],))


def _seen(root: Path) -> Iterator[tuple[str, Value]]:
    """Yield the servers that got a verdict in a case, as in "hypercorn (asyncio)"."""
    found: dict[str, list[str]] = {}
    for subject in recorded.read(root, "servers")["subjects"]:
        name, _, variant = subject["name"].partition(", ")
        label = f"{name} ({variant})" if variant else name
        for finding in subject["findings"]:
            words = "seen", finding["case"], finding["rule"], finding["verdict"]
            found.setdefault(" ".join(words), []).append(label)
    for key, names in found.items():
        yield key, Value(tuple(dict.fromkeys(names)), file="docs/matrix/servers.json")


def _pythons(root: Path) -> Iterator[tuple[str, Value]]:
    kinds = _toml(root / PROJECT)["project"]["classifiers"]
    found = re.findall(r"Python :: (3\.\d+)", "\n".join(kinds))
    for name, version in (("oldest", found[0]), ("newest", found[-1])):
        yield f"python {name}", Value((version,), file=PROJECT)


def _toml(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def main(arguments: Sequence[str]) -> int:
    """List the facts whose role has all of these words; return the exit status."""
    found = [name for name in facts() if all(word in name for word in arguments)]
    for name in found:
        sys.stdout.write(f"{{fact}}`{name}`  {shown(facts()[name], str)}\n")
    return int(not found)
