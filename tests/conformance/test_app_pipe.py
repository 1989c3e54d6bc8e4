"""An application in another language, here Python all the same, behind lines of JSON."""

import asyncio
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lifespec import Lifespan
from lifespec.conformance.app import pipe as pipe_module
from lifespec.conformance.app import run as app_run
from lifespec.conformance.app.pipe import Pipe, PipeError
from lifespec.conformance.cases import Unchecked
from lifespec.conformance.processes import began_within, kill, runs, until

__all__: list[str] = []

PROGRAM = """
import asyncio, json, os, sys

def say(**what):
    print(json.dumps(what), flush=True)

class Call:
    def __init__(self, number):
        self.number, self.events, self.acks = number, asyncio.Queue(), asyncio.Queue()
        self.seq = 0

    async def receive(self):
        say(did="receive", id=self.number)
        return await self.events.get()

    async def send(self, event):
        self.seq += 1
        say(did="send", id=self.number, seq=self.seq, event=event)
        ack = await self.acks.get()
        if "error" in ack:
            raise RuntimeError(ack["error"])

    async def run(self, scope, state):
        try:
            await app(scope, state, self.receive, self.send)
            say(did="returned", id=self.number)
        except asyncio.CancelledError:
            say(did="cancelled", id=self.number)
        except Exception as error:
            say(did="raised", id=self.number, error=str(error))

async def main():
    loop, calls, tasks = asyncio.get_running_loop(), {}, {}
    say(did="ready")
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        heard = json.loads(line)
        number = heard["id"]
        if heard["do"] == "call":
            calls[number] = Call(number)
            work = calls[number].run(heard["scope"], heard["state"])
            tasks[number] = asyncio.ensure_future(work)
        if heard["do"] == "event":
            calls[number].events.put_nowait(heard["event"])
        if heard["do"] == "ack":
            calls[number].acks.put_nowait(heard)
        if heard["do"] == "cancel":
            tasks[number].cancel()
    os._exit(0)
"""
LIVE = """
async def app(scope, state, receive, send):
    if scope["type"] not in ("lifespan", "http"):
        raise ValueError(scope["type"])
    if scope["type"] == "lifespan":
        for name in ("startup", "shutdown"):
            event = await receive()
            if event["type"] != "lifespan." + name:
                raise ValueError(event["type"])
            await send({"type": event["type"] + ".complete"})
"""


@pytest.fixture
def pipe(tmp_path: Path) -> Iterator[Callable[[str], Pipe]]:
    """Start a program with this application; end it."""
    started: list[Pipe] = []

    def start(app: str) -> Pipe:
        program = tmp_path / "program.py"
        program.write_text(f"{PROGRAM}{app}\nasyncio.run(main())\n")
        started.append(Pipe([sys.executable, str(program)], limit=20))
        return started[-1]

    yield start
    for each in started:
        each.close()


def verdicts(pipe: Pipe, spec: str = "asgi 2.0") -> dict[str, str]:
    """Play every case to a program in real time; return what is wrong."""
    wrong = {}
    for case in app_run.cases_for(spec):
        for found in app_run.run_case(pipe, case, spec, None, limit=10, real=True).findings:
            if found.verdict not in ("pass", "skip"):
                wrong[found.rule] = found.verdict
    return wrong


def test_a_program_is_checked(pipe: Callable[[str], Pipe]) -> None:
    """Its rule is named; what the server refused is told from what the program raised."""
    program = pipe(LIVE)
    assert (verdicts(program), program.fault) == ({}, "")
    program = pipe(LIVE.replace('"startup", ', '"startup", "startup", '))
    assert verdicts(program)["shutdown-answered"] == "info"
    program = pipe(LIVE.replace(".complete", ".ready"))
    assert verdicts(program) == {"events-known": "fail"}


def serve(app: Pipe, scope: dict[str, Any], *events: dict[str, Any]) -> list[Any]:
    """Call a program; return what it sent."""

    async def main() -> list[Any]:
        sent, given = [], iter(events)

        async def receive() -> Any:
            for event in given:
                return event
            return await asyncio.Event().wait()

        async def send(message: Any) -> None:
            sent.append(message)

        async with asyncio.timeout(20):
            await app(scope, receive, send)
        return sent

    return asyncio.run(main())


def test_states_are_named(pipe: Callable[[str], Pipe]) -> None:
    """A lifespan's state has a name, which its requests have, too; bytes travel as text."""
    program = pipe(
        "async def app(scope, state, receive, send):"
        " await send({'type': 'told', 'state': state, 'scope': scope})"
    )
    (told,) = serve(program, {"type": "lifespan", "state": {}})
    assert told == {"type": "told", "state": "state 1", "scope": {"type": "lifespan"}}
    (told,) = serve(program, {"type": "http", "state": {}, "path": b"/\xe9", "x": {1}})
    assert told["state"] == "state 1"
    assert told["scope"] == {"type": "http", "path": "/é", "x": "{1}"}
    (told,) = serve(program, {"type": "http"})
    assert told["state"] is None


def test_what_it_raises(pipe: Callable[[str], Pipe]) -> None:
    """Its exception is a PipeError with its text."""
    program = pipe("async def app(*_): raise ValueError('http only')")
    with pytest.raises(PipeError, match=r"^http only$"):
        serve(program, {"type": "lifespan"})
    program = pipe("async def app(*_): raise asyncio.CancelledError")
    with pytest.raises(PipeError, match=r"^it was cancelled$"):
        serve(program, {"type": "lifespan"})


def test_its_end(pipe: Callable[[str], Pipe]) -> None:
    """A program that ends ends its server's process, as far as one can see."""
    program = pipe("async def app(*_): os._exit(3)")
    with pytest.raises(SystemExit) as exit_:
        serve(program, {"type": "lifespan"})
    assert exit_.value.code == 3
    with pytest.raises(SystemExit):
        serve(program, {"type": "lifespan"})


def test_what_it_sends_when_its_call_is_over(pipe: Callable[[str], Pipe]) -> None:
    """It is taken, and does nothing."""
    program = pipe(
        """
later = []

async def app(scope, state, receive, send):
    if not later:
        later.append(asyncio.ensure_future(send({"type": "late"})))
    else:
        await later[0]
        await send({"type": "done"})
"""
    )
    assert serve(program, {"type": "lifespan"}) == []
    assert serve(program, {"type": "http"}) == [{"type": "done"}]


def test_a_cancelled_call(pipe: Callable[[str], Pipe]) -> None:
    """The program is told, and waited for, whatever it still says."""
    program = pipe(
        """
async def app(scope, state, receive, send):
    try:
        await receive()
    finally:
        asyncio.ensure_future(receive())
        await asyncio.sleep(0.1)
"""
    )

    async def main() -> float:
        began = time.monotonic()
        task = asyncio.ensure_future(program({"type": "lifespan"}, asyncio.Event().wait, None))  # type: ignore[arg-type]
        await asyncio.sleep(0.5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return time.monotonic() - began

    assert 0.5 < asyncio.run(main()) < 20


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (
            'say({"did": "receive", "id": 1})',
            'wrote \'{"did": "receive", "id": 1}\', which is no line of the protocol: there is no',
        ),
        ("sys.exit(4)", "is not ready: it ended with status 4"),
        ("print('y' * 999)", f"wrote '{'y' * 200}' ..., which is no line of the protocol"),
        ("import os; os.close(1); input()", "is not ready: it ended with status -9"),
        ("import time; time.sleep(60)", "was not ready within 1 s"),
    ],
)
def test_a_program_that_is_not_ready(program: str, said: str, tmp_path: Path) -> None:
    """A sentence says why; the program is ended."""
    with pytest.raises(Unchecked, match=r"^'nosuchprogram' cannot be started: No such file"):
        Pipe(["nosuchprogram"])
    path = tmp_path / "program.py"
    path.write_text(f"import json, sys\ndef say(what): print(json.dumps(what))\n{program}\n")
    limit = 1 if "sleep" in program else 20
    with pytest.raises(Unchecked) as error:
        Pipe([sys.executable, str(path)], limit)
    assert str(error.value).startswith(f"{sys.executable} {said}")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("hello", "it is no JSON"),
        ("[" * 200_000, "it is no JSON"),
        ("42", "it is no object with the key 'did'"),
        ("{}", "it is no object with the key 'did'"),
        ('{"did": "foo", "id": 1}', "there is no 'foo'"),
        ('{"did": "gone", "id": 1}', "there is no 'gone'"),
        ('{"did": "send", "id": 1, "event": {}}', "'send' has no 'seq'"),
        ('{"did": "send", "id": 1, "seq": 1}', "'send' has no 'event'"),
        ('{"did": "send", "seq": 1, "event": {}}', "'send' has no 'id'"),
        ('{"did": "send", "id": 1, "seq": "1", "event": {}}', "its 'seq' is no number"),
        ('{"did": "returned", "id": true}', "its 'id' is no number"),
        ('{"did": "raised", "id": 1}', "'raised' has no 'error'"),
        ('{"did": "raised", "id": 1, "error": 1}', "its 'error' is no text"),
    ],
)
def test_a_line_is_parsed(line: str, why: str) -> None:
    """The first thing that is wrong is told."""
    assert pipe_module._parsed(line.encode()) == ({}, why)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("x" * 3000, "it is too long"),
        ('{"did": "ready"}', "it is said once, before all others"),
        ('{"did": "send", "id": 99, "seq": 1, "event": {}}', "there is no call 99"),
    ],
)
def test_a_line_that_is_none_of_the_protocol(
    line: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program is ended, and the line is told of."""
    path = tmp_path / "program.py"
    path.write_text(
        f'print(\'{{"did": "ready"}}\', flush=True)\ninput()\nprint({line!r}, flush=True)\ninput()'
    )
    if why == "it is too long":
        monkeypatch.setattr(pipe_module, "LONGEST", 2000)
    with Pipe([sys.executable, str(path)], 20) as program:
        with pytest.raises(SystemExit):
            serve(program, {"type": "lifespan"})
        shown = f"{line[:200]!r}{' ...' * (len(line) > 200)}"
        wanted = f"wrote {shown}, which is no line of the protocol: {why}"
        assert program.fault.endswith(wanted)
        program.tell(do="event", id=1)  # nobody listens any more


def test_a_cancelled_call_that_does_not_end(pipe: Callable[[str], Pipe]) -> None:
    """It is waited for as long as the limit says."""
    program = pipe(
        """
async def app(scope, state, receive, send):
    while True:
        try:
            await receive()
        except asyncio.CancelledError:
            pass
"""
    )
    program._limit = 0.3

    async def main() -> None:
        async with asyncio.timeout(0.5):
            await program({"type": "lifespan"}, asyncio.Event().wait, None)  # type: ignore[arg-type]

    began = time.monotonic()
    with pytest.raises(TimeoutError):
        asyncio.run(main())
    assert time.monotonic() - began < 15


def test_a_program_that_reads_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for it for ever: it is ended, and a sentence says why."""
    monkeypatch.setattr(pipe_module, "READING", 0.3)
    path = tmp_path / "program.py"
    path.write_text('import time\nprint(\'{"did": "ready"}\', flush=True)\ntime.sleep(60)\n')
    began = time.monotonic()
    with Pipe([sys.executable, str(path)], 20) as program:
        with pytest.raises(SystemExit):
            serve(program, {"type": "http", "path": "x" * 1_000_000})
        assert program.fault == f"{sys.executable} did not read its input for 0.3 s"
    assert time.monotonic() - began < 15


def test_a_long_line_is_read(pipe: Callable[[str], Pipe]) -> None:
    """It goes through in parts, as the program reads it."""
    program = pipe("async def app(s, state, receive, send): await send(len(s['path']))")
    assert serve(program, {"type": "http", "path": "x" * 1_000_000}) == [1_000_000]


def test_a_receive_that_raises(tmp_path: Path) -> None:
    """The program is told; where it dies of it, the exception is the server's own."""
    path = tmp_path / "program.py"
    path.write_text(
        "import json\n"
        "say = lambda **what: print(json.dumps(what), flush=True)\n"
        "say(did='ready')\n"
        "input()\n"
        "say(did='receive', id=1)\n"
        "say(did='raised', id=1, error=json.loads(input())['error'])\n"
        "input()\n"
    )
    refusal = RuntimeError("not here")

    async def receive() -> Any:
        raise refusal

    with Pipe([sys.executable, str(path)], 20) as program:
        with pytest.raises(RuntimeError) as error:
            asyncio.run(program({"type": "http"}, receive, None))
        assert error.value is refusal


def test_a_program_that_listens_for_ever(pipe: Callable[[str], Pipe]) -> None:
    """A server that cancels who asks after the last answer ends the call, at once."""
    program = pipe(LIVE + "        await receive()\n")

    async def main() -> Lifespan:
        async with asyncio.timeout(20), Lifespan(program, startup_timeout=10, grace=15) as lifespan:
            began.append(time.monotonic())
        return lifespan

    began: list[float] = []
    lifespan = asyncio.run(main())
    assert (lifespan.outcome, lifespan.error) == ("complete", None)
    assert time.monotonic() - began[0] < 10


def test_where_it_runs_and_what_it_prints(tmp_path: Path) -> None:
    """In the folder that is given; what is no line of the protocol goes to standard error."""
    (tmp_path / "program.py").write_text(
        "import os, sys\nprint(os.getcwd(), file=sys.stderr)\n"
        'print(\'{"did": "ready"}\', flush=True)\n'
    )
    with (
        (tmp_path / "printed").open("wb") as printed,
        Pipe([sys.executable, "program.py"], 20, cwd=tmp_path, stderr=printed),
    ):
        pass
    assert (tmp_path / "printed").read_text() == f"{tmp_path.resolve()}\n"


def test_an_event_of_any_kind(pipe: Callable[[str], Pipe]) -> None:
    """What is sent is the application's affair, not the protocol's."""
    program = pipe("async def app(s, state, receive, send): await send(True); await send(None)")
    assert serve(program, {"type": "http"}) == [True, None]
    assert program.fault == ""


@pytest.mark.parametrize("leaves", [False, True])
def test_a_command_that_starts_the_program(
    leaves: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shell, or npm: the program that speaks is its child, and ends with it in any case."""
    monkeypatch.setattr(pipe_module, "ENDING", 0.5)
    path = tmp_path / "program.py"
    path.write_text(
        f"{PROGRAM}{LIVE}\nopen('pid', 'w').write(str(os.getpid()))\nasyncio.run(main())\n"
    )
    monkeypatch.chdir(tmp_path)
    words = f"{'setsid ' * leaves}{shlex.join([sys.executable, str(path)])}; true"
    began = time.monotonic()
    with Pipe(["sh", "-c", words], 20) as program:
        assert [each["type"] for each in serve(program, {"type": "lifespan"}, *EVENTS)] == [
            "lifespan.startup.complete",
            "lifespan.shutdown.complete",
        ]
    assert time.monotonic() - began < 15
    assert program.fault == ""
    assert until(lambda: not runs(int(Path("pid").read_text())), 10)


EVENTS = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]
STAYS = """
import os, sys, time
print('{"did": "ready"}', flush=True)
if os.fork():
    input()
    sys.stdin.read()
    SAYS
    time.sleep(60)
SESSION
open("pid", "w").write(str(os.getpid()))
time.sleep(60)
"""


@pytest.mark.parametrize("session", ["", "os.setsid()"])
def test_a_program_that_goes_on_without_input(
    session: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is ended, with its group; who has left that has the output, and nobody waits for it.

    What the program says when its input has ended is no matter any more.
    """
    monkeypatch.setattr(pipe_module, "ENDING", 0.5)
    path = tmp_path / "program.py"
    path.write_text(STAYS.replace("SESSION", session).replace("SAYS", "print('bye', flush=True)"))
    monkeypatch.chdir(tmp_path)
    began = time.monotonic()
    with Pipe([sys.executable, str(path)], 20) as program:
        program.tell(do="nothing")
        assert until(lambda: Path("pid").exists() and Path("pid").read_text(), 10)
    assert time.monotonic() - began < 15
    assert program.fault == ""
    pid = int(Path("pid").read_text())
    if session:
        kill([pid])
        program._reader.join()
        program._output.close()
    assert until(lambda: not began_within(pid, 0, time.monotonic()), 10)
