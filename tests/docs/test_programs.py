"""Programs of the guides are run as people run them: by servers, and by `lifespec check app`.

Those servers are uvicorn and one of the others in turn, among them `fastapi run` for FastAPI.  Each
starts, answers a request, prints what it prints, reaches the end of its lifespan function, and
ends at a signal.  So does uvicorn if each background task of the program raises, and the log says
so.  A call that is cancelled while it serves runs the `finally` blocks.  The page says what a
program does not promise: FAILS has that sentence, and the words that each server logs instead, or
the status of its answer; FAILS_LATER has those of a task.  A program that a page
shows because it never starts (HANGS) serves nothing, and ends by the keys that the page names.
"""

import ast
import os
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
from samples import ROOT

from lifespec_pages.page import blocks
from serving import Program, free_port, requested

# captions of docs/index.md
GUIDES = "Get started", "Applications", "Operation", "Tests", "Servers and middleware"
TREE = re.compile(r"```\{toctree\}\n(.*?)```", re.DOTALL)
ENTRY = re.compile(r"^(?:.*<)?([\w/-]+)>?$", re.MULTILINE)
PROGRAM = re.compile(
    r"^```(python|\{shown\} programs/(recipes/\w+\.py))\n.*?^```$", re.MULTILINE | re.DOTALL
)
ROUTE = re.compile(r"(?:Route|@\w+\.get)\(['\"](/[^'\"{]*)['\"{]")
BIN = Path(sys.executable).parent
CHECK = "lifespec check app --strict --timeout 50 {name}:app"  # an import may be slow
GUNICORN = "gunicorn {name}:app --no-control-socket --bind 127.0.0.1:{port} --worker-class"
SERVERS = {
    "uvicorn": ("uvicorn {name}:app --port {port}", signal.SIGINT),
    "fastapi run": ("fastapi run {name}.py --host 127.0.0.1 --port {port}", signal.SIGTERM),
    "hypercorn": ("hypercorn {name}:app --bind 127.0.0.1:{port}", signal.SIGTERM),
    "granian": ("granian --interface asgi {name}:app --port {port}", signal.SIGINT),
    "gunicorn": (f"{GUNICORN} asgi", signal.SIGTERM),
    "uvicorn-worker": (f"{GUNICORN} uvicorn_worker.UvicornWorker", signal.SIGTERM),
}
OTHERS = ("hypercorn", "granian", "gunicorn", "uvicorn-worker")
FAULT = "a fault that the test put in"
CANCELLED = """
import asyncio, importlib, sys

async def main():
    events, answered = ["lifespan.startup"], asyncio.Event()

    async def receive():
        return {"type": events.pop() if events else await asyncio.Event().wait()}

    async def send(event):
        answered.set()

    scope = {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}, "state": {}}
    app = importlib.import_module(sys.argv[1]).app
    call = asyncio.ensure_future(app(scope, receive, send))
    waits = asyncio.ensure_future(answered.wait())
    await asyncio.wait([call, waits], return_when=asyncio.FIRST_COMPLETED)
    call.cancel()
    await asyncio.wait([call])
    waits.cancel()

asyncio.run(main())
"""
FUNCTIONS = ast.FunctionDef, ast.AsyncFunctionDef
PATIENCE = 60.0  # seconds; nothing takes ten
ENVIRONMENT = {
    "PYTHONUNBUFFERED": "1",
    "DATABASE": "sqlite+aiosqlite:///it.db",  # which is there
    "PRICES": "http://127.0.0.1:9",  # where nobody listens
    "REDIS": "redis://127.0.0.1:9",
    "PATIENCE": "1",
}
FAILS = {
    "The server does not start, and most servers log the message of the failure": "to db-1:5432",
    "an exception that you do not catch starts the server without the pool": "no http here",
    "This application raises an exception at shutdown": "no http here",
    "The application does not call the other service at startup": "status 500",
    "This program tries again for a limited time": "no redis after 1.0 s: Error",
    "returns without an answer to `lifespan.shutdown`": "NotImplementedError: http",
}

HANGS = ("waits for a database that never answers",)
FAILS_LATER = {"answer the readiness probe with 503 until the model is there": "status 503"}


class App(NamedTuple):
    """A program with an application, as module `name`; `about` is what its page says around it."""

    place: str
    name: str
    source: str
    files: dict[str, str]
    about: str
    fragment: bool


def guides() -> list[Path]:
    """Return the files of the guides, by the captions of the index, and of the README."""
    found = ["index"]
    for tree in TREE.findall((ROOT / "docs/index.md").read_text("utf-8")):
        caption = re.search(r"^:caption: (.*)$", tree, re.MULTILINE)
        if caption and caption[1] in GUIDES:
            found += [name for name in ENTRY.findall(tree) if name != "self"]
    return [ROOT / "README.md", *(ROOT / f"docs/{name}.md" for name in found)]


def apps(page: Path) -> Iterator[App]:
    """Yield the programs of a page that have an application."""
    text, above, end = page.read_text("utf-8"), "", 0
    found = {each.line: each for each in blocks(page, page.name)}
    for fence in PROGRAM.finditer(text):
        after = text[fence.end() :].partition("\n## ")[0].partition("```python")[0]
        about, end = text[end : fence.start()] + after, fence.end()
        line = text.count("\n", 0, fence.start()) + 2
        if fence[2]:
            path, classes, files = ROOT / "docs/programs" / fence[2], (), {}
            name, source = path.stem, path.read_text("utf-8")
        elif line in found:
            block, name = found[line], f"program_{line}"
            source, classes, files = block.source, block.classes, dict(block.files)
        else:
            continue
        fragment = "fragment" in classes
        starts = "import uvicorn" in source or (fragment and ".run(main" in source)
        if starts or not (app := served(source)):
            continue  # a server of its own, or no application
        if fragment and "real" not in classes:
            app = f"{above}\n{app}"  # its lines replace some of the program above
        elif not fence[2]:
            above = app
        yield App(f"{page.name}:{line}", name, app, files, about, fragment or bool(fence[2]))


def served(source: str) -> str:
    """Return a program without what runs it, such as `asyncio.run(main())`; "" without `app`."""
    body = [each for each in ast.parse(source).body if ".run(" not in ast.unparse(each)[:20]]
    defined = {getattr(each, "name", ast.unparse(each)).partition(" = ")[0] for each in body}
    return ast.unparse(ast.Module(body, [])) if "app" in defined else ""


def marked(source: str) -> tuple[str, set[str]]:
    """Let lifespan functions print that they came to their end; return all that is printed."""
    tree = ast.parse(source)
    for each in ast.walk(tree):
        if isinstance(each, ast.AsyncFunctionDef) and "contextmanager" in ast.unparse(each)[:99]:
            each.body += ast.parse(f"print('{each.name} is over')").body
    text = ast.unparse(tree)
    return text, {*re.findall(r"^ +print\('([^'{]+)'\)$", text, re.MULTILINE)}


def with_failing_tasks(source: str) -> str:
    """Let each function raise that is the job of a task; "" if there is none."""
    tree = ast.parse(source)
    calls = [each for each in ast.walk(tree) if isinstance(each, ast.Call)]
    jobs = {
        name.id
        for each in calls
        if getattr(each.func, "attr", "") in {"create_task", "start_soon"}
        for name in ast.walk(each)
        if isinstance(name, ast.Name)
    }
    functions = [each for each in ast.walk(tree) if isinstance(each, FUNCTIONS)]
    failing = [each for each in functions if each.name in jobs and not takes_a_job(each)]
    for each in failing:
        tries = [inner for inner in ast.walk(each) if isinstance(inner, ast.Try)]
        body = tries[0].body if tries else each.body
        body[:0] = ast.parse(f"raise OSError({FAULT!r})").body
    return ast.unparse(tree) if failing else ""


def takes_a_job(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Tell whether a function awaits an argument, or calls it: what that does may fail."""
    given = {each.arg for each in function.args.args}
    awaited = [each.value for each in ast.walk(function) if isinstance(each, ast.Await)]
    used = [getattr(each, "func", each) for each in awaited]
    return any(isinstance(each, ast.Name) and each.id in given for each in used)


def at_the_end(source: str) -> set[str]:
    """Return the texts that `finally` blocks print."""
    blocks = [each.finalbody for each in ast.walk(ast.parse(source)) if isinstance(each, ast.Try)]
    text = "\n".join(ast.unparse(each) for block in blocks for each in block)
    return {*re.findall(r"^print\('([^'{]+)'[,)]", text, re.MULTILINE)}


APPS = [each for page in guides() if page.exists() for each in apps(page)]
HANGING = [app for app in APPS if any(each in app.about for each in HANGS)]
STARTING = [app for app in APPS if not any(each in app.about for each in (*FAILS, *HANGS))]


def test_the_guides_have_programs_and_the_sentences_of_those_that_fail() -> None:
    pages = {app.place.partition(".")[0] for app in APPS}
    assert pages >= {"README", "tutorial", "share-state", "several-workers", "recipes"}
    sentences = *FAILS, *HANGS
    assert [each for each in sentences if not any(each in app.about for app in APPS)] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "app", [app for app in APPS if app not in HANGING], ids=lambda app: app.place
)
def test_a_server_starts_it_gets_an_answer_and_ends_it(app: App, tmp_path: Path) -> None:
    others = (*OTHERS, "fastapi run") if "FastAPI(" in app.source else OTHERS
    other = others[APPS.index(app) % len(others)]
    source, printed = marked(app.source)
    reasons = [FAILS[each] for each in sorted(FAILS, key=app.about.find) if each in app.about]
    found, running = {}, {}
    with ExitStack() as stack:
        for server in ("uvicorn", other):
            command, _ = SERVERS[server]
            folder, port = tmp_path / server, free_port()
            prepare(folder, {**app.files, f"{app.name}.py": source})
            words = called(command.format(name=app.name, port=port))
            running[server] = stack.enter_context(Program(words, folder, **ENVIRONMENT)), port
        if not app.fragment:
            check = Program(called(CHECK.format(name=app.name)), folder, **ENVIRONMENT)
            if stack.enter_context(check).wait(PATIENCE) != 0:
                found["check"] = check.lines
        for server, (program, port) in running.items():
            if not answers(program, port, source, reasons[:1]):
                found[f"{server}: no answer"] = program.lines
            program.process.send_signal(SERVERS[server][1])
        for server, (program, _) in running.items():
            if program.wait(PATIENCE) is None:
                found[f"{server}: no end"] = program.lines
            program.reader.join(PATIENCE)
            text = "\n".join(program.lines)  # a line of another process may stand in the same line
            missing = set() if reasons else {each for each in printed if each not in text}
            found |= {f"{server}: not printed: {each}": program.lines for each in missing}
    assert found == {}


@pytest.mark.slow
@pytest.mark.parametrize("server", ["uvicorn", "fastapi run", "hypercorn", "granian"])
@pytest.mark.parametrize("app", HANGING, ids=lambda app: app.place)
def test_a_startup_that_hangs_ends_by_the_keys_that_the_page_names(
    app: App, server: str, tmp_path: Path
) -> None:
    begins = "its startup begins"
    call = "    await connect()"
    source = app.source.replace(call, f"    print({begins!r})\n{call}")
    prepare(tmp_path / "it", {**app.files, f"{app.name}.py": source})
    port = free_port()
    words = called(SERVERS[server][0].format(name=app.name, port=port))
    with Program(words, tmp_path / "it", **ENVIRONMENT) as program:
        end = time.monotonic() + PATIENCE
        while begins not in program.lines and time.monotonic() < end:
            time.sleep(0.05)
        assert begins in program.lines, program.lines
        with ExitStack() as opened:
            assert requested(port, "/", opened) == 0
        os.killpg(program.process.pid, signal.SIGINT)  # as Ctrl-C does
        assert program.wait(2.0) is None, program.lines
        os.killpg(program.process.pid, signal.SIGQUIT)  # as Ctrl-\ does
        assert program.wait(PATIENCE) is not None, program.lines


@pytest.mark.slow
@pytest.mark.parametrize(
    "app", [app for app in STARTING if with_failing_tasks(app.source)], ids=lambda app: app.place
)
def test_a_background_task_that_raises_is_logged_and_ends_nothing(app: App, tmp_path: Path) -> None:
    command, number = SERVERS["uvicorn"]
    port = free_port()
    prepare(tmp_path / "it", {**app.files, f"{app.name}.py": with_failing_tasks(app.source)})
    words = called(command.format(name=app.name, port=port))
    with Program(words, tmp_path / "it", **ENVIRONMENT) as program:
        reasons = [FAILS_LATER[each] for each in FAILS_LATER if each in app.about]
        assert answers(program, port, app.source, reasons), program.lines
        program.process.send_signal(number)
        assert program.wait(PATIENCE) is not None, program.lines
        program.reader.join(PATIENCE)
        assert FAULT in "\n".join(program.lines), program.lines
        assert at_the_end(app.source) <= {*program.lines}


@pytest.mark.slow
@pytest.mark.parametrize(
    "app", [app for app in STARTING if at_the_end(app.source)], ids=lambda app: app.place
)
def test_a_call_that_is_cancelled_ends_and_cleans_up(app: App, tmp_path: Path) -> None:
    prepare(tmp_path / "it", {**app.files, f"{app.name}.py": app.source})
    words = [sys.executable, "-c", CANCELLED, app.name]
    with Program(words, tmp_path / "it", **ENVIRONMENT) as program:
        assert program.wait(PATIENCE) == 0, program.lines
        program.reader.join(PATIENCE)
        assert at_the_end(app.source) <= {*program.lines}


def called(command: str) -> list[str]:
    """Return the words of a command of this environment, whose path may have spaces."""
    program, *words = command.split()
    return [str(BIN / program), *words]


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
    path += "1" * (path != "/" and path.endswith("/"))  # the value of a parameter
    while time.monotonic() < end:
        with ExitStack() as opened:
            status = requested(port, path, opened)
        if reasons and reasons[0] in "\n".join([*program.lines, f"status {status}"]):
            return True
        if not reasons and (0 < status < 500 or program.over):
            return not program.over
        time.sleep(0.05)
    return False
