"""The types say what the tables say: each key, whether it may be missing, and nothing else."""

import typing
from typing import Any, Literal, NotRequired, TypeVar, get_args, get_origin, get_type_hints

import pytest

from lifespec import messages
from lifespec.validate import EVENTS, SPECS, Event, Spec, lifespan_scope

__all__: list[str] = []

SCOPES: dict[str, Any] = {
    "asgi 1.0": messages.ASGI1LifespanScope,
    "asgi 2.0": messages.ASGILifespanScope,
    "amgi 1.0": messages.AMGILifespanScope,
    "amgi 2.0": messages.AMGILifespanScope,
}


def members(union: Any) -> set[Any]:
    """Return the classes of a union, without what they are generic in."""
    return {get_origin(member) or member for member in get_args(union)}


def words(union: Any) -> dict[str, Any]:
    """Return the classes of a union by the one word that their `type` can be."""
    return {get_args(get_type_hints(each)["type"])[0]: each for each in members(union)}


def required(hint: Any) -> Any:
    """Return what is inside NotRequired."""
    return get_args(hint)[0] if get_origin(hint) is NotRequired else hint


def fits(value: Any, hint: Any) -> bool:
    """Check as a type-checker would, as far as the types here go."""
    hint = required(hint)
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    if typing.is_typeddict(hint):
        hints = get_type_hints(hint, include_extras=True)
        present = hint.__required_keys__ <= set(value) <= set(hints)
        return present and all(fits(value[key], hints[key]) for key in value)
    if isinstance(hint, TypeVar):
        return isinstance(value, dict)
    return isinstance(value, hint)


def envelope(spec: Spec) -> Any:
    """Return the type of what stands under the envelope's key."""
    return get_type_hints(SCOPES[name(spec)])[spec.envelope]


def name(spec: Spec) -> str:
    """Return the specification's key."""
    return next(key for key, row in SPECS.items() if row is spec)


def offered(spec: Spec, **options: Any) -> dict[str, Any]:
    """Return the scope as a server offers it."""
    return lifespan_scope(name(spec), **options)


every_spec = pytest.mark.parametrize("spec", [SPECS[key] for key in SCOPES], ids=SCOPES)
with_envelope = pytest.mark.parametrize(
    "spec", [SPECS[key] for key in SCOPES if SPECS[key].envelope], ids=lambda row: row.title
)


@pytest.mark.parametrize("event", EVENTS.values(), ids=EVENTS)
def test_an_event_has_its_keys(event: Event) -> None:
    """An event has its type and the keys of the table; those with a default may be missing."""
    union = {"server": messages.LifespanReceiveEvent, "application": messages.LifespanSendEvent}[
        event.sender
    ]
    each = words(union)[event.type]
    hints = {key: type(default) for key, default in event.defaults.items()}
    assert get_type_hints(each) == {"type": Literal[event.type], **hints}
    assert each.__optional_keys__ == set(event.defaults)
    assert each.__required_keys__ == {"type"}


def test_the_unions_have_every_event() -> None:
    """An application receives what servers send, and sends what applications send."""
    senders = {"server": messages.LifespanReceiveEvent, "application": messages.LifespanSendEvent}
    for sender, union in senders.items():
        assert set(words(union)) == {kind for kind, row in EVENTS.items() if row.sender == sender}


@every_spec
def test_a_scope_has_its_keys(spec: Spec) -> None:
    """A scope has its type, its envelope, and a state that may be missing where there is any."""
    each = SCOPES[name(spec)]
    state = {"state"} if spec.state else set[str]()
    envelopes = {spec.envelope} if spec.envelope else set[str]()
    assert each.__optional_keys__ == state
    assert each.__required_keys__ == {"type"} | envelopes
    assert get_type_hints(each)["type"] == Literal["lifespan"]


@with_envelope
def test_an_envelope_has_its_keys(spec: Spec) -> None:
    """An envelope has the keys that are offered in it; which may be missing, the texts say."""
    assert set(get_type_hints(envelope(spec))) == set(offered(spec)[spec.envelope])
    assert envelope(spec).__optional_keys__ == {*spec.optional}


@every_spec
@pytest.mark.parametrize("state", [True, False])
def test_what_is_offered_fits(spec: Spec, state: bool) -> None:
    """Each scope that our server offers is one of its type, and none of another specification's."""
    fresh = offered(spec, state=state)
    own = SCOPES[name(spec)]
    assert {each for each in SCOPES.values() if fits(fresh, each)} == {own}


@with_envelope
def test_an_absent_worker_may_be_null(spec: Spec) -> None:
    """PAGI lets worker_num be absent or null, and no other envelope has it."""
    assert spec.workers == ("worker_num" in get_type_hints(envelope(spec)))
    fresh = offered(spec)
    fresh[spec.envelope]["worker_num"] = None
    assert fits(fresh, SCOPES[name(spec)]) == spec.workers


def test_the_versions_are_those_of_the_table() -> None:
    """AMGI has the versions that the table has; ASGI those of both of its calling styles."""
    versions = {row.versions["version"] for row in SPECS.values() if row.envelope == "amgi"}
    for hint in get_type_hints(messages.AMGIVersions).values():
        assert set(get_args(hint)) == versions
    hints = get_type_hints(messages.ASGIVersions)
    assert set(get_args(hints["version"])) == {"2.0", "3.0"}
    texts = {key.split()[1] for key in SPECS if key.startswith("asgi")}
    assert set(get_args(hints["spec_version"])) == texts
