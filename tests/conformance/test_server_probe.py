"""The probe plays its script to whatever serves it, and writes down what it sees."""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
import trio

from lifespec.conformance import probe

STARTUP, SHUTDOWN = {"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}
COMPLETE = {"type": "lifespan.startup.complete"}
ENDS = "raised", "cancelled", "returned"
Run = Callable[[Callable[[], Coroutine[Any, Any, Any]]], Any]


class Stage:
    """A server that offers events, keeps what is sent, and reads the log."""

    def __init__(self, folder: Path, *events: Any) -> None:
        self.folder, self.events, self.sent = folder, [*events], list[Any]()
        self.refusing = False
        self.more: Any = None

    def script(self, *steps: tuple[str, Any]) -> None:
        """Write the script."""
        (self.folder / "script.json").write_text(json.dumps(steps))

    async def receive(self) -> Any:
        """Give the next event; without one, wait for what `offer` gives."""
        while not self.events:
            await probe.sleep(0.01)
        return self.events.pop(0)

    async def send(self, message: Any) -> None:
        """Take a message, or refuse it."""
        if self.refusing:
            raise ValueError("not here")
        self.sent.append(message)

    async def call(self, kind: str = "lifespan", **keys: Any) -> Any:
        """Call the probe."""
        return await probe.app({"type": kind, **keys}, self.receive, self.send)

    @property
    def log(self) -> list[dict[str, Any]]:
        """Read the lines so far."""
        log = self.folder / "log.jsonl"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    @property
    def kinds(self) -> list[tuple[str, Any]]:
        """Kind and type of each line that is no step."""
        return [(row["kind"], row.get("type")) for row in self.log if row["kind"] != "plays"]

    async def waits(self, call: Coroutine[Any, Any, Any], file: str) -> None:
        """Hold if a call goes on as soon as there is a file, and not before."""
        task = asyncio.create_task(call)
        await asyncio.sleep(10)
        assert not task.done()
        (self.folder / file).touch()
        await task

    async def noted(self, kind: str) -> None:
        """Wait until the probe has noted something."""
        while not any(kind == row["kind"] for row in self.log):
            await probe.sleep(0.01)


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    """Let the probe live in an empty folder."""
    monkeypatch.setattr(probe, "HERE", tmp_path)
    monkeypatch.setattr(probe, "LOG", tmp_path / "log.jsonl")
    monkeypatch.setattr(probe, "SCRIPT", tmp_path / "script.json")
    monkeypatch.setattr(probe, "app", probe.Probe())
    return Stage(tmp_path, STARTUP, SHUTDOWN)


@pytest.fixture(params=["asyncio", "trio"])
def run(request: pytest.FixtureRequest) -> Run:
    """Run on each event loop."""
    if request.param == "trio":
        return trio.run
    return lambda main: asyncio.run(main())


@pytest.mark.parametrize(
    ("script", "refusing", "wanted"),
    [
        ("send", True, "sends startup.complete, refused startup.complete, raised ValueError"),
        ("try, receive", True, "sends , refused , received startup, returned"),
        (
            "converse",
            False,
            "received startup, sends startup.complete, sent startup.complete, received shutdown",
        ),
        ("raise", False, "raised Failure"),
        ("throw CancelledError", False, "cancelled CancelledError"),
        ("throw SystemExit", False, "cancelled SystemExit"),
        ("receive, receive, receive", False, "received startup, received shutdown, received , ret"),
    ],
)
def test_steps_and_end_are_logged(script: str, refusing: bool, wanted: str, stage: Stage) -> None:
    """What a server refuses is logged and raised, except after `try`."""
    arguments = {"send": COMPLETE, "try": 28, "raise": "no database"}
    steps = [line.partition(" ") for line in script.split(", ")]
    stage.script(*((verb, rest or arguments.get(verb)) for verb, _space, rest in steps))
    stage.refusing = refusing
    stage.events.append({"type": 28})
    with contextlib.suppress(ValueError, probe.Failure, asyncio.CancelledError, SystemExit):
        asyncio.run(stage.call(state=28))
    rows = [row for row in stage.log[1:] if row["kind"] != "plays"]
    logged = [
        f"{row['kind']} {row.get('error', '') if row['kind'] in ENDS else row['type']}".replace(
            "lifespan.", ""
        )
        for row in rows
    ]
    assert ", ".join(logged).rstrip().startswith(wanted)


async def test_the_state_is_logged_with_the_identities_of_its_values(stage: Stage) -> None:
    state: dict[str, Any] = {}
    stage.script(("state", {"visitors": []}))
    await stage.call(state=state)
    row = next(row for row in stage.log if row["kind"] == "kept")
    assert row["state"] == {"visitors": []}
    assert row["state_id"] == id(state)
    assert row["ids"] == {"visitors": id(state["visitors"])}
    await stage.call()  # a server that offers none sees no key
    assert "state" not in [row for row in stage.log if row["kind"] == "kept"][1]


async def test_each_pause_waits_for_a_file(stage: Stage) -> None:
    stage.script(("pause", None), ("pause", None))
    (stage.folder / "go1").touch()
    await stage.waits(stage.call(), "go2")


@pytest.mark.parametrize("path", ["/hold", "/linger"])
async def test_a_held_request_waits_for_the_file_release(path: str, stage: Stage) -> None:
    await stage.waits(answer(stage, path), "release")
    assert ("holds", "http") in stage.kinds


async def test_it_hangs_until_it_is_cancelled(stage: Stage) -> None:
    stage.script(("hang", None))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(stage.call(), 100)
    assert stage.kinds[-1] == ("cancelled", "lifespan")


@pytest.mark.parametrize(
    ("script", "noted"),
    [
        (["listen", "return"], ("received", "lifespan.shutdown", "child")),
        (["later", "wait"], ("refused", "lifespan.startup.complete", "child")),
    ],
)
def test_a_task_goes_on_after_the_call(
    script: list[str], noted: tuple[str, ...], stage: Stage, run: Run
) -> None:
    """It receives an event, or sends one, which is refused."""
    arguments = {"later": COMPLETE, "wait": 0.05}
    stage.script(*((verb, arguments.get(verb)) for verb in script))
    stage.events.clear()

    async def main() -> None:
        await stage.call()
        stage.refusing = True
        stage.events.append(SHUTDOWN)
        await stage.noted("child ended")

    run(main)
    *_, ended, last, over = [row for row in stage.log if row["kind"] != "sends"]
    assert (ended["kind"], over["kind"]) == ("returned", "child ended")
    assert (last["kind"], last["type"], last["side"]) == noted


async def answer(stage: Stage, path: str, **keys: Any) -> dict[str, Any]:
    """Make a request; return the body of the response."""
    await stage.call("http", path=path, **keys)
    start, body = stage.sent[-2:]
    assert (start["status"], body["type"]) == (200, "http.response.body")
    assert dict(start["headers"])[b"content-length"] == b"%d" % len(body["body"])
    return dict(json.loads(body["body"]))


async def test_a_request_is_answered_with_its_state_and_identities(stage: Stage) -> None:
    offered: dict[str, Any] = {}
    stage.script()
    await stage.call(state=offered)
    await stage.call()
    own: dict[str, Any] = {"colour": "green", "visitors": []}
    body = await answer(stage, "/", state=own)
    assert (body["probe"], body["pid"]) == (stage.folder.name, os.getpid())
    assert (body["state"], body["state_id"]) == ({"colour": "green", "visitors": []}, id(own))
    assert body["offered"] == [id(offered)]
    assert stage.log[-1]["type"] == "http"


async def test_a_path_changes_the_state(stage: Stage) -> None:
    own: dict[str, Any] = {"colour": "green", "visitors": []}
    scope = {"type": "http", "state": own}
    for path in ("/set/colour/red", "/append/visitors/Ada", "/append/nobody/Ada", "/rebind"):
        await probe.app(scope | {"path": path}, stage.receive, stage.send)
    assert own == {"colour": "red", "visitors": ["Ada"]}
    await answer(stage, "/append/visitors/Ada")


async def test_other_scopes_are_refused(stage: Stage) -> None:
    with pytest.raises(probe.Failure, match="unheard"):
        await stage.call("lifespec.unheard")
    assert stage.kinds == [("called", "lifespec.unheard"), ("raised", "lifespec.unheard")]


def test_without_trio_the_probe_is_on_asyncio(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "trio", raising=False)
    assert probe.trio() is None


async def test_a_websocket_is_answered_with_one_message(stage: Stage) -> None:
    stage.events = [{"type": "websocket.connect"}]
    await stage.call("websocket", path="/set/taste/sweet", state={"colour": "green"})
    accepted, message, closed = stage.sent
    assert (accepted["type"], closed["type"]) == ("websocket.accept", "websocket.close")
    assert json.loads(message["text"])["state"] == {"colour": "green"}


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        (None, None),
        (["a", 1, 1.5, True], ["a", 1, 1.5, True]),
        ({"a": {}}, {"a": {}}),
        ({1: 2}, {"!": "dict", "holds": {"1": 2}, "mutable": True}),
        (MappingProxyType({}), {"!": "mappingproxy", "holds": {}, "mutable": False}),
        (b"x", {"!": "bytes", "repr": "b'x'"}),
        ((), {"!": "tuple", "repr": "()"}),
    ],
)
def test_a_value_that_json_lacks_has_the_name_of_its_type(value: object, shape: object) -> None:
    assert probe.shape(value) == shape


def test_a_value_that_holds_itself_is_cut() -> None:
    value: list[Any] = []
    value.append(value)
    assert '"!": "list"' in json.dumps(probe.shape(value))


def test_the_probe_needs_nothing_but_python(tmp_path: Path) -> None:
    copy = tmp_path / "copy.py"
    copy.write_bytes(Path(probe.__file__).read_bytes())
    subprocess.run([sys.executable, "-I", "-S", str(copy)], check=True, timeout=60)
    assert not (tmp_path / "log.jsonl").exists()


def test_an_import_beside_a_script_is_logged(stage: Stage) -> None:
    stage.script()
    code = compile(Path(probe.__file__).read_text("utf-8"), probe.__file__, "exec")
    exec(code, {"__file__": str(stage.folder / "copy.py"), "__name__": "copy"})  # noqa: S102
    assert stage.kinds == [("imported", None)]


def test_lines_of_several_threads_are_whole(stage: Stage) -> None:
    program = "import sys; sys.path.insert(0, sys.argv[1]); import copied"
    (stage.folder / "copied.py").write_bytes(Path(probe.__file__).read_bytes())
    (stage.folder / "script.json").write_text("[]")
    program += "; from threading import Thread as T; note = copied.note"
    program += "; ts = [T(target=lambda: [note('x', 1) for _ in range(50)]) for _ in range(8)]"
    program += "; [t.start() for t in ts]; [t.join() for t in ts]"
    command = [sys.executable, "-c", program, str(stage.folder)]
    subprocess.run(command, check=True, timeout=60)
    assert len(stage.log) == 401
