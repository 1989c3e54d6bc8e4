"""Each file that is made to be copied works alone, beside nothing of ours.

A copy is what `lifespec copy` prints. Programs in the folder `copied` drive it: alone, with
`python -I`; as a module beside them, with plain `python`; and as the module of the package, which
has to do the same in every conversation.
"""

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

import lifespec
from lifespec.cli import COPY_ME
from lifespec.validate import HAPPENINGS, TRANSITIONS, State

__all__: list[str] = []

# The interpreter below the virtual environment: it has no lifespec that a copy could lean on.
PYTHON = sys._base_executable  # type: ignore[attr-defined]
SRC = Path(lifespec.__file__).parent
COPIED = Path(__file__).with_name("copied")
SELF_CONTAINED = "This file is self-contained: copy it"
ALONE = [name for name in COPY_ME if name != "server_trio" and (SRC / f"{name}.py").exists()]
ON_TRIO = """
import sys
import trio
from shop import server, server_trio

async def app(scope, receive, send):
    for stage in "startup", "shutdown":
        await receive()
        await send({"type": f"lifespan.{stage}.complete"})

async def main():
    async with server_trio.Lifespan(app) as lifespan:
        pass
    print(lifespan.outcome, isinstance(lifespan, server.Lifespan), "lifespec" in sys.modules)

trio.run(main)
"""

Plans = dict[str, dict[str, Any]]


def walks(state: State = "called") -> Iterator[tuple[str, ...]]:
    """Give every complete conversation in which no rule is broken, step by step."""
    for happening, step in TRANSITIONS[state].items():
        if not step.rule:
            rest = walks(step.to) if step.to != "gone" else iter([()])
            yield from ((happening, *later) for later in rest)


def steps(walk: tuple[str, ...]) -> Iterator[list[Any]]:
    """Say what an application does on such a walk."""
    for happening in walk:
        if happening in ("lifespan.startup", "lifespan.shutdown"):
            yield ["receive"]
        elif happening == "raise":
            yield ["crash", "as planned"]
        elif happening.endswith("failed"):
            yield ["send", {"type": happening, "message": "no disk 磁盘"}]
        elif happening != "return":
            yield ["send", {"type": happening}]


# What an application does, in short.
RECEIVE, SLEEP, CRASH = ["receive"], ["sleep"], ["crash", "as planned"]
STARTED = ["send", {"type": "lifespan.startup.complete"}]
REFUSED = ["send", {"type": "lifespan.startup.failed"}]
STOPPED = ["send", {"type": "lifespan.shutdown.complete"}]
LIMITED = {"startup_timeout": 0.02, "shutdown_timeout": 0.02, "grace": 0.02}
MALFORMED: list[Any] = [7, None, [], {}, {"type": 7}, {"type": "lifespan.started"}]

LEGAL: Plans = {
    ", ".join(walk): {
        "application": [["share", {"pool": 1}], *steps(walk)],
        "body": "leave" if "lifespan.shutdown" in walk else "wait",
    }
    for walk in walks()
}
OTHERS: Plans = {
    "declined by its call": {"application": [CRASH]},
    "crashed while it stopped": {"application": [RECEIVE, STARTED, RECEIVE, CRASH]},
    "left while it stopped": {"application": [RECEIVE, STARTED, RECEIVE]},
    "never answered startup": {"application": [RECEIVE, SLEEP], "options": LIMITED},
    "never received startup": {"application": [SLEEP], "options": LIMITED},
    "waited for another event": {"application": [RECEIVE, RECEIVE], "options": LIMITED},
    "never answered shutdown": {
        "application": [RECEIVE, STARTED, RECEIVE, SLEEP],
        "options": LIMITED,
    },
    "lingered": {"application": [RECEIVE, STARTED, RECEIVE, STOPPED, SLEEP], "options": LIMITED},
    "ignored its cancellation": {
        "application": [RECEIVE, ["ignore_cancellation"], STARTED],
        "options": LIMITED,
    },
    "received after its last word": {
        "application": [RECEIVE, STARTED, RECEIVE, STOPPED, RECEIVE],
    },
    "the server was cancelled as it started": {
        "application": [RECEIVE, SLEEP],
        "cancelled": True,
    },
    "the server was cancelled as it served": {
        "application": [RECEIVE, STARTED, RECEIVE, STOPPED],
        "body": "wait",
        "cancelled": True,
    },
    "the body failed": {"application": [RECEIVE, STARTED, RECEIVE, STOPPED], "body": "raise"},
    "the body failed, and then shutdown": {
        "application": [RECEIVE, STARTED, RECEIVE, ["send", {"type": "lifespan.shutdown.failed"}]],
        "body": "raise",
    },
    "exit": {"application": [RECEIVE, ["exit", 3]]},
    "strict, declined": {"application": [CRASH], "options": {"strict": True}},
    "strict, left": {"application": [RECEIVE, STARTED], "options": {"strict": True}},
    "no message": {"application": [RECEIVE, REFUSED]},
    "a message that is no text": {
        "application": [RECEIVE, ["send", {"type": "lifespan.startup.failed", "message": 7}]]
    },
    "answered twice": {
        "application": [RECEIVE, STARTED, ["try_to_send", STARTED[1]], RECEIVE, STOPPED]
    },
    "answered too early": {
        "application": [RECEIVE, ["try_to_send", STOPPED[1]], STARTED, RECEIVE, STOPPED]
    },
    "let a malformed message escape": {"application": [RECEIVE, ["send", {"type": "no"}]]},
    "without state": {
        "application": [RECEIVE, STARTED, RECEIVE, STOPPED],
        "options": {"scope": {"type": "lifespan"}},
    },
} | {
    f"sent {message!r}": {
        "application": [RECEIVE, ["try_to_send", message], STARTED, RECEIVE, STOPPED]
    }
    for message in MALFORMED
}
SERVED = LEGAL | OTHERS

# Everything that a context can do, by everything that a server can offer.
STARTS = {"opens": None, "fails to open": ["db-1 does not answer"], "fails without a word": []}
YIELDS = {"nothing": None, "no key": {}, "a key": {"pool": 1}, "a text": "pool"}
STOPS = ["close", "raise", "swallow"]
SCOPES = {"state": {"type": "lifespan", "state": {}}, "no state": {"type": "lifespan"}}
LIVED: Plans = {
    ", ".join([start, f"yields {yielded}", stop, offered, "lost" if lost else "not lost"]): {
        "start": STARTS[start],
        "yields": YIELDS[yielded],
        "stop": stop,
        "scope": SCOPES[offered],
        "lost": lost,
    }
    for start, yielded, stop, offered, lost in itertools.product(
        STARTS, YIELDS, STOPS, SCOPES, [False, True]
    )
}
REQUEST: dict[str, Any] = {"start": None, "yields": None, "stop": "close", "lost": False}
LIVED |= {
    "a request": REQUEST | {"scope": {"type": "http"}},
}

# Which program drives which file, and with what.
DRIVEN: dict[str, tuple[str, Plans]] = {
    "server": ("server", SERVED),
    "application": ("application", LIVED),
    "validate": ("tables", {}),
    "messages": ("tables", {}),
}
WAYS = ["alone", "beside"]


def run(folder: Path, *command: str, given: str = "") -> str:
    """Run Python in the folder, as a reader with nothing else installed would."""
    environment = {key: text for key, text in os.environ.items() if key != "PYTHONPATH"}
    ran = subprocess.run(
        [PYTHON, *command],
        cwd=folder,
        env=environment | {"PYTHONUTF8": "1"},
        input=given,
        check=False,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


@cache
def copied(name: str) -> bytes:
    """Take the file as `lifespec copy` prints it."""
    command = [sys.executable, "-m", "lifespec", "copy", name]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout


@cache
def driven(name: str, way: str) -> dict[str, Any]:
    """Drive a file: the copy, alone or beside the program; or the module of the package."""
    program, plans = DRIVEN[name]
    path, given = COPIED / f"{program}.py", json.dumps(plans)
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        if way == "packaged":
            command = [sys.executable, str(path), f"lifespec.{name}"]
            found = subprocess.run(
                command, cwd=folder, check=True, input=given.encode(), stdout=subprocess.PIPE
            ).stdout.decode()
        else:
            (folder / f"{name}.py").write_bytes(copied(name))
            source = path.read_text("utf-8")
            command = ["-I", "-c", source, name]
            if way == "beside":
                (folder / "program.py").write_text(source, "utf-8")
                command = ["program.py", name]
            found = run(folder, *command, given=given)
    results: dict[str, Any] = json.loads(found)
    return results


def test_the_interpreter_has_nothing_of_ours(tmp_path: Path) -> None:
    """What a copy imports, it imports from itself or the standard library."""
    program = "import importlib.util; print(importlib.util.find_spec('lifespec'))"
    assert run(tmp_path, "-c", program) == "None\n"


def test_every_file_to_copy_is_tried() -> None:
    """The files that call themselves self-contained are the ones tried here."""
    marked = {path.stem for path in SRC.glob("*.py") if SELF_CONTAINED in path.read_text("utf-8")}
    assert marked == set(ALONE)


@pytest.mark.parametrize("name", ALONE)
def test_what_is_printed_is_the_file(name: str) -> None:
    """`lifespec copy` prints the file as it lies in the package, byte for byte."""
    assert copied(name) == (SRC / f"{name}.py").read_bytes()


def test_the_server_for_trio_uses_the_copy_beside_it(tmp_path: Path) -> None:
    """Both files are written into a package, and need no change there."""
    package = tmp_path / "shop"
    package.mkdir()
    command = ["-m", "lifespec", "copy", "server", "server_trio", "--to", str(package)]
    subprocess.run([sys.executable, *command], check=True)
    (tmp_path / "program.py").write_text(ON_TRIO)
    command = [sys.executable, "program.py"]
    assert subprocess.check_output(command, cwd=tmp_path, text=True) == "complete True False\n"


@pytest.mark.parametrize("name", ALONE)
def test_it_runs_alone(name: str, tmp_path: Path) -> None:
    """The file loads with -I, in a folder that holds nothing else, and says nothing."""
    (tmp_path / f"{name}.py").write_bytes(copied(name))
    assert run(tmp_path, "-I", f"{name}.py") == ""


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ALONE)
def test_a_copy_tells_as_much_as_the_package(name: str, way: str) -> None:
    """No conversation and no table is missing, and none is more."""
    assert driven(name, way).keys() == driven(name, "packaged").keys()
    assert driven(name, way)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("plan", SERVED)
def test_the_server_copied(plan: str, way: str) -> None:
    """A copy of server.py does in every conversation what the package does."""
    assert driven("server", way)[plan] == driven("server", "packaged")[plan]


@pytest.mark.parametrize("plan", SERVED)
def test_the_conversations_end_well(plan: str) -> None:
    """In none of them a task is left behind, or the loop complains."""
    assert driven("server", "packaged")[plan]["wrong"] == []


def test_the_conversations_are_of_every_kind() -> None:
    """Among them is each outcome that there is, and whatever can happen on a legal way."""
    outcomes = {came["outcome"] for came in driven("server", "packaged").values()}
    told = {"complete", "failed", "unsupported", "crashed", "returned", "timed_out", "cancelled"}
    assert outcomes == told
    assert {happening for walk in walks() for happening in walk} == set(HAPPENINGS)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", [name for name in ALONE if name != "server"])
def test_the_others_copied(name: str, way: str) -> None:
    """A copy of the others does and holds what the package does and holds."""
    assert driven(name, way) == driven(name, "packaged")
