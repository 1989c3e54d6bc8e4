"""Processes that a subject left behind: found, told from those of others, and ended."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from lifespec.conformance import processes
from lifespec.conformance.processes import (
    Folder,
    adopting,
    began_within,
    content,
    kill,
    marked,
    remove_abandoned,
    runs,
    until,
)

__all__: list[str] = []

SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]


def test_waiting_has_a_limit() -> None:
    """What is not done in time is not done; what is done at the last moment is."""
    assert not until(lambda: False, 0.02)
    looks = iter([False, True])
    assert until(lambda: next(looks), 0)


def test_what_is_marked_is_found_and_ended() -> None:
    """A process that has left its session, too; nothing is found where nothing is."""
    mark = f"/nowhere/{os.getpid()}"
    assert marked(mark) == set()
    assert not kill(marked(mark))
    began = time.monotonic()
    environment = os.environ | {processes.MARK: mark}
    with subprocess.Popen(SLEEP, env=environment, start_new_session=True) as process:
        try:
            assert until(lambda: marked(mark) == {process.pid}, 20)
            assert runs(process.pid)
            assert began_within(process.pid, began, time.monotonic())
            assert not began_within(process.pid, began - 60, began - 30)
            assert not began_within(process.pid, began + 30, began + 60)
        finally:
            assert kill([process.pid])
        assert until(lambda: not began_within(process.pid, began, time.monotonic()), 20)
    assert not runs(process.pid)
    assert not began_within(process.pid, began, time.monotonic())
    kill([process.pid])  # nobody is there


def test_without_a_proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody knows a mark there, nor when a process began."""
    monkeypatch.setattr(processes, "PROC", tmp_path / "proc")
    assert marked("") == set()
    assert began_within(os.getpid(), 0.0, 0.0)
    assert content(tmp_path / "proc") == b""


def test_the_process_of_another_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """It runs, whoever may not send it a signal."""

    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "kill", refuse)
    assert runs(1)
    assert kill([1])


ESCAPES = f"""
import subprocess, sys
child = subprocess.Popen({SLEEP!r}, start_new_session=True, env={{}}, stdin=subprocess.DEVNULL)
print(child.pid, flush=True)
"""


def escaped() -> int:
    """Start a process that has no mark, no session and no parent of ours; return its number."""
    words = [sys.executable, "-c", ESCAPES]
    read, write = os.pipe()
    with os.fdopen(read) as output:
        subprocess.run(words, check=True, stdout=write, timeout=20)
        os.close(write)
        return int(output.readline())


@pytest.mark.skipif(sys.platform != "linux", reason="orphans are adopted on Linux alone")
def test_who_has_left_everything_is_adopted_and_ended() -> None:
    """A process of before is not touched."""
    with subprocess.Popen(SLEEP) as before:
        with adopting():
            pid = escaped()
            assert runs(pid)
        assert before.poll() is None
        before.kill()
    os.waitpid(pid, 0)  # it was a child in the end
    assert not runs(pid)


def test_elsewhere_nobody_is_adopted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other systems have no such call."""
    monkeypatch.setattr(sys, "platform", "plan9")
    with adopting():
        pid = escaped()
    try:
        assert runs(pid)
    finally:
        kill([pid])


KILLED = f"""
import os, signal, subprocess
from lifespec.conformance.processes import MARK, Folder
folder = Folder()
child = subprocess.Popen({SLEEP!r}, env=os.environ | {{MARK: str(folder.path)}})
print(child.pid, folder.path, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_command_left_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its folder and its processes, by the next one; the folder of a live one stays."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    live, own = Folder(), tmp_path / "lifespec-notes"
    own.mkdir()
    words = [sys.executable, "-c", KILLED]
    read, write = os.pipe()
    with os.fdopen(read) as output:
        status = subprocess.run(words, check=False, stdout=write, timeout=20).returncode
        os.close(write)
        pid, folder = output.readline().split()
    assert status == -signal.SIGKILL
    assert runs(int(pid))
    assert Path(folder).parent == tmp_path
    remove_abandoned()
    assert sorted(tmp_path.iterdir()) == sorted([live.path, own])
    assert until(lambda: not runs(int(pid)), 20)
    live.remove()
    assert [*tmp_path.iterdir()] == [own]


def test_the_folder_of_another_user_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if nobody holds it."""
    (tmp_path / "lifespec-1").mkdir()
    (tmp_path / "lifespec-1/held").touch()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(os, "getuid", lambda: os.geteuid() + 1)
    remove_abandoned()
    assert (tmp_path / "lifespec-1/held").exists()
