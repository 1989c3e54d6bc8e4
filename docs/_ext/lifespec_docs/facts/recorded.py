"""The records of docs/matrix: what each was made with, and whether its numbers fit together.

A record speaks of one state of the code.  Under `made_with` it has a digest of each thing that its
numbers depend on.  If one of them is another one now, pages say so, `make check` names the record,
and `make release` refuses it.  This module imports the standard library alone, as the programs
that measure run where nothing else is installed.

    python docs/records.py [--release [--except NAME...] | --commands [--all]]

It names the records that are older than what they speak of; with --commands it prints the commands
that renew them, or all records.
Exit status: 0; with --release 1 if there is one that was not excepted.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import re
import signal
import sys
import textwrap
import tomllib
from collections import Counter
from contextlib import suppress
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

__all__ = ["RECORDS", "RecordError", "changed", "exit_status", "made_with", "main", "named", "read"]

ROOT = Path(__file__).resolve().parents[4]
FOLDER = "docs/matrix"
CASES, RULES = (f"src/lifespec/conformance/data/{name}.toml" for name in ("cases", "rules"))
EXAMPLE = re.compile(
    r"^(`{3,})(?:python|pycon|perl|\{check\})(?!\w).*?^\1$", re.MULTILINE | re.DOTALL
)
PAGES = "docs/*.md", "docs/*.rst", "locales/zh_CN/LC_MESSAGES/*.po"


def _each(folder: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{folder}/{name}" for name in names)


SERVER, APPLICATION, VALIDATE, TRIO, COMPOSITION = _each(
    "src/lifespec", "server.py", "application.py", "validate.py", "server_trio.py", "composition.py"
)
ADAPTED = "tests/measure/adapted.py"
SUITE = "src/lifespec/conformance/server"
OBSERVING = _each(
    *(
        SUITE,
        "assertions.py",
        "connections.py",
        "observation.py",
        "probe.py",
        "process.py",
        "run.py",
    ),
    "scope_assertions.py",
)


def exit_status(status: int) -> int | str:
    """Return an exit status as a shell has it, with the name of a signal that ended the process."""
    return status if status >= 0 else f"{128 - status} ({signal.Signals(-status).name})"


class Made(NamedTuple):
    """The command that makes a record, and what its numbers depend on.

    A part is a pattern of files; "cases asgi 2.0", the cases for servers and what their rules say;
    "middleware asgi 2.0", the same for middleware;
    "examples", the programs of the pages; or "pages", all of their text in both languages.
    """

    command: str
    parts: tuple[str, ...]


RECORDS = {
    "servers": Made("matrix", ("cases asgi 2.0", *OBSERVING)),
    "adapted": Made(
        "matrix",
        ("cases asgi 2.0", *OBSERVING, SERVER, TRIO, ADAPTED, "docs/programs/*_lifespan.py"),
    ),
    "drivers": Made(
        "matrix", ("cases asgi 2.0", *OBSERVING, *_each(SUITE, "client_host.py", "clients.py"))
    ),
    "amgi": Made(
        "matrix",
        (
            *("cases amgi 2.0", *OBSERVING, *_each(SUITE, "brokers.py", "messages.py")),
            "tests/measure/consume.py",
        ),
    ),
    "pagi": Made("matrix", ("cases pagi 0.3", *OBSERVING, f"{SUITE}/probe.pl")),
    "frameworks": Made(
        "frameworks",
        (*_each("tests/measure", "frameworks.py", "drive.py"), "docs/programs/frameworks/*.py"),
    ),
    "hosts": Made("hosts", ("tests/measure/hosts.py", "docs/programs/hosts/*")),
    "history": Made(
        "history",
        (
            *("cases asgi 2.0", *OBSERVING, "tests/measure/history.py", "tests/measure/drive.py"),
            *_each("docs/programs/frameworks", "starlette_lifespan.py", "fastapi_lifespan.py"),
            "docs/programs/frameworks/fastapi_on_event.py",
        ),
    ),
    "loglines": Made("loglines", ("tests/measure/loglines.py",)),
    "peers": Made(
        "peers",
        (
            *(SERVER, TRIO, ADAPTED, "tests/measure/peers.py"),
            *_each("docs/programs", "uvicorn_lifespan.py", "hypercorn*_lifespan.py"),
        ),
    ),
    "bench": Made(
        "bench",
        (
            *(SERVER, VALIDATE, COMPOSITION),
            *_each("src/lifespec", "__init__.py", "lazy.py"),
            *_each("tests/bench", "bench.py", "rivals.py"),
        ),
    ),
    "mutation": Made(
        "mutation",
        (
            *(SERVER, APPLICATION, VALIDATE),
            *_each("tests", "either.py", "test_server.py", "test_server_asyncio.py"),
            *_each("tests", "test_application.py", "test_validate.py"),
            *_each("tests", "limits/injection.py", "limits/test_exits.py"),
            *_each("tests", "limits/test_cancellation.py", "every/test_every.py"),
            *_each("tests", "mutation/mutants.py", "mutation/equivalent.toml"),
            "examples",
        ),
    ),
    "exhaustive": Made(
        "exhaustive",
        (
            *(SERVER, VALIDATE),
            *_each("tests/every", "actors.py", "drivers.py", "oracle.py", "runs.py"),
        ),
    ),
    "drift": Made(
        "drift", (SERVER, APPLICATION, VALIDATE, "examples", *_each("tests", "mutation/mutants.py"))
    ),
    "statements": Made("drift", ("pages", "tests/drift/statements.py")),
    "parity": Made(
        "parity",
        (
            *(SERVER, APPLICATION, VALIDATE, "examples"),
            *_each("docs/_ext/lifespec_docs", "examples/runner.py", "live/bridge.py"),
            ".ci/live/package-lock.json",
        ),
    ),
    "middleware": Made(
        "middleware",
        (
            "middleware asgi 2.0",
            *_each("src/lifespec/conformance/app", "fake_server.py", "middleware.py", "player.py"),
            *_each("tests/measure", "middleware.py", "between.py"),
        ),
    ),
}


# these wait for servers more than they compute: so many of them may run side by side
WAIT, JOBS = {"frameworks", "history", "hosts", "loglines", "matrix", "middleware", "peers"}, 3
ROLES = {"cases": "server", "middleware": "middleware"}  # whose cases a part means


class RecordError(ValueError):
    """A record cannot be read, or contradicts itself; the text is a sentence."""


def read(root: Path, name: str) -> dict[str, Any]:
    """Return a record; raise RecordError if its numbers do not fit together."""
    try:
        found = _loaded(root, name)
    except (OSError, ValueError) as error:
        raise RecordError(f"{FOLDER}/{name}.json cannot be read: {error}.") from error
    for fault in CONSISTENT[name](found):
        raise RecordError(f"{FOLDER}/{name}.json contradicts itself: {fault}.")
    return found


def _loaded(root: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((root / FOLDER / f"{name}.json").read_text("utf-8"))
    return found


def made_with(name: str, root: Path = ROOT) -> dict[str, str]:
    """Return the digest of each thing that a record of this name is made with now."""
    found: dict[str, str] = {}
    for part in RECORDS[name].parts:
        found |= _digests(root, part)
    return found


def changed(root: Path, name: str) -> list[str]:
    """Return the things that have changed since a record was made: all, if it has no digests."""
    before = {}
    with suppress(OSError, ValueError):  # who reads the numbers tells of it
        before = _loaded(root, name).get("made_with", {})
    now = made_with(name, root)
    return [part for part in before | now if before.get(part) != now.get(part)]


def named(parts: Iterable[str], translate: Callable[[str], str]) -> str:
    """Name what a record was made with, for readers: files without folders, as literals."""
    whole = {
        "examples": translate("the programs of the pages"),
        "pages": translate("the text of the pages"),
    }
    words = (whole.get(part) or f"`{part.rpartition('/')[2]}`" for part in parts)
    return translate(", ").join(words)


@lru_cache(maxsize=128)
def _digests(root: Path, part: str) -> dict[str, str]:
    kind, _, spec = part.partition(" ")
    if role := ROLES.get(kind):
        return {CASES: _digest(_cases(root, role, spec)) if (root / CASES).exists() else ""}
    if part == "examples":
        texts = [path.read_text("utf-8") for path in sorted((root / "docs").glob("*.md"))]
        return {part: _digest([each[0] for text in texts for each in EXAMPLE.finditer(text)])}
    if part == "pages":
        paths = sorted(path for pattern in PAGES for path in root.glob(pattern))
        return {part: _digest([path.read_text("utf-8") for path in paths])}
    paths = sorted(root.glob(part))
    found = {path.relative_to(root).as_posix(): _digest(_meaning(path)) for path in paths}
    return found or {part: ""}  # it is gone


def _digest(meaning: object) -> str:
    return hashlib.sha256(repr(meaning).encode()).hexdigest()[:16]


def _cases(root: Path, role: str, spec: str) -> object:
    """Return the cases for a role of a specification, with the levels of their rules."""
    # who mutates the package imports this module, and must not have the package loaded
    rulebook = import_module("lifespec.conformance.rules")
    try:
        rules = rulebook.read((root / RULES).read_text("utf-8"), RULES)
    except rulebook.DataError as error:  # the build of the pages says where
        return str(error)
    found = []
    for name, case in _meaning(root / CASES).items():
        if case["role"] == role and spec in case.get("specs", [spec]):
            levels = [
                [rule, each.level, each.text]
                for rule in sorted(case["expect"])
                for each in rules[rule].sources
                if spec in each.specs
            ]
            found.append([name, {**case, "says": ""}, levels])
    return sorted(found, key=repr)


def _meaning(path: Path) -> Any:
    """Return what a file says: of Python the program without its comments and docstrings."""
    text = path.read_text("utf-8")
    if path.suffix == ".py":
        return _tree(ast.parse(text))
    return tomllib.loads(text) if path.suffix == ".toml" else text


def _tree(node: object) -> object:
    """Return a syntax tree as each Python has it: a field that is empty may be missing there."""
    if isinstance(node, list):
        return [_tree(each) for each in node if not _is_docstring(each)]
    if not isinstance(node, ast.AST):
        return node
    fields = [(name, _tree(value)) for name, value in ast.iter_fields(node)]
    return [
        type(node).__name__,
        *((name, value) for name, value in fields if value not in ([], None)),
    ]


def _is_docstring(node: object) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _matrix(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with a record of servers, test clients or adapters."""
    yield from _twice(row["name"] for row in found["subjects"])
    for row in found["subjects"]:
        cells = {each["case" if each.get("silent") else "rule"] for each in row["findings"]}
        for each in row["findings"]:
            if each["verdict"] not in VERDICTS:
                yield f"{row['name']} has the verdict {each['verdict']!r}"
        for each in row.get("before", {}).get("changed", ()):
            if each["row"] not in cells:
                yield f"{row['name']} has changed in {each['row']!r}, where nothing was found"


def _asked(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with a record of frameworks or hosts: those of a kind are asked alike."""
    yield from _twice(row["name"] for row in found["subjects"])
    asked: dict[str, set[str]] = {}
    for row in found["subjects"]:
        asked.setdefault(row.get("kind", ""), set()).update(row["happened"])
    for row in found["subjects"]:
        for question in sorted(asked[row.get("kind", "")] - row["happened"].keys()):
            yield f"{row['name']} was not asked {question!r}"


def _history(found: Mapping[str, Any]) -> Iterator[str]:
    yield from _twice(row["name"] for row in found["subjects"])
    for row in found["subjects"]:
        years = [each["year"] for each in row["releases"]]
        if years != sorted({*years}):
            yield f"the years of {row['name']} do not rise"


def _middleware(found: Mapping[str, Any]) -> Iterator[str]:
    yield from _twice(row["name"] for row in found["subjects"])
    totals = {row["name"]: sum(row["counts"].values()) for row in found["subjects"]}
    for row in found["subjects"]:
        told = Counter(each["verdict"] for each in row["findings"])
        for verdict in sorted(told.keys() | row["counts"].keys() - {"pass", "skip"}):
            whole = Counter(row["counts"])
            yield from _sum(f"{row['name']}, {verdict}", told[verdict], whole, verdict)
        if totals[row["name"]] != max(totals.values()):
            yield f"{row['name']} has {totals[row['name']]} findings, and another one has more"


def _loglines(found: Mapping[str, Any]) -> Iterator[str]:
    yield from _twice(row["name"] for row in found["subjects"])
    for row in found["subjects"]:
        for name in row["runs"].keys() - found["programs"].keys():
            yield f"{row['name']} ran {name!r}, which is no program of the record"


def _peers(found: Mapping[str, Any]) -> Iterator[str]:
    for row in found["suites"]:
        own, adapted = (sum(row[key].values()) for key in ("own", "adapted"))
        if own != adapted:
            yield f"{row['server']} has {own} tests with its own code, and {adapted} with server.py"


def _bench(found: Mapping[str, Any]) -> Iterator[str]:
    others = ((row["python"], row["lifespan"]) for row in found.get("pythons", ()))
    kept = [*found.items(), *others]
    for name, rows in kept:
        if isinstance(rows, list) and not all(row.get("seconds", 1) > 0 for row in rows):
            yield f"a row of {name!r} took no time"


def _mutation(found: Mapping[str, Any]) -> Iterator[str]:
    for part, row in found["parts"].items():
        yield from _sum(part, row["mutants"], row, "noticed", "equivalent", "survived")


def _exhaustive(found: Mapping[str, Any]) -> Iterator[str]:
    for size, row in found["server"].items():
        yield from _order(f"{size} actions", row, "applications", "told apart")
    for size in {key for row in found["drivers"].values() for key in row} - {"version"}:
        sums = {name: sum(row[size].values()) for name, row in found["drivers"].items()}
        if len({*sums.values()}) > 1:
            yield f"not every implementation ran the same applications of {size} actions: {sums}"


def _drift(found: Mapping[str, Any]) -> Iterator[str]:
    for name, row in found["code"].items():
        yield from _order(name, row, "mutants", "tried", "noticed")


def _statements(found: Mapping[str, Any]) -> Iterator[str]:
    for language in ("chinese", "both"):
        rows = found[language]
        kinds = {kind: row["tried"] for kind, row in rows.items() if kind not in IN_ALL}
        yield from _sum(language, rows["all"]["tried"], kinds, *kinds)
        for kind, row in rows.items():
            parts = (key for key in row if key != "tried")
            yield from _sum(f"{language}, {kind}", row["tried"], row, *parts)


def _parity(found: Mapping[str, Any]) -> Iterator[str]:
    for page, row in found["pages"].items():
        for language in ("en", "zh"):
            yield from _order(page, row, "examples", "virtual", language)


def _twice(names: Iterable[str]) -> Iterator[str]:
    yield from (f"{name!r} stands there twice" for name, n in Counter(names).items() if n > 1)


def _sum(name: str, whole: int, row: Mapping[str, int], *keys: str) -> Iterator[str]:
    if whole != sum(row[key] for key in keys):
        yield f"of {name}, {' + '.join(f'{row[key]} {key}' for key in keys)} are not {whole}"


def _order(name: str, row: Mapping[str, int], *keys: str) -> Iterator[str]:
    """Yield a fault where a part is more than the whole before it."""
    numbers = [row[key] for key in keys]
    if numbers != sorted(numbers, reverse=True):
        yield f"of {name}, {', '.join(f'{row[key]} {key}' for key in keys)} do not decrease"


VERDICTS = {"pass", "warn", "fail", "info", "skip"}
IN_ALL = {"all", "lifespec", "others", "rules"}  # rows that count what other rows have
CONSISTENT: dict[str, Callable[[dict[str, Any]], Iterator[str]]] = {
    **dict.fromkeys(("servers", "adapted", "drivers", "amgi", "pagi"), _matrix),
    **dict.fromkeys(("frameworks", "hosts"), _asked),
    "history": _history,
    "middleware": _middleware,
    "loglines": _loglines,
    "peers": _peers,
    "bench": _bench,
    "mutation": _mutation,
    "exhaustive": _exhaustive,
    "drift": _drift,
    "statements": _statements,
    "parity": _parity,
}


def older(root: Path) -> dict[str, str]:
    """Return by name a sentence for each record that is older than what it speaks of."""
    return {
        name: f"{FOLDER}/{name}.json was measured before the last change of {', '.join(parts)}: "
        f"`make {made.command}` measures anew."
        for name, made in RECORDS.items()
        if (parts := changed(root, name))
    }


def commands(names: Iterable[str]) -> Iterator[str]:
    """Yield lines for make: how many may run side by side, and which commands."""
    wanted = {RECORDS[name].command: None for name in names}
    side_by_side = [each for each in wanted if each in WAIT]
    if side_by_side:
        yield f"{JOBS} {' '.join(side_by_side)}"
    yield from (f"1 {each}" for each in wanted if each not in WAIT)


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Name the records that are older than what they speak of; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--release", action="store_true", help="let no record be old")
    parser.add_argument(
        "--except", dest="but", nargs="*", default=[], choices=RECORDS, help="but these"
    )
    parser.add_argument("--commands", action="store_true", help="print what renews them instead")
    parser.add_argument("--all", action="store_true", help="whether they are old or not")
    given = parser.parse_args(arguments)
    found = older(root)
    if given.commands:
        sys.stdout.writelines(f"{each}\n" for each in commands(RECORDS if given.all else found))
        return 0
    for told in found.values():
        lines = textwrap.wrap(told, 80, subsequent_indent="    ", break_on_hyphens=False)
        sys.stdout.write("\n".join(lines) + "\n")
    return int(given.release and bool(found.keys() - given.but))
