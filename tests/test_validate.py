"""The tables: complete, consistent with one another and with rules.toml; and the scopes."""

import tomllib
from importlib import resources
from typing import Any

import pytest

from lifespec import validate
from lifespec.validate import DIALECTS, EVENTS, HAPPENINGS, RULES, STATES, TRANSITIONS

LEVELS = {"must", "must not", "should", "should not", "may"}


def sources() -> dict[str, Any]:
    """Return rules.toml."""
    text = resources.files("lifespec.conformance").joinpath("rules.toml").read_text("utf-8")
    return tomllib.loads(text)


def test_events() -> None:
    """Two events come from the server, four from the application; a failure may carry a text."""
    senders = [(event.sender, dict(event.defaults)) for event in EVENTS.values()]
    assert senders.count(("server", {})) == 2
    assert senders.count(("application", {})) == 2
    assert senders.count(("application", {"message": ""})) == 2
    assert all(kind == event.type for kind, event in EVENTS.items())


def test_every_step_of_every_state() -> None:
    """Every state has a row and every row every step, also those that are not to be taken."""
    assert (*EVENTS, "raise", "return") == HAPPENINGS
    assert tuple(TRANSITIONS) == STATES
    for row in TRANSITIONS.values():
        assert tuple(row) == HAPPENINGS
        assert {step.to for step in row.values()} <= set(STATES)


def test_steps_name_rules() -> None:
    """A step that must not be taken names a rule, and leads nowhere unless the call is over."""
    for state, row in TRANSITIONS.items():
        for happening, step in row.items():
            if step.rule:
                assert step.rule in RULES
                assert step.to == ("gone" if happening in ("raise", "return") else state)


def test_parties_of_the_rules() -> None:
    """A step of the server breaks a rule of the server, one of the application its own."""
    rules = sources()
    for row in TRANSITIONS.values():
        for happening, step in row.items():
            if step.rule:
                sender = EVENTS[happening].sender if happening in EVENTS else "application"
                assert rules[step.rule]["party"] == sender


def test_the_legal_way() -> None:
    """The conversation that everybody has is legal from end to end."""
    state = "called"
    for happening in (
        "lifespan.startup",
        "lifespan.startup.complete",
        "lifespan.shutdown",
        "lifespan.shutdown.complete",
        "return",
    ):
        step = TRANSITIONS[state][happening]  # type: ignore[index]
        assert step.rule == ""
        state = step.to
    assert state == "gone"


def test_every_state_is_reached() -> None:
    """Every state is reached by legal steps."""
    reached = {"called"}
    for _ in STATES:
        reached |= {
            step.to
            for state in reached
            for step in TRANSITIONS[state].values()
            if not step.rule  # type: ignore[index]
        }
    assert reached == set(STATES)


def test_rules_have_sources() -> None:
    """The rules and their sources are the same; each source is a text's section, or ours."""
    rules = sources()
    assert set(rules) == set(RULES)
    for rule in rules.values():
        assert set(rule) <= {"party", "observable", "implies", "source"}
        assert rule["party"] in {"server", "application"}
        assert rule["observable"] in {"server", "application", "no"}
        assert set(rule.get("implies", [])) <= set(RULES)
        for source in rule["source"]:
            assert set(source) <= {"dialects", "level", "section", "text", "ours"}
            assert source["level"] in LEVELS
            assert set(source["dialects"]) <= set(DIALECTS)
            assert ("section" in source) != source.get("ours", False)


def test_sentences() -> None:
    """The sentence of a rule is one sentence."""
    for sentence in RULES.values():
        assert sentence.endswith(".")
        assert ". " not in sentence


@pytest.mark.parametrize(
    ("dialect", "version", "more", "expected"),
    [
        ("asgi", "1.0", {}, {}),
        ("asgi", "2.0", {}, {"asgi": {"version": "3.0", "spec_version": "2.0"}, "state": {}}),
        ("asgi", "2.0", {"state": False}, {"asgi": {"version": "3.0", "spec_version": "2.0"}}),
        ("amgi", "1.0", {}, {"amgi": {"version": "1.0", "spec_version": "1.0"}, "state": {}}),
        ("amgi", "2.0", {}, {"amgi": {"version": "2.0", "spec_version": "2.0"}, "state": {}}),
        (
            "pagi",
            "0.3",
            {},
            {"pagi": {"version": "0.3", "spec_version": "0.3", "is_worker": 0}, "state": {}},
        ),
        (
            "pagi",
            "0.3",
            {"worker": 1, "state": False},
            {"pagi": {"version": "0.3", "spec_version": "0.3", "is_worker": 1, "worker_num": 1}},
        ),
    ],
)
def test_scope(dialect: str, version: str, more: Any, expected: dict[str, Any]) -> None:
    """Each text has its scope, fresh each time."""
    first = validate.scope(dialect, version, **more)
    assert first == {"type": "lifespan", **expected}
    for value in first.values():
        if isinstance(value, dict):
            value["mine"] = 1
    assert validate.scope(dialect, version, **more) == {"type": "lifespan", **expected}


def test_unknown_text() -> None:
    """A text that there is not is answered with those that there are."""
    with pytest.raises(ValueError, match=r"there is no text 'http' '1.1'; there are asgi 1.0, "):
        validate.scope("http", "1.1")


@pytest.mark.parametrize(("dialect", "version", "worker"), [("asgi", "2.0", 1), ("pagi", "0.3", 0)])
def test_no_such_worker(dialect: str, version: str, worker: int) -> None:
    """Only PAGI knows workers, and counts them from 1 on."""
    with pytest.raises(ValueError, match="PAGI counts them from 1 on"):
        validate.scope(dialect, version, worker=worker)
