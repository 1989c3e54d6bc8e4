"""The cases as data: their words, and that cases.toml keeps its format."""

import json
import tomllib
from typing import Any

import pytest

from lifespec.catalog import data
from lifespec.conformance import cases
from lifespec.conformance.cases import Action, Expectation, vocabulary
from lifespec.conformance.rules import rules
from lifespec.validate import SPECS


def small(**keys: Any) -> str:
    """Return a small case with these keys, which are TOML."""
    row = {"role": '"server"', "says": '"It is so."', "script": "[]", "expect": "{}"} | keys
    return "[quick]\n" + "\n".join(f"{key} = {value}" for key, value in row.items())


def test_what_a_case_has() -> None:
    text = small(
        role='"application"',
        script='["call", "offer lifespan.startup"]',
        expect='{startup-answered = "answered", state-keys-text = ["kept", "shows \\"a b\\""]}',
        unspecified='{startup-answered = ["pagi 0.3"], state-keys-text = true}',
        specs='["asgi 2.0", "pagi 0.3"]',
        slow="true",
    )
    (case,) = cases.read(text)
    assert case.lines == ("call", "offer lifespan.startup")
    assert case.script == (Action("call"), Action("offer", "lifespan.startup"))
    assert case.expect == (
        Expectation("startup-answered", "answered"),
        Expectation("state-keys-text", "kept"),
        Expectation("state-keys-text", "shows", "a b"),
    )
    assert case.leaves_open("startup-answered", "pagi 0.3")
    assert not case.leaves_open("startup-answered", "asgi 2.0")
    assert not case.leaves_open("shutdown-answered", "pagi 0.3")
    assert all(case.leaves_open("state-keys-text", spec) for spec in SPECS)
    assert (case.specs, case.slow) == (("asgi 2.0", "pagi 0.3"), True)
    assert (case.server, case.meanwhile, case.workers) == ((), (), 1)


def test_the_other_side_has_a_script_too() -> None:
    """For middleware that of the server, for servers that of a client and an operator."""
    (case,) = cases.read(small(role='"middleware"'))
    assert [action.verb for action in case.server][:3] == ["call", "offer", "await"]
    (case,) = cases.read(small(role='"middleware"', server='["call"]'))
    assert case.server == (Action("call"),)
    (case,) = cases.read(small())
    assert case.meanwhile == (Action("request", text="/"), Action("stop"))
    (case,) = cases.read(small(meanwhile='["stop"]', workers="2"))
    assert (case.meanwhile, case.workers) == ((Action("stop"),), 2)


def test_a_case_expects_what_a_specification_has() -> None:
    (case,) = cases.read(small(expect='{state-untouched = "untouched"}', specs='["asgi 1.0"]'))
    assert [*cases.expected(case, "asgi 1.0")] == []  # which has no state
    assert [*cases.expected(case, "asgi 2.0")] == []
    (case,) = cases.read(small(expect='{state-untouched = "untouched"}'))
    assert [*cases.expected(case, "asgi 2.0")] == [Expectation("state-untouched", "untouched")]


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("receive", Action("receive")),
        ("wait 0.5", Action("wait", seconds=0.5)),
        ('raise "no database"', Action("raise", text="no database")),
        ("raise", Action("raise")),
        ("await startup", Action("await", text="startup")),
        ("call", Action("call")),
        ('call state=false type="x y"', Action("call", keys={"state": False, "type": "x y"})),
        ("send null", Action("send")),
        ('send {"message": "x"}', Action("send", value={"message": "x"})),
    ],
)
def test_lines_of_a_script(line: str, wanted: Action) -> None:
    action = cases.action(line, vocabulary().verbs)
    assert action == wanted
    assert action.event == wanted.value


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("sing", "'sing' is no verb; the verbs are receive, send, "),
        ("receive x", "'receive x': receive is followed by nothing"),
        ("send", "'send': send is followed by event"),
        ("wait", "'wait': wait is followed by seconds"),
        ("wait long", "could not convert"),
        ("raise no", "Expecting value"),
        ("state x", "'x' is no list of key=value"),
        ("state 1=2", "'1=2' is no list of key=value"),
    ],
)
def test_a_line_that_is_not_in_the_format(line: str, wanted: str) -> None:
    with pytest.raises(ValueError, match=wanted):
        cases.read(small(script=json.dumps([line])))


ROWS = tomllib.loads(data("cases.toml"))


@pytest.mark.parametrize("name", ROWS)
def test_a_case_of_the_package_keeps_the_format(name: str) -> None:
    line = data("cases.toml").partition(f"[{name}]")[0].count("\n") + 1
    place = f"src/lifespec/conformance/data/cases.toml:{line}"
    row, words = ROWS[name], vocabulary()
    expect, unspecified = row["expect"], row.get("unspecified", {})
    assert {"role", "says", "script", "expect"} <= {*row} <= {*words.keys}, place
    assert {*unspecified} <= {*expect} <= {*rules()}, place
    specs = (spec for each in unspecified.values() if each is not True for spec in each)
    assert {*row.get("specs", ()), *specs} <= {*SPECS}, place
    for verb in {line.partition(" ")[0] for line in row["script"]}:
        assert row["role"] in words.verbs[verb].roles, f"{place}: {verb}"
    for phrases in expect.values():
        for phrase in [phrases] if isinstance(phrases, str) else phrases:
            known = words.phrases[phrase.partition(' "')[0]]
            assert row["role"] in known.roles, f"{place}: {phrase}"
            assert known.argument == ('"' in phrase), f"{place}: {phrase}"
