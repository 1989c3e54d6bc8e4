"""What runs is noted, and the context managers that are entered."""

import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from importlib import import_module
from typing import Any

import pytest

from lifespec.diagnosis import entered
from lifespec.diagnosis.fact import Fact, Place
from lifespec.diagnosis.registered import Registered


def test_code_that_runs_is_noted_in_every_thread() -> None:
    def here() -> None: ...

    def there() -> None: ...

    profile = entered.Profile()
    with entered.profiling(profile):
        here()
        thread = threading.Thread(target=there)
        thread.start()
        thread.join()
    assert {here.__code__, there.__code__} < profile.codes
    assert sys.getprofile() is None


@asynccontextmanager
async def pool(value: object) -> AsyncIterator[dict[str, object]]:
    yield {"pool": value}


def wrapper(module: str) -> Any:
    """Return a function of a library that enters a context manager."""
    import_module(module.partition(".")[0])
    names: dict[str, Any] = {"__name__": module}
    source = "async def wrapped(manager):\n    async with manager:\n        pass"
    exec(compile(source, "wrapper", "exec"), names)  # noqa: S102  code of no file
    return names["wrapped"]


async def enter(*calls: Callable[[], Awaitable[object]]) -> entered.Profile:
    """Make calls; return what was noted meanwhile."""
    profile = entered.Profile()
    with entered.profiling(profile):
        for call in calls:
            await call()
    return profile


async def one_in_the_other() -> None:
    value = object()
    async with pool(value), pool(object()), AsyncExitStack() as stack:
        await stack.enter_async_context(pool(value))


async def test_an_entrance_has_the_author_who_enters_it_and_what_it_yields() -> None:
    profile = await enter(one_in_the_other)
    assert [entrance.again for entrance in profile.entrances] == [False, False, True]
    by = [entrance.by for entrance in profile.entrances]
    functions = {fact.parts["function"] for fact in by if isinstance(fact, Fact)}
    assert functions == {one_in_the_other.__name__}
    code = profile.entrances[0].code
    given = Registered("pool", pool, code, Place("pool", "shop.py", 1), "App", stateful=True)
    assert [fact.kind for fact in profile.entered_twice([given])] == ["entered-twice"]
    assert [*profile.entered_twice([])] == [*profile.lost_keys([], {}, None)] == []
    assert [*profile.lost_keys([given], {"pool": 1}, None)] == []
    values = {number: value["pool"] for number, (_, value) in enumerate(profile.yielded)}
    assert [*profile.lost_keys([given], values, None)] == []  # by other names
    assert {fact.kind for fact in profile.lost_keys([given], {}, None)} == {"state-dropped"}


@pytest.mark.parametrize(("module", "says"), [("starlette.x", ""), ("pytest.x", "pytest")])
async def test_a_library_that_enters_a_lifespan_is_named(module: str, says: str) -> None:
    profile = await enter(lambda: wrapper(module)(pool(1)))
    assert [entrance.by for entrance in profile.entrances] == [says]
    code = profile.entrances[0].code
    given = Registered("pool", pool, code, Place("pool", "shop.py", 1), "App", stateful=True)
    kind = "state-dropped" if says else "state-unseen"
    assert {fact.kind for fact in profile.lost_keys([given], {}, None)} == {kind}
