"""`lifespec watch` runs a command as it would run without it, and says what it waits for."""

import functools
import json
import os
import pty
import select
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lifespec import cli
from lifespec.diagnosis.fact import Fact, fact
from lifespec.watch import ends, group, parent, seen
from lifespec.watch.command import WatchedCommand
from lifespec.watch.signals import Signal
from lifespec.watch.waiting import Cause
from lifespec.watch.watched import WatchedProcess
from lifespec.words import Words

ROOT = Path(__file__).parents[2]
LIMIT = 120.0
WATCH = [sys.executable, "-m", "lifespec", "watch"]
# says each signal that comes, and ends a while after the first, or after as many as it is told
COUNTS = """
import os, signal, sys, time
heard = []
def hears(number, _):
    heard.append(signal.Signals(number).name)
    os.write(1, b"got\\n")  # print would fail if it is interrupted by this
for each in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP, signal.SIGCONT):
    signal.signal(each, hears)
print("ready", flush=True)
while len(heard) < int(sys.argv[1]):
    time.sleep(0.01)
time.sleep(0.7)
print("heard", *heard, flush=True)
"""
APP = """
import asyncio

async def connect():
    await asyncio.Event().wait()

async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        await receive()
        {startup}
        await send({{"type": "lifespan.startup.complete"}})
        await receive()
        await send({{"type": "lifespan.shutdown.complete"}})
"""
# no byte can be written to a file any more
FULL_DISK = """
import resource, time
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
time.sleep(0.5)
print("shop")
"""
FORKS_AFTER_THREADS = """
import os, threading, time, warnings
warnings.simplefilter("ignore")
for _ in range(8):
    threading.Thread(target=time.sleep, args=(0.3,)).start()
for _ in range(5):
    time.sleep(0.05)
    os.fork() or os._exit(0)
    os.wait()
print("shop")
"""


@pytest.fixture(autouse=True)
def folders(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the folders that those leave which are killed."""
    monkeypatch.setenv("TMPDIR", str(tmp_path_factory.mktemp("watch")))


def run(*command: str, options: Sequence[str] = (), **environment: str) -> tuple[int, str, str]:
    """Run a command below `watch`; return its status, its output and what was said."""
    found = subprocess.run(
        [*WATCH, *options, "--", *command],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    return found.returncode, found.stdout, found.stderr


def start(*command: str, **options: Any) -> "subprocess.Popen[str]":
    """Start a command below `watch`, and wait until it is ready."""
    found = subprocess.Popen(
        [*WATCH, "--after", "0.5", "--", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        **options,
    )
    assert found.stdout
    assert found.stdout.readline() == "ready\n"
    return found


def python(program: str) -> list[str]:
    return [sys.executable, "-c", program]


@pytest.mark.parametrize(
    ("command", "status", "says"),
    [
        (["sh", "-c", "exit 3"], 3, "nothing was seen: no process of the command was a Python"),
        ([sys.executable, "-I", "-c", "print('shop')"], 0, "nothing was seen: no process of the"),
        (python("print('shop')"), 0, "no lifespan was seen; exit status 0"),
        (python("import os; os.kill(os.getpid(), 9)"), 137, "exit status 137"),
    ],
)
def test_the_status_is_that_of_the_command(command: list[str], status: int, says: str) -> None:
    found, _output, said = run(*command)
    assert (found, said.startswith("lifespec: "), says in said) == (status, True, True), said


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "give the command that starts the server, or --pid"),
        (["--pid", "1", "--", "uvicorn"], "give the command that starts the server, or --pid"),
        (["--", "no-such-server"], "there is no program no-such-server"),
        (["--", os.devnull], "/dev/null cannot be run: Permission denied"),
        (["--json", "/nowhere/file", "--", "true"], "/nowhere/file cannot be written"),
    ],
)
def test_what_cannot_be_run_is_said(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["watch", "--language", "en", *arguments]) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("to", "number", "heard"),
    [
        (os.kill, signal.SIGTERM, "SIGTERM"),  # to this process alone: it is passed on
        (os.killpg, signal.SIGTERM, "SIGTERM"),  # to all: it is not passed on once more
        (os.kill, signal.SIGUSR1, "SIGUSR1"),
        (os.killpg, signal.SIGHUP, "SIGHUP"),  # as a terminal that is closed
    ],
)
def test_a_signal_arrives_once(to: Any, number: int, heard: str) -> None:
    with start(*python(COUNTS), "1") as process:
        to(process.pid, number)
        output, _said = process.communicate(timeout=LIMIT)
    assert output == f"got\nheard {heard}\n"


def test_a_signal_that_is_inherited_as_ignored_reaches_who_handles_it() -> None:
    """As in a script, where what runs in the background inherits it so."""
    ignore = functools.partial(signal.signal, signal.SIGINT, signal.SIG_IGN)
    with start(*python(COUNTS), "1", preexec_fn=ignore) as process:
        process.send_signal(signal.SIGINT)
        output, _said = process.communicate(timeout=LIMIT)
    assert output == "got\nheard SIGINT\n"


CTRL_C, CTRL_Z = b"\x03", b"\x1a"


@pytest.mark.parametrize(
    ("typed", "heard"),
    [
        ([(CTRL_C, "heard")], "SIGINT"),
        ([(CTRL_C, "got"), (CTRL_C, "heard")], "SIGINT SIGINT"),
        ([(CTRL_Z, "topped"), (b"fg\n", "got"), (CTRL_C, "heard")], "SIGCONT SIGINT"),
    ],
)
def test_keys_of_a_terminal_do_what_they_do_without_it(
    typed: list[tuple[bytes, str]], heard: str, tmp_path: Path
) -> None:
    (tmp_path / "counts.py").write_text(COUNTS)
    pid, terminal = pty.fork()
    if not pid:
        os.execvp("sh", ["sh", "-i"])  # noqa: S606  a shell with control of jobs
    output = b""

    def until(words: str) -> None:
        nonlocal output
        while words.encode() not in output:
            assert select.select([terminal], [], [], LIMIT)[0], output
            output += os.read(terminal, 1000)
        output = output.partition(words.encode())[2]

    command = [*WATCH, "--after", "0.5", "--", sys.executable, str(tmp_path / "counts.py")]
    os.write(terminal, f"{shlex.join([*command, str(len(heard.split()))])}\n".encode())
    until("ready\r\n")
    for keys, shows in typed:
        os.write(terminal, keys)
        until(shows if shows != "heard" else f"heard {heard}\r\n")
    until("exit status 0")
    os.close(terminal)
    os.waitpid(pid, 0)


def test_a_program_finds_its_own_path_and_its_own_sitecustomize(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('mine')\n")
    program = "import sys, sitecustomize; print(sitecustomize.__file__, *sys.path, sep='\\n')"
    _status, output, _said = run(*python(program), PYTHONPATH=str(tmp_path))
    lines = output.splitlines()
    assert lines.count("mine") == 2  # that of `watch` itself is the other
    assert {str(tmp_path), str(tmp_path / "sitecustomize.py")} <= {*lines}
    assert not [each for each in lines if "lifespec-watch" in each]


@pytest.mark.parametrize(
    "program",
    [
        "import _thread; _thread.start_new_thread = None; print('shop')",
        "import threading, signal; threading._active = signal.getsignal = None; print('shop')",
        "import os; os.fork() or os._exit(0); os.wait(); print('shop')",
        "import os; os.utime = os.open = None; import time; time.sleep(0.5); print('shop')",
        FULL_DISK,
        FORKS_AFTER_THREADS,
    ],
)
def test_whatever_a_program_replaces_it_runs(program: str) -> None:
    status, output, _said = run(*python(program))
    assert (status, output) == (0, "shop\n")


@pytest.mark.parametrize(
    ("command", "own"),
    [(["uvicorn", "--port", "80", "shop.web:app"], "shop"), (["python", "-m", "shop"], "")],
)
def test_the_agent_is_told_the_package_that_the_command_names(command: list[str], own: str) -> None:
    with parent.agent_folder(command) as folder:
        begin = (folder / "begin.py").read_text("utf-8")
    assert f".begin({str(folder)!r}, {own!r})\n" in begin


def test_what_startup_waits_for_is_said_in_both_languages(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(APP.format(startup="await connect()"))
    report = tmp_path / "said.jsonl"
    command = [sys.executable, "-m", "uvicorn", "shop:app", "--port", "0"]
    options = ["--after", "0.3", "--json", str(report), "--language", "zh", "--"]
    process = subprocess.Popen(
        [*WATCH, *options, *command],
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        start_new_session=True,
    )
    assert process.stderr
    said = ""
    while "connect" not in said:
        said += process.stderr.readline()
    process.send_signal(signal.SIGTERM)
    time.sleep(0.5)
    os.killpg(process.pid, signal.SIGKILL)  # with the server, which waits for ever
    process.wait()
    process.stderr.close()
    assert "启动" in said
    rows = [json.loads(each) for each in report.read_text("utf-8").splitlines()]
    row = next(each for each in rows if each["kind"] == "startup-lasts")
    assert "it waits until an Event is set in `connect`, shop.py:5" in row["says"]
    assert [each["function"] for each in row["rows"]] == ["app", "connect"]
    assert row["advice"].startswith("Nothing sets the Event")


def test_a_server_below_a_shell_does_not_hear_the_signal(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(APP.format(startup="print('ready', flush=True)"))
    server = f"{shlex.quote(sys.executable)} -m uvicorn shop:app --port 0; true"
    with start("sh", "-c", server, cwd=tmp_path) as process:
        process.send_signal(signal.SIGTERM)
        assert process.wait(LIMIT) == 128 + signal.SIGTERM
        os.killpg(process.pid, signal.SIGKILL)
        _output, said = process.communicate(timeout=LIMIT)
    assert "SIGTERM reached `sh`" in said
    assert "write `exec` in front" in " ".join(said.split())


# ---- what is said, without a server ------------------------------------------------------------


@pytest.fixture
def said() -> list[Fact]:
    return []


@pytest.fixture
def state(tmp_path: Path, said: list[Fact]) -> WatchedCommand:
    return WatchedCommand(tmp_path, 3.0, lambda what, *_: said.append(what))


def process_of(state: WatchedCommand, pid: int, *lines: Any) -> WatchedProcess:
    """Add a process that has written these lines."""
    found = state.processes[pid] = WatchedProcess(state.folder / f"{pid}.seen")
    found.path.touch()
    for line in lines:
        found.take(line)
    return found


CALLED, RECEIVED = seen.Called(10.0, "uvicorn"), seen.Received(10.0)
STARTED = seen.Sent(10.5, "lifespan.startup.complete", "", None)
STOPPED = seen.Sent(28.5, "lifespan.shutdown.complete", "", None)
STOP, SHUTDOWN = seen.Stop(20.0, "uvicorn"), seen.Shutdown(28.0, "uvicorn")
NO_PROCESS = 2**22 + 1
NOTHING = seen.Look(
    11.0,
    1,
    [],
    [],
    [],
    {},
    [],
    0,
    all=True,
    importing="",
    main=[],
    still=0,
    threads=None,
    children=[],
)
HERE = seen.At(__file__, 1, "f", own=True)


@pytest.mark.parametrize(
    ("lines", "stopped", "says"),
    [
        ([CALLED], 20.0, "startup was not completed"),
        ([CALLED, seen.Raised(11.0, None)], 20.0, "the application took no part in lifespan"),
        ([CALLED, STARTED], None, "started in 0.5 s, ended by itself"),
        ([CALLED, STARTED, STOP], None, "started in 0.5 s, stopped in 10.0 s"),
        (
            [CALLED, STARTED, SHUTDOWN],
            20.0,
            "started in 0.5 s, stopped in 10.0 s, of which 8.0 s before lifespan.shutdown",
        ),
        (
            [CALLED, STARTED, SHUTDOWN, STOPPED],
            27.5,
            "started in 0.5 s, stopped in 2.5 s, of which 1.5 s after clean-up",
        ),
    ],
)
def test_the_end_is_told(
    lines: list[Any], stopped: float | None, says: str, state: WatchedCommand, said: list[Fact]
) -> None:
    process_of(state, NO_PROCESS, *lines)
    process_of(state, NO_PROCESS + 1, seen.Called(10.0, "uvicorn"))  # of two the first counts
    state.looked = 30.0
    if stopped:
        state.signals += [Signal(signal.SIGTERM, stopped), Signal(signal.SIGTERM, 29.0)]
    state.end(0)
    assert Words().say(said[-1]) == f"{says}; exit status 0"


def test_a_process_that_goes_on_is_named_at_the_end(
    state: WatchedCommand, said: list[Fact]
) -> None:
    command = [sys.executable, "-c", "input(print())", "shop"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe) as left:
        assert left.stdout
        left.stdout.readline()  # its command line can be read
        process_of(state, left.pid, CALLED, STARTED, STOP)
        state.end(143)
        left.communicate(b"\n")
    names = f"started in 0.5 s, still running: input(print()) ({left.pid}); exit status 143"
    assert Words().say(said[-1]) == names


def test_failures_of_workers_are_counted_and_told_seldom(
    state: WatchedCommand, said: list[Fact]
) -> None:
    for pid in range(1, 6):
        for _ in "12":
            cause = Cause("failed", "KeyError", fact("failed", error="KeyError"))
            state.say(process_of(state, pid, CALLED), cause)
    assert [each.parts.get("count", 1) for each in said] == [1, 2, 4]


@pytest.mark.parametrize("phase", ["unserved", "startup", "shutdown", "requests"])
def test_a_phase_that_goes_on_is_said_where_it_stays(
    phase: str, state: WatchedCommand, said: list[Fact]
) -> None:
    process = process_of(state, 1, CALLED)
    places = [1, 2, 3, 4, 4, 4, 4, 4, 4, 1]
    for second, place in enumerate(places):
        state.looked += 1.0
        state.say(process, Cause(phase, place, fact("startup-lasts", seconds=second)))
    assert [each.parts["seconds"] for each in said] == [0, 6]


def test_time_in_which_it_was_stopped_does_not_count(state: WatchedCommand) -> None:
    began = time.time() - 100
    state.looked = began + 1
    state.look()
    assert 0.9 < state.lasted(began) < 60
    assert state.lasted(state.looked) == 0


def test_a_failure_of_its_own_is_said_once(
    state: WatchedCommand, said: list[Fact], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "alive", lambda: 1 / 0)
    state.look()
    state.look()
    (failure,) = said
    assert "lifespec itself failed here, please report it" in Words().say(failure)


@pytest.mark.parametrize("then", [STARTED, seen.Raised(10.5, None)])  # served without lifespan
def test_a_handler_of_the_authors_takes_a_signal(
    then: Any, state: WatchedCommand, said: list[Fact]
) -> None:
    found = process_of(state, os.getpid(), CALLED, then)
    state.signals += [Signal(signal.SIGTERM, 20.0), Signal(signal.SIGINT, 21.0)]
    command: Any = subprocess.Popen(["true"])
    found.take(NOTHING._replace(handlers={"SIGTERM": (__file__, 1, "stop")}))
    state.say_signal(command)
    state.say_signal(command)  # it was said
    found.take(NOTHING._replace(open=1))  # it waits for a request
    state.say_signal(command)
    command.wait()
    assert [each.kind for each in said] == ["signal-taken"]


def test_a_handler_that_came_after_a_signal_has_not_taken_it(
    state: WatchedCommand, said: list[Fact]
) -> None:
    """The author's is there again because the server's own ended it."""
    found = process_of(state, os.getpid(), CALLED, STARTED)
    state.signals.append(Signal(signal.SIGTERM, 20.0))
    found.told_to_end = 20.0
    command: Any = subprocess.Popen(["true"])
    found.take(NOTHING._replace(time=21.0))
    found.take(NOTHING._replace(time=22.0, handlers={"SIGTERM": (__file__, 1, "stop")}))
    state.say_signal(command)
    command.wait()
    assert [each.kind for each in said if each.kind == "signal-taken"] == []


OPEN = NOTHING._replace(requests=[seen.Request("GET", "/", 3, [HERE])], open=1)
MAIL = NOTHING._replace(requests=[seen.Request("GET", "/", 3, [HERE], background=True)], open=1)
INT, QUIT, TERM = signal.SIGINT, signal.SIGQUIT, signal.SIGTERM
HOSTED, GOT = seen.Hosted(9.0, "gunicorn"), seen.Signalled(35.0, "uvicorn", TERM)


@pytest.mark.parametrize(
    ("lines", "numbers", "says"),
    [
        (
            [CALLED],
            [INT],
            "Uvicorn looks at Ctrl-C only when startup has ended: Ctrl-\\",
        ),
        ([CALLED], [TERM], "Uvicorn looks at SIGTERM only when startup has ended: Ctrl-\\ ends it"),
        ([seen.Called(10.0, "gunicorn")], [INT], "when startup has ended: `kill -KILL"),
        ([CALLED], [QUIT], "Ctrl-\\ came 6 s ago, and the command goes on: "),
        ([seen.Called(10.0, "daphne")], [INT], "and the command goes on: "),
        ([CALLED, STARTED, SHUTDOWN], [INT], "and the command goes on: "),
        (
            [CALLED, STARTED, seen.Shutdown(35.5, "uvicorn"), NOTHING],
            [TERM, INT],
            "looks at Ctrl-C only when clean-up has ended: ",
        ),
        ([CALLED, STARTED, STOP, OPEN], [INT, INT], "goes on: "),  # that was to cancel them
        ([CALLED, STARTED, STOP, OPEN], [TERM, TERM], "while requests are open: Ctrl-C once more"),
        ([CALLED, STARTED, STOP, MAIL], [TERM, TERM], "while background tasks of responses run: "),
        (
            [seen.Called(10.0, "hypercorn"), STARTED, NOTHING._replace(threads=[HERE])],
            [INT, INT],
            "Ctrl-C does not end the threads that keep the process: Ctrl-\\ ends it",
        ),
        (
            [CALLED, STARTED, NOTHING._replace(time=40.0, blocked=[seen.Blocked(3, [HERE])])],
            [INT],
            "Ctrl-C has no effect while the event loop is blocked in `f`, ",
        ),
        ([CALLED, STARTED, STOP, NOTHING], [INT, TERM], "SIGTERM came 5 s ago, and the command"),
        ([seen.Began(10.0, "3.11")], [INT], "goes on; no lifespan was seen in it: `kill -KILL 1 "),
        ([STARTED], [INT], "Ctrl-C came 6 s ago, and the command goes on: "),
        ([HOSTED, CALLED], [INT], "when startup has ended: `kill -KILL 1 "),
        (
            [CALLED, GOT._replace(signal=INT), GOT],
            [],
            "looks at SIGTERM only when startup has ended: `kill -QUIT ",
        ),
        ([CALLED, STARTED, GOT], [], ""),
        ([seen.Called(10.0, "daphne"), GOT], [], ""),
    ],
)
def test_a_signal_that_is_not_acted_on_is_answered_with_what_ends_the_server(
    lines: list[Any], numbers: list[int], says: str, state: WatchedCommand, said: list[Fact]
) -> None:
    process_of(state, os.getpid(), *lines)
    state.said_at = 30.0
    state.process = SimpleNamespace(args=["uvicorn"], pid=1, returncode=None)  # type: ignore[assignment]
    for count, number in enumerate(numbers):
        state.signals.append(Signal(number, 35.0 + count, to_all=number != TERM))
        state.looked = 35.1 + count  # it may still act on this one
        state.say_signals()
    assert said == []
    state.looked = 41.0
    state.say_signals()
    state.say_signals()  # once
    told = [Words().say(each) for each in said if each.kind == "way-out"]
    assert len(told) == (1 if says else 0)
    assert not says or says in told[0]


def test_what_handles_ctrl_backslash_is_killed(state: WatchedCommand, said: list[Fact]) -> None:
    process_of(state, os.getpid(), STARTED, NOTHING._replace(blocked=[seen.Blocked(3, [HERE])]))
    state.process = SimpleNamespace(args=["uvicorn"], pid=1, returncode=None)  # type: ignore[assignment]
    state.signals.append(Signal(INT, 11.0, to_all=True))
    before = signal.signal(QUIT, lambda *_: None)
    try:
        state.say_signals()
    finally:
        signal.signal(QUIT, before)
    assert f"`kill -KILL 1 {os.getpid()}`" in Words().say(said[0])


@pytest.mark.parametrize(
    ("command", "name"), [("/bin/python3 -u /srv/uvicorn shop:app", "uvicorn"), ("python3 -q", "")]
)
def test_the_name_of_a_program_is_that_of_its_script(
    command: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: command.replace(" ", "\0"))
    assert group.program_of(1) == name


def test_a_process_is_known_to_run_without_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    def kill(pid: int, _: int) -> None:
        raise {2: ProcessLookupError, 3: PermissionError}.get(pid, OSError)

    def unknown(*_: object, **__: object) -> str:
        raise OSError

    monkeypatch.setattr(Path, "read_text", unknown)
    assert group.is_alive(os.getpid())
    assert (group.is_stopped(1), group.catches(1, 2), group.parent_of(1)) == (False, False, 0)
    assert group.program_of(1) == ""
    monkeypatch.setattr(os, "kill", kill)
    assert (group.is_alive(2), group.is_alive(3)) == (False, True)


def test_a_process_that_runs_already_is_looked_into(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delattr(sys, "remote_exec", raising=False)
    arguments = ["watch", "--language", "en", "--pid"]
    assert cli.main([*arguments, "1"]) == 2
    assert "needs Python 3.14" in capsys.readouterr().err
    scripts: list[str] = []
    monkeypatch.setattr(
        sys,
        "remote_exec",
        lambda _, script: scripts.append(Path(script).read_text()),
        raising=False,
    )
    looks = iter([True] * 10)
    monkeypatch.setattr(parent, "is_alive", lambda _: next(looks, False))
    assert cli.main([*arguments, "1", "--after", "0.1"]) == 0
    assert capsys.readouterr().err.count("has run no line of Python for 0.1 s") == 1
    assert "lifespec_agent.watch.agent.begin(" in scripts[0]
    assert "sitecustomize" not in scripts[0]  # which ran when the process began

    def refuses(*_: object) -> None:
        raise PermissionError("not permitted")

    monkeypatch.setattr(sys, "remote_exec", refuses, raising=False)
    assert cli.main([*arguments, "1"]) == 2
    assert "process 1 cannot be looked into: not permitted" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("phase", "signals", "ends", "kind"),
    [
        (STARTED, 0, "kill -KILL $$", "without-shutdown"),
        (STARTED, 2, "true", "second-signal"),
        (STARTED, 2, "kill -TERM $$", "second-signal"),
        (STARTED, 2, "kill -KILL $$", "without-shutdown"),  # not by the second signal
        (SHUTDOWN, 2, "kill -TERM $$", "second-signal"),
    ],
)
def test_a_clean_up_that_was_cut_off_is_told_once(
    phase: Any, signals: int, ends: str, kind: str, state: WatchedCommand, said: list[Fact]
) -> None:
    with subprocess.Popen(["sh", "-c", ends]) as state.process:
        pass
    found = process_of(state, NO_PROCESS, CALLED, STARTED, phase)
    found.path.write_text("")
    state.signals += [Signal(signal.SIGINT, 20.0), Signal(signal.SIGTERM, 21.0)][:signals]
    state.look()
    state.look()  # it is gone, and was told
    assert [each.kind for each in said] == [kind]
    assert [each.parts.get("signal", "SIGTERM") for each in said] == ["SIGTERM"]
    assert found.told_to_end == (20.0 if signals else None)


def test_a_server_that_got_the_signal_itself_is_not_talked_about(
    state: WatchedCommand, said: list[Fact]
) -> None:
    with subprocess.Popen(["sleep", "0.1"]) as command:
        process_of(state, command.pid, CALLED, STARTED)
        state.signals.append(Signal(signal.SIGTERM, 20.0))
        state.say_signal(command)  # type: ignore[arg-type]
    assert said == []


def test_a_signal_is_lost_to_a_server_that_starts_once_the_command_has_ended(
    state: WatchedCommand, said: list[Fact]
) -> None:
    process_of(state, os.getpid(), CALLED)
    state.signals.append(Signal(signal.SIGTERM, 20.0))
    command: Any = subprocess.Popen(["true"])
    state.say_signal(command)
    assert said == []  # the server may act on it once it has started
    command.wait()
    state.say_signal(command)
    assert [each.kind for each in said] == ["signal-lost"]


def test_hypercorn_waits_for_requests_on_newer_pythons() -> None:
    keys = ["Ctrl-C", "Ctrl-C twice"]
    found = [ends.ends("hypercorn", python, "requests", keys) for python in ("3.11", "3.12")]
    assert found == ["", "Ctrl-\\"]


def test_workers_that_are_started_anew_after_sigquit_are_told(
    state: WatchedCommand, said: list[Fact]
) -> None:
    command: Any = SimpleNamespace(args=["uvicorn"], pid=1, returncode=None)
    state.process = command
    state.looked = 41.0
    process_of(state, NO_PROCESS, CALLED, STARTED)
    state.signals.append(Signal(signal.SIGQUIT, 35.0, to_all=True))
    for begun, ended in ((37.0, 30.0), (10.0, 36.0)):  # none has ended by it, or begun since then
        process_of(state, os.getpid(), seen.Began(begun, "3.11"), seen.Received(38.0))
        state.gone[NO_PROCESS] = ended
        state.say_signals()
        assert said == []
    process_of(state, os.getpid(), seen.Began(37.0, "3.11"))
    state.say_signals()
    state.say_signals()
    assert [each.kind for each in said] == ["way-out-restarted"]


def test_the_outermost_process_of_python_is_named(
    state: WatchedCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    parents = {7: 6, 6: 5, 5: 4, 4: 1}
    monkeypatch.setattr("lifespec.watch.command.parent_of", lambda pid: parents.get(pid, 0))
    state.process = SimpleNamespace(pid=4)  # type: ignore[assignment]
    process_of(state, 7)
    process_of(state, 5)
    assert state.top_of(7) == 5


def test_the_end_names_nothing_that_was_not_seen(state: WatchedCommand, said: list[Fact]) -> None:
    state.end(0)
    process_of(state, NO_PROCESS)
    state.end(0)
    assert [each.parts["parts"][0].kind for each in said] == ["end-unseen", "end-no-lifespan"]


SERVERS = ("uvicorn", "hypercorn", "granian", "gunicorn, uvicorn-worker")


def test_what_ends_a_server_is_what_the_record_says() -> None:
    """On the oldest Python with one worker; on a newer one where that differs."""
    record = json.loads((ROOT / "docs/matrix/signals.json").read_text("utf-8"))
    names = {name: name for name in SERVERS} | {"gunicorn, asgi": "gunicorn"}
    compared = set()
    for row in record["subjects"]:
        python = row["python"].split()[1].rpartition(".")[0]
        for waits_for, workers in row["given up"].items() if row["name"] in names else ():
            keys = workers["one worker"]
            ended = [key for key in ends.KEYS if keys.get(key, {}).get("ended") == [True]]
            name = names[row["name"]]
            assert ends.ends(name, python, waits_for, []) == ended[0], (row["name"], waits_for)
            compared.add((name, waits_for))
    assert len(compared) == sum(map(len, ends.ENDED_BY.values()))


def test_what_is_said_of_one_of_several_processes_has_its_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "said.jsonl"
    row = fact("source", file="shop.py", line=1, function="f", source="pass")

    def watch(_command: Sequence[str], _after: float, tell: Any) -> int:
        tell(fact("failed", error="KeyError"), [row], Fact("advise-silent"), 7)
        tell(Fact("last-line", {"parts": (), "status": 0}), (), None, 0)
        return 0

    monkeypatch.setattr(parent, "watch", watch)
    assert cli.main(["watch", "--json", str(file), "--language", "en", "--", "serve"]) == 0
    first, second, third, *more, _end = capsys.readouterr().err.splitlines()
    assert first == "lifespec: process 7: startup failed: KeyError"
    assert second.strip() == "shop.py:1  in f  pass"
    assert third.strip() == "Answer the event before receiving the next one."
    pages = [line.strip() for line in more]
    assert pages == ["lifespec explain startup-raised", "lifespec explain no-answer"]
    says, unseen = map(json.loads, file.read_text("utf-8").splitlines())
    assert says["kind"] == "of-process"
    assert unseen["advice"] is None
