"""A server's process as a server: started, asked, told to stop, and ended for certain."""

import json
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifespec.conformance.report import Unchecked
from lifespec.conformance.server import process
from lifespec.conformance.server.process import Process, adopt_orphans, until

__all__: list[str] = []

LIMIT = 30.0  # seconds; nothing here takes one
SERVE = Path(__file__).parents[2] / "docs" / "programs" / "serve.py"
SERVER = [sys.executable, str(SERVE), "{app}", "--port", "{port}"]
WAIT = "import time; time.sleep(60)"


def program(text: str, *words: str) -> Process:
    """Return a server that runs a program of a few lines."""
    return Process([sys.executable, "-c", text, *words], [])


def alive(pid: int) -> bool:
    """Whether a process is there, and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_server_is_started_asked_and_told_to_stop() -> None:
    """It serves the probe on a port that was free, and leaves neither process nor folder."""
    with Process(SERVER, [["converse", None]]) as server:
        assert until(lambda: server.request("/", 1.0).body, LIMIT)
        answer = server.request("/look", LIMIT)
        assert answer.body
        assert answer.path == "/look"
        assert answer.sent < answer.answered
        assert server.status is None
        assert server.left() == set()
        server.signal(signal.SIGTERM)
        assert until(lambda: server.status is not None, LIMIT)
        server.signal(signal.SIGTERM)  # nobody is there to hear it
        kinds = [line["kind"] for line in server.all_lines()]
        assert (kinds[0], kinds[-1]) == ("imported", "returned")
    assert server.status == 0
    assert "Serving on" in server.output
    assert not server.flooded
    assert not server.folder.exists()
    with socket.create_server(("127.0.0.1", server.port)):
        pass


def test_places_are_filled() -> None:
    """What the command leaves open is filled in; other braces are its own."""
    text = "import sys; print(*sys.argv[1:])"
    with program(text, "{app}", "{port}", "-w={workers}", "{other}", "{}") as server:
        assert until(lambda: server.status is not None, LIMIT)
        server.end()
        words = server.output.split()
    assert words == ["lifespec_probe:app", str(server.port), "-w=1", "{other}", "{}"]


NO_PROGRAM = "activate the environment that has it, or give its path"


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (["no-such-program"], f"there is no program no-such-program: {NO_PROGRAM}"),
        ([str(SERVE)], f"{SERVE} cannot be run: Permission denied"),
    ],
)
def test_a_command_that_cannot_be_run(command: list[str], sentence: str) -> None:
    """It is told in a sentence, and nothing is left behind."""
    server = Process(command, [])
    with pytest.raises(Unchecked) as told, server:
        pass
    assert str(told.value) == sentence
    assert not server.folder.exists()


def test_output_is_kept_in_part() -> None:
    """The beginning, without what terminals make colours of; a flood is not heard to its end."""
    with program(f"print('\\x1b[31mred\\x1b[0m' + 'x' * {process.KEPT})") as server:
        assert until(lambda: server.status is not None, LIMIT)
        server.end()
        assert server.output.startswith("redxxx")
        assert len(server.output) == process.KEPT - 9
        assert not server.flooded
    with program("while True: print('x' * 10000)") as server:
        assert until(lambda: server.flooded, LIMIT)
    assert len(server.output) == process.KEPT


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
def test_every_serveris_ended(then: str) -> None:
    """Children, those too that have left the group or outlived their parent, are ended."""
    with program(DAEMON.format(then=then)) as server:
        assert until(lambda: "forked" in server.output, LIMIT)
        assert until(lambda: len(server.left()) == 3, LIMIT)
        pids = server.left() | {server.process.pid}
    assert not any(map(alive, pids))
    assert server.left() == set()


AWAY = """
import os, time
if os.fork():
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
program = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
os.execve(sys.executable, [sys.executable, "-c", program], {})
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has adoption")
def test_the_command_ends_what_has_left_its_group_and_has_another_environment() -> None:
    """It adopts the orphans of a server, as a service manager does."""
    with adopt_orphans():
        with program(f"import sys{AWAY}") as server:
            assert until(lambda: server.output.endswith("\n"), LIMIT)
        pid = int(server.output)
        assert alive(pid)
    assert not alive(pid)


def test_elsewhere_than_on_linux_no_process_is_adopted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(process.ctypes, "CDLL", None)
    with adopt_orphans():
        pass


def test_without_a_proc_no_process_is_marked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The group of the server is ended all the same."""
    monkeypatch.setattr(process, "PROC", tmp_path / "proc")
    with program(WAIT) as server:
        assert server.left() == set()
        pid = server.process.pid
    assert not alive(pid)


@pytest.fixture
def idle() -> Iterator[Process]:
    """Start a program that does nothing."""
    with program(WAIT) as server:
        yield server


def test_lines_are_read_as_they_come(idle: Process) -> None:
    """A line counts when its end is there."""
    assert idle.lines() == []
    with idle.log.open("w") as log:
        for text, count in ((f'{{"n": 1, "pid": {idle.process.pid}}}', 0), ("\n", 1), ("{}", 1)):
            log.write(text)
            log.flush()
            assert len(idle.lines()) == count


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{"n": 1, "pid": 7}\n{"n"', "log-cut"),
        ('{"n": 1, "pid": 7}\n{"n": 3, "pid": 7}\n', "log-cut"),
        ("nonsense\n", "log-damaged"),
        ("28\n", "log-damaged"),
    ],
)
def test_a_log_with_a_gap_is_no_evidence(idle: Process, text: str, kind: str) -> None:
    """It is told as that, and nothing is concluded from it."""
    idle.log.write_text(text)
    with pytest.raises(Unchecked) as unchecked:
        idle.all_lines()
    assert unchecked.value.fact.kind == kind
    idle.log.unlink()


def test_lines_of_several_processes_are_complete(idle: Process) -> None:
    """Each process counts its own lines."""
    lines = [{"n": 1, "pid": 7}, {"n": 1, "pid": 8}, {"n": 2, "pid": 7}]
    idle.log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert idle.all_lines() == lines
    idle.log.unlink()


def test_ports_are_given_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a port on which somebody listens is given, nor one that another server has."""
    first = Process([], [])
    with socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setattr(process, "PORTS", [first.port, taken.getsockname()[1]])
        with pytest.raises(Unchecked, match=r"no port of 127\.0\.0\.1 is free"):
            Process([], [])
    process._ports.discard(first.port)
