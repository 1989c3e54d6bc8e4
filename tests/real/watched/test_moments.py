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
from serving import Program

from apart import checked, checked_program
from lifespec.conformance import check_app
from loopback import LIMIT, free_port

NOT_WATCHED = {  # what is not said of a running server, and why
    "uvicorn ends by the signal, whatever still runs": {
        "leaves_a_task", "leaves_a_thread", "leaves_a_process", "leaves_copies",
        "cancels_and_goes", "forks", "advise-close", "task-left", "task-unawaited",
    },
    "a task that lives less than a second": {"has_a_task_that_dies", "advise-died"},
    "the server's own log, which is printed": {"logs_errors", "awaits_nothing", "raises_exit"},
    "a loop in C does not say which handlers it has": {"takes_signals"},
    "an exception of a group was never raised alone: its line is the group's": {"cannot_flush"},
    "uvicorn has no loop of trio, and its own task in the text": {
        "on_trio", "hangs_on_trio", "advise-other-loop",
    },
    "an answer that is missing, of which uvicorn says more": {
        "advise-answer", "advise-find-lifespan", "advise-wait",
    },
    "what never ran, was skipped or lost needs a trace of every call": {
        "advise-handler-ignored", "advise-never-ran", "context-variable", "cut-off",
        "cut-off-block", "entered-twice", "made-only", "rebinds", "state-dropped", "state-rebound",
        "state-unseen",
    },
    "nothing waits for it": {"blocks_at_last", "busy", "lingers", "unclosed"},
    "the server prints it, and ends": {
        "advise-hooks-gone", "advise-no-loop", "answers_with_shutdown", "exits",
        "exits_at_shutdown", "kills_itself", "no_coroutine",
    },
    "there is no fault, or no word of it": {"faultless", "returns_at_shutdown", "says_nothing"},
}  # fmt: skip
WATCHED = sorted({*suite.NAMES, *causes.TRIED}.difference(*NOT_WATCHED.values()))


def program(name: str, folder: Path) -> tuple[str, str, Path]:
    """Return the cause that the check names, the application, and the folder to start it in."""
    limit = suite.LIMIT if name in suite.HANG else 20 * suite.LIMIT
    if name in causes.TRIED:
        source = causes.PRELUDE + suite.variant(causes.TRIED[name][0], "-")
        only = suite.SERVES[:1] if name in suite.SERVING else suite.ALONE
        report = checked_program(folder, source, only=only, timeout=limit)
        return suite.cause(report), "shop:app", folder
    report = checked(check_app, "causes", name, timeout=limit)
    return suite.cause(report), f"causes:{name}", suite.ROOT


@pytest.mark.parametrize("name", WATCHED)
def test_a_running_server_has_the_same_cause(name: str, tmp_path: Path) -> None:
    cause, app, place = program(name, tmp_path)
    assert cause
    port, said = free_port(), tmp_path / "said.jsonl"
    command = [sys.executable, "-m", "lifespec", "watch", "--after", "1", "--json", said, "--"]
    command += [sys.executable, "-m", "uvicorn", app, "--port", str(port)]
    path = os.pathsep.join(sys.path)
    with Program(command, place, PYTHONPATH=path, TMPDIR=str(tmp_path)) as server:
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
