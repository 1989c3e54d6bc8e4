"""Work in processes of its own: forked where that can be, ended whatever it does."""

import json
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lifespec.conformance.app import isolation
from lifespec.conformance.app.isolation import Ended, Pool, host, obstacle, open_files
from lifespec.conformance.cases import Unchecked
from lifespec.conformance.processes import runs

__all__: list[str] = []

LIMIT = 30.0  # seconds; nothing here takes one
MODULE = """
import json, os, signal, time
from lifespec.conformance.app import isolation
from lifespec.conformance.cases import Unchecked

def find():
    {find}
    return 28

def serve(channel, shared):
    isolation.host(int(channel), find, work)

def main(told, given):
    work(find(), told, given)

def work(subject, told, given):
    given = json.loads(given)
    with open(told, "w", buffering=1) as file:
        file.write(f"{{subject}} {{given['shared']}}\\n")
        exec(given["do"])
        file.write("cut short")
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Write a module of work, and name it."""
    paths = [str(tmp_path), str(Path(isolation.__file__).parents[3])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    monkeypatch.chdir(tmp_path)

    def written(find: str = "pass") -> str:
        (tmp_path / "working.py").write_text(MODULE.format(find=find))
        return "working"

    return written


@pytest.fixture(params=["fork", "spawn"])
def pool(module: Callable[..., str], request: pytest.FixtureRequest) -> Iterator[Pool]:
    """Open a pool that makes its processes in either way."""
    with Pool(module(), {"shared": "all"}, request.param, LIMIT) as opened:
        assert opened.way == request.param
        yield opened
    assert not opened.folder.exists()


@pytest.mark.parametrize(
    ("do", "how"),
    [
        ("pass", "with status 0"),
        ("os._exit(7)", "with status 7"),
        ("1/0", "with status 1"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "by signal 9"),
    ],
)
def test_how_work_ends(pool: Pool, do: str, how: str) -> None:
    """What was written in whole lines is read, and how the process ended is told."""
    assert pool.run({"do": do}, LIMIT) == Ended(["28 all"], how)


def test_work_that_does_not_end(pool: Pool) -> None:
    """It is ended, with what it started."""
    assert pool.run({"do": "os.fork(); time.sleep(60)"}, 3) == Ended(["28 all"], "")
    assert pool.run({"do": ""}, LIMIT).how == "with status 0"


def written(pool: Pool) -> list[Path]:
    """Return what the work of a pool has written something into."""
    return [told for told in pool.folder.iterdir() if told.stat().st_size]


def test_work_that_is_broken_off(pool: Pool) -> None:
    """All of it ends, and nothing begins any more."""
    ends: list[Ended] = []
    began = time.monotonic()
    threads = [
        threading.Thread(target=lambda: ends.append(pool.run({"do": "time.sleep(60)"}, LIMIT)))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    while len(written(pool)) < len(threads) and time.monotonic() < began + LIMIT:
        time.sleep(0.01)
    pool.break_off()
    for thread in threads:
        thread.join()
    assert time.monotonic() - began < LIMIT / 2
    assert [each.lines for each in ends] == [["28 all"]] * 3
    wanted = isolation.GONE if pool.way == "fork" else "before it began"
    assert pool.run({"do": ""}, LIMIT) == Ended([], wanted)


def test_what_cannot_be_found(module: Callable[..., str]) -> None:
    """The sentence is told, and nothing left behind."""
    name = module("raise Unchecked('it is not there')")
    pool = Pool(name, {}, "auto", LIMIT)
    with pytest.raises(Unchecked, match="it is not there"), pool:
        pass
    assert not pool.folder.exists()


@pytest.mark.parametrize("find", ["os._exit(0)", "os.close(int(__import__('sys').argv[1]))"])
def test_an_import_that_ends_the_process(module: Callable[..., str], find: str) -> None:
    """Whoever cannot be forked is started anew, unless that was not wanted."""
    name = module(find)
    with Pool(name, {}, "auto", LIMIT) as pool:
        assert pool.way == "spawn"
    with pytest.raises(Unchecked) as told, Pool(name, {}, "fork", LIMIT):
        pass
    wanted = "its process cannot be forked: its import did not finish"
    assert str(told.value) == f"{wanted}; give --isolation spawn"


def test_an_import_that_hangs(module: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    """It is ended after its limit."""
    monkeypatch.setattr(isolation, "GRACE", 0.1)
    with Pool(module("time.sleep(60)"), {}, "auto", 0.5) as pool:
        assert pool.way == "spawn"


def test_a_system_on_which_nobody_forks_unasked(
    module: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Libraries of macOS do not take it well."""
    monkeypatch.setattr(sys, "platform", "darwin")
    with Pool(module(), {}, "auto", LIMIT) as pool:
        assert pool.way == "spawn"


def test_work_that_ends_the_host(module: Callable[..., str]) -> None:
    """Where the host is gone, its work is, too."""
    with Pool(module(), {"shared": 1}, "fork", LIMIT) as pool:
        ended = pool.run({"do": "os.kill(os.getppid(), signal.SIGKILL); time.sleep(60)"}, LIMIT)
        assert ended == Ended(["28 1"], isolation.GONE)
        assert pool.run({"do": ""}, LIMIT) == Ended([], isolation.GONE)


# ---- the host, in this process -----------------------------------------------------------------


def test_obstacles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads, files and processes are what a fork would lack or share."""
    monkeypatch.setattr(isolation, "TASKS", tmp_path)  # whoever runs the tests may have threads
    (tmp_path / "1").touch()
    before = open_files()
    with Path(os.devnull).open() as file:
        assert open_files() == before | {file.fileno()}
        assert obstacle(before) == "its import left a file or a socket open"
    assert obstacle(before) == ""
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    assert obstacle(before) == "its import started a process"
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    assert obstacle(before) == "its import started a thread"
    over.set()
    thread.join()
    assert obstacle(before) == ""
    (tmp_path / "2").touch()  # a thread that Python does not know of
    assert obstacle(before) == "its import started a thread"


def talked(
    lines: list[dict[str, Any]], find: Callable[[], Any], work: Callable[[Any, str, str], None]
) -> list[dict[str, Any]]:
    """Let a host run here, say these lines, and return what it says."""
    ours, theirs = socket.socketpair()
    heard: list[dict[str, Any]] = []

    def talk() -> None:
        with ours, ours.makefile("rb") as said:
            heard.append(json.loads(said.readline()))
            for line in lines:
                ours.sendall(json.dumps(line).encode() + b"\n")
                if "kill" in line or "wait" in line:
                    heard.append(json.loads(said.readline()))
            ours.shutdown(socket.SHUT_WR)
            heard.extend(map(json.loads, said))

    thread = threading.Thread(target=talk)
    thread.start()
    host(theirs.detach(), find, work)
    thread.join()
    return heard


def test_a_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """It forks for each line, ends what it is told to, and all of it at the end."""
    monkeypatch.setattr(isolation, "obstacle", lambda _: "")
    pids = os.pipe()

    def work(subject: float, told: str, given: str) -> None:
        os.write(pids[1], f"{os.getpid()} ".encode())
        time.sleep(subject)

    lines = [{"told": "a", "given": ""}, {"told": "b", "given": ""}, {"kill": "b"}]
    assert talked(lines, lambda: 60.0, work) == [{"ready": ""}, {"told": "b", "how": "by signal 9"}]
    left = [int(pid) for pid in os.read(pids[0], 100).split()]
    assert not any(map(runs, left))
    for number in pids:
        os.close(number)


def test_a_host_with_nothing_to_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says why, and ends."""

    def find() -> None:
        raise Unchecked("it is not there")

    assert talked([], find, print) == [{"unchecked": "it is not there"}]
    assert talked([], lambda: None, print) == [{"cannot": "its import started a thread"}]


@pytest.mark.parametrize(("fails", "status"), [(False, 0), (True, 1)])
def test_the_process_that_is_forked(
    fails: bool, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has a session of its own, and ends when the work is done."""
    done: list[Any] = []

    def work(*what: Any) -> None:
        done.append(what)
        if fails:
            raise ValueError

    def leave(status: int) -> None:
        raise InterruptedError(status)

    monkeypatch.setattr(os, "fork", lambda: 0)
    monkeypatch.setattr(os, "setsid", lambda: done.append("session"))
    monkeypatch.setattr(os, "_exit", leave)
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises(InterruptedError) as left:
        isolation._Forking(theirs, work).fork("told", "given")
    assert left.value.args == (status,)
    assert done == ["session", (None, "told", "given")]
    assert theirs.fileno() == -1
