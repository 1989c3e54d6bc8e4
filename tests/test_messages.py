"""The types say what the tables say: each key, whether it may be missing, and nothing else."""

from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

from lifespec import messages
from lifespec.validate import EVENTS, SPECS, Event, lifespan_scope

SCOPES: dict[str, Any] = {
    "asgi 1.0": messages.ASGI1LifespanScope,
    "asgi 2.0": messages.ASGILifespanScope,
    "amgi 1.0": messages.AMGILifespanScope,
    "amgi 2.0": messages.AMGILifespanScope,
}
UNIONS: dict[str, Any] = {
    "server": messages.LifespanReceiveEvent,
    "application": messages.LifespanSendEvent,
}


def members(union: Any) -> set[Any]:
    """Return the classes of a union, without what they are generic in."""
    return {get_origin(member) or member for member in get_args(union)}


def words(union: Any) -> dict[str, Any]:
    """Return the classes of a union by the one word that their `type` can be."""
    return {get_args(get_type_hints(each)["type"])[0]: each for each in members(union)}


@pytest.mark.parametrize("event", EVENTS.values(), ids=EVENTS)
def test_an_event_has_its_keys_of_which_those_with_a_default_may_be_missing(event: Event) -> None:
    each = words(UNIONS[event.sender])[event.type]
    hints = {key: type(default) for key, default in event.defaults.items()}
    assert get_type_hints(each) == {"type": Literal[event.type], **hints}
    assert each.__optional_keys__ == set(event.defaults)
    assert each.__required_keys__ == {"type"}


@pytest.mark.parametrize("sender", UNIONS)
def test_the_unions_have_every_event(sender: str) -> None:
    """An application receives what servers send, and sends what applications send."""
    types = {kind for kind, row in EVENTS.items() if row.sender == sender}
    assert {*words(UNIONS[sender])} == types


@pytest.mark.parametrize("spec", SCOPES)
def test_a_scope_and_its_envelope_have_the_keys_of_what_servers_provide(spec: str) -> None:
    """The state may be missing; of the envelope, what the table says."""
    row, scope, hints = SPECS[spec], lifespan_scope(spec), get_type_hints(SCOPES[spec])
    assert {*hints} == {*scope}
    assert SCOPES[spec].__optional_keys__ == {*scope} & {"state"}
    assert hints["type"] == Literal["lifespan"]
    if row.envelope:
        envelope = hints[row.envelope]
        assert {*get_type_hints(envelope)} == {*scope[row.envelope]}
        assert envelope.__optional_keys__ == {*row.optional}
        for key, hint in get_type_hints(envelope).items():
            assert scope[row.envelope][key] in get_args(hint)


def test_the_versions_are_those_of_the_table() -> None:
    """AMGI has the versions that the table has; ASGI those of both of its calling styles."""
    versions = {row.versions["version"] for row in SPECS.values() if row.envelope == "amgi"}
    for hint in get_type_hints(messages.AMGIVersions).values():
        assert {*get_args(hint)} == versions
    hints = get_type_hints(messages.ASGIVersions)
    assert {*get_args(hints["version"])} == {"2.0", "3.0"}
    texts = {key.split()[1] for key in SPECS if key.startswith("asgi")}
    assert {*get_args(hints["spec_version"])} == texts
