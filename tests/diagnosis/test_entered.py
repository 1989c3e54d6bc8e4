"""What runs is noted, and the context managers that are made and entered."""

import sys
import threading
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from lifespec.diagnosis import entered
from lifespec.diagnosis.fact import Fact, Place
from lifespec.diagnosis.registered import Registered


def test_code_that_runs_is_noted_in_every_thread() -> None:
    def here() -> None: ...

    def there() -> None: ...

    ran = entered.Ran()
    with entered.running(ran):
        here()
        thread = threading.Thread(target=there)
        thread.start()
        thread.join()
    assert {here.__code__, there.__code__} < ran.codes
    assert sys.getprofile() is None


def test_an_entrance_has_the_author_who_enters_it_and_what_it_yields() -> None:
    @asynccontextmanager
    async def pool(_: object) -> Any:
        yield {}

    ran, here = entered.Ran(), sys._getframe()
    for each in (pool(1), pool(2), pool(1)):
        inside: Any = SimpleNamespace(f_locals={"self": each}, f_code=entered.ENTER, f_back=here)
        ran.enter(inside, "call", None)
        ran.enter(inside, "return", {"pool": 1})
        del each.args  # as it does first of all
        ran.enter(inside, "call", None)
    assert [each.again for each in ran.entrances] == [False, False, True]
    functions = {each.by.parts["function"] for each in ran.entrances if isinstance(each.by, Fact)}
    assert functions == {here.f_code.co_name}
    assert [value for _, value in ran.values] == [{"pool": 1}] * 3
    assert entered._runs(here)
    code = pool(1).gen.ag_code
    given = Registered("pool", pool, code, Place("pool", "shop.py", 1), "App", stateful=True)
    assert [each.kind for each in ran.twice([given])] == ["entered-twice"]
    assert [*ran.twice([])] == [*ran.lost([], {}, None)] == []
    assert [*ran.lost([given], {"other": 1}, None)] == [*ran.lost([given], {"pool": 2}, None)] == []
    ran.values[:] = [(each.manager, {"pool": object()}) for each in ran.entrances]
    assert {each.kind for each in ran.lost([given], {}, None)} == {"state-dropped"}
    ran.entrances[:] = [each._replace(by="") for each in ran.entrances]
    assert {each.kind for each in ran.lost([given], {}, None)} == {"state-unseen"}


@pytest.mark.parametrize(("module", "says"), [("starlette.x", ""), ("anyio.x", "anyio")])
def test_a_library_that_enters_a_lifespan_is_named(module: str, says: str) -> None:
    frame: Any = eval(  # noqa: S307
        compile("frame()", "wrapper", "eval"), {"__name__": module, "frame": sys._getframe}
    )
    assert entered._enterer(frame) == says
    assert entered._enterer(None) == ""
