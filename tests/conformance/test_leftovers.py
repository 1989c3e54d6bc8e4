"""Processes that a subject left behind: found, told from those of others, and ended."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lifespec.conformance import leftovers
from lifespec.conformance.leftovers import began_within, content, kill, marked, runs, until

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
    environment = os.environ | {leftovers.MARK: mark}
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
    monkeypatch.setattr(leftovers, "PROC", tmp_path / "proc")
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
