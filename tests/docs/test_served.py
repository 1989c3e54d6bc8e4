"""Servers run the programs of the guides as people do, with a request and a signal.

Each program starts, answers, prints what it prints, reaches the end of its lifespan function, and
ends. The page says what a program does not promise: FAILS has that sentence, and the words that
each server logs instead, or the status of its answer.
"""

import ast
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import NamedTuple

import pytest
from published import ROOT
from serving import Program, requested
from test_programs import guides, served

import loopback
from lifespec_pages.page import blocks

BIN = Path(sys.executable).parent
SERVERS = {
    "uvicorn": ("uvicorn {name}:app --port {port}", signal.SIGINT),
    "fastapi run": ("fastapi run {name}.py --host 127.0.0.1 --port {port}", signal.SIGTERM),
    "hypercorn": ("hypercorn {name}:app --bind 127.0.0.1:{port}", signal.SIGTERM),
    "granian": ("granian --interface asgi {name}:app --port {port}", signal.SIGINT),
    "gunicorn": (
        "gunicorn {name}:app --worker-class asgi --no-control-socket --bind 127.0.0.1:{port}",
        signal.SIGTERM,
    ),
}
PATIENCE = 60.0  # seconds; nothing takes ten
ENVIRONMENT = {
    "PYTHONUNBUFFERED": "1",
    "DATABASE": "sqlite+aiosqlite:///it.db",  # which is there
    "PRICES": "http://127.0.0.1:9",  # where nobody listens
    "REDIS": "redis://127.0.0.1:9",
    "PATIENCE": "1",
}
ROUTE = re.compile(r'(?:Route|\.get)\("(/[^"{]*)["{]')
PROGRAM = re.compile(
    r"^```(?:python|\{shown\} programs/[^\n]*)\n.*?^```$", re.MULTILINE | re.DOTALL
)
FAILS = {
    "The server does not start, and most servers log the message of the failure": "to db-1:5432",
    "an exception that you do not catch starts the server without the pool": "no http here",
    "This application raises an exception at shutdown": "no http here",
    "The application does not call the other service at startup": "500",
    "This program tries again for a limited time": "no redis after 1.0 s: Error",
    "returns without an answer to `lifespan.shutdown`": "NotImplementedError: http",
}


class App(NamedTuple):
    """A program that servers run; `about` is what its page says around it."""

    place: str
    name: str
    source: str
    files: dict[str, str]
    about: str
    shown_by: str  # a server whose log stands below


def apps() -> Iterator[App]:
    """Yield the programs of the guides that have an application."""
    for page in filter(lambda name: (ROOT / name).exists(), guides()):
        text, above = (ROOT / page).read_text("utf-8"), ""
        found = {each.line: each for each in blocks(ROOT / page, page)}
        fences = [*PROGRAM.finditer(text)]
        for number, fence in enumerate(fences):
            ends = [0, *(each.end() for each in fences)][number]
            after = text[fence.end() :].partition("\n## ")[0].partition("```python")[0]
            about = text[ends : fence.start()] + after
            line = text.count("\n", 0, fence.start()) + 2
            block, shown = found.get(line), re.search(r"programs/(recipes/\w+\.py)\n", fence[0])
            source = block.source if block else ""
            files = dict(block.files) if block else {}
            name = f"program_{line}"
            if shown:
                path = ROOT / "docs/programs" / shown[1]
                source, name = path.read_text("utf-8"), path.stem
            classes = block.classes if block else ()
            if not served(source) or ("fragment" in classes and ".run(main" in source):
                continue  # a server of its own
            if "fragment" in classes and "real" not in classes:
                source = f"{above}\n{source}"  # its lines replace some of the program above
            elif block:
                above = served(source)
            shown_by = "uvicorn" if "uvicorn" in classes else ""
            yield App(f"{page}:{line}", name, served(source), files, about, shown_by)


def marked(source: str) -> tuple[str, set[str]]:
    """Let lifespan functions print that they came to their end; return all that is printed."""
    tree = ast.parse(source)
    for each in ast.walk(tree):
        if isinstance(each, ast.AsyncFunctionDef) and "contextmanager" in ast.unparse(each)[:99]:
            each.body += ast.parse(f"print('{each.name} is over')").body
    text = ast.unparse(tree)
    return text, {*re.findall(r"^ +print\('([^'{]+)'\)$", text, re.MULTILINE)}


APPS = [*apps()]


def test_each_reason_is_on_a_page() -> None:
    assert [each for each in FAILS if not any(each in app.about for app in APPS)] == []


@pytest.mark.slow
@pytest.mark.parametrize("app", APPS, ids=lambda app: app.place)
def test_each_server_starts_it_gets_an_answer_and_ends_it(app: App, tmp_path: Path) -> None:
    source, printed = marked(app.source)
    reasons = [FAILS[each] for each in sorted(FAILS, key=app.about.find) if each in app.about]
    found = {}
    with ExitStack() as stack:
        running = {}
        for server, (command, _) in SERVERS.items():
            if server == app.shown_by or (server == "fastapi run" and "FastAPI(" not in source):
                continue
            folder, port = tmp_path / server, loopback.free_port()
            prepare(folder, {**app.files, f"{app.name}.py": source})
            words = command.format(name=app.name, port=port).split()
            program = Program([BIN / words[0], *words[1:]], folder, **ENVIRONMENT)
            running[server] = stack.enter_context(program), port
        for server, (program, port) in running.items():
            if not answers(program, port, source, reasons[:1]):
                found[f"{server}: no answer"] = program.lines
            program.process.send_signal(SERVERS[server][1])
        for server, (program, _) in running.items():
            if program.wait(PATIENCE) is None:
                found[f"{server}: no end"] = program.lines
            program.reader.join(PATIENCE)
            missing = set() if reasons else printed - {*program.lines}
            found |= {f"{server}: not printed: {each}": program.lines for each in missing}
    assert found == {}


def prepare(folder: Path, files: dict[str, str]) -> None:
    """Write what a program needs."""
    shutil.copytree(ROOT / "docs/programs/recipes", folder)
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
    if "create.py" in files:
        subprocess.run([sys.executable, "create.py"], cwd=folder, check=True)
    with closing(sqlite3.connect(folder / "it.db")) as database:
        database.execute("CREATE TABLE stock AS SELECT 12 AS number")
        database.commit()


def answers(program: Program, port: int, source: str, reasons: list[str]) -> bool:
    """Send requests until one is answered without an error, or until a reason is logged."""
    path, end = (ROUTE.search(source) or ("", "/"))[1], time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with ExitStack() as opened:
            status = requested(port, path, opened)
        if reasons and reasons[0] in "\n".join([*program.lines, str(status)]):
            return True
        if not reasons and (0 < status < 500 or program.over):
            return not program.over
        time.sleep(0.05)
    return False
