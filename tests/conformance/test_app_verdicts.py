"""What the finished command says of applications as they are written: first lines, JSON, status."""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lifespec import cli
from lifespec.conformance.app import check as app_check
from lifespec.conformance.app import fake_server

__all__: list[str] = []

ROOT = Path(cli.__file__).parents[1]
SHOP = """\
import asyncio, contextlib, os, pathlib, shutil, signal, sys, tempfile, time

def starlette(life):
    async def app(scope, receive, send):
        from starlette.applications import Starlette

        made = Starlette(lifespan=contextlib.asynccontextmanager(life))
        await made(scope, receive, send)
    return app

@starlette
async def hangs_up(app):
    await wait_for_kafka()
    yield

@starlette
async def hangs_down(app):
    yield
    await asyncio.sleep(3600)  # down

async def wait_for_kafka():
    await asyncio.create_task(asyncio.Event().wait())  # kafka

def raw(call):
    async def app(scope, receive, send):
        if scope["type"] != "lifespan":
            raise ValueError(scope["type"])
        await call(receive, send)
    return app

STARTED = {"type": "lifespan.startup.complete"}

@starlette
async def needs_a_setting(app):
    os.environ["DATABASE_URL_OF_SHOP"]  # setting
    yield

@starlette
async def cannot_flush(app):
    yield
    raise RuntimeError("cannot flush")  # flush

@starlette
async def loses_its_connection(app):
    async with asyncio.TaskGroup() as group:
        group.create_task(poll())
        yield

async def poll():
    raise ConnectionError("lost")  # poll

def acts(startup=lambda: None, shutdown=lambda: None):
    @raw
    async def app(receive, send):
        await receive()
        startup()
        await send(STARTED)
        await receive()
        shutdown()
        await send({"type": "lifespan.shutdown.complete"})
    return app

def block():
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
    time.sleep(100)

def fork():
    sys.setrecursionlimit(2000)
    os.fork()

def delete():
    for path in pathlib.Path(tempfile.gettempdir()).glob("lifespec-*"):
        shutil.rmtree(path)

exits_up, exits_down = acts(lambda: os._exit(3)), acts(shutdown=lambda: os._exit(0))
dies_down = acts(shutdown=lambda: os.kill(os.getpid(), signal.SIGKILL))
raises_exit = acts(shutdown=lambda: sys.exit(4))  # exit
blocks_up, blocks_down = acts(block), acts(shutdown=block)
forks, deletes = acts(fork), acts(delete)
kills_its_parent = acts(lambda: os.kill(os.getppid(), signal.SIGKILL))

@raw
async def answers_twice(receive, send):
    await receive()
    await send(STARTED)
    await send(STARTED)  # twice

@raw
async def answers_too_early(receive, send):
    await receive()
    await send(STARTED)
    await send({"type": "lifespan.shutdown.complete"})  # early

@raw
async def says_ready(receive, send):
    await receive()
    await send({"type": "lifespan.startup.completed"})  # ready

@raw
async def returns(receive, send):
    await receive()
    await send(STARTED)

@raw
async def minds(receive, send):
    await receive()
    await send(STARTED)
    await receive()
    try:
        await asyncio.sleep(3600)  # cancelled
    except BaseException:
        await send({"type": "lifespan.shutdown.failed"})

@raw
async def blocks(receive, send):
    await receive()
    await send(STARTED)
    await receive()
    time.sleep(0.7)
    await send({"type": "lifespan.shutdown.complete"})

@raw
async def reads_on(receive, send):
    while True:
        await receive()  # never
"""


def line(text: str) -> int:
    """Return the number of the line that has this text."""
    return SHOP[: SHOP.index(text)].count("\n") + 1


@pytest.fixture
def checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, dict[str, str], Any]]:
    """Check an application of the shop; return the status, the first lines, and the JSON."""
    (tmp_path / "shop.py").write_text(SHOP)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))

    def run(name: str, *options: str) -> tuple[int, dict[str, str], Any]:
        words = "check", "app", f"shop:{name}", "--language", "en", "--json", "report.json"
        status = cli.main((*words, *options))
        out, err = capfd.readouterr()
        if not Path("report.json").exists():
            return status, {}, err
        head = out.partition("\n\n")[0]
        rows: dict[str, str] = {}
        for each in head.splitlines()[1:]:
            key = each[:9].strip() or [*rows][-1]
            rows[key] = f"{rows.get(key, '')} {each[11:]}".strip()
        return status, rows, json.loads(Path("report.json").read_text("utf-8"))

    return run


LATE = "no, not within 30 s; "
END, EXIT = "ended the process at ", "Find out what ends the process"
REFUSED = "no, the suite refused what it sent: "
ASKS = f"{LATE}{fake_server.IDLE} in `reads_on`"
FLUSH = "no, its clean-up failed: RuntimeError: cannot flush, in `cannot_flush`"
MENDS = "Correct the error in its clean-up."


@pytest.mark.parametrize(
    ("name", "status", "row", "said", "mark", "change"),
    [
        ("hangs_up", 2, "starts", f"{LATE}it was in `wait_for_kafka`", "kafka", "Find out what"),
        ("reads_on", 1, "starts", ASKS, "never", "startup-answered: "),
        ("needs_a_setting", 2, "starts", "KeyError: 'DATABASE_URL_OF_SHOP', in `", "setting", ""),
        ("says_ready", 1, "starts", f"{REFUSED}there is no event", "ready", "events-known: "),
        ("exits_up", 2, "starts", f"no, it {END}startup: status 3", "", EXIT),
        ("hangs_down", 1, "stops", f"{LATE}it was in `hangs_down`", "down", "Its clean-up does"),
        ("minds", 1, "stops", f"{LATE}it was in `minds`", "cancelled", "Its clean-up does not"),
        ("cannot_flush", 1, "stops", FLUSH, "flush", MENDS),
        ("loses_its_connection", 1, "stops", "ConnectionError: lost, in `poll`", "poll", MENDS),
        ("exits_down", 1, "stops", f"no, it {END}shutdown: status 0", "", EXIT),
        ("dies_down", 1, "stops", f"no, it {END}shutdown: signal 9", "", EXIT),
        ("raises_exit", 1, "stops", f"{END}shutdown: SystemExit: 4, in `<la", "exit", EXIT),
        (
            "answers_twice",
            1,
            "stops",
            f"{REFUSED}startup was already",
            "twice",
            "startup-answered-",
        ),
        (
            "answers_too_early",
            1,
            "stops",
            f"{REFUSED}shutdown was not",
            "early",
            "answers-in-order",
        ),
        ("returns", 0, "stops", "without clean-up: it returned before it received", "", "To run "),
    ],
)
def test_what_is_told_first(
    checked: Callable[..., Any], name: str, status: int, row: str, said: str, mark: str, change: str
) -> None:
    """How it starts or stops, where in its code, and what to change.

    What a framework answers to the cancellation by the suite is no answer, and no failure.
    """
    found, rows, report = checked(name, "--only", "start-and-stop")
    assert (found, report["status"]) == (status, status)
    assert said in rows[row]
    assert not mark or rows[row].endswith(f"shop.py:{line(f'# {mark}')}")
    assert rows["to change"].startswith(change)
    assert ("stops" in rows) == (row == "stops")
    assert "fake_server" not in rows[row]
    assert "Cancelled" not in json.dumps(report)


@pytest.mark.parametrize(("name", "status"), [("blocks_up", 2), ("blocks_down", 1)])
def test_a_process_that_the_suite_had_to_kill_is_told_as_such(
    checked: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, name: str, status: int
) -> None:
    monkeypatch.setattr(app_check, "SPARE", -3.0)  # of six timeouts
    found, rows, _ = checked(name, "--only", "start-and-stop", "--timeout", "1")
    told = rows["starts"] if status == 2 else rows["stops"]
    assert told.startswith("no, its process did not end by itself and was killed: the process had")
    assert found == status
    assert rows["to change"].startswith("Find the call that blocks the process")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("deletes", "shop:deletes deletes a temporary folder of the suite"),
        ("kills_its_parent", "shop:kills_its_parent ends the process of the suite"),
    ],
)
def test_an_application_that_spoils_the_suite_gets_a_true_sentence(
    checked: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    name: str,
    sentence: str,
) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    found, _, err = checked(name, "--only", "start-and-stop")
    assert found == 2
    assert sentence in err


def test_a_process_that_an_application_forks_says_nothing(checked: Callable[..., Any]) -> None:
    found, rows, _ = checked("forks", "--ignore", "receive-refuses-unknown")
    assert (found, rows["starts"], rows["stops"]) == (0, "yes", "yes")


@pytest.mark.parametrize("isolation", ["auto", "spawn"])
def test_an_import_that_forks_goes_on_in_one_process(
    checked: Callable[..., Any], tmp_path: Path, isolation: str
) -> None:
    (tmp_path / "shop.py").write_text(f"import os\nos.fork()\n{SHOP}")
    options = "--only", "start-and-stop", "--isolation", isolation
    found, rows, _ = checked("acts", "--factory", *options)
    assert (found, rows["starts"], rows["stops"]) == (0, "yes", "yes")
