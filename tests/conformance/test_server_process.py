"""A server's process as a subject: started, asked, told to stop, and ended for certain."""

import contextlib
import json
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from lifespec.conformance import processes
from lifespec.conformance.cases import Unchecked
from lifespec.conformance.processes import until
from lifespec.conformance.server import process
from lifespec.conformance.server.process import OfPerl, Subject

__all__: list[str] = []

LIMIT = 30.0  # seconds; nothing here takes one
SERVE = Path(__file__).parents[2] / "docs" / "programs" / "serve.py"
SERVER = [sys.executable, str(SERVE), "{app}", "--port", "{port}"]
WAIT = "import time; time.sleep(60)"


def program(text: str, *words: str) -> Subject:
    """Return a subject that runs a program of a few lines."""
    return Subject([sys.executable, "-c", text, *words], [])


def alive(pid: int) -> bool:
    """Whether a process is there, and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_server_is_started_asked_and_told_to_stop() -> None:
    """It serves the probe on a port that was free, and leaves neither process nor folder."""
    with Subject(SERVER, [["converse", None]]) as subject:
        assert until(lambda: subject.ask().body, LIMIT)
        answer = subject.ask("/look")
        assert answer.body
        assert answer.path == "/look"
        assert answer.asked < answer.answered
        assert subject.status is None
        assert subject.pids() == {subject.process.pid}
        assert subject.elsewhere() == []
        subject.tell(signal.SIGTERM)
        assert until(lambda: subject.status is not None, LIMIT)
        subject.tell(signal.SIGTERM)  # nobody is there to hear it
        kinds = [line["kind"] for line in subject.complete()]
        assert (kinds[0], kinds[-1]) == ("imported", "returned")
    assert subject.status == 0
    assert "Serving on" in subject.output
    assert not subject.flooded
    assert not subject.folder.exists()
    with socket.create_server(("127.0.0.1", subject.port)):
        pass


def test_places_are_filled() -> None:
    """What the command leaves open is filled in; other braces are its own."""
    text = "import sys; print(*sys.argv[1:])"
    with program(text, "{app}", "{port}", "-w={workers}", "{log}", "{other}", "{}") as subject:
        assert until(lambda: subject.status is not None, LIMIT)
        subject.end_processes()
        words = subject.output.split()
    log = str(subject.folder / "log.jsonl")
    assert words == ["lifespec_probe:app", str(subject.port), "-w=1", log, "{other}", "{}"]


def test_a_server_of_perl_is_given_a_file() -> None:
    """The probe that is in its language, by its whole path."""
    text = "import sys; print(sys.argv[1], open(sys.argv[1]).read().count('package Lifespec'))"
    with OfPerl([sys.executable, "-c", text, "{app}"], []) as subject:
        assert until(lambda: subject.status is not None, LIMIT)
        subject.end_processes()
        assert subject.output == f"{subject.folder / 'lifespec_probe.pl'} 1\n"


NO_PROGRAM = "activate the environment that has it, or give its path"


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (["no-such-program"], f"there is no program 'no-such-program': {NO_PROGRAM}"),
        ([str(SERVE)], f"{str(SERVE)!r} cannot be run: Permission denied"),
    ],
)
def test_a_command_that_cannot_be_run(command: list[str], sentence: str) -> None:
    """It is told in a sentence, and nothing is left behind."""
    subject = Subject(command, [])
    with pytest.raises(Unchecked) as told, subject:
        pass
    assert str(told.value) == sentence
    assert not subject.folder.exists()


def test_output_is_kept_in_part() -> None:
    """The beginning, without what terminals make colours of; a flood is not heard to its end."""
    with program(f"print('\\x1b[31mred\\x1b[0m' + 'x' * {process.KEPT})") as subject:
        assert until(lambda: subject.status is not None, LIMIT)
        subject.end_processes()
        assert subject.output.startswith("redxxx")
        assert len(subject.kept) == process.KEPT
        assert not subject.flooded
    with program("while True: print('x' * 10000)") as subject:
        assert until(lambda: subject.flooded, LIMIT)
    assert len(subject.kept) == process.KEPT
    assert subject.said < process.FLOOD + 100_000


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
def test_every_process_is_ended(then: str) -> None:
    """Children, those too that have left the group or outlived their parent, are ended."""
    with program(DAEMON.format(then=then)) as subject:
        assert until(lambda: "forked" in subject.output, LIMIT)
        assert until(lambda: len(subject.pids()) == 3 + (then != "os._exit(0)"), LIMIT)
        pids = subject.pids()
    assert not any(map(alive, pids))
    assert subject.pids() == set()


AWAY = """
import os, subprocess, sys, time
sys.path.insert(0, {folder!r})
if os.fork():
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
program = "import sys, time; sys.path.insert(0, sys.argv[1]); import lifespec_probe; time.sleep(60)"
os.execve(sys.executable, [sys.executable, "-c", program, {folder!r}], {{}})
"""


def test_a_daemon_with_an_environment_of_its_own_is_ended() -> None:
    """A server without the mark, as sudo starts it, is known by what the probe noted."""
    text = AWAY.format(folder="FOLDER").replace("'FOLDER'", "os.environ['LIFESPEC_CASE']")
    with program(text) as subject:
        assert until(lambda: subject.status is not None, LIMIT)
        assert until(lambda: len(subject.lines()) == 1, LIMIT)
        (pid,) = subject.pids()
        assert alive(pid)
    assert not alive(pid)


def test_a_number_of_another_process_is_not_ended() -> None:
    """What the probe noted in a container is another process here: it began before, or later."""
    with program(WAIT) as subject:
        stranger = {"n": 1, "pid": os.getppid(), "time": time.monotonic()}
        later = {"n": 1, "pid": subject.process.pid, "time": time.monotonic() - 60}
        subject.log.write_text("".join(json.dumps(line) + "\n" for line in (stranger, later)))
        assert subject.pids() == {subject.process.pid}  # for its mark
    assert alive(os.getppid())


def test_a_log_that_is_damaged_ends_nothing_less(idle: Subject) -> None:
    """Whoever reads it is told so, each time."""
    idle.log.write_text("nonsense\n")
    assert idle.pids() == {idle.process.pid}
    with pytest.raises(Unchecked):
        idle.complete()
    idle.log.unlink()


def test_without_a_proc_the_log_names_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a system has no /proc, the probe's lines say who runs; this process is none."""
    monkeypatch.setattr(process, "PROC", tmp_path / "proc")
    monkeypatch.setattr(processes, "PROC", tmp_path / "proc")
    with program(WAIT) as subject:
        assert subject.elsewhere() == []
        lines = [{"n": 1, "pid": pid} for pid in (os.getpid(), subject.process.pid)]
        subject.log.write_text("".join(json.dumps(line) + "\n" for line in lines))
        assert subject.pids() == {subject.process.pid}
        subject.log.unlink()


def test_a_port_elsewhere_is_found() -> None:
    """The ports are told on which the processes listen instead of theirs."""
    text = "import socket, time; s = socket.create_server(('127.0.0.1', 0))"
    with program(f"{text}; print(s.getsockname()[1], flush=True); time.sleep(60)") as subject:
        assert until(lambda: "\n" in subject.output, LIMIT)
        assert subject.elsewhere() == [int(subject.output)]


def test_a_process_that_is_gone_has_no_files() -> None:
    """Whoever ends while one looks is passed over."""
    assert [*process._links(0)] == []


def test_what_another_user_owns_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file descriptor that cannot be read is none of ours."""
    folder = tmp_path / "7" / "fd"
    folder.mkdir(parents=True)
    (folder / "0").touch()
    (folder / "1").symlink_to("socket:[28]")
    monkeypatch.setattr(process, "PROC", tmp_path)
    assert [*process._links(7)] == ["socket:[28]"]


@pytest.fixture
def idle() -> Iterator[Subject]:
    """Start a program that does nothing."""
    with program(WAIT) as subject:
        yield subject


def test_lines_are_read_as_they_come(idle: Subject) -> None:
    """A line counts when its end is there."""
    assert idle.lines() == []
    with idle.log.open("w") as log:
        for text, count in ((f'{{"n": 1, "pid": {idle.process.pid}}}', 0), ("\n", 1), ("{}", 1)):
            log.write(text)
            log.flush()
            assert len(idle.lines()) == count


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"n": 1, "pid": 7}\n{"n"', "the probe's log is cut short: its last line has no end"),
        (
            '{"n": 1, "pid": 7}\n{"n": 3, "pid": 7}\n',
            "the probe's log is cut short: lines of process 7 are missing",
        ),
        ("nonsense\n", "the probe's log is damaged: b'nonsense' is no line of it"),
        ("28\n", "the probe's log is damaged: b'28' is no line of it"),
    ],
)
def test_a_log_with_a_gap_is_no_evidence(idle: Subject, text: str, sentence: str) -> None:
    """It is told as that, and nothing is concluded from it."""
    idle.log.write_text(text)
    with pytest.raises(Unchecked) as told:
        idle.complete()
    assert str(told.value) == sentence
    idle.log.unlink()


def test_lines_of_several_processes_are_complete(idle: Subject) -> None:
    """Each process counts its own lines."""
    lines = [{"n": 1, "pid": 7}, {"n": 1, "pid": 8}, {"n": 2, "pid": 7}]
    idle.log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert idle.complete() == lines
    idle.log.unlink()


@pytest.mark.parametrize("body", ["no JSON", '{"probe": "another"}', "[28]"])
def test_only_the_probe_answers(idle: Subject, body: str) -> None:
    """What somebody else answers on that port is no answer."""

    class Stranger(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", idle.port), Stranger) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        assert idle.ask(limit=LIMIT).body is None
        thread.join()
    assert idle.ask().body is None  # and now nobody is there


@pytest.mark.parametrize("stops", ["the limit", "the suite"])
def test_an_answer_has_one_timeout(idle: Subject, stops: str) -> None:
    """A server that sends one byte after the other keeps nobody waiting longer."""

    def drip() -> None:
        connection, _ = listening.accept()
        with connection, contextlib.suppress(OSError):
            connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n")
            for _ in range(100_000):
                connection.sendall(b" ")
                if stops == "the suite":
                    idle.broken_off.set()
                time.sleep(0.01)

    with socket.create_server(("127.0.0.1", idle.port)) as listening:
        thread = threading.Thread(target=drip)
        thread.start()
        began = time.monotonic()
        assert idle.ask(limit=0.3 if stops == "the limit" else LIMIT).body is None
        assert time.monotonic() - began < LIMIT / 2
        thread.join(LIMIT)


def test_ports_are_given_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a port on which somebody listens is given, nor one that another subject has."""
    first = Subject([], [])
    with socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setattr(process, "PORTS", [first.port, taken.getsockname()[1]])
        with pytest.raises(Unchecked, match=r"no port of 127\.0\.0\.1 is free"):
            Subject([], [])
    process._given.discard(first.port)
