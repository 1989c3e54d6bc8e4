"""The process in which a server would serve asks lifespec, and becomes the host of the check."""

import asyncio
import importlib
import json
import os
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from lifespec.watch import hold
from lifespec.watch.hold import Hold

TOY = """\
class Server:
    def run(self): return "served"
    async def serve(self): return "served"
def serve(): return "served"
"""


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("h", numbered=True)


@pytest.fixture
def taken(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Yield a module of a server, hooked; the first call of it is noted, and goes on."""
    calls: list[str] = []

    def act(held: Hold, *_: object) -> None:
        calls.append("acted")

    places = [("Server", "run", act), ("Server", "serve", act), ("", "serve", act)]
    places += [("Server", "gone", act), ("Gone", "run", act)]
    monkeypatch.setitem(hold.PLACES, "toyserver", tuple(places))
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    monkeypatch.syspath_prepend(folder)
    (folder / "toyserver.py").write_text(TOY)
    held = Hold(str(folder), str(Path(hold.__file__).parents[2]), "lifespec.conformance.app.held")
    monkeypatch.setattr(held, "hook", held.hook)
    names = {name for name in hold.PLACES if name in sys.modules}
    for name in names:  # of this process, which others test
        monkeypatch.delitem(hold.PLACES, name)
    held.begin()
    yield SimpleNamespace(hold=held, calls=calls, folder=folder)
    held.release()
    sys.modules.pop("toyserver", None)


def test_what_begins_to_serve_comes_to_lifespec_first(taken: Any) -> None:
    import toyserver  # type: ignore[import-not-found]  # noqa: PLC0415

    assert (taken.folder / "python").exists()
    assert toyserver.Server().run() is None
    assert asyncio.run(toyserver.Server().serve()) == "served"
    assert toyserver.serve() is None
    assert taken.calls == ["acted"] * 3
    taken.hold.note()  # once
    taken.hold.has_taken = True
    assert toyserver.Server().run() == asyncio.run(toyserver.Server().serve()) == "served"
    assert taken.calls == ["acted"] * 3


def test_a_server_that_is_imported_already_is_hooked_too(taken: Any) -> None:
    sys.meta_path.remove(taken.hold.finder)
    toyserver = importlib.import_module("toyserver")
    assert toyserver.serve() == "served"
    taken.hold.begin()
    assert toyserver.serve() is None


def test_lifespec_is_found_where_the_command_has_it(taken: Any) -> None:
    (home,) = [finder for finder in sys.meta_path if isinstance(finder, hold.Home)]
    assert home.find_spec("json") is None
    spec = home.find_spec("lifespec")
    assert spec
    assert spec.origin == str(Path(hold.__file__).parents[1] / "__init__.py")


class Ended(BaseException):
    """The process has ended."""


@pytest.mark.parametrize("answer", [b"1", b"", None])
@pytest.mark.parametrize("fails", [None, ZeroDivisionError, SystemExit])
def test_the_first_is_the_host_and_the_others_end(
    answer: bytes | None,
    fails: type[BaseException] | None,
    taken: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hosts: list[object] = []
    killed: list[int] = []
    heard: list[bytes] = []
    held = ModuleType("lifespec.conformance.app.held")

    def main(number: int, app: object, target: str) -> None:
        os.close(number)
        hosts.append((app, target))
        if fails:
            raise fails

    def exits(_: int) -> None:
        raise Ended

    held.main = main  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "lifespec.conformance.app.held", held)
    monkeypatch.setattr("lifespec.conformance.app.held", held, raising=False)
    monkeypatch.setattr(os, "_exit", exits)
    monkeypatch.setattr(os, "killpg", lambda *_: killed.append(1))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(taken.folder), "/kept"]))
    monkeypatch.chdir(taken.folder)
    taken.hold.folder = "."  # the path of a socket is short
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([".", "/kept"]))
    with socket.socket(socket.AF_UNIX) as listener:
        if answer is not None:
            listener.bind("socket")
            listener.listen()

        def replies() -> None:
            with listener.accept()[0] as caller, caller.makefile("rb") as file:
                heard.append(file.readline())
                caller.sendall(answer or b"")

        thread = threading.Thread(target=replies, daemon=True)
        if answer is not None:
            thread.start()
        with pytest.raises(Ended):
            taken.hold.take("toy", "the app", "shop:app", off=True)
        if answer is not None:
            thread.join(10)
    assert os.environ["PYTHONPATH"] == "/kept"
    assert taken.hold.finder not in sys.meta_path
    assert taken.hold.has_taken
    assert hosts == ([("the app", "shop:app")] if answer else [])
    assert Path("failed").exists() == bool(answer and fails)
    assert killed == ([1] if answer and not fails else [])
    if answer is not None:
        told = json.loads(heard[0])
        assert (told["server"], told["pid"], told["off"]) == ("toy", os.getpid(), True)


def test_without_other_entries_the_variable_is_gone(
    taken: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", taken.hold.folder)
    monkeypatch.setattr(sys, "stdout", None)
    taken.hold.release()
    assert "PYTHONPATH" not in os.environ


def test_a_loop_can_be_run_inside_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[str] = []

    async def inside() -> str:
        return "inside"

    def callback() -> None:  # there is a loop, and no task
        loop = asyncio.get_running_loop()
        hold.leave_loop()
        found.append(asyncio.run(inside()))
        asyncio._set_running_loop(loop)

    async def outside() -> None:
        asyncio.get_running_loop().call_soon(callback)
        await asyncio.sleep(0)
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        hold.leave_loop()
        other = asyncio.new_event_loop()
        found.append(other.run_until_complete(inside()))
        other.close()
        hold.leave_loop()  # in none
        asyncio._set_running_loop(loop)
        assert task
        asyncio.tasks._enter_task(loop, task)  # type: ignore[attr-defined]

    asyncio.run(outside())
    assert found == ["inside"] * 2
    monkeypatch.delitem(sys.modules, "asyncio")
    hold.leave_loop()  # in a process that has imported none


# ---- what each server does -----------------------------------------------------------------------


class Taken(BaseException):
    """The application was taken: the server, the application, how it was named, and more."""


class Takes(Hold):
    def take(self, server: str, app: Any, target: str = "", **about: Any) -> None:
        raise Taken(server, app, target, {key for key, value in about.items() if value})


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Do nothing."""


def make() -> Any:
    return app


def wsgi(environ: Any, start_response: Any) -> Any:
    return []


def uvicorn(**options: Any) -> None:
    import uvicorn  # noqa: PLC0415

    address = {"host": "203.0.113.1", "port": 1}  # which no machine can bind
    uvicorn.run(**{"app": f"{__name__}:app", **address} | options)


def uvicorn_own() -> None:
    import uvicorn  # noqa: PLC0415

    class Own(uvicorn.Server):
        async def serve(self, sockets: Any = None) -> None:
            self.should_exit = True
            await self._serve(sockets)

    Own(uvicorn.Config(app, port=0)).run()


def uvicorn_loaded() -> None:
    import uvicorn  # noqa: PLC0415

    config = uvicorn.Config(app)
    config.load()
    uvicorn.Server(config).run()


def hypercorn(path: str = f"{__name__}:app", **options: Any) -> None:
    from hypercorn.config import Config  # noqa: PLC0415
    from hypercorn.run import run  # noqa: PLC0415

    config = Config.from_mapping(application_path=path, bind="127.0.0.1:1", **options)
    run(config)


def granian(target: Any = f"{__name__}:app", **options: Any) -> None:
    from granian import Granian  # type: ignore[attr-defined]  # noqa: PLC0415
    from granian.constants import Interfaces  # noqa: PLC0415

    interface = Interfaces(options.pop("interface", "asgi"))
    loader = options.pop("loader", None)
    Granian(target, port=1, interface=interface, **options).serve(target_loader=loader)


def granian_embedded(**options: Any) -> None:
    from granian.server.embed import Server  # noqa: PLC0415

    asyncio.run(Server(port=1, **options).serve())


def gunicorn(worker: str, target: Any = app, **options: Any) -> None:
    from gunicorn.app.base import BaseApplication  # type: ignore[import-untyped]  # noqa: PLC0415
    from gunicorn.arbiter import Arbiter  # type: ignore[import-untyped]  # noqa: PLC0415

    class Application(BaseApplication):  # type: ignore[misc]
        def load_config(self) -> None:
            for name, value in {"worker_class": worker, **options}.items():
                self.cfg.set(name, value)

        def load(self) -> Any:
            return target

    Arbiter(Application()).run()


def daphne() -> None:
    from daphne.server import Server  # type: ignore[import-untyped]  # noqa: PLC0415

    Server(app, endpoints=["tcp:port=1"]).run()


NAME = f"{__name__}:app"
MADE = f"{__name__}:make"
ROWS: list[tuple[Any, dict[str, Any], tuple[Any, ...]]] = [
    (uvicorn, {}, ("uvicorn", app, NAME, set())),
    (uvicorn, {"app": app, "log_level": 5}, ("uvicorn", app, "", set())),
    (uvicorn, {"app": MADE, "factory": True}, ("uvicorn", app, f"{MADE}()", set())),
    (uvicorn, {"lifespan": "off"}, ("uvicorn", app, NAME, {"off"})),
    (uvicorn, {"proxy_headers": False}, ("uvicorn", app, NAME, set())),
    (uvicorn_loaded, {}, ("uvicorn", app, "", set())),
    (uvicorn_own, {}, ("uvicorn", app, "", set())),
    (uvicorn, {"reload": True}, ("uvicorn", app, NAME, set())),
    (uvicorn, {"workers": 2}, ("uvicorn", app, NAME, set())),
    (hypercorn, {}, ("hypercorn", app, NAME, set())),
    (hypercorn, {"path": f"asgi:{NAME}"}, ("hypercorn", app, NAME, set())),
    (hypercorn, {"worker_class": "trio"}, ("hypercorn", app, NAME, set())),
    (hypercorn, {"worker_class": "uvloop"}, ("hypercorn", app, NAME, set())),
    (granian, {}, ("granian", app, NAME, set())),
    (granian, {"interface": "asginl"}, ("granian", app, NAME, {"off"})),
    (granian, {"target": MADE, "factory": True}, ("granian", app, f"{MADE}()", set())),
    (granian, {"target": app, "loader": lambda target: target}, ("granian", app, "", set())),
    (granian, {"interface": "rsgi"}, ("granian", app, NAME, {"interface"})),
    (granian_embedded, {"target": app}, ("granian", app, "", set())),
    (granian_embedded, {"target": make, "factory": True}, ("granian", app, "", set())),
    (gunicorn, {"worker": "asgi"}, ("gunicorn", app, "", set())),
    (gunicorn, {"worker": "asgi", "asgi_lifespan": "off"}, ("gunicorn", app, "", {"off"})),
    (gunicorn, {"worker": "uvicorn_worker.UvicornWorker"}, ("uvicorn", app, "", set())),
    (gunicorn, {"worker": "sync", "target": wsgi}, ("gunicorn", None, "", {"interface"})),
    (daphne, {}, ("daphne", app, "", {"off"})),
]


def given(serve: Any, options: dict[str, Any]) -> Any:
    """Return what is taken where a server of this process would serve."""
    try:
        serve(**options)
    except Taken as taken:
        return taken.args
    except BaseException as error:  # nothing may leave the fork
        return error
    return "served"


def test_an_application_is_had_as_its_server_has_it() -> None:
    """In a process of its own: servers change the process that imports them."""
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        held = Takes(".", ".", "")
        for name in hold.PLACES:
            held.hook(importlib.import_module(name))
        held.noting.__exit__(None, None, None)
        for serve, options, wanted in ROWS:
            if (found := given(serve, options)) != wanted:
                os.write(writing, f"{serve.__name__} {options}: {found}\n".encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as file:
        assert file.read() == ""
    assert os.waitpid(pid, 0)[1] == 0
