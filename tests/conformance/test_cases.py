"""The cases as data: the format, what is refused, and the rules' levels."""

import json
import re
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from lifespec.conformance import cases
from lifespec.conformance.cases import Action, Expectation, Unchecked
from lifespec.conformance.data_files import DataError, packaged
from lifespec.validate import SPECS

__all__: list[str] = []

SMALL = """
[quick]
role = "server"
says = "The application answers at once."
script = ["receive", "send lifespan.startup.complete"]
expect = {}
"""
KNOWN = {"server": "receive, send, state, ", "application": "call, offer, await, request"}


def small(**keys: Any) -> str:
    """Write a small case with these keys besides, or in their places."""
    row = {"role": '"server"', "says": '"It is so."', "script": "[]", "expect": "{}"} | keys
    return "[quick]\n" + "\n".join(f"{key} = {value}" for key, value in row.items() if value)


def refusal(text: str) -> str:
    """Return why a file is refused, without its name and the case's."""
    with pytest.raises(DataError) as caught:
        cases.read(text, "cases.toml")
    return re.sub(r"^cases\.toml:1: (quick: )?", "", str(caught.value))


def test_what_a_case_may_have_besides() -> None:
    """Specifications, silence, much time, and programs it needs."""
    text = small(
        role='"application"',
        expect='{startup-answered = "answered"}',
        silent='{startup-answered = ["pagi 0.3"]}',
        specs='["asgi 2.0", "pagi 0.3"]',
        slow="true",
        needs='["perl"]',
    )
    (case,) = cases.read(text, "cases.toml")
    assert case.expect == (Expectation("startup-answered", "answered"),)
    assert case.silent_on("startup-answered", "pagi 0.3")
    assert not case.silent_on("startup-answered", "asgi 2.0")
    assert not case.silent_on("shutdown-answered", "pagi 0.3")
    assert (case.specs, case.slow, case.needs) == (("asgi 2.0", "pagi 0.3"), True, ("perl",))


def test_the_server_of_middleware() -> None:
    """Where middleware is checked, the suite is on both sides; the server's has a default."""
    (case,) = cases.read(small(role='"middleware"'), "cases.toml")
    assert [action.verb for action in case.server][:3] == ["call", "offer", "await"]
    (case,) = cases.read(small(role='"middleware"', server='["call"]'), "cases.toml")
    assert case.server == (Action("call"),)


def test_meanwhile() -> None:
    """Where a server is checked, the suite is its client and its operator besides."""
    (case,) = cases.read(small(meanwhile='["stop"]', workers="2"), "cases.toml")
    assert (case.meanwhile, case.workers) == ((Action("stop"),), 2)


def test_silent_texts_can_be_all() -> None:
    """Silence is that of some texts, or of all."""
    text = small(silent="{wait-for-startup = true}", expect="{wait-for-startup = []}")
    (case,) = cases.read(text, "cases.toml")
    assert all(case.silent_on("wait-for-startup", spec) for spec in SPECS)


@pytest.mark.parametrize(
    ("line", "role", "wanted"),
    [
        ("receive", "server", Action("receive")),
        ("wait 0.5", "server", Action("wait", seconds=0.5)),
        ('raise "no database"', "server", Action("raise", text="no database")),
        ("await startup", "application", Action("await", text="startup")),
        ("call", "application", Action("call")),
        (
            'call state=false type="x y"',
            "application",
            Action("call", keys={"state": False, "type": "x y"}),
        ),
        ('state pool="open"', "middleware", Action("state", keys={"pool": "open"})),
        ("send null", "server", Action("send")),
        ('send {"message": "x"}', "server", Action("send", value={"message": "x"})),
    ],
)
def test_lines(line: str, role: Any, wanted: Action) -> None:
    """What a line says depends on its verb."""
    assert cases.action(line, role) == wanted


def test_an_event_is_made_anew() -> None:
    """An event is a mapping with its type and the line's keys, or any value."""
    action = cases.action('send lifespan.startup.failed message="no database" n=1', "server")
    event = {"type": "lifespan.startup.failed", "message": "no database", "n": 1}
    assert action.event == event
    assert action.event is not action.event
    assert cases.action("send [1]", "server").event == [1]


@pytest.mark.parametrize("role", KNOWN)
def test_a_verb_that_there_is_not(role: Any) -> None:
    """The sentence names the verbs of that role."""
    with pytest.raises(ValueError, match=f"'sing' is no verb where {role}s are checked") as error:
        cases.action("sing", role)
    assert KNOWN[role] in str(error.value)
    with pytest.raises(ValueError, match="is no verb"):
        cases.action("receive", "application")


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("receive x", "'receive x': receive is followed by nothing"),
        ("send", "'send': send is followed by event"),
        ("wait", "'wait': wait is followed by seconds"),
        ("wait long", "could not convert"),
        ("raise no", "Expecting value"),
        ("state x", "'x' is no list of key=value"),
        ("state 1=2", "'1=2' is no list of key=value"),
    ],
)
def test_a_line_that_says_nothing(line: str, wanted: str) -> None:
    """The sentence says what has to follow the verb."""
    with pytest.raises(ValueError, match=wanted):
        cases.action(line, "server")
    assert wanted in refusal(small(script=json.dumps([line])))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("[quick", "Expected ']'"),
        ("quick = 1", "there is no key 'quick = …'; there are role, says, script"),
        (small(says=""), "the key 'says' is missing"),
        (small(specs='["asgi 3.0"]'), "there is no spec 'asgi 3.0'; there are asgi 1.0"),
        (
            small(role='"application"', expect='{events-known = "keeps"}'),
            "there is no phrase 'keeps'; there are kept, answered",
        ),
        (
            small(role='"application"', expect="{events-known = 'kept \"x\"'}"),
            "the phrase 'kept' is followed by nothing",
        ),
        (
            small(silent='{events-known = ["asgi 2.0"]}'),
            "there is no expected rule 'events-known'; there are ",
        ),
        (
            small(
                role='"application"',
                expect='{events-known = "kept"}',
                silent='{events-known = ["asgi"]}',
            ),
            "there is no spec 'asgi'; there are asgi 1.0",
        ),
        (small(server='["call"]'), "the key 'server' is for the role 'middleware'"),
    ],
)
def test_what_is_refused(text: str, wanted: str) -> None:
    """A file that breaks the format is refused, with the case and what is allowed."""
    assert refusal(text).startswith(wanted)


def test_an_installation_that_lacks_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package without its data is not whole, and the sentence says which file is missing."""
    monkeypatch.setattr(resources, "files", lambda _: tmp_path)
    with pytest.raises(Unchecked, match=r"this installation has no .*cases\.toml: install"):
        packaged("cases.toml")
