"""The plan of the house: who imports whom, what each module exports, how long it may be."""

import ast
import importlib
import io
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

import alone
import lifespec

__all__: list[str] = []

SRC = Path(lifespec.__file__).parent
ROOT = SRC.parents[1]
MODULES = {
    ".".join(path.relative_to(SRC.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(SRC.rglob("*.py"))
}
EXTENSIONS = sorted((ROOT / "docs" / "_ext").rglob("*.py"))
EVERY_FILE = [path for path in (*MODULES.values(), *EXTENSIONS) if path.read_text()]
OWNERS = [(file, alone.modules_of(file)) for file in alone.files()]
COPY_ME = {"server", "application", "validate", "messages"}
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef


def suite(*names: str) -> set[str]:
    """Name modules of the suite."""
    return {f"conformance.{name}" for name in names}


# What each module may import of ours; the standard library is free to all.  Arrows only go down.
PLAN: dict[str, set[str]] = {
    "server": set(),
    "application": set(),
    "validate": set(),
    "messages": set(),
    "testing.clock": set(),
    "testing.trace": set(),
    "testing": {"testing.clock", "testing.trace"},
    "conformance": set(),
    "conformance.probe": set(),
    "conformance.perl": set(),
    "conformance.explain": set(),
    "server_trio": {"server"},
    "composition": {"server", "application"},
    "diagram": {"testing.trace", "validate"},
    "conformance.cases": {"conformance.vocabulary", "validate"},
    "conformance.seen": suite("cases"),
    "conformance.subjects": suite("cases", "seen"),
    "conformance.offered": suite("seen") | {"validate"},
    "conformance.phrases": suite("offered", "seen"),
    "conformance.trials": suite("cases", "seen", "subjects"),
    "conformance.servers": suite("cases", "drawn", "findings", "judging", "phrases", "seen")
    | suite("subjects", "trials")
    | {"testing.trace"},
    "conformance.hosts": set(),
    "conformance.delivered": suite("seen", "subjects"),
    "conformance.drivers": suite("cases", "delivered", "hosts", "seen", "servers", "subjects")
    | {"validate"},
    "conformance.brokers": suite("cases", "delivered", "seen", "servers", "subjects"),
    "stage": {"testing.clock", "server", "testing.trace"},
    "examples_perl": {"conformance.perl", "server", "stage", "testing.trace", "validate"},
    "examples": {"testing.clock", "testing.trace", "stage", "examples_perl", "conformance.perl"},
    "onefile": {"examples"},
    "conformance.run": {f"conformance.{name}" for name in ("cases", "subjects")}
    | {"testing.trace", "testing.clock", "validate"},
    "conformance.vocabulary": set(),
    "conformance.drawn": {"testing.trace"},
    "conformance.wording": suite("cases", "explain", "vocabulary") | {"validate"},
    "conformance.findings": suite("cases") | {"validate"},
    "conformance.report": suite("explain", "findings", "wording"),
    "conformance.exported": suite("findings"),
    "conformance.serving": {"stage", "testing.trace", "validate"},
    "conformance.playing": suite("cases", "serving") | {"testing.clock", "stage", "validate"},
    "conformance.judging": suite("cases", "drawn", "findings", "serving"),
    "conformance.applications": suite("cases", "findings", "judging", "playing", "serving"),
    "conformance.middleware": suite(
        *("applications", "cases", "drawn", "findings"), *("judging", "playing", "serving")
    ),
    "conformance.targets": suite("cases") | {"stage"},
    "conformance.pipe": suite("cases"),
    "conformance.apart": suite(
        *("applications", "cases", "findings", "judging", "middleware", "pipe", "targets"),
        "vocabulary",
    ),
    "conformance.checking": suite(
        *("apart", "applications", "brokers", "cases", "drivers", "explain", "exported", "report"),
        *("findings", "seen", "servers", "subjects", "vocabulary", "wording"),
    )
    | {"validate"},
    "cli": suite("run", "report", "cases", "subjects", "checking", "explain"),
    "__main__": {"cli"},
    "": COPY_ME | {"composition"},
}
# What of others, installed with an extra or for the command.
THIRD_PARTY = {
    "server": {"typing_extensions"},  # read by type-checkers alone, which bring it with them
    "messages": {"typing_extensions"},
    "server_trio": {"trio"},
    "cli": {"rich"},
    "conformance.report": {"rich"},
}


def show(path: Path, line: int = 1) -> str:
    """Show a place as one finds it from the project's folder."""
    return f"{path.relative_to(ROOT)}:{line}"


def parsed(path: Path) -> ast.Module:
    """Parse a module."""
    return ast.parse(path.read_text(), str(path))


def imported(path: Path, within: ast.AST) -> Iterator[tuple[int, str]]:
    """Give line and module of each import; `from lifespec import server` means lifespec.server."""
    parts = path.relative_to(SRC.parent).parts
    for node in ast.walk(within):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            above = ".".join(parts[: len(parts) - node.level]) if node.level else ""
            base = ".".join(filter(None, [above, node.module]))
            for full in (f"{base}.{alias.name}" for alias in node.names):
                yield node.lineno, full if full in MODULES else base


def strangers(module: str) -> list[str]:
    """List the imports that the plan does not allow a module."""
    path, short = MODULES[module], module.removeprefix("lifespec").removeprefix(".")
    assert short in PLAN, f"{show(path)}: PLAN does not say what it may import"
    allowed = {f"lifespec.{name}" for name in PLAN[short]}
    free = sys.stdlib_module_names | THIRD_PARTY.get(short, set())
    return [
        f"{show(path, line)} imports {name}"
        for line, name in imported(path, parsed(path))
        if name not in allowed and name.split(".")[0] not in free
    ]


def own_imports_in_functions(path: Path) -> list[str]:
    """List imports of our own modules that wait inside a function: a cycle in hiding."""
    functions = (node for node in ast.walk(parsed(path)) if isinstance(node, FUNCTIONS))
    return [
        f"{show(path, line)} imports {name} inside {function.name}"
        for function in functions
        for line, name in imported(path, function)
        if name.split(".")[0] == "lifespec"
    ]


def code_lines(path: Path) -> int:
    """Count the lines that hold code: not empty, no comment, no docstring."""
    nodes = (node for node in ast.walk(parsed(path)) if isinstance(node, ast.Expr))
    texts = [node for node in nodes if isinstance(node.value, ast.Constant)]
    prose = {line for node in texts for line in range(node.lineno, (node.end_lineno or 0) + 1)}
    blank = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    tokens = tokenize.generate_tokens(io.StringIO(path.read_text()).readline)
    held = [token for token in tokens if token.type not in blank and token.string]
    lines = {line for token in held for line in range(token.start[0], token.end[0] + 1)}
    return len(lines - prose)


def exports(module: str) -> set[str]:
    """Read what a module exports."""
    return set(importlib.import_module(module).__all__)


@pytest.mark.parametrize("module", MODULES)
def test_imports_go_down_only(module: str) -> None:
    """A module imports what the plan allows it, and of others the standard library."""
    assert strangers(module) == []


@pytest.mark.parametrize("path", MODULES.values(), ids=show)
def test_no_import_of_ours_hides_in_a_function(path: Path) -> None:
    """Imports stand at the head of the file, where a cycle shows."""
    assert own_imports_in_functions(path) == []


@pytest.mark.parametrize("path", EVERY_FILE, ids=show)
def test_every_module_says_what_it_exports(path: Path) -> None:
    """Each module has an `__all__`, and each name in it exists."""
    module = next((name for name, own in MODULES.items() if own == path), path.stem)
    exported = exports(module)
    lacking = {name for name in exported if not hasattr(importlib.import_module(module), name)}
    assert lacking == set(), f"{show(path)}: __all__ names what is not there"


def test_the_root_exports_what_it_collects() -> None:
    """The root's `__all__` is all that it imports, and each is exported where it comes from."""
    collected = {
        (f"lifespec.{node.module}".replace(".lifespec.", "."), alias.name)
        for node in parsed(MODULES["lifespec"]).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert exports("lifespec") == {name for _, name in collected}
    assert [(module, name) for module, name in collected if name not in exports(module)] == []


def test_the_root_loads_the_standard_library_only() -> None:
    """`import lifespec` loads what the root may import, and nothing of others."""
    program = "import sys; sys.path.insert(0, sys.argv[1]); import lifespec; print(*sys.modules)"
    command = [sys.executable, "-I", "-S", "-c", program, str(SRC.parent)]
    loaded = set(subprocess.check_output(command, text=True).split())
    ours = {name for name in loaded if name.split(".")[0] == "lifespec"}
    others = {name.split(".")[0] for name in loaded - ours} - {"__main__"}
    assert others <= sys.stdlib_module_names
    assert ours <= {"lifespec"} | {f"lifespec.{name}" for name in PLAN[""]}


def test_nothing_else_lies_at_the_top() -> None:
    """A file that a page's program wrote there, say, is none of the project's."""
    command = ["git", "ls-files", "-z"]
    names = subprocess.check_output(command, cwd=SRC.parents[1], text=True).split("\0")
    top = {name.partition("/")[0] for name in names if name}
    files = {"LICENSE", "Makefile", "README.md", "pyproject.toml", ".gitignore"}
    assert top == files | {"docs", "locales", "src", "tests", ".ci", ".github"}


@pytest.mark.parametrize("path", EVERY_FILE, ids=show)
def test_no_module_asserts(path: Path) -> None:
    """`python -O` must change nothing, so nothing is asserted."""
    nodes = (node for node in ast.walk(parsed(path)) if isinstance(node, ast.Assert))
    assert [show(path, node.lineno) for node in nodes] == []


@pytest.mark.parametrize("path", EVERY_FILE, ids=show)
def test_modules_and_functions_are_short(path: Path) -> None:
    """A module has fewer than 300 lines (server.py and validate.py: see below), a function 40."""
    lines = len(path.read_text().splitlines())
    longer = {MODULES["lifespec.server"], MODULES["lifespec.validate"]}
    assert lines < 300 or path in longer, show(path, lines)
    functions = (node for node in ast.walk(parsed(path)) if isinstance(node, FUNCTIONS))
    long = (node for node in functions if (node.end_lineno or 0) - node.lineno >= 40)
    assert [show(path, node.lineno) for node in long] == []


def test_the_server_can_be_read_in_one_sitting() -> None:
    """server.py has 430 lines at most, and 275 of code beside its table."""
    path = MODULES["lifespec.server"]
    lines, code = len(path.read_text().splitlines()), code_lines(path)
    table = next(node for node in parsed(path).body if ast.unparse(node).startswith("TABLE"))
    assert lines <= 430, show(path, lines)
    assert code - ((table.end_lineno or 0) - table.lineno) <= 275, show(path, lines)


def test_the_judge_is_shorter_than_a_server() -> None:
    """validate.py has 610 lines at most, and the judge, which comes after its tables, 310."""
    path = MODULES["lifespec.validate"]
    lines = path.read_text().splitlines()
    judge = next(number for number, line in enumerate(lines) if line.startswith("class Violation"))
    assert len(lines) <= 610, show(path, len(lines))
    assert len(lines) - judge <= 310, show(path, judge)


def test_the_driver_on_trio_is_short() -> None:
    """server_trio.py has 60 lines of code at most, beside imports and constants."""
    path = MODULES["lifespec.server_trio"]
    heads = (ast.Import, ast.ImportFrom, ast.Assign)
    head = sum(
        (node.end_lineno or 0) + 1 - node.lineno
        for node in parsed(path).body
        if isinstance(node, heads)
    )
    assert code_lines(path) - head <= 60, show(path)


@pytest.mark.parametrize("path", EVERY_FILE, ids=show)
def test_each_module_has_its_own_test_file(path: Path) -> None:
    """server.py has test_server.py, in one place below tests."""
    own = [file for file, modules in OWNERS if path.relative_to(ROOT) in modules]
    assert len(own) == 1, f"{show(path)} has {len(own)} test files of its own: {own}"
    if path in MODULES.values():  # `make check` finds them there for -O and the other Pythons
        assert own[0].parent.name in {"tests", "testing"}
