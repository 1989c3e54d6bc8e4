"""Targets are checked, each case in a process of its own; whatever a target does to its process."""

import itertools
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from lifespec.conformance.app import check as app_check
from lifespec.conformance.app import isolation
from lifespec.conformance.app.check import AppCheck, check
from lifespec.conformance.cases import Unchecked
from lifespec.conformance.oldreport.model import Course, Report
from lifespec.testing.trace import Entry

__all__: list[str] = []

ROOT = Path(app_check.__file__).parents[3]
NUMBERS = itertools.count()  # a module is imported once
LIVE = """
async def live(scope, receive, send):
    if scope["type"] not in ("lifespan", "http", "message"):
        raise ValueError(scope["type"])
    if scope["type"] == "lifespan":
        for name in ("startup", "shutdown"):
            if (await receive())["type"] != f"lifespan.{name}":
                raise ValueError
            await send({"type": f"lifespan.{name}.complete"})

"""


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Write a module of applications into the current folder, and name it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    monkeypatch.setenv("PYTHONPATH", str(ROOT))

    def written(text: str) -> str:
        name = f"shop{next(NUMBERS)}"
        (tmp_path / f"{name}.py").write_text(LIVE + text)
        return name

    return written


def verdicts(found: Report) -> dict[str, str]:
    """Return the worst verdict of each rule."""
    return {rule_id: findings[0].verdict for rule_id, findings in found.by_rule().items()}


def test_what_one_case_does_does_not_harm_the_next(write: Callable[..., str]) -> None:
    """An application that can be started once in a process is started in each case."""
    name = write(
        """
calls = []

async def once(scope, receive, send):
    if scope["type"] == "lifespan":
        calls.append(1)
        if len(calls) > 1:
            raise RuntimeError("run() can be called once")
    await live(scope, receive, send)
"""
    )
    found = check(AppCheck("application", f"{name}:once"))
    wrong = [each for each in found.findings if each.verdict not in ("pass", "skip")]
    assert [(each.case, each.verdict) for each in wrong] == [("two-loops", "info")]
    assert wrong[0].actual.endswith(
        "on the scope it raised RuntimeError: run() can be called once."
    )


def test_real_time_where_a_case_needs_it(write: Callable[..., str]) -> None:
    """The first case may leave no doubt, and another one does."""
    name = write(
        """
import asyncio, datetime

async def declines_late(scope, receive, send):
    if scope["type"] not in ("lifespan", "http"):
        end = datetime.datetime.now() + datetime.timedelta(seconds=0.2)
        while datetime.datetime.now() < end:
            await asyncio.sleep(1)
    await live(scope, receive, send)
"""
    )
    said: list[str] = []
    wanted = verdicts(check(AppCheck("application", f"{name}:live"), say=said.append))
    assert not said
    job = AppCheck("application", f"{name}:declines_late", limit=5.0)
    assert verdicts(check(job, say=said.append)) == wanted
    assert said == ["again in real time: the application called datetime.now while it waited"]


def test_real_time_once_where_it_says_the_same(write: Callable[..., str]) -> None:
    """The other cases leave the same doubt, and it has been settled."""
    name = write(
        """
import asyncio, os

async def lingers(scope, receive, send):
    async def slowly(event):
        while event["type"] == "lifespan.shutdown.complete" and not os.path.exists("ready"):
            if type(asyncio.get_running_loop()).__name__ != "_Clock":
                open(f"real{os.getpid()}", "a").close()
            await asyncio.sleep(1)
        await send(event)

    await live(scope, receive, slowly)
"""
    )
    said: list[str] = []
    found = check(AppCheck("application", f"{name}:lingers", limit=2.0), say=said.append)
    assert found.course is not None
    assert (found.course.startup, found.course.shutdown) == ("complete", "hung")
    assert len([*Path().glob("real*")]) == 1
    assert said == ["again in real time: the application called posix.stat while it waited"]


def test_who_blocks_is_told_so_after_the_timeout(write: Callable[..., str]) -> None:
    """Real time passes on the virtual clock, too: nothing is tried twice, and all go on at once."""
    name = write(
        """
import time

async def blocks(scope, receive, send):
    async def slowly(event):
        if event["type"] == "lifespan.shutdown.complete":
            time.sleep(1000)
        await send(event)

    await live(scope, receive, slowly)
"""
    )
    said: list[str] = []
    only = "extra-keys", "start-and-stop"
    found = check(AppCheck("application", f"{name}:blocks", limit=0.5, only=only), say=said.append)
    assert found.course is not None
    assert (found.course.shutdown, said) == ("hung", [])
    assert found.course.detail.startswith("it blocked the event loop in `slowly`")


def test_who_ends_its_process(write: Callable[..., str]) -> None:
    """It broke the rule on how to keep a server from starting; the rest could not be seen."""
    name = write("import os\nasync def leaves(scope, receive, send): os._exit(3)")
    found = check(AppCheck("application", f"{name}:leaves"))
    said, _ = [each for each in found.findings if each.rule == "failed-to-prevent-start"]
    sentence = "It ended the process at startup: status 3."
    assert (said.verdict, said.actual) == ("warn", sentence)
    assert {v for rule_id, v in verdicts(found).items() if rule_id != said.rule} == {"skip"}


def running(pid: int) -> bool:
    """Say whether a process is there, and no zombie."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def test_what_needs_the_processor_does_not_wait_beside_others(
    write: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In real time all cases go on at once, unless the first has shown that they need it."""
    name = write(
        """
import asyncio, pathlib

async def slow(scope, receive, send):
    await asyncio.to_thread(int)
    if scope["type"] == "lifespan":
        pathlib.Path(f"run{id(scope)}{__import__('os').getpid()}").touch()
        with open("most", "a") as file:
            file.write(f"{len([*pathlib.Path().glob('run*')])} ")
        await asyncio.sleep(0.5)
        pathlib.Path(f"run{id(scope)}{__import__('os').getpid()}").unlink()
    await live(scope, receive, send)
"""
    )
    most = []
    for little in (60.0, -1.0):  # the clock of a process may stand still that long
        monkeypatch.setattr(app_check, "LITTLE", little)
        assert check(AppCheck("application", f"{name}:slow")).status(strict=True) == 0
        most.append(max(map(int, Path("most").read_text().split())))
        Path("most").unlink()
    assert most[1] <= app_check.AT_ONCE < most[0]


def test_a_process_that_does_not_end(
    write: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A target that cannot be interrupted is killed."""
    monkeypatch.setattr(app_check, "SPARE", 1.0)
    name = write(
        "import signal, time\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])\n"
        "while True: time.sleep(1)"
    )
    with pytest.raises(Unchecked, match=r"the process had not ended after 1\.6 s"):
        check(AppCheck("application", f"{name}:app", limit=0.1))


def test_who_asked_has_gone(write: Callable[..., str]) -> None:
    """Where a check is interrupted, no process is left."""
    name = write(
        """
import pathlib, os, time

async def slow(scope, receive, send):
    pathlib.Path(f"pid{os.getpid()}").touch()
    await live(scope, receive, send)
    if len(list(pathlib.Path().glob("pid*"))) > 1:
        time.sleep(600)
"""
    )

    def interrupt() -> None:
        limit = time.monotonic() + 20
        while len(list(Path().glob("pid*"))) < 3 and time.monotonic() < limit:
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    watcher = threading.Thread(target=interrupt)
    watcher.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        check(AppCheck("application", f"{name}:slow", limit=200.0))
    watcher.join()
    assert time.monotonic() - began < 60
    pids = [int(path.name[3:]) for path in Path().glob("pid*")]
    assert len(pids) >= 3
    assert not any(map(running, pids))


READY = '{"did": "ready"}'
PIPED = """
import json, sys

def say(**what):
    print(json.dumps(what), flush=True)

say(did="ready")
for line in sys.stdin:
    heard = json.loads(line)
    if heard["do"] == "call":
        say(did="raised", id=heard["id"], error="http only")
"""


def test_the_work_on_a_program(write: Callable[..., str], tmp_path: Path) -> None:
    """The same in this process; a line that is none of the protocol is a sentence."""
    program = tmp_path / "piped.py"
    program.write_text(PIPED)
    pipe = [sys.executable, str(program)]
    *_, last = work(tmp_path, "start-and-stop", target="it", pipe=pipe, real=True)
    assert (last["course"]["startup"], last["course"]["shutdown"]) == ("raised", "")
    program.write_text(
        f"print({READY!r}, flush=True); input(); print('hello', flush=True); input()"
    )
    first, *_, last = work(tmp_path, "start-and-stop", target="it", pipe=pipe, real=True)
    assert first["found"]
    assert "wrote 'hello', which is no line of the protocol: " in last["unchecked"]


def work(tmp_path: Path, case: str, **job: Any) -> list[dict[str, Any]]:
    """Do in this process what a process of its own does; return the steps that it wrote."""
    wanted = {
        "factory": False,
        "pipe": [],
        "limit": 10,
        "real": False,
        "usual": None,
        "spec": "asgi 2.0",
    }
    told = tmp_path / "told"
    app_check.main(str(told), json.dumps(wanted | {"case": case, **job}))
    return [json.loads(line) for line in told.read_text("utf-8").splitlines()]


def test_the_work_of_a_process(write: Callable[..., str], tmp_path: Path) -> None:
    """It writes that it found the target, each step of the sequence, and what was found."""
    target = f"{write('')}:live"
    first, *steps, last = work(tmp_path, "start-and-stop", target=target)
    assert first["found"]
    assert [step["entry"]["kind"] for step in steps][:3] == ["called", "received", "sent"]
    assert (last["course"]["shutdown"], last["doubt"]) == ("complete", "")
    assert last["findings"][0]["verdict"] == "pass"
    usual = asdict(Course("failed"))
    *_, last = work(tmp_path, "extra-keys", target=target, usual=usual)
    assert [each["verdict"] for each in last["findings"]] == ["warn"]


def test_the_work_of_a_host(monkeypatch: pytest.MonkeyPatch, write: Callable[..., str]) -> None:
    """It finds the target once, and each forked process works on that."""
    given: list[Any] = []
    monkeypatch.setattr(isolation, "host", lambda *what: given.extend(what))
    target = f"{write('')}:live"
    app_check.serve("7", json.dumps(asdict(AppCheck("application", target))))
    channel, find, work = given
    assert (channel, find().__name__, work) == (7, "live", app_check._work)


def test_the_work_on_middleware(write: Callable[..., str], tmp_path: Path) -> None:
    """The same for middleware."""
    target = f"{write('def same(app): return app')}:same"
    *_, last = work(tmp_path, "through-returning", target=target)
    assert [each["verdict"] for each in last["findings"]] == ["pass"]


def test_work_that_cannot_be_done(write: Callable[..., str], tmp_path: Path) -> None:
    """A sentence is the last step."""
    name = write("def number(*_): return 42")
    (step,) = work(tmp_path, "start-and-stop", target=f"{name}:app")
    assert step["unchecked"].startswith(f"{name}:app: there is no 'app' in")
    *_, step = work(tmp_path, "start-and-stop", target=f"{name}:number")
    assert step["unchecked"].startswith(f"{name}:number: this is not an application")


def test_an_application_that_ends_its_process_after_it_said_that_startup_failed() -> None:
    entries = [
        Entry(0, "received", "lifespan.startup"),
        Entry(0, "sent", "lifespan.startup.failed", "  no\n  disk full"),
    ]
    assert app_check._ended(entries, "status 3", "") == Course(
        "failed", received=True, detail="disk full"
    )


def test_a_process_that_the_target_forks_is_none_of_ours(
    write: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends after the import, and tells of no step."""
    ended: list[int] = []
    pids = iter(range(1000))
    monkeypatch.setattr(
        app_check,
        "os",
        SimpleNamespace(getpid=lambda: next(pids), _exit=ended.append, times=os.times),
    )
    assert work(tmp_path, "start-and-stop", target=f"{write('')}:live") == []
    assert ended == [0]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "import threading as t; t.Thread(target=t.Event().wait, daemon=True).start()",
            "its import started a thread",
        ),
        ("file = open(__file__)", "its import left a file or a socket open"),
        (
            "import subprocess; sleeper = subprocess.Popen(['sleep', '60'])",
            "its import started a process",
        ),
        ("import os; os.closerange(3, 100)", "its import did not finish"),
    ],
)
def test_who_cannot_be_forked(text: str, why: str, write: Callable[..., str]) -> None:
    """What a fork would not have, or share, is imported anew for each case."""
    target = f"{write(text)}:live"
    job = AppCheck("application", target, only=("extra-keys",))
    found = check(job)
    assert (found.status(strict=True), found.isolation) == (0, "spawn")
    with pytest.raises(Unchecked) as told:
        check(replace(job, isolation="fork"))
    assert str(told.value) == f"its process cannot be forked: {why}; give --isolation spawn"


def test_a_reason_for_real_time_is_told_once() -> None:
    said: list[str] = []
    bench = app_check.CaseRunner(
        AppCheck("application", "shop:app"), cast("Any", None), said.append
    )
    bench._tell("it waits")
    bench._tell("it waits")
    assert said == ["again in real time: it waits"]
