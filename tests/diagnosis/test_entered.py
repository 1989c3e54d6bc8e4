"""What an author gave to a framework is found in the source, and whether any of it ran."""

import importlib.util
import sys
import threading
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from starlette.routing import Mount, Router

from lifespec.diagnosis import entered, registered
from lifespec.diagnosis.fact import Fact, Place

PRELUDE = """\
from contextlib import asynccontextmanager

class App:
    lifespan = []
    def __init__(self, **options): ...
    def add_event_handler(self, name, handler): ...
    def on_event(self, name):
        return lambda function: function
    def before_serving(self, function):
        return function

app = App()

@asynccontextmanager
async def first(app):
    yield

async def second(): ...

class Plugin:
    async def __aenter__(self): ...

class Caller:
    def __call__(self, app): ...
    def assigns(self):
        self.lifespan = first

caller, number = Caller(), 7
def make(): ...

"""


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Write and import a module; return what it gives, by name."""
    monkeypatch.chdir(tmp_path)

    def find(source: str) -> dict[str, registered.Registered]:
        path = tmp_path / "shop.py"
        path.write_text(PRELUDE + source)
        spec = importlib.util.spec_from_file_location("shop_of_test", path)
        assert spec
        assert spec.loader
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, "shop_of_test", module)
        spec.loader.exec_module(module)
        monkeypatch.setattr(registered, "_known", [(object(), [])])  # of another subject
        own = [(module, path)]  # without the tests
        monkeypatch.setattr(registered, "own_modules", lambda: own)
        return {each.name: each for each in registered.find(vars(module)["app"])}

    return find


@pytest.mark.parametrize(
    ("source", "name", "receiver"),
    [
        ("App(lifespan=first)", "first", "App"),
        ("App(on_startup=[second, first])", "second", "App"),
        ("App(plugins=[Plugin()])", "Plugin", "App"),
        ("App(lifespan=caller)", "caller", "App"),
        ("App(lifespan=number)", "number", "App"),
        ("app.add_event_handler('startup', second)", "second", "app.add_event_handler"),
        ("app.lifespan.append(first)", "first", "app.lifespan"),
        ("app.lifespan = [first]", "first", "app.lifespan"),
        ("app.lifespan += (first,)", "first", "app.lifespan"),
        ("app.router = app\napp.router.lifespan_context = first", "first", "app.router.lif"),
        ("@app.on_event('startup')\nasync def third(): ...", "third", "app.on_event"),
        ("@app.before_serving\nasync def third(): ...", "third", "app.before_serving"),
    ],
)
def test_what_is_given_is_found(found: Any, source: str, name: str, receiver: str) -> None:
    each = found(source)[name]
    assert each.receiver.startswith(receiver)
    assert each.place.line > 1
    assert each.code or name == "number"


@pytest.mark.parametrize(
    "source",
    [
        "App(lifespan=make())",  # nothing says what it made
        "App(lifespan=lambda app: 1)",
        "App(lifespan=None)",
        "import functools\nlife = functools.partial(first)\nApp(lifespan=life)",
        "App(title=first)",
        "app.start = 1",
    ],
)
def test_what_is_not_given_by_a_name_is_left_alone(found: Any, source: str) -> None:
    assert found(source) == {}


def test_what_did_not_run_is_told_and_what_nobody_can_call(found: Any) -> None:
    given = [*found("App(lifespan=first)\nApp(lifespan=number)").values()]
    kinds = {each.kind: each.parts for each in entered.never_entered(given, set())}
    assert kinds["never-ran"]["receiver"] == "App"
    assert kinds["given-no-lifespan"]["type"] == "int"
    ran = {each.code for each in given if each.code}
    assert [each.kind for each in entered.never_entered(given, ran)] == ["given-no-lifespan"]


@pytest.mark.parametrize(
    ("lifespan", "kind"),
    [("first", "handler-ignored"), ("None", "never-ran"), ("_DefaultLifespan()", "never-ran")],
)
def test_one_with_a_lifespan_runs_no_handlers(found: Any, lifespan: str, kind: str) -> None:
    source = f"class _DefaultLifespan: ...\napp.lifespan_context = {lifespan}\n"
    given = found(f"{source}app.add_event_handler('startup', second)")
    assert [each.kind for each in entered.never_entered([given["second"]], set())] == [kind]


def test_a_class_that_was_imported_is_no_application(found: Any) -> None:
    """As in `app = Wrap(FastAPI(lifespan=lifespan))`, with FastAPI imported by name."""
    assert "second" in found("inner = App(on_startup=[second])\ndel inner")


@pytest.mark.parametrize("holds", [False, True])
def test_one_elsewhere_counts_if_the_subject_holds_it(found: Any, *, holds: bool) -> None:
    assert "second" in found("App(on_startup=[second])")
    subject = [vars(sys.modules["shop_of_test"])["app"]] if holds else []
    given = [each for each in registered.find(subject) if each.place.file == "shop.py"]
    assert bool(given) is holds


def test_a_router_of_a_library_has_a_lifespan_that_can_be_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "site-packages" / "mcp"
    folder.mkdir(parents=True)
    (folder / "server.py").write_text("async def run(app):\n    go()\n    yield\ndef go(): ...\n")
    namespace: dict[str, Any] = {}
    exec(compile((folder / "server.py").read_text(), folder / "server.py", "exec"), namespace)  # noqa: S102
    router, default = Router(lifespan=asynccontextmanager(namespace["run"])), Router()
    found = [x for x in registered.find([router, default]) if x.receiver == "Router of mcp"]
    assert [each.place[:3] for each in found] == [("run", "mcp/server.py", 1)]
    assert [each.kind for each in entered.never_entered(found, set())] == ["never-ran"]
    assert [*entered.never_entered(found, {namespace["go"].__code__})] == []  # without `run`
    assert not [each for each in registered.find(default) if each.receiver == "Router of mcp"]
    path = "/tools"
    mount = Mount(path, app={"wrapped": router})
    [given] = [x for x in registered.find([mount]) if x.code is found[0].code]
    assert given.receiver == "Router of mcp"  # no line of an author mounts it
    (tmp_path / "shop.py").write_text(
        "Mount('/', a), sub.mount('/tools/', b), Mount(path), mount()"
    )
    (tmp_path / "broken.py").write_text("lifespan = mount(")
    for name in "broken", "shop":
        module = ModuleType(name)
        module.__file__ = str(tmp_path / f"{name}.py")
        monkeypatch.setitem(sys.modules, f"{name}_of_mounts", module)
    [given] = [x for x in registered.find([mount]) if x.code is found[0].code]
    assert [each.kind for each in entered.never_entered([given], set())] == ["never-ran-mounted"]
    assert (given.place.function, given.place.line, given.receiver) == ("sub.mount", 1, "mcp")
    monkeypatch.delitem(sys.modules, "starlette.routing")
    assert not [each for each in registered.find(router) if each.receiver == "Router of mcp"]


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
        inside: Any = SimpleNamespace(f_locals={"self": each}, f_code=registered.ENTER, f_back=here)
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
    given = registered.Registered(
        "pool", pool, code, Place("pool", "shop.py", 1), "App", stateful=True
    )
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
