"""The servers that are installed are checked side by side, each by the command that is known."""

import sys
import threading
from contextlib import ExitStack
from importlib import metadata
from typing import Any

import pytest

from lifespec.conformance.cases import Unchecked
from lifespec.conformance.report import Report
from lifespec.conformance.server import check as server_check
from lifespec.conformance.server import servers
from lifespec.conformance.server.check import ServerCheck

__all__: list[str] = []


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Let these distributions be installed."""
    names = {"lifespec"}
    monkeypatch.setattr(metadata, "distributions", lambda name: iter([name] * (name in names)))
    return names


def test_those_installed(installed: set[str]) -> None:
    """All of them, or those named; what needs another package waits for it."""
    installed |= {"uvicorn", "hypercorn", "gunicorn", "uvicorn-worker"}
    found = servers.jobs()
    assert [each.title.split("{workers}")[0].split("--bind")[0].strip() for each in found] == [
        "uvicorn {app} --port {port} --workers",
        "hypercorn {app}",
        "gunicorn {app} --no-control-socket --worker-class asgi",
        "gunicorn {app} --no-control-socket --worker-class uvicorn_worker.UvicornWorker",
    ]
    assert found[0].command[:4] == (sys.executable, "-m", "uvicorn", "{app}")
    installed.add("trio")
    trio = servers.jobs(["hypercorn"], "asgi 1.0", 3.0)
    assert ["trio" in each.title for each in trio] == [False, True]
    assert {(each.spec, each.limit) for each in trio} == {("asgi 1.0", 3.0)}


@pytest.mark.parametrize(
    ("names", "spec", "said"),
    [
        ((), "asgi 2.0", f"none is installed for {sys.executable}: install daphne or granian"),
        (["hypercron"], "asgi 2.0", "there is no server 'hypercron': did you mean hypercorn?"),
        (["uvicorn"], "asgi 2.0", f"uvicorn is not installed for {sys.executable}"),
        ((), "amgi 2.0", "the servers that lifespec knows are of ASGI, not of amgi 2.0"),
    ],
)
def test_what_cannot_be_checked(
    names: list[str], spec: str, said: str, installed: set[str]
) -> None:
    """A sentence says why."""
    with pytest.raises(Unchecked) as refused:
        servers.jobs(names, spec)
    assert str(refused.value).startswith(said)


def job(name: str) -> ServerCheck:
    """Return what cannot be played."""
    return ServerCheck((name, "{app}", "{port}"), title=name)


def test_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each waits for the other here; one that cannot be checked is no obstacle for the other."""
    both, given = threading.Barrier(2, timeout=60), []

    def check(job: ServerCheck, *_: Any, places: object, **__: Any) -> Report:
        both.wait()
        given.append(places)
        if job.title == "gone":
            raise Unchecked("it is gone")
        return Report(job.title, job.spec, ())

    monkeypatch.setattr(server_check, "check", check)
    found = servers.check([job("gone"), job("here")], [], lambda _: lambda *_: False)
    assert [(each.subject, each.unchecked) for each in found] == [
        ("gone", "it is gone."),
        ("here", "There is no case for it."),
    ]
    assert len({*map(id, given)}) == 1


def test_an_interrupt_ends_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """What still goes on elsewhere is told to end, and no other case is played."""
    began, seen = threading.Event(), []

    def check(job: ServerCheck, *_: Any, broken_off: threading.Event, **__: Any) -> Report:
        if job.title == "ctrl-c":
            assert began.wait(60)
            raise KeyboardInterrupt
        began.set()
        seen.append(broken_off.wait(60))
        return Report(job.title, job.spec, ())

    monkeypatch.setattr(server_check, "check", check)
    with pytest.raises(KeyboardInterrupt):
        servers.check([job("ctrl-c"), job("long")], [], lambda _: lambda *_: False)
    assert seen == [True]


def test_no_case_begins_once_it_is_broken_off() -> None:
    """Nothing is started: the command does not exist, and nobody tells of that."""
    off = threading.Event()
    off.set()
    only = server_check.chosen(["state"])
    bench = server_check._CaseRunner(job("nosuch"), only, lambda *_: False)
    bench.broken_off = off
    findings = bench.play(only[0], ExitStack())
    assert {each.actual for each in findings} == {"Not run: another case failed before."}
