"""The probe in Perl plays scripts as that in Python does, and its log has the same form."""

import asyncio
import json
import re
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from lifespec import Lifespan, StartupFailed, lifespan_scope
from lifespec.conformance.app.pipe import Pipe, PipeError, in_perl
from lifespec.conformance.server import process
from lifespec.conformance.server.probe import STEPS

__all__: list[str] = []

pytestmark = pytest.mark.needs("perl")

LIMIT = 30.0  # seconds; nothing here takes one
PROBE = Path(process.__file__).with_name("probe.pl")
RECEIVE = ["receive", None]
COMPLETE = ["send", {"type": "lifespan.startup.complete"}]


class Stage:
    """A folder with a probe in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def probe(self, *steps: Any) -> Pipe:
        """Return the probe, which plays these steps."""
        (self.folder / "lifespec_probe.pl").write_bytes(PROBE.read_bytes())
        (self.folder / "script.json").write_text(json.dumps(steps))
        return Pipe(in_perl(self.folder / "lifespec_probe.pl"), LIMIT)

    @asynccontextmanager
    async def served(self, *steps: Any) -> Any:
        """Take the probe through its lifespan; give what it answers."""
        with self.probe(*steps) as app:
            async with (
                asyncio.timeout(LIMIT),
                Lifespan(app, scope=lifespan_scope("pagi 0.3")) as lifespan,
            ):

                async def ask(path: str) -> Any:
                    sent: list[Any] = []

                    async def send(event: Any) -> None:
                        sent.append(event)

                    await app(lifespan.with_state({"type": "http", "path": path}), None, send)
                    assert [event["type"] for event in sent] == [
                        "http.response.start",
                        "http.response.body",
                    ]
                    return json.loads(sent[1]["body"])

                yield ask

    @property
    def log(self) -> list[dict[str, Any]]:
        """Read the lines."""
        return [json.loads(line) for line in (self.folder / "log.jsonl").read_text().splitlines()]

    @property
    def kinds(self) -> list[str]:
        """Kind and type of each line that is no step."""
        rows = (row for row in self.log if row["kind"] != "plays")
        return [f"{row['kind']} {row.get('type') or ''}".rstrip() for row in rows]

    async def noted(self, kind: str) -> None:
        """Wait until the probe has noted something."""
        while kind not in self.kinds:
            await asyncio.sleep(0.01)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    """Return an empty folder."""
    return Stage(tmp_path)


async def test_it_plays_a_script(stage: Stage) -> None:
    """The log tells it in the order, and with the keys, that the probe in Python has."""
    async with stage.served(["converse", None]) as ask:
        body = await ask("/")
    assert stage.kinds == [
        "imported",
        "called lifespan",
        "received lifespan.startup",
        "sends lifespan.startup.complete",
        "sent lifespan.startup.complete",
        "called http",
        "returned http",
        "received lifespan.shutdown",
        "sends lifespan.shutdown.complete",
        "sent lifespan.shutdown.complete",
        "returned lifespan",
    ]
    assert [row["n"] for row in stage.log] == [*range(1, len(stage.log) + 1)]
    assert all({"pid", "thread", "loop", "call", "time"} <= {*row} for row in stage.log)
    assert (body["probe"], body["pid"]) == (stage.folder.name, stage.log[0]["pid"])
    called = stage.log[1]["scope"]
    assert (called["pagi"]["version"], called["pagi"]["is_worker"]) == ("0.3", 0)


async def test_requests_change_their_state(stage: Stage) -> None:
    """A key is the request's own; a value that is no text is everybody's."""
    keep = ["state", {"colour": "green", "visitors": []}]
    async with stage.served(RECEIVE, keep, COMPLETE, ["converse", None]) as ask:
        assert (await ask("/set/colour/red"))["state"]["colour"] == "green"
        assert (await ask("/append/visitors/Ada"))["state"]["visitors"] == []
        await ask("/rebind")
        last = await ask("/")
    assert last["state"].items() >= {"colour": "green", "visitors": ["Ada"]}.items()
    kept = next(row for row in stage.log if row["kind"] == "kept")
    assert last["ids"]["visitors"] == kept["ids"]["visitors"]
    assert last["state_id"] not in last["offered"]
    assert kept["state_id"] in last["offered"]


async def test_it_waits_for_words(stage: Stage) -> None:
    """For `go1` at its pause, and for `release` where it holds a request."""
    async with stage.served(RECEIVE, COMPLETE, ["pause", None], ["converse", None]) as ask:
        holding = asyncio.create_task(ask("/hold"))
        await stage.noted("holds http")
        assert not holding.done()
        (stage.folder / "go1").touch()
        (stage.folder / "release").touch()
        await holding
    assert "returned lifespan" in stage.kinds


@pytest.mark.parametrize(
    ("steps", "kinds"),
    [
        ([RECEIVE, ["raise", "no lifespan here"]], ["raised lifespan"]),
        ([RECEIVE, ["return", None]], ["returned lifespan"]),
        ([RECEIVE, COMPLETE, ["give", {"a": 1}]], ["returned lifespan"]),
        ([RECEIVE, ["try", {"type": "x.y"}], COMPLETE], ["sends x.y", "refused x.y"]),
        ([RECEIVE, ["send", {"type": "x.y"}]], ["refused x.y", "raised lifespan"]),
        ([RECEIVE, ["wait", 0.01], ["listen", None], COMPLETE], ["returned lifespan"]),
        (
            [RECEIVE, COMPLETE, ["later", {"type": "lifespan.shutdown.complete"}], ["wait", 0.05]],
            ["returned lifespan"],
        ),
    ],
)
async def test_each_step_is_played(stage: Stage, steps: list[Any], kinds: list[str]) -> None:
    """What comes of it is noted."""
    with suppress(StartupFailed):
        async with stage.served(*steps):
            pass
    found = [kind for kind in stage.kinds if kind in kinds]
    assert found == kinds
    assert [row["type"] for row in stage.log if row["kind"] == "plays"] == [
        verb for verb, _ in steps
    ]


async def test_a_call_can_be_broken_off(stage: Stage) -> None:
    """That it was cancelled stands in the log."""
    with stage.probe(RECEIVE, ["hang", None]) as app:
        async with asyncio.timeout(LIMIT):

            async def receive() -> Any:
                return {"type": "lifespan.startup"}

            call = asyncio.create_task(app(lifespan_scope("pagi 0.3"), receive, None))
            await stage.noted("received lifespan.startup")
            call.cancel()
            await stage.noted("cancelled lifespan")
            with suppress(asyncio.CancelledError):
                await call


def test_all_verbs_are_there() -> None:
    """Those of the probe in Python, but for what raises exceptions of Python's own; no others."""
    text = PROBE.read_text("utf-8")
    steps = text[text.index("my %steps") : text.index("async sub play")]
    assert {*re.findall(r"^ {4}(\w+) +=>", steps, re.MULTILINE)} == {*STEPS} - {"throw"}


async def test_other_scopes_are_refused(stage: Stage) -> None:
    """They are noted, and raised upon."""
    with stage.probe() as app, pytest.raises(PipeError, match="no 'sse' here"):
        async with asyncio.timeout(LIMIT):
            await app({"type": "sse"}, None, None)
    assert stage.kinds == ["imported", "called sse", "raised sse"]
