"""Whether the names in a literal exist: events, keys, options, commands, paths, rule IDs, names.

`Names.faults` takes a literal of a page, of the README or of a docstring, and yields what is not
known in it.  A name is known from the sources of lifespec, from the code of the page itself, from
Python and from the packages that the pages use.
"""

import ast
import builtins
import difflib
import inspect
import json
import keyword
import re
import shlex
import sys
import typing
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import import_module, metadata, util
from pathlib import Path
from typing import Any, NamedTuple, Self

import lifespec
from lifespec import server, validate
from lifespec.conformance import cases
from lifespec.conformance.rules import rules
from lifespec.testing import Running, plugin
from lifespec_docs.facts.known import ROOT, parsers

__all__ = ["Names", "Unknown", "names", "words"]

# Whose names and options the pages speak of, beside ours and Python's.
PACKAGES = (
    "amgi_common", "amgi_redis", "amgi_types", "anyio", "asgi_lifespan", "httpx", "hypercorn",
    "pytest", "_pytest", "pytest_asyncio", "pytest_timeout", "starlette", "trio", "uvicorn",
    "xdist",
)  # fmt: skip
MODULES = (
    "asyncio", "atexit", "collections.abc", "contextlib", "contextvars", "logging", "os", "signal",
    "subprocess", "sys", "threading", "typing", "unittest", "unittest.mock",
)  # fmt: skip
SOURCES = (
    "Makefile", "pyproject.toml", ".gitignore", ".ci", ".github", "docs/_ext", "docs/conf.py",
    "src", "tests/measure", "tests/real",
)  # fmt: skip
TOP = "docs", "locales", "src", "tests", ".ci", ".github"
SITE = re.compile(r"site/(?:index\.html|(?:en|zh-cn)/(?:(?P<page>[\w-]+)\.html)?)?")
# Keys of scopes and messages that ASGI's other specifications define.
KEYS = {
    "app", "body", "client", "code", "endpoint", "extensions", "headers", "http_version", "method",
    "more_body", "path", "path_params", "query_string", "raw_path", "root_path", "router", "scheme",
    "server", "session", "status", "subprotocols", "text", "user",
}  # fmt: skip
EVENTS = {
    "http.request", "http.response.start", "http.response.body", "http.disconnect",
    "websocket.connect", "websocket.accept", "websocket.receive", "websocket.send",
    "websocket.disconnect", "websocket.close",
}  # fmt: skip

# Names of programs that are not installed here, each with the place where it is defined.
ELSEWHERE = {
    "--asgi-lifespan": "gunicorn/config.py",
    "EventSource": "HTML Standard, section 9.2",
    "FastAPI": "fastapi/applications.py",
    "http_app": "fastmcp/server/server.py",
    "include_router": "fastapi/applications.py",
    "lifespan.cleanup": "the second event until 2018-10-15, django/asgiref#63",
    "libfuture-asyncawait-perl": "a package of Debian",
    "libio-async-perl": "a package of Debian",
    "add_event_handler": "fastapi/applications.py, until Starlette 1.0 in starlette/routing.py",
    "on_event": "fastapi/applications.py, until Starlette 1.0 in starlette/routing.py",
    "on_shutdown": "fastapi/applications.py, until Starlette 1.0 in starlette/routing.py",
    "on_startup": "fastapi/applications.py, until Starlette 1.0 in starlette/routing.py",
}

PINNED = re.compile(r"^([\w-]+)==", re.MULTILINE)
WORD = re.compile(r"[A-Za-z_]\w*")
DEFINED = re.compile(r"\b([A-Za-z_]\w*)\s*[=:(]")
OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")
EVENT = re.compile(r"(?<![\w.])(?:lifespan|http|websocket)(?:\.(?!py\b)[A-Za-z_]\w*)+")
KEY = re.compile(r"""\b(?:scope|asgi|pagi|amgi|message|event|extensions)\[(?:"(\w+)"|'(\w+)')\]""")
ENVIRONMENT = re.compile(r"(?<![\w.])[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+(?!\w)")
KEBAB = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)+")
PATH = re.compile(r"[\w.*-]+(?:/[\w.*-]+)*/?")
FILE = re.compile(r"[\w-]+\.(?:py|toml|md|rst|po|json|txt|lock)")
COMMENT = re.compile(r"\s+#.*")
STRING = re.compile(r""" "[^"]*" | '[^']*' """, re.VERBOSE)
# A name of Python: with an underscore, with two capitals, or where it is called or given.
NAME = re.compile(
    r"(?<![\w$-])(?<!def )"
    r"(?:[A-Za-z]\w*_\w*|_\w+|[A-Z][a-z0-9]+[A-Z]\w*|[a-z]\w*(?==[^=]|\())(?![\w-])"
)
OUTCOME = re.compile(r"\boutcome (?:is |of )?$")


class Unknown(NamedTuple):
    """A name that there is not: of which kind, and the names that are most like it."""

    kind: str
    name: str
    like: tuple[str, ...] = ()

    def __str__(self) -> str:
        hint = f": did you mean {' or '.join(self.like)}?" if self.like else "."
        return f"There is no {self.kind} {self.name!r}{hint}"


def words(text: str) -> set[str]:
    """Return the words of a program: what a page defines there it can name."""
    return {word for kind in (WORD, OPTION, FILE, EVENT) for word in kind.findall(text)}


@lru_cache(maxsize=1)
def names() -> "Names":
    """Return the names of this project."""
    return Names(ROOT)


@dataclass(frozen=True)
class Names:
    """What is known below a folder, each kind looked up when it is first asked for."""

    root: Path

    def faults(self, literal: str, own: Collection[str] = (), before: str = "") -> list[Unknown]:
        """Return what is not known in a literal; `own` are the words of the page's own code.

        `before` is the text that stands before it.
        """
        return list(dict.fromkeys(self._faults(literal, own, before)))

    def of_shell(self, program: str) -> list[Unknown]:
        """Return what is not known in the commands of a block for the shell."""
        return [each for line in program.splitlines() for each in self._command(line.strip())]

    def _faults(self, literal: str, own: Collection[str], before: str) -> Iterator[Unknown]:
        if OUTCOME.search(before) and WORD.fullmatch(literal):
            yield from _looked_up("outcome", literal, typing.get_args(server.Outcome), own)
        yield from self._command(literal, own)
        for event in EVENT.findall(literal):
            yield from self._event(event, own)
        for key in ("".join(found) for found in KEY.findall(literal)):
            yield from _looked_up("key", key, self.keys, own)
        for name in ENVIRONMENT.findall(literal):
            yield from _looked_up("environment variable", name, self.variables, own)
        yield from self._whole(literal, own)
        yield from self._call(literal)

    def _call(self, literal: str) -> Iterator[Unknown]:
        """Hold a call of lifespec, such as `with_state(scope)`, against what can be called so."""
        try:
            call = ast.parse(literal, mode="eval").body
        except SyntaxError:
            return
        if isinstance(call, ast.Call) and isinstance(call.func, (ast.Name, ast.Attribute)):
            name = call.func.id if isinstance(call.func, ast.Name) else call.func.attr
            ours = self.signatures.get(name, [])
            if ours and not any(_fits(call, each) for each in ours):
                yield Unknown("call", literal, tuple(f"{name}{each}" for each in ours))

    def _whole(self, literal: str, own: Collection[str]) -> Iterator[Unknown]:
        """Look up a literal that is one name of the project, or the names of Python in it."""
        if KEBAB.fullmatch(literal):
            yield from _looked_up("rule, case or package", literal, self.kebab, own)
        elif FILE.fullmatch(literal):
            if literal.partition(".")[0] not in own:  # a module that the page runs
                yield from _looked_up("file", literal, self.files, own)
        elif PATH.fullmatch(literal) and "/" in literal:
            yield from self._path(literal)
        else:
            for name in NAME.findall(STRING.sub('""', EVENT.sub("", literal))):
                if not ENVIRONMENT.fullmatch(name) and name[-1] != "_":  # `on_…` is none
                    yield from _looked_up("name", name, self.python, own)

    def _event(self, event: str, own: Collection[str]) -> Iterator[Unknown]:
        first, attribute, *more = event.split(".")
        called = attribute in self.attributes and not (
            more and attribute in {"startup", "shutdown"}
        )
        if first == "lifespan" and called:
            return
        yield from _looked_up("event", event, {*validate.EVENTS, *EVENTS}, own)

    def _command(self, literal: str, own: Collection[str] = ()) -> Iterator[Unknown]:
        """Look up the options of a literal, and what `lifespec` or `make` is told."""
        literal = COMMENT.sub("", literal)
        given = literal.removeprefix("python -m ").removeprefix(".venv/bin/")
        command, _, rest = given.partition(" ")
        if command == "make":
            for each in rest.split():
                if "=" not in each:
                    yield from _looked_up("target of make", each, self.targets, ())
        elif command == "lifespec" and rest:
            yield from self._of_lifespec(rest)
        else:
            for option in OPTION.findall(literal):
                yield from _looked_up("option", option, self.options, own)

    def _of_lifespec(self, rest: str) -> Iterator[Unknown]:
        ours, _, _ = rest.partition(" -- ")
        try:
            parts = shlex.split(ours)
        except ValueError:
            parts = ours.split()
        name = ""
        commands = self.commands
        for part in parts:
            inner = f"{name} {part}".strip()
            below = {each for each in commands if each.rpartition(" ")[0] == name and each}
            if part.startswith("--"):
                yield from _looked_up("option", part.partition("=")[0], commands[name], ())
                if part == "--pipe":
                    return
            elif inner in commands:
                name = inner
            elif below and not part.startswith(("{", "-")):
                yield from _looked_up("command", inner, below, ())
                return

    def _path(self, path: str) -> Iterator[Unknown]:
        top, _, rest = path.partition("/")
        if top == "site":
            found = SITE.fullmatch(path)
            page = found and found["page"]
            if not found or (page and f"{page}.md" not in self.files | {"api.md", "search.md"}):
                yield Unknown("page of the site", path)
        elif top == "build":
            yield from _looked_up("folder", rest.partition("/")[0], self.folders, ())
        elif top in TOP or (self.root / "src/lifespec" / top).is_dir():
            below = self.root if top in TOP else self.root / "src/lifespec"
            if not any(below.glob(path.rstrip("/"))):
                yield Unknown("path", path, _like(Path(path).name, self.files))

    @cached_property
    def variables(self) -> set[str]:
        """The environment variables and constants of what builds and checks the project."""
        paths = [path for name in SOURCES for path in _files(self.root / name)]
        return {word for path in paths for word in ENVIRONMENT.findall(_text(path))}

    @cached_property
    def folders(self) -> set[str]:
        """The words of the Makefile, the folders below `build` among them."""
        return words(_text(self.root / "Makefile"))

    @cached_property
    def python(self) -> set[str]:
        """The names of lifespec, of Python, and of the packages that the pages use."""
        found = set(keyword.kwlist) | set(dir(builtins)) | set(sys.stdlib_module_names)
        found |= {name for path in _files(self.root / "src") for name in _code(path)}
        for module in MODULES:
            found |= set(dir(import_module(module)))
        for name in ("Task", "TaskGroup", "Event", "AbstractEventLoop"):
            found |= set(dir(getattr(import_module("asyncio"), name)))
        found |= {name.replace("-", "_") for name in self.kebab}
        return found | _of_packages()[0] | set(self.of_pytest.settings)

    @cached_property
    def signatures(self) -> dict[str, list[inspect.Signature]]:
        """What can be called by a public name of lifespec, or by that of a method."""
        found: dict[str, list[inspect.Signature]] = {}
        for name in lifespec.__all__:
            member = getattr(lifespec, name)
            found.setdefault(name, []).append(inspect.signature(member))
            for of, method in inspect.getmembers(member, inspect.isfunction):
                if not of.startswith("_"):
                    found.setdefault(of, []).append(_without_self(method))
        return found

    @cached_property
    def attributes(self) -> set[str]:
        """What a `Lifespan` has, and what runs an application in a test."""
        text = (self.root / "src/lifespec/server.py").read_text("utf-8")
        own = set(re.findall(r"\bself\.(\w+)(?=[:,]|\s=)", text))
        return own | set(dir(server.Lifespan)) | set(dir(Running))

    @cached_property
    def keys(self) -> set[str]:
        """The keys of scopes and of events."""
        found = {"type", *KEYS}
        for name, spec in validate.SPECS.items():
            for key, value in validate.lifespan_scope(name).items():
                found |= {key, *(value if isinstance(value, dict) else ())}
            found |= {*spec.versions, *spec.optional}
        return found | {key for event in validate.EVENTS.values() for key in event.defaults}

    @cached_property
    def commands(self) -> dict[str, set[str]]:
        """The options of each command of lifespec."""
        return {
            name: {option for action in parser._actions for option in action.option_strings}  # noqa: SLF001  there is no other way to list them
            for name, parser in parsers()
        }

    @cached_property
    def options(self) -> set[str]:
        """The options of lifespec, of pytest and of the servers."""
        found = set().union(*self.commands.values(), _of_packages()[1], self.of_pytest.options)
        paths = [*_files(self.root / "docs/_ext"), *(self.root / "docs/matrix").glob("*.json")]
        return found.union(*(OPTION.findall(_text(path)) for path in paths))

    @cached_property
    def of_pytest(self) -> "_Asked":
        """The options and settings of our plugin for pytest."""
        asked = _Asked()
        plugin.pytest_addoption(asked)  # type: ignore[arg-type]
        return asked

    @cached_property
    def targets(self) -> set[str]:
        """The targets of the Makefile."""
        text = (self.root / "Makefile").read_text("utf-8")
        return set(re.findall(r"^([a-z][\w-]*):", text, re.MULTILINE))

    @cached_property
    def kebab(self) -> set[str]:
        """Rules, cases, and the packages that are locked or measured."""
        locks = [_text(path) for path in (self.root / ".ci").iterdir() if path.is_file()]
        packages = {name.lower() for text in locks for name in PINNED.findall(text)}
        records: list[dict[str, Any]] = [
            json.loads(_text(path)) for path in (self.root / "docs/matrix").glob("*.json")
        ]
        subjects = [row for each in records for row in each.get("subjects", ())]
        commands = {word for row in subjects for word in KEBAB.findall(row.get("command", ""))}
        return {*rules(), *(case.name for case in cases.load()), *packages, *commands}

    @cached_property
    def files(self) -> set[str]:
        """The names of the project's files, without folders."""
        paths = [path for name in TOP for path in _files(self.root / name)]
        made = {word for path in _files(self.root / "src") for word in _code(path)}
        return {path.name for path in [*paths, *self.root.iterdir()]} | set(
            filter(FILE.match, made)
        )


@lru_cache(maxsize=256)
def _code(path: Path) -> set[str]:
    """Return the words of a file; of Python those of its code, without comments and docstrings."""
    if path.suffix != ".py":
        return words(_text(path))
    found, said = {path.stem}, set()
    for node in ast.walk(ast.parse(_text(path))):
        match node:
            case ast.Expr(ast.Constant(str()) as docstring):
                said.add(docstring)
            case ast.Constant(str(text)) if node not in said:
                found |= words(text)
        named = (getattr(node, key, None) for key in ("id", "attr", "arg", "name", "asname"))
        found.update(name for name in named if isinstance(name, str))
    return found


def _without_self(method: Callable[..., object]) -> inspect.Signature:
    signature = inspect.signature(method)
    return signature.replace(parameters=[*signature.parameters.values()][1:])


def _fits(call: ast.Call, signature: inspect.Signature) -> bool:
    """Whether a signature takes these arguments, some of which a sentence may leave out."""
    wanted = [*signature.parameters]
    given = [each.id if isinstance(each, ast.Name) else "" for each in call.args]
    if any(each in wanted and each != name for name, each in zip(wanted, given, strict=False)):
        return False
    try:
        signature.bind_partial(*call.args, **{each.arg or "": each for each in call.keywords})
    except TypeError:
        return False
    return True


def _looked_up(
    kind: str, name: str, known: Collection[str], own: Collection[str]
) -> Iterator[Unknown]:
    if name not in known and name not in own and name not in ELSEWHERE:
        yield Unknown(kind, name, _like(name, known))


def _like(name: str, known: Collection[str]) -> tuple[str, ...]:
    return tuple(difflib.get_close_matches(name, sorted(known), n=2, cutoff=0.8))


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    for each in sorted(path.rglob("*")):
        if each.is_file() and each.suffix not in {".pyc", ".mo"}:
            yield each


@lru_cache(maxsize=1)
def _of_packages() -> tuple[set[str], set[str]]:
    """Return the names and the options that the packages of PACKAGES define, if installed."""
    found: set[str] = set(metadata.packages_distributions())
    options: set[str] = set()
    for name in PACKAGES:
        spec = util.find_spec(name)
        for place in (spec.submodule_search_locations or ()) if spec else ():
            for path in Path(place).rglob("*.py"):
                text = _text(path)
                found.update(DEFINED.findall(text))
                options.update(OPTION.findall(text))
    return found, options


class _Asked:
    """What a plugin asks pytest for: options, and settings of a configuration file."""

    def __init__(self) -> None:
        self.options: list[str] = []
        self.settings: list[str] = []

    def getgroup(self, *_: str) -> Self:
        """Return the group of options: this."""
        return self

    def addoption(self, name: str, **_: object) -> None:
        """Note an option."""
        self.options.append(name)

    def addini(self, name: str, *_: object, **__: object) -> None:
        """Note a setting."""
        self.settings.append(name)


def _text(path: Path) -> str:
    return path.read_text("utf-8", "replace")
