"""What an author gives to a framework is noted as it is given, however the source spells it."""

import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from importlib import import_module, invalidate_caches
from itertools import product
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
from fastapi import APIRouter, FastAPI
from starlette.applications import Starlette
from starlette.routing import Mount, Router

from apart import checked_program
from lifespec.diagnosis import entered, given, guard, registered
from lifespec.diagnosis.fact import Place

Found = Callable[[str], dict[str, registered.Registered]]

LIBRARY = """\
class App:
    lifespan_context = None
    def __init__(self, **options):
        self.set(**options)
    def set(self, lifespan=None, on_startup=(), plugins=(), title=""): ...
    def add_event_handler(self, name, func): ...
    def on_event(self, name):
        def decorator(func):
            self.add_event_handler(name, func)
            return func
        return decorator
    def before_serving(self, func):
        return func

class Made:
    def __init__(self, lifespan=None, on_startup=(), plugins=()): ...

def make(lifespan): ...
"""
PRELUDE = """\
from contextlib import asynccontextmanager
from functools import partial
from library_of_test import App, Made, make

app = App()

@asynccontextmanager
async def first(app):
    yield

async def second(): ...

class Plugin:
    async def __aenter__(self): ...

class Caller:
    def __call__(self, app): ...

caller, number, plugin = Caller(), 7, Plugin()

"""


BEGINS = {  # the lines with which they begin
    "first": "@asynccontextmanager",
    "second": "async def second(): ...",
    "plugin": "async def __aenter__(self): ...",
    "caller": "def __call__(self, app): ...",
    "Caller": "def __call__(self, app): ...",
    "partial": "@asynccontextmanager",
}


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Found]:
    """Write and import a module; return what it gives, by name."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "library_of_test.py").write_text(LIBRARY)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.syspath_prepend(tmp_path)
    registered.remember(object)  # another subject
    monkeypatch.chdir(tmp_path)

    def find(source: str) -> dict[str, registered.Registered]:
        (tmp_path / "shop_of_test.py").write_text(PRELUDE + source)
        sys.modules.pop("shop_of_test", None)
        invalidate_caches()
        given.noted.clear()
        with given.noting_calls():
            module = import_module("shop_of_test")
        gives, _routers = registered.find(vars(module)["app"])
        return {lifespan.name: lifespan for lifespan in gives}

    yield find
    given.noted.clear()
    for name in "shop_of_test", "library_of_test":
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("source", "name", "receiver"),
    [
        ("Made(lifespan=first)", "first", "Made"),
        ("Made(first)", "first", "Made"),
        ("Made(**{'on_startup': [second, first]})", "second", "Made"),
        ("partial(Made, plugins=[plugin])()", "plugin", "Made"),
        ("Made(lifespan=caller)", "caller", "Made"),
        ("Made(lifespan=Caller())", "Caller", "Made"),
        ("Made(lifespan=number)", "number", "Made"),
        ("Made(lifespan=partial(first))", "partial", "Made"),
        ("make(first)", "first", "make"),
        ("class Own(Made):\n    def __init__(self):\n        super().__init__(first)\nOwn()",
         "first", "Own"),
        ("app.add_event_handler('startup', second)", "second", "app.add_event_handler"),
        ("@app.on_event('startup')\nasync def third(): ...", "third", "app.on_event"),
        ("@app.before_serving\nasync def third(): ...", "third", "app.before_serving"),
    ],
)  # fmt: skip
def test_what_is_given_is_found(found: Found, source: str, name: str, receiver: str) -> None:
    lifespan = found(source)[name]
    assert (lifespan.receiver, lifespan.place.function) == (receiver, name)
    line = (PRELUDE + source).split("\n")[lifespan.place.line - 1]
    assert line.strip() == BEGINS.get(name, source.partition("\n")[0])
    assert lifespan.code or name == "number"


@pytest.mark.parametrize(
    "source",
    [
        "Made(lifespan=None)",
        "Made(plugins=[number])",
        "app.set(title=first)",
        "App(lifespan=first)",
    ],
)
def test_what_no_author_gives_as_a_lifespan_is_left_alone(found: Found, source: str) -> None:
    assert found(source) == {}


def test_who_has_a_profile_function_keeps_it(found: Found) -> None:
    def profile(*_: object) -> None: ...

    sys.setprofile(profile)
    try:
        noted = found("Made(lifespan=first)")
        assert sys.getprofile() is profile
    finally:
        sys.setprofile(None)
    assert bool(noted) is (sys.version_info >= (3, 12))  # where another tool notes calls


def ran(*codes: CodeType) -> entered.Profile:
    """Return what ran, given the code."""
    profile = entered.Profile()
    profile.codes |= {*codes}
    return profile


def test_what_did_not_run_is_told_and_what_nobody_can_call(found: Found) -> None:
    gives = [*found("Made(lifespan=first)\nMade(lifespan=number)").values()]
    kinds = {fact.kind: fact.parts for fact in ran().never_entered(gives)}
    assert kinds["never-ran"]["receiver"] == "Made"
    assert kinds["given-no-lifespan"]["type"] == "int"
    [told] = ran(*(lifespan.code for lifespan in gives if lifespan.code)).never_entered(gives)
    assert told.kind == "given-no-lifespan"


@pytest.mark.parametrize("holds", [False, True])
def test_one_elsewhere_counts_if_the_subject_holds_it(
    found: Found, monkeypatch: pytest.MonkeyPatch, *, holds: bool
) -> None:
    monkeypatch.setitem(sys.modules, "forbidden", None)  # type: ignore[arg-type]
    assert "second" in found("other = Made(on_startup=[second])")
    subject = [vars(sys.modules["shop_of_test"])["other"]] if holds else []
    lifespans, _routers = registered.find(subject)
    names = [one.name for one in lifespans if one.place.file == "shop_of_test.py"]
    assert ("second" in names) is holds


def test_a_router_of_a_library_has_a_lifespan_that_can_be_missed(tmp_path: Path) -> None:
    folder = tmp_path / "dist-packages" / "pip" / "site-packages" / "mcp"  # the innermost counts
    folder.mkdir(parents=True)
    (folder / "server.py").write_text("async def run(app):\n    go()\n    yield\ndef go(): ...\n")
    namespace: dict[str, Any] = {}
    exec(compile((folder / "server.py").read_text(), folder / "server.py", "exec"), namespace)  # noqa: S102
    router, default = Router(lifespan=asynccontextmanager(namespace["run"])), Router()

    def of_mcp(subject: object) -> list[registered.Registered]:
        return [lifespan for lifespan in registered.find(subject)[0] if lifespan.name == "mcp"]

    [one] = of_mcp([router, default])
    assert one.place[:3] == ("run", "mcp/server.py", 1)
    assert [fact.kind for fact in ran().never_entered([one])] == ["never-ran"]
    assert [*ran(namespace["go"].__code__).never_entered([one])] == []
    assert of_mcp(default) == []
    with given.noting_calls():
        Mount("/others", app=default)
        mount = Mount("/tools", app={"wrapped": router})
    [one] = of_mcp([mount])
    assert one.kind == "never-ran-mounted"
    assert one.place == given.noted[-1].place._replace(function="Mount")
    assert one.receiver == "mcp"
    given.noted.clear()
    assert of_mcp([mount])[0].receiver == "Router of mcp"  # no line of an author mounts it


@asynccontextmanager
async def life(_: Any) -> AsyncIterator[None]:
    yield


def opens() -> None: ...


class Unmade(Starlette):
    """An application that makes its router later."""

    def __init__(self) -> None: ...


def told(app: Any) -> dict[str, str]:
    """Return the kinds of what an application was given in this file, by its names."""
    lifespans, _routers = registered.find([app])
    return {one.name: one.kind for one in lifespans if one.code is not None}


def test_what_routers_have_is_read() -> None:
    app = FastAPI(lifespan=life)
    app.router.on_startup.append(opens)
    app.include_router(APIRouter())  # its own handlers are run, and not those of the application
    assert told(app) == {"life": "never-ran", "opens": "handler-ignored"}
    merged = FastAPI()
    merged.router.on_shutdown.append(opens)
    merged.include_router(APIRouter(lifespan=life))
    assert told(merged) == {"life": "never-ran", "opens": "never-ran"}
    assert told(Starlette(lifespan=life(None))) == {}  # called too early
    app = FastAPI()
    with given.noting_calls(), pytest.warns(DeprecationWarning, match="on_event"):
        app.on_event("startup")(opens)
    [of_call] = registered.find(app)[0]
    given.noted.clear()
    assert told(Unmade()) == {}
    assert guard.take() == []
    assert of_call.receiver == "FastAPI.on_event"  # and not of its router, which calls in its place


def test_what_a_router_gets_later_is_told_with_the_call() -> None:
    class Shop:
        @staticmethod
        def opens() -> None: ...

    app, inner = FastAPI(), Starlette(lifespan=life)
    before = [registered.Router.now(app.router, served=True)]
    assert registered.late(before, []) == []
    inner.state.outer = app
    app.get("/orders")(Shop.opens)
    app.mount("/inner", inner)
    app.router.on_startup.append(Shop.opens)
    call = given.Given("app", "mount", app, inner, "inner", Place("begins", "shop.py", 7))
    late = {lifespan.name: lifespan for lifespan in registered.late(before, [call])}
    assert {lifespan.kind for lifespan in late.values()} == {registered.REGISTERED_LATE}
    assert late["life"].place == call.place
    where = ("Shop.opens", Path(__file__).name, Shop.opens.__code__.co_firstlineno)
    place = late["Shop.opens"].place
    assert (place.function, Path(place.file).name, place.line) == where
    app.router.routes.clear()
    app.router.lifespan_context = life
    assert {lifespan.name for lifespan in registered.late(before, [])} == {*late}


def test_an_application_that_cannot_be_looked_at_has_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(registered, "held", lambda _: 1 / 0)
    assert registered.find([]) == ([], [])
    [failure] = guard.take()
    assert failure.type == "ZeroDivisionError"


# ---- six spellings in three wrappers -----------------------------------------------------------

SPELLINGS = {
    "keyword": "inner = FastAPI(lifespan=life)",
    "options": "OPTIONS = {'lifespan': life, 'title': 'shop'}\ninner = FastAPI(**OPTIONS)",
    "factory": """
def make():
    @asynccontextmanager
    async def open_pool(app):
        yield
    return FastAPI(lifespan=open_pool)
inner = make()""",
    "method": """
class Shop:
    @asynccontextmanager
    async def open_pool(self, app):
        yield
    def make(self):
        return FastAPI(lifespan=self.open_pool)
inner = Shop().make()""",
    "partial": "inner = partial(FastAPI, lifespan=life)()",
    "subclass": """
class Api(FastAPI):
    def __init__(self):
        super().__init__(lifespan=life)
inner = Api()""",
}
WRAPPERS = {
    "class": """
class Wrap:
    def __init__(self, app):
        self.app = app
    async def __call__(self, scope, receive, send):
        if scope["type"] == "lifespan":
            return await answers(scope, receive, send)
        await self.app(scope, receive, send)
app = Wrap(inner)""",
    "function": """
def wrap(app):
    async def wrapped(scope, receive, send):
        if scope["type"] == "lifespan":
            return await answers(scope, receive, send)
        await app(scope, receive, send)
    return wrapped
app = wrap(inner)""",
    "mount": "app = Starlette(routes=[Mount('/inner', inner)])",
}
HEAD = """\
from contextlib import asynccontextmanager
from functools import partial
from fastapi import FastAPI
from scripted import SHUTDOWN, STARTED, STARTUP, STOPPED, says
from starlette.applications import Starlette
from starlette.routing import Mount
answers = says(STARTUP, STARTED, SHUTDOWN, STOPPED)
@asynccontextmanager
async def life(app):
    yield
"""


@pytest.mark.parametrize(("spelling", "wrapper"), [*product(SPELLINGS, WRAPPERS)])
def test_a_lifespan_that_never_ran_is_told_in_each_spelling(
    spelling: str, wrapper: str, tmp_path: Path
) -> None:
    source = "\n".join([HEAD, SPELLINGS[spelling], WRAPPERS[wrapper]])
    for notes in (True, False):  # and from what the application holds, as for `check_app(app)`
        report = checked_program(tmp_path, source, notes=notes, only=["start-and-stop"])
        [told] = [row.fact for row in report.rows if row.fact.kind == "never-ran"]
        assert told.parts["place"].parts["file"] == "shop.py"
        assert told.parts["receiver"] in ({"FastAPI", "Api"} if notes else {"APIRouter"})
