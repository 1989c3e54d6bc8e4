"""Code to documents: mutants of the files to copy, each tried by the pages' examples and checks.

The mutants are those of `make mutation`.  Each is imported anew in a process of its own, which
runs the examples of the English pages, those of the Chinese being the same: the pages that tell
most come first, the programs that need a process or a clock of their own last, and the first
example that fails has noticed the mutant.  No test is run, and no table is held against another.
"""

import faulthandler
import hashlib
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

from journal import FOLDER, ROOT, Row, Task

__all__ = [
    "NAMES",
    "Pages",
    "all_",
    "broken",
    "checks",
    "equivalent",
    "failing",
    "made",
    "noticed",
    "place",
    "tasks",
    "tried",
    "version",
    "warm",
]

NAMES = ("server", "application", "validate")
# The pages that tell most of each file; the others follow by their names.
FIRST = {
    "server": (
        "api edge-cases applications-without-lifespan startup shutdown state timeouts scope"
    ),
    "application": (
        "api quickstart-application startup shutdown state mount-applications migrate-from-on-event"
    ),
    "validate": "api rules edge-cases asgi-2 specifications scope write-middleware",
}
GENERATOR = ROOT / "tests" / "mutation" / "mutants.py"
GENERATED = Path(__file__).with_name("generated.py")
MUTMUT = ROOT / "build" / "mutmut"  # installed beside the rest, for these mutants alone
LIMIT = 5.0  # seconds of an example: without a mutant none takes a tenth of that
WORKERS = 2
SECONDS, BYTES = 90, 3 << 30  # of one mutant: the processor's time, and memory
WAIT = 300  # seconds of one mutant: what waits for ever takes no time of the processor
ELSEWHERE = re.compile(r"\b(?:command|record|logged|seen|measured|record_|Path|check_\w+)\(")
TWICE = 2  # what runs in real time fails so often before it counts
Pages = dict[str, list[Any]]
# Each of these lines, at the end of a file, takes a part of it away.
BROKEN = {
    "server": (
        "StateMachine._raise_for_outcome = lambda *_: None",
        "StateMachine._on_timeout = lambda *_: None",
        "StateMachine._on_send = lambda *_: asyncio.sleep(0)",
        "StateMachine._queue_event = lambda self, stage: setattr(self, '_stage', stage)",
        "StateMachine.app = lambda *_: asyncio.sleep(0)",
        "StateMachine.report = lambda *_: None",
        "StateMachine.with_state = lambda self, scope: {}",
        "StateMachine.outcome = property(lambda self: None, lambda *_: None)",
        "StateMachine.scope = property(lambda self: {}, lambda *_: None)",
        "new_scope = copy_scope = lambda *_: {'type': 'lifespan', 'state': {'a': 1}}",
        "parse_timeout = lambda value: 0.5",
        "Lifespan = object",
    ),
    "application": ("with_lifespan = double_to_single_callable = lambda app, *_: app",),
    "validate": (
        "validator._report = lambda *_, **__: None",
        "lifespan_scope = lambda *_, **__: {'type': 'lifespan'}",
    ),
}


def source(name: str) -> str:
    """Return the text of a file."""
    return (ROOT / "src" / "lifespec" / f"{name}.py").read_text("utf-8")


def made(name: str) -> list[Row]:
    """Return the mutants of a file, made once for each state of it."""
    text = source(name) + GENERATOR.read_text("utf-8")
    kept = FOLDER / f"mutants-{name}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.jsonl"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        new = kept.with_suffix(".new")
        with new.open("w", encoding="utf-8") as file:
            command = [sys.executable, GENERATED, name]
            subprocess.run(command, stdout=file, check=True, env=_with_mutmut())
        new.replace(kept)
    found = list(map(json.loads, kept.read_text("utf-8").splitlines()))
    return [{"file": name, **row} for row in found]


def all_() -> list[Row]:
    """Return all mutants; they are made for all files at the same time, which takes minutes."""
    with ThreadPoolExecutor(WORKERS) as pool:
        return [row for rows in pool.map(made, NAMES) for row in rows]


def equivalent() -> set[tuple[str, str, str]]:
    """Return the mutants that are no other program: by file, the lines before, after."""
    text = (ROOT / "tests" / "mutation" / "equivalent.toml").read_text("utf-8")
    return {(row["file"], row["old"], row["new"]) for row in tomllib.loads(text)["equivalent"]}


def tasks(state: str, found: list[Row]) -> list[Task]:
    """Return a task for each mutant, those that are no other program left out."""
    same = equivalent()
    kept = [row for row in found if (row["file"], row["old"], row["new"]) not in same]
    return [_task(state, row) for row in kept]


def _task(state: str, row: Row) -> Task:
    text = row["source"]
    key = hashlib.sha256(f"{state}\0{row['file']}\0{text}".encode()).hexdigest()[:16]
    return Task(key, {name: of for name, of in row.items() if name != "source"}, text)


def version() -> str:
    """Return the version of what makes the mutants."""
    found = metadata.distributions(name="mutmut", path=[str(MUTMUT)])
    return next((each.version for each in found), "")


def _with_mutmut() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(MUTMUT)}


def place(folder: Path, number: int) -> Path:
    """Copy src, compiled, for the mutants that are tried one after another there."""
    target = folder / f"code-{number}"
    shutil.rmtree(target, ignore_errors=True)
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src", target, ignore=ignored)
    import_module("compileall").compile_dir(target, quiet=2)
    for name in NAMES:
        for stale in (target / "lifespec" / "__pycache__").glob(f"{name}.*"):
            stale.unlink()
    return target


def warm() -> None:
    """Import what the examples import and no mutant changes, once for all."""
    for module in ("asyncio", "unittest.mock", "sqlite3", "markdown_it", "trio", "subprocess"):
        with suppress(ImportError):
            import_module(module)


def tried(task: Task, slot: Path, pages: Pages, look: Any = None) -> Row:
    """Try one mutant, in a process forked for it: where it was noticed, and what is said."""
    name = task.told["file"]
    (slot / "lifespec" / f"{name}.py").write_text(task.source, "utf-8")
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(slot))
    try:
        found = _apart(partial(look or noticed, name, pages), slot / "answer.json")
    finally:
        (slot / "lifespec" / f"{name}.py").write_text(source(name), "utf-8")
    return {**task.told, "noticed": found}


def broken() -> list[Task]:
    """Return a task for each line of BROKEN."""
    return [
        Task(line, {"file": name}, f"{source(name)}\n\n{line}\n")
        for name, lines in BROKEN.items()
        for line in lines
    ]


def checks(pages: Pages) -> dict[str, str]:
    """Return by place the checks that the files to copy can make fail, each with its text.

    One that reads a record or a file, or runs a command, speaks of something else.
    """
    return {
        _place(block): block["source"]
        for blocks in pages.values()
        for block in blocks
        if block["kind"] == "check" and not ELSEWHERE.search(block["source"])
    }


def failing(_name: str, pages: Pages) -> list[str]:
    """Return where the checks stand that fail, each after the programs above it."""
    try:
        examples = import_module("lifespec_docs.examples.runner")
    except BaseException:  # nothing can be said of a package that cannot be imported
        return []
    examples.LIMITS["virtual"], asked, found = LIMIT, checks(pages), []
    for page in pages.values():
        chosen = [each for each in page if each["kind"] == "virtual" or _place(each) in asked]
        with examples.Session([examples.Example(**each) for each in chosen]) as session:
            for block in session.blocks:
                try:
                    examples.run(block, session.namespace)
                except BaseException:
                    found += [f"{block.page}:{block.line}"] * (block.kind == "check")
    return found


def _place(block: Row) -> str:
    return f"{block['page']}:{block['line']}"


def noticed(name: str, pages: Pages) -> tuple[str, str]:
    """Run the examples of all pages: where the first that fails stands, and what is said."""
    try:
        examples = import_module("lifespec_docs.examples.runner")
    except BaseException as error:
        return "its import", f"{type(error).__name__}: {error}"
    examples.LIMITS["virtual"] = LIMIT
    first = [page for page in FIRST[name].split() if page in pages]
    for kinds, times in ({"virtual", "check"}, 1), ({"real"}, TWICE):
        for page in [*first, *sorted(pages.keys() - first)]:
            chosen = (each for each in pages[page] if each["kind"] in kinds and _uses_us(each))
            blocks = [examples.Example(**each) for each in chosen]
            if found := _failure(examples, blocks, times):
                return found
    return "", ""


def _uses_us(block: Row) -> bool:
    """Whether a program can notice anything: one of its own process must name the package."""
    sources = [block["source"], *(text for _, text in block.get("named", ()))]
    return block["kind"] != "real" or any("lifespec" in each for each in sources)


def _failure(examples: Any, blocks: list[Any], times: int) -> tuple[str, str] | None:
    """Run a page: which example fails as many times as it is run, and what is said."""
    with examples.Session(blocks) as session:
        for block in blocks:
            for _ in range(times):
                try:
                    examples.run(block, session.namespace)
                    break
                except examples.ExampleFailed as failure:
                    found = f"{block.page}:{failure.line}", str(failure).partition(": ")[2]
                except BaseException as error:
                    found = f"{block.page}:{block.line}", f"{type(error).__name__}: {error}"
            else:
                return found
    return None


def _apart(work: Any, answer: Path) -> list[str]:
    """Run the examples in a process of its own; without an answer nothing told."""
    answer.unlink(missing_ok=True)
    child = os.fork()
    if not child:
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
            resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
            nothing = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(nothing, stream)
            faulthandler.dump_traceback_later(WAIT, exit=True, file=nothing)
            answer.write_text(json.dumps(work()), "utf-8")
        finally:
            os._exit(0)
    _, raw = os.waitpid(child, 0)
    if answer.exists():
        found: list[str] = json.loads(answer.read_text("utf-8"))
        return found
    return ["", f"stopped, with status {os.waitstatus_to_exitcode(raw)}, and no example says why"]
