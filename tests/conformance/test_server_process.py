"""A server's process: started, observed, stopped, and ended for certain."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from lifespec.conformance import processes
from lifespec.conformance.finding import Unchecked
from lifespec.conformance.processes import leaving_none, until
from lifespec.conformance.server import process
from lifespec.conformance.server.process import ServerProcess
from lifespec.watch.group import is_alive
from sights import SERVE, SERVER

LIMIT = 100.0  # seconds, which only a hang reaches
WAIT = "import time; time.sleep(60)"


def program(text: str, *words: str) -> ServerProcess:
    """Return a server that runs a program of a few lines."""
    return ServerProcess([sys.executable, "-c", text, *words], [])


def test_a_signal_reaches_each_process_of_the_group() -> None:
    shell = ("sh", "-c", "trap '' TERM; \"$@\" & wait; wait", "sh", *SERVER)
    with ServerProcess(shell, [["converse", None]]) as server:
        assert until(lambda: server.client.request("/", 1.0).body, LIMIT)
        server.send(signal.SIGTERM, to_all=True)
        assert until(lambda: server.log().of("received", type_="lifespan.shutdown"), LIMIT)


def test_known_places_are_filled(monkeypatch: pytest.MonkeyPatch) -> None:
    """And what Python compiles is kept, as where the server runs otherwise, for the next case."""
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    text = "import sys; print(*sys.argv[1:], sys.dont_write_bytecode)"
    with program(text, "{app}", "{port}", "-w={workers}", "{other}", "{}") as server:
        assert until(lambda: server.status is not None, LIMIT)
        server.end()
        words = server.output.split()
    assert words == ["lifespec_probe:app", str(server.port), "-w=1", "{other}", "{}", "False"]


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("no-such-program", "there is no program no-such-program: activate the environment"),
        (str(SERVE), f"{SERVE} cannot be run: Permission denied"),
    ],
)
def test_a_command_that_cannot_be_run_is_a_sentence(command: str, sentence: str) -> None:
    server = ServerProcess([command], [])
    with pytest.raises(Unchecked, match=f"^{sentence}"), server:
        pass
    assert not server.folder.exists()


def test_an_interruption_leaves_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(_: ServerProcess) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ServerProcess, "start", start)
    server = ServerProcess([], [])
    with pytest.raises(KeyboardInterrupt), server:
        pass
    assert not server.folder.exists()


def test_the_beginning_of_the_output_is_kept_without_colours() -> None:
    with program(f"print('\\x1b[31mred\\x1b[0m' + 'x' * {process.MOST_OUTPUT} * 2)") as server:
        assert until(lambda: server.status is not None, LIMIT)
        server.end()
        assert server.output.startswith("redxxx")
        assert len(server.output) == process.MOST_OUTPUT - 9


DAEMON = """
import os, subprocess, sys, time
child = [sys.executable, "-c", "import time; time.sleep(60)"]
subprocess.Popen(child, start_new_session=True)
subprocess.Popen(child)
if os.fork():
    print("forked", flush=True)
    {then}
time.sleep(60)
"""


@pytest.mark.parametrize("then", ["os._exit(0)", "time.sleep(60)"])
def test_every_process_of_a_server_is_ended(then: str) -> None:
    with program(DAEMON.format(then=then)) as server:
        assert until(lambda: "forked" in server.output, LIMIT)
        assert until(lambda: len(server.left_running()) == 3, LIMIT)
        pids = server.left_running() | {server.process.pid}
    assert not any(map(is_alive, pids))
    assert server.left_running() == set()


def test_a_command_ends_what_was_started_meanwhile() -> None:
    with leaving_none(begin=True):
        begun = processes.interpreter()
        child = subprocess.Popen([sys.executable, "-c", WAIT], start_new_session=True)
        mark = os.environ[processes.RUN]  # a process that has just begun has no environment yet
        assert until(lambda: child.pid in processes.marked(processes.RUN, mark), LIMIT)
    begun.socket.close()
    assert child.wait(LIMIT) == begun.process.wait(LIMIT) == -signal.SIGKILL
    assert processes.RUN not in os.environ


def test_an_interpreter_that_no_check_takes_is_ended() -> None:
    with leaving_none(begin=True):
        (begun,) = processes.untaken
    assert begun.process.wait(LIMIT) in (0, 1, -signal.SIGKILL)
    assert begun.socket.fileno() == -1


def test_without_a_proc_the_group_of_the_server_is_ended_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "PROC", tmp_path / "proc")
    with program(WAIT) as server:
        assert server.left_running() == set()
    assert not is_alive(server.process.pid)


def test_a_line_counts_when_its_end_is_there() -> None:
    with program(WAIT) as server:
        assert server.log() == []
        with server.file.open("w") as log:
            for text, count in (('{"time": 7, "kind": "kept"}', 0), ("\n", 1), ("{}", 1)):
                log.write(text)
                log.flush()
                assert len(server.log()) == count


def test_a_port_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    first = ServerProcess([], []).port
    with socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setattr(process, "PORTS", [taken.getsockname()[1]])
        with pytest.raises(Unchecked, match=r"no port of 127\.0\.0\.1 is free"):
            ServerProcess([], [])
        monkeypatch.setattr(process, "PORTS", [taken.getsockname()[1], first])
        assert ServerProcess([], []).port == first
