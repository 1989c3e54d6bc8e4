"""What `make hosts` measures: a test client, a server, and what follows from a run."""

import importlib
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

HERE = Path(sys.executable).parent
STARTED = [
    ["lifespan", "state"],
    ["event", "lifespan.startup"],
    ["sends", "lifespan.startup.complete"],
]
STOPPED = [["event", "lifespan.shutdown"], ["sends", "lifespan.shutdown.complete"], ["ends"]]
REQUEST = ["request", "the pool", "another dict"]
EXIT = ["exit", 0]


@pytest.fixture
def hosts(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Import the program that measures, with short waits."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    found = importlib.import_module("hosts")
    for name, seconds in {"PAUSE": 0.3, "CAP": 3.0, "ENDS": 4.0}.items():
        monkeypatch.setattr(found, name, seconds)
    return found


def test_a_server_is_observed_until_its_last_signal(hosts: ModuleType) -> None:
    uvicorn = hosts.Subject("server", "shop", "uvicorn shop:app --port {port}", ["uvicorn"])

    def observed(question: str) -> list[list[Any]]:
        found: list[list[Any]] = hosts.worth(hosts.observed(uvicorn, HERE, question))
        return found

    found = [each for each in observed("usual") if each[0] != "prints"]
    served = [REQUEST, ["answered", 200]]
    stopped = [STOPPED[0], ["state at shutdown", "the pool"], *STOPPED[1:]]
    assert found[:-1] == [*STARTED, *served, *served, ["SIGTERM"], *stopped]
    failed = observed("startup fails")
    assert ["prints", "ERROR:    no pool"] in failed
    assert failed[-1] == ["exit", 3]
    twice = observed("shutdown hangs, Ctrl-C twice")
    assert [each for each in twice if each[0] == "SIGINT"] == [["SIGINT"], ["SIGINT"]]
    assert twice[-1] == ["goes on"]


def test_a_line_about_the_lifespan_is_kept_once(hosts: ModuleType) -> None:
    usual = [(1.0, ["prints", "startup"])]
    noted = [(1.0, ["prints", each]) for each in ("startup", "apples", "no pool", "no pool")]
    assert hosts.worth(noted, usual) == [["prints", "no pool"]]
    long = hosts.worth([(1.0, ["event", str(n)]) for n in range(50)])
    assert long[-2:] == [["and so on"], ["event", "49"]]


@pytest.mark.parametrize(
    ("group", "column", "runs", "answer"),
    [
        ("starts", "quick", [[*STARTED, *STARTED[1:], REQUEST]], ["times in one call", "2"]),
        ("starts", "slow", [[*STARTED, *STARTED, REQUEST]], ["times", "2"]),
        ("failures", "returns", [[STARTED[0], ["ends"], ["exit", 1]]], ["ends", "1"]),
        ("failures", "failed", [[["opened"], ["request raises", "OSError", ""], EXIT]],
         ["raises", "OSError"]),
        ("ends", "shutdown limit", [[*STOPPED[:1], ["seconds", 60], ["SIGTERM"], EXIT]],
         ["after, status", "60", "0"]),
        ("signals", "SIGINT status", [[EXIT], [["exit", 1]], [["exit", "139 (SIGSEGV)"]]],
         ["status of exit", "0 / 1 / 139 (SIGSEGV)"]),
        ("signals", "SIGINT", [[*STOPPED, EXIT], [EXIT]], ["not each time"]),
    ],
)  # fmt: skip
def test_an_answer_follows_from_the_runs(
    hosts: ModuleType, group: str, column: str, runs: list[list[Any]], answer: list[str]
) -> None:
    module = sys.modules[hosts.answers.__module__]
    _question, says = module.GROUPS[group][column]
    assert says(module.Happened(hosts.varied(runs))) == answer


def test_the_record_has_a_row_for_each_host(
    hosts: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosts, "QUESTIONS", ("usual",))
    monkeypatch.setattr(hosts, "OF_KIND", {})
    monkeypatch.setattr(hosts, "CAP", 30.0)  # it ends by itself, however long its imports take
    path = tmp_path / "hosts.json"
    assert hosts.main([str(HERE), str(path), "httpx"]) == 0
    (row,) = json.loads(path.read_text())["subjects"]
    assert (row["name"], row["host"], row["kind"]) == ("httpx", "httpx", "client")
    assert row["answers"] == {"never": {"state": ["no state"]}}
    once = [["request", "no state"], ["answered", 200]]
    assert row["happened"]["usual"] == [["opened"], *once, *once, ["closes"], ["closed"], EXIT]
