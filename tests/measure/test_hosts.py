"""What `make hosts` observes: a test client, a server, and what they print."""

import json
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent
HERE = Path(sys.executable).parent
STARTED = [
    ["lifespan", "state"],
    ["event", "lifespan.startup"],
    ["sends", "lifespan.startup.complete"],
]
STOPPED = [
    ["event", "lifespan.shutdown"],
    ["state at shutdown", "the pool"],
    ["sends", "lifespan.shutdown.complete"],
    ["ends"],
]
SEEN = ["request", "the pool", "another dict"]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Load the command with short waits; each test has its own."""
    monkeypatch.syspath_prepend(str(FOLDER))
    found = runpy.run_path(str(FOLDER / "hosts.py"))
    found["main"].__globals__.update(PAUSE=0.3, CAP=3.0, ENDS=4.0)
    return found


def observed(command: dict[str, Any], subject: Any, asked: str) -> list[list[Any]]:
    """Ask a host a question; return what is worth keeping."""
    found: list[list[Any]] = command["worth"](command["observed"](subject, HERE, asked))
    return found


def test_a_client_that_sends_no_lifespan_is_observed(command: dict[str, Any]) -> None:
    command["main"].__globals__.update(CAP=30.0)  # it ends by itself, however long its imports take
    found = observed(command, command["SUBJECTS"]["httpx"], "usual")
    once = [["request", "no state"], ["answered", 200]]
    assert found == [["opened"], *once, *once, ["closes"], ["closed"], ["exit", 0]]


def test_a_server_is_observed_until_its_signal(command: dict[str, Any]) -> None:
    """Two requests and SIGTERM, or two at once, and the line that tells of a failure."""
    server = command["server"]("uvicorn shop:app --port {port}", "uvicorn")
    found = [each for each in observed(command, server, "usual") if each[0] != "prints"]
    served = [SEEN, ["answered", 200]]
    assert found[:-1] == [*STARTED, *served, *served, ["SIGTERM"], *STOPPED]
    slow = observed(command, server, "startup is slow")
    assert slow.index(STARTED[2]) < slow.index(SEEN)
    assert slow.count(SEEN) == slow.count(["answered", 200]) == 2
    failed = observed(command, server, "startup fails")
    assert failed[-1] == ["exit", 3]
    kept = observed(command, server, "one connection")
    assert kept.count(SEEN) == kept.count(["answered", 200]) == 3
    assert ["prints", "ERROR:    no pool"] in failed


def test_a_server_that_does_not_start_is_waited_for(command: dict[str, Any]) -> None:
    """As long as CAP; the seconds are told, and then it gets its signal."""
    server = command["server"]("uvicorn shop:app --port {port}", "uvicorn")
    found = observed(command, server, "startup hangs")
    waited = found[found.index(["event", "lifespan.startup"]) + 1]
    assert waited[0] == "seconds"
    assert waited[1] >= 3
    assert found[found.index(waited) + 1] == ["SIGTERM"]


def test_a_server_gets_a_second_signal(command: dict[str, Any]) -> None:
    server = command["server"]("uvicorn shop:app --port {port}", "uvicorn")
    seen = observed(command, server, "shutdown hangs, Ctrl-C twice")
    found = [each for each in seen if each[0] != "prints"]
    asked = found.index(["event", "lifespan.shutdown"])
    assert found[asked - 1] == ["SIGINT"]
    assert ["SIGINT"] in found[asked:]
    assert found[-1] == ["goes on"]


def test_what_a_host_prints_is_kept_once_and_if_it_is_about_the_lifespan(
    command: dict[str, Any],
) -> None:
    """Not what it prints when all is well, and no more than some happenings."""
    usual = [(1.0, ["prints", "startup"])]
    noted = [(1.0, ["prints", each]) for each in ("startup", "apples", "no pool", "no pool")]
    assert command["worth"](noted, usual) == [["prints", "no pool"]]
    long = [(1.0, ["event", str(n)]) for n in range(50)]
    found = command["worth"](long)
    assert len(found) == 32
    assert found[-2:] == [["and so on"], ["event", "49"]]


def test_a_host_that_ends_in_several_ways_has_them_all(command: dict[str, Any]) -> None:
    """The first as it was, and of the others how they ended."""
    first = [["event", "lifespan.shutdown"], ["exit", 0]]
    others = [[["exit", -11]], [["exit", -11]], first]
    assert command["varied"]([first, *others]) == [
        *first,
        ["another time", "no shutdown", "exit", -11],
    ]


def test_the_record_has_a_row_for_each_host(command: dict[str, Any], tmp_path: Path) -> None:
    command["main"].__globals__["QUESTIONS"] = ("usual",)
    path = tmp_path / "hosts.json"
    assert command["main"]([str(HERE), str(path), "httpx"]) == 0
    (row,) = json.loads(path.read_text())["subjects"]
    assert (row["name"], row["host"], row["kind"]) == ("httpx", "httpx", "client")
    assert [*row["versions"]] == ["httpx"]
    assert [*row["happened"]] == ["usual"]
