"""`check app -- COMMAND`: what a command would serve is checked, and nothing of it is left."""

import multiprocessing
import os
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from apart import one_line
from lifespec.conformance import Report, Unchecked, check_app
from lifespec.conformance.app import held
from lifespec.conformance.app.command import MARK
from lifespec.conformance.app.target import Job
from lifespec.conformance.processes import environment, until

BIN = Path(sys.executable).parent
ENTRY = [sys.executable, "-m", "lifespec"]
PROGRAMS = {
    "shop": """\
from contextlib import asynccontextmanager
from fastapi import FastAPI

@asynccontextmanager
async def lifespan(app):
    yield

app = FastAPI(lifespan=lifespan)

def create():
    return FastAPI(title="Shop", lifespan=lifespan)
""",
    "main": """\
import uvicorn
from shop import create
if __name__ == "__main__":
    print("building the shop")
    uvicorn.run(create(), port=1)
""",
    "loop": """\
import asyncio, uvicorn
from shop import app
async def main():
    server = uvicorn.Server(uvicorn.Config(app, port=1, log_level="trace"))
    await asyncio.gather(server.serve(), asyncio.sleep(9))
asyncio.run(main())
""",
    "hyper": """\
import asyncio
from hypercorn.asyncio import serve
from hypercorn.config import Config
from shop import app
asyncio.run(serve(app, Config()))
""",
    "embedded": """\
import asyncio
from granian.server.embed import Server
from shop import app
asyncio.run(Server(app, port=1).serve())
""",
    "thread": """\
import threading, time, uvicorn
from shop import create
threading.Thread(target=uvicorn.Server(uvicorn.Config(create(), port=1)).run, daemon=True).start()
time.sleep(2)  # and then the main thread gives up, as it is not served
""",
    "wsgi": "def app(environ, start_response): ...",
    "own": """\
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware
import shop
app = ProxyHeadersMiddleware(shop.app)
""",
}
# What each server is given is in tests/watch/test_hold.py; these are processes of several kinds.
SERVED = {  # no port can be bound: 1 is root's, and root's is no port that is free everywhere
    "uvicorn shop:app --port 1 --workers 2": "shop:app",
    "uvicorn shop:app --port 1 --reload": "shop:app",
    "uvicorn own:app --port 1": "own:app",
    "setsid uvicorn shop:app --port 1": "shop:app",
    "fastapi dev shop.py --port 1": "shop:app",
    "python loop.py": "shop:app",
    "python thread.py": 'FastAPI "Shop"',
    "hypercorn shop:app --bind 127.0.0.1:1 --workers 2": "shop:app",
    "hypercorn shop:app --bind 127.0.0.1:1 -k trio": "shop:app",
    "python hyper.py": "shop:app",
    "granian --interface asgi shop:app --port 1 --workers 2": "shop:app",
    "python embedded.py": "shop:app",
    "gunicorn -k asgi shop:app --bind 127.0.0.1:1 --workers 2": "shop:app",
    "gunicorn -k uvicorn_worker.UvicornWorker shop:app --bind 127.0.0.1:1 --reload": "shop:app",
    "daphne shop:app --port 1": "shop:app",
}
QUICK = {
    "setsid uvicorn shop:app --port 1",
    "uvicorn shop:app --port 1 --reload",
    "python loop.py",
    "python thread.py",
}
UNSERVED = {
    "gunicorn wsgi:app": "gunicorn would serve it by WSGI",
    "uvicorn wsgi:app --interface wsgi": "uvicorn would serve it by WSGI",
    "hypercorn wsgi:wsgi:app": "hypercorn would serve it by WSGI",
    "granian --interface rsgi shop:app": "granian would serve it by RSGI",
    "uvicorn shop:nothing": 'last words: ERROR: Error loading ASGI app. Attribute "nothing" not f',
    "python -c 'input()'": (
        "python ended with status 1 before it served anything; its last words: EOFError: EOF when"
        " reading a line"
    ),
}


OLDER = """\
import sys
sys.version_info = (3, 9, 18)
uvicorn.run(create(), port=1)
"""


# what the application does in a case, and then a process that the command has started
BEGUN = "print('x'); open('begun', 'w').close(); __import__('time').sleep(1)"
AFTERWARDS = "until test -e begun; do sleep 0.1; done; echo afterwards"


ENDS = """\
import multiprocessing, os, threading, time
os.environ["HOST"] = str(os.getpid())
def ends():
    while not multiprocessing.active_children():  # until it is the host, and plays a case
        time.sleep(0.1)
    os._exit(0)
threading.Thread(target=ends).start()
"""
UNTIL_IT_ENDED = """\
    import os, time
    while os.getppid() == int(os.environ["HOST"]):  # it may have ended before this line
        time.sleep(0.1)
"""


@pytest.fixture(autouse=True)
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Yield a folder for temporary files, by which the processes of this test are known."""
    with tempfile.TemporaryDirectory(prefix="held-") as name:
        monkeypatch.setenv("TMPDIR", name)
        monkeypatch.setattr(tempfile, "tempdir", name)
        yield name


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with the programs; commands are those of this environment."""
    for name, text in PROGRAMS.items():
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(BIN), prepend=os.pathsep)
    return tmp_path


def left() -> list[int]:
    """Return the processes that commands have left."""
    wanted = f"\0{MARK}={tempfile.gettempdir()}/".encode()
    pids = [path.name for path in Path("/proc").iterdir() if path.name.isdigit()]
    return [int(pid) for pid in pids if wanted in b"\0" + environment(pid)]


def checked(command: str, **options: object) -> Report:
    limit = {"timeout": 100.0}  # an import of FastAPI alone may take ten seconds
    report: Report = check_app(shlex.split(command), **limit | options)  # type: ignore[arg-type]
    return report


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize(
    ("command", "name"),
    [
        pytest.param(command, name, marks=[] if command in QUICK else [pytest.mark.slow])
        for command, name in SERVED.items()
    ],
)
def test_what_a_command_would_serve_is_checked(command: str, name: str) -> None:
    report = checked(command, quick=True)
    assert report.subject == f"{shlex.join(shlex.split(command))}: {name}"
    assert (report.starts, report.stops, report.status) == (True, True, 0), report
    assert left() == []


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize(("command", "sentence"), UNSERVED.items())
def test_a_command_that_comes_to_no_application_is_told(command: str, sentence: str) -> None:
    report = checked(command, quick=True)
    assert report.status == 2
    assert sentence in " ".join(str(report).split())
    assert left() == []


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize(
    ("command", "kind"),
    [("python -c 'import time; time.sleep(99)'", "serving"), ("sleep 99", "no-python")],
)
def test_a_command_that_does_not_come_to_serving_is_ended(command: str, kind: str) -> None:
    report = checked(command, timeout=2 if kind == "no-python" else 4)  # Python has to begin
    assert report.unchecked
    assert report.unchecked.kind == {"serving": "command-not-serving"}.get(
        kind, "command-no-python"
    )
    assert left() == []


@pytest.mark.parametrize("program", ["/nothing", "/"])
def test_a_command_that_cannot_be_started_is_told(program: str) -> None:
    with pytest.raises(Unchecked, match=f"{program}"):
        check_app([program])


def test_a_folder_for_temporary_files_may_have_a_long_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / ("a" * 100)))
    assert "ended with status 0 before" in one_line(checked("true"))


@pytest.mark.parametrize(
    ("app", "target", "name", "why"),
    [
        (3, "shop:app", "shop:app", "not-callable"),
        (lambda scope, receive, send: None, "", "<lambda>", None),  # noqa: ARG005
    ],
)
def test_the_process_says_what_it_would_serve(
    app: object, target: str, name: str, why: str | None
) -> None:
    ours, theirs = multiprocessing.Pipe()
    pid = os.fork()
    if not pid:
        ours.close()
        held.main(theirs.fileno(), app, target)
        os._exit(0)
    theirs.close()
    with ours:
        ours.send(Job("application", None, "asgi 2.0", 5.0))
        found = ours.recv()
    assert os.waitpid(pid, 0)[1] == 0
    assert (found.name, found.why and found.why.kind) == (name, why)


@pytest.mark.usefixtures("shop")
def test_a_server_that_runs_no_lifespan_is_told() -> None:
    report = checked("uvicorn shop:app --lifespan off", quick=True)
    told = "never ran with this command uvicorn runs no lifespan: neither startup nor clean-up"
    assert told in " ".join(str(report).split())


def test_what_a_command_prints_is_shown_until_it_would_serve(
    shop: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (shop / "shop.py").write_text(PROGRAMS["shop"].replace("    yield", f"    {BEGUN}; yield"))
    assert checked(f"sh -c '({AFTERWARDS}) & python main.py'", quick=True).ok
    assert capfd.readouterr().err == "building the shop\n"


def test_a_python_that_is_too_old_gets_a_sentence(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (shop / "main.py").write_text(f"{PROGRAMS['main'].partition('if ')[0]}{OLDER}")
    monkeypatch.delenv("COVERAGE_PROCESS_START", raising=False)
    report = checked("python main.py")
    assert report.status == 2
    assert "the command runs on Python 3.9.18" in " ".join(str(report).split())


def test_lifespec_that_fails_in_the_process_says_so(shop: Path) -> None:
    broken = "import sys\nsys.modules['lifespec.conformance'] = None\n"
    (shop / "main.py").write_text(broken + PROGRAMS["main"])
    report = checked("python main.py")
    assert report.status == 2
    assert "lifespec itself failed in the process of the command" in " ".join(str(report).split())


def test_a_process_that_ends_meanwhile_is_told(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    (shop / "main.py").write_text(ENDS + PROGRAMS["main"])
    waits = PROGRAMS["shop"].replace("    yield", UNTIL_IT_ENDED + "    yield")
    (shop / "shop.py").write_text(waits)
    report = checked("python main.py", quick=True)
    assert report.status == 2
    assert "the process that has the application ended" in " ".join(str(report).split())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_of_a_check_that_is_interrupted(shop: Path, number: int) -> None:
    (shop / "shop.py").write_text(
        PROGRAMS["shop"].replace(
            "    yield", "    import time; print(1); time.sleep(99)\n    yield"
        )
    )
    command = [*ENTRY, "check", "app", "--", "sh", "-c", "uvicorn shop:app; true"]
    process = subprocess.Popen(command, cwd=shop, stderr=subprocess.PIPE, text=True)
    assert process.stderr
    assert "cases: the application is started" in process.stderr.readline()
    process.send_signal(number)
    process.wait(60)
    process.stderr.close()
    assert until(lambda: not left(), 60)
