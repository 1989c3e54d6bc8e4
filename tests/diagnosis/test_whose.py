"""Whose code a line is, where all is installed: that of the application, and not a framework's."""

import asyncio
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from lifespec.diagnosis import stacks, waits, whose

FILES = {
    "tower.py": """
import asyncio

class Outer:
    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        await self.app(scope, receive, send)

class Server:
    async def serve(self, app, kind):
        self.inbox = asyncio.Queue()
        self.inbox.put_nowait({"type": "lifespan.startup"})
        scope = {"type": kind, "asgi": {"version": "3.0"}, "state": {}, "method": "GET"}
        scope |= {"path": "/", "query_string": b"", "headers": []}
        await Outer(app)(scope, self.receive, self.send)

    async def receive(self):
        return await self.inbox.get()

    async def send(self, message):
        print(message)
""",
    "dialer.py": """
import asyncio

async def dial():
    await asyncio.Event().wait()

class Client:
    async def __aenter__(self):
        await dial()

    async def __aexit__(self, *_):
        pass
""",
    "hub/__init__.py": "",
    "hub/lives.py": """
from contextlib import asynccontextmanager
import dialer

async def connect():
    async with dialer.Client():
        pass

@asynccontextmanager
async def life(app):
    await connect()
    yield
""",
    "_hub/__init__.py": "",
    "_hub/inner.py": """
from contextlib import asynccontextmanager
from hub import lives

@asynccontextmanager
async def life(app):
    await lives.connect()
    yield
""",
    "hub-1.0.dist-info/RECORD": """
_hub/__init__.py,,
_hub/inner.py,,
hub-1.0.dist-info/METADATA,,
hub/__init__.py,,
hub/main.py,,
""",
    "hub/main.py": """
import asyncio
import _hub.inner
import dialer
from fastapi import FastAPI
from litestar import Litestar
from quart import Quart
from starlette.applications import Starlette
from starlette.middleware import Middleware
from hub.lives import connect, life

class Own:
    def __init__(self, app=None):
        self.app = app

    async def __call__(self, scope, receive, send):
        if self.app:
            await self.app(scope, receive, send)
        else:
            await receive()
            await connect()

async def application(scope, receive, send):
    await connect()

async def pause(scope, receive, send):
    await asyncio.Event().wait()

def function():
    return application

def idle():
    return FastAPI()

def fastapi():
    return FastAPI(lifespan=life)

def of_two_packages():
    return FastAPI(lifespan=_hub.inner.life)

def serving():
    app = FastAPI()
    app.add_api_route("/", connect)
    return app

def starlette():
    return Starlette(lifespan=life, middleware=[Middleware(Own)])

def litestar():
    return Litestar([], on_startup=[connect])

def litestar_lifespan():
    return Litestar([], lifespan=[life])

def quart():
    app = Quart("hub")
    app.before_serving(connect)
    return app

def plain():
    return Own()

def of_a_library():
    return FastAPI(lifespan=lambda app: dialer.Client())

held = of_a_library()
""",
    "dock-1.0.dist-info/RECORD": "dock/main.py,,\n",
    "dear-1.0.dist-info/METADATA": "",  # without a record
    "dock/main.py": """
import dialer

class Own:
    async def __call__(self, scope, receive, send):
        await dialer.dial()
""",
}
MODULES = (
    "_hub",
    "_hub.inner",
    "dialer",
    "dock",
    "dock.main",
    "hub",
    "hub.lives",
    "hub.main",
    "tower",
)
INSIDE = ["hub/lives.py connect"]
LIBRARY = ["dialer.py Client.__aenter__", "dialer.py dial"]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Install packages, of which one has applications; return it."""
    folder = tmp_path / "site-packages"
    for name, source in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(source)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr(stacks, "own_paths", [])
    monkeypatch.setattr(whose, "nobodys", set())
    whose.using_others.cache_clear()
    before = {*sys.modules}
    yield import_module("hub.main")
    for name in MODULES:
        if name not in before:
            sys.modules.pop(name, None)


def where(app: Any, kind: str = "lifespan") -> list[str]:
    """Return where a call of an application is, as a server of another package has it."""

    async def main() -> list[stacks.Line]:
        task = asyncio.ensure_future(import_module("tower").Server().serve(app, kind))
        frames: list[Any] = []
        for _turn in range(500):
            await asyncio.sleep(0.01)
            frames = waits.of(task).frames
            if frames and frames[-1].f_code.co_name in ("get", "wait"):
                break
        shown = whose.lines_to_show(frames)
        task.cancel()
        await asyncio.wait([task])
        return shown

    def short(file: str) -> str:
        return file.rpartition("site-packages/")[2]

    return [f"{short(at.file)} {at.function}" for at in asyncio.run(main())]


@pytest.mark.parametrize(
    ("name", "outer"),
    [
        ("fastapi", ["hub/lives.py life"]),
        ("of_two_packages", ["_hub/inner.py life"]),
        ("starlette", ["hub/main.py Own.__call__", "hub/lives.py life"]),
        ("litestar", []),
        ("litestar_lifespan", ["hub/lives.py life"]),
        ("quart", []),
        ("plain", ["hub/main.py Own.__call__"]),
        ("function", ["hub/main.py application"]),
    ],
)
def test_an_installed_application_tells_its_author(
    installed: Any, name: str, outer: list[str]
) -> None:
    make: Callable[[], Any] = getattr(installed, name)
    assert where(make()) == [*outer, *INSIDE]
    assert {Path(folder).name for folder in stacks.own_paths} == {"hub", "_hub"}


def test_a_request_tells_the_author_of_an_application_that_started_at_once(installed: Any) -> None:
    assert where(installed.pause, "http") == []  # this line is perhaps a framework's
    assert stacks.own_paths == []
    assert where(installed.serving(), "http") == INSIDE


def test_without_a_line_of_the_author_that_of_the_library_is_shown_that_uses_the_others(
    installed: Any,
) -> None:
    stacks.own_paths[:] = ["service.py"]
    assert where(installed.of_two_packages()) == ["_hub/inner.py life", *INSIDE]
    assert stacks.own_paths == ["service.py"]


def test_without_a_line_of_the_author_the_chain_of_the_library_is_shown(installed: Any) -> None:
    assert where(installed.held) == LIBRARY
    assert Path(stacks.own_paths[0]).name == "hub"  # whose variable it is


def test_of_a_namespace_the_package_below_it_is_the_authors(installed: Any) -> None:
    assert where(import_module("dock.main").Own()) == ["dock/main.py Own.__call__"]
    assert [Path(file).name for file in stacks.own_paths] == ["main.py"]


def test_who_is_not_known_is_no_author(installed: Any) -> None:
    """One that asks its server, one of a module without a file, packages that use each other."""
    assert where(installed.idle())[-1] == "tower.py Server.receive"
    del import_module("dock.main").__file__
    assert where(import_module("dock.main").Own()) == ["dialer.py dial"]
    vars(import_module("dialer"))["hub"] = sys.modules["hub"]  # each imports the other
    for _ in range(2):
        assert where(installed.plain()) == [*INSIDE, *LIBRARY]
    assert stacks.own_paths == []
