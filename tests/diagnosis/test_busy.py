"""Who uses a processor, as a share of the time that the machine gives."""

import asyncio
import subprocess
import sys
from threading import Thread, get_ident
from typing import Any

import pytest

from lifespec.diagnosis import busy, stacks
from lifespec.diagnosis.fact import Place


def test_a_share_is_of_the_time_that_the_machine_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    before = {1: (2.0, 5.0), 2: (3.0, 0.0), 3: (0.0, 0.0)}
    now = {1: (2.25, 5.5), 2: (3.01, 0.99), 3: (0.1, 0.0), 4: (9.0, 0.0)}
    monkeypatch.setattr(busy, "used", lambda: now)
    assert busy.busiest(before, 1.0) == (0.5, 1)
    monkeypatch.setattr(busy, "used", lambda: before)
    assert busy.busiest(before, 1.0) == (0.0, 0)


def test_what_has_no_line_of_an_author_or_ends_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async def asked(*found: tuple[float, int]) -> list[Any]:
        shares = iter(found)
        monkeypatch.setattr(busy, "busiest", lambda *_: next(shares))
        return await busy.busy({}, 1.0, asyncio.sleep)

    monkeypatch.setattr(busy, "WINDOW", 0.05)
    assert asyncio.run(asked((0.9, 1), (0.9, 1), (0.2, 1))) == []
    assert asyncio.run(asked((0.9, 1), (0.9, 1), (0.9, -1))) == []
    [found] = asyncio.run(asked((0.9, 1), (0.9, 1), (0.9, get_ident())))
    assert found.parts["percent"] == 90


def test_a_thread_that_works_is_at_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def works() -> None:
        while goes_on:
            pass

    goes_on = [True]
    thread = Thread(target=works)
    thread.start()
    monkeypatch.setattr(busy, "busiest", lambda *_: (0.9, thread.ident))
    [found] = asyncio.run(busy.busy({}, 1.0, asyncio.sleep))
    goes_on.clear()
    thread.join()
    assert "works" in str(found.parts["place"])


def test_most_of_a_time_is_at_a_line_or_nowhere() -> None:
    at = Place("load", "shop.py", 7)
    spending = busy.Spending()
    spending.spent = [(1.0, at, True), (2.0, at, True), (3.0, None, False), (9.0, None, False)]
    assert spending.most(0.5, 3.5) == (at, True)
    assert spending.most(1.5, 3.5) == (None, False)
    assert spending.most(4.0, 5.0) == (None, False)


def test_a_call_that_runs_or_is_over_waits_for_nothing() -> None:
    """What was seen of it before is not forgotten for what is not there."""
    found = []

    async def lives() -> None:
        found.append(stacks.is_suspended(call))
        await asyncio.sleep(0)

    call = lives()
    call.send(None)
    found.append(stacks.is_suspended(call))
    call.close()
    found += [stacks.is_suspended(call), stacks.is_suspended(None), stacks.is_suspended(object())]
    assert found == [False, True, False, False, True]


FORKS = """
import asyncio, os, warnings
from lifespec.diagnosis import busy
from lifespec.testing import Running

async def app(scope, receive, send):
    await receive()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        pid = os.fork()
    if pid == 0 or warned:
        os._exit(len(warned))
    os.waitpid(pid, 0)
    while not busy._lookers[0].ended:  # it looks again soon
        await asyncio.sleep(0)
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await send({"type": "lifespan.shutdown.complete"})

async def main():
    async with Running(app):
        pass

asyncio.run(main())
"""


def test_a_fork_meets_no_thread_that_looks() -> None:
    """Python 3.12 and newer warn of a fork in a process with several threads."""
    subprocess.run([sys.executable, "-c", FORKS], check=True, timeout=100)
