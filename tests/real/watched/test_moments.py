"""`lifespec watch` names the cause as the check does: the same words and the same place."""

import json
import os
import signal
import sys
import time
from pathlib import Path

import causes
import pytest
import test_app_causes as suite

from loopback import LIMIT
from serving import Program, free_port

NOT_WATCHED = {  # what is not said of a running server, and why
    "uvicorn ends by the signal, whatever still runs": {
        "it leaves copies of itself", "a process that it has forked returns",
    },
    "the server's own log, which is printed": {
        "it logs errors", "it awaits nothing", "it raises SystemExit",
    },
    "an exception of a group was never raised alone: its line is the group's": {
        "it fails with a group of exceptions",
    },
    "uvicorn has no loop of trio, and its own task in the text": {
        "it needs trio", "it hangs on trio",
    },
    "an answer that is missing, of which uvicorn says more": {"advise-answer"},
    "what never ran, was skipped or lost needs a trace of every call": {
        "advise-register-sooner", "skipped", "state-unseen",
    },
    "nothing waits for it": {"it blocks after its last answer"},
    "watch is not in the calls that configure logging": {"logging is configured from a file"},
    "the server prints it, and ends": {
        "it answers with shutdown", "it exits", "it exits at shutdown", "it kills itself",
        "it returns no coroutine",
    },
    "there is no fault, or no word of it": {
        "it keeps every rule", "it returns at shutdown", "it fails without a message",
    },
}  # fmt: skip
WATCHED = sorted({*causes.FAULTS, *causes.TRIED}.difference(*NOT_WATCHED.values()))


@pytest.mark.parametrize("name", WATCHED)
def test_a_running_server_has_the_same_cause(name: str, tmp_path: Path) -> None:
    cause = suite.cause(suite.check(name, tmp_path))
    assert cause
    port, said = free_port(), tmp_path / "said.jsonl"
    command = [sys.executable, "-m", "lifespec", "watch", "--after", "1", "--json", said, "--"]
    command += [sys.executable, "-m", "uvicorn", "shop:app", "--port", str(port)]
    path = os.pathsep.join(sys.path)
    with Program(command, tmp_path, PYTHONPATH=path, TMPDIR=str(tmp_path)) as server:
        end, told = time.monotonic() + LIMIT, False
        while cause not in (found := says(said)):
            assert time.monotonic() < end, (cause, found, server.lines)
            assert server.reader.is_alive(), (cause, found, server.lines)
            if not told and any("Uvicorn running" in each for each in server.lines):
                server.process.send_signal(signal.SIGTERM)
                told = True
            time.sleep(0.05)


def says(file: Path) -> str:
    """Return what was said, without numbers of processes and ports."""
    lines = file.read_text().splitlines() if file.exists() else ()
    rows = [json.loads(each) for each in lines]
    return suite.NUMBER.sub("", "\n".join(f"{each['says']}\n{each['advice']}" for each in rows))
