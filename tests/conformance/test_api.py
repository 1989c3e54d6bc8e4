"""The suite as functions, for programs: what they check, return and refuse."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lifespec import conformance
from lifespec.conformance import Report, Unchecked, check_app, check_middleware, check_server

__all__: list[str] = []

ROOT = Path(conformance.__file__).parents[2]
SERVE = Path(__file__).parents[2] / "docs" / "programs" / "serve.py"
SERVER = [sys.executable, str(SERVE), "{app}", "--port", "{port}"]
SHOP = """
async def app(scope, receive, send):
    if scope["type"] != "lifespan":
        raise NotImplementedError(scope["type"])
    for name in ("startup", "shutdown"):
        if (await receive())["type"] != f"lifespan.{name}":
            raise ValueError
        await send({"type": f"lifespan.{name}.complete"})

def same(app):
    return app
"""


async def live(scope: Any, receive: Any, send: Any) -> None:
    """Be an application that does all as it should."""
    if scope["type"] != "lifespan":
        raise NotImplementedError(scope["type"])
    for name in ("startup", "shutdown"):
        if (await receive())["type"] != f"lifespan.{name}":
            raise ValueError
        await send({"type": f"lifespan.{name}.complete"})


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the name of a module in the current folder that has an application and middleware."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    (tmp_path / "functions_shop.py").write_text(SHOP)
    return "functions_shop"


def test_an_application_by_name(shop: str) -> None:
    found = check_app(f"{shop}:app", "asgi")
    assert (found.subject, found.spec, found.ok) == (f"{shop}:app", "asgi 2.0", True)
    assert found.isolation in ("fork", "spawn")


def test_a_server_by_one_string(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is split as a shell does; a server of PAGI needs a process of Perl."""
    jobs: list[Any] = []

    def check(job: Any, only: Any) -> None:
        jobs.append((job.command, job.spec, job.begins.__name__, len(only)))

    monkeypatch.setattr("lifespec.conformance.server.check.check", check)
    check_server("'my server' {app} {port}", "pagi", only=["well-behaved"])
    check_server("serve {app} {port}", only=["well-behaved", "state"])
    assert jobs == [
        (("my server", "{app}", "{port}"), "pagi 0.3", "OfPerl", 1),
        (("serve", "{app}", "{port}"), "asgi 2.0", "Subject", 2),
    ]


@pytest.mark.parametrize(
    ("check", "sentence"),
    [
        (lambda: check_app(live, "wsgi"), "there is no specification 'wsgi': name asgi 1.0, "),
        (lambda: check_app("shop:app", "wsgi"), "there is no specification 'wsgi': name "),
        (lambda: check_app(1), "this cannot be called with scope, receive and send "),  # type: ignore[arg-type]
        (lambda: check_middleware("shop"), "'shop' has no attribute: "),
        (lambda: check_server(["x", "{app}"]), "the command has no {port}: x {app}"),
        (lambda: check_server(SERVER, only=["none"]), "there is no case for servers 'none'"),
        (lambda: check_server(SERVER, "amgi"), "by AMGI messages come from a broker: give "),
        (
            lambda: check_server(SERVER, "amgi", broker="x"),
            "there is no broker 'x': give redis or ",
        ),
        (lambda: check_server(SERVER, "amgi", broker="redis"), "the command has no {topic}, "),
    ],
)
def test_what_cannot_be_checked(check: Callable[[], Report], sentence: str) -> None:
    with pytest.raises(Unchecked) as caught:
        check()
    assert str(caught.value).startswith(sentence)
