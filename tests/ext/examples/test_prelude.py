"""A check on a page: what it may use, and what it says if its statement is false."""

import sys

import pytest

from lifespec_docs.examples.prelude import MATRIX, reads
from lifespec_docs.examples.runner import Example, ExampleFailed, Namespace, run

__all__: list[str] = []

TRUE = """\
app = application(shutdown=failed("disk full"))
lifespan = await start(app)
for _ in range(2):
    with expect(ShutdownFailed, "disk full") as caught:
        await lifespan.shutdown()
assert caught.error.message == "disk full"
""", """\
assert await outcome_of(application()) == "complete"
assert await outcome_of(application("return")) == "unsupported"
assert await outcome_of(application(failed("no"))) == "failed"
assert await outcome_of(application(0, "hang"), shutdown_timeout=3) == "timed_out"
""", """\
await start(application(startup=2))
await sleep(1)
assert seconds() == 3
""", """\
(line,) = await log_of(application(shutdown=ValueError("no")))
assert line == "ERROR The application crashed before it answered shutdown: ValueError('no')"
assert await events_of(application("return")) == ["lifespan.startup"]
assert library in ("asyncio", "trio")
""", """\
assert command("shop", shop="print('ü')\\nraise SystemExit(3)") == (3, "ü\\n")
assert command("shop", shop=module("1 / 0")) == (0, "")
assert command("A=1 B= shop", shop="import os\\nprint(os.environ['A'])") == (0, "1\\n")
""", """\
import asyncio
with suppress(OSError): raise OSError
assert aside(asyncio.run, asyncio.sleep(0, result=3)) == 3
""", """\
run = logged("fails", "SIGINT")["uvicorn"]
assert run == record("loglines")["subjects"][0]["runs"]["fails"]["SIGINT"]
assert "uvicorn" in seen("well-behaved", "scope-type", "pass")
assert not seen("well-behaved", "scope-type", "nosuch")
assert measured("well-behaved", "scope-type") == {"pass"}
""", "assert isinstance(mine, int)\nmine = 'not the page\\'s'"  # fmt: skip


@pytest.fixture
def names() -> Namespace:
    """Return what the blocks of a page share."""
    return Namespace()


def block(source: str, libraries: str = "asyncio trio") -> Example:
    """Return a check in line 10 of a page."""
    return Example("docs/a.md", 10, "python", source, None, kind="check", run_by=libraries)


@pytest.mark.parametrize("source", TRUE)
def test_what_holds_on_both_libraries(names: Namespace, source: str) -> None:
    names.names["mine"] = 1
    assert run(block(source), names).output == ""
    assert names.names["mine"] == 1


@pytest.mark.parametrize(
    ("source", "line", "told"),
    [
        ("x = 2\nassert 1 + 1 == x + 1", 11, "on asyncio: not true: 1 + 1 == x + 1\n    2\n    3"),
        ("assert not 1", 10, "on asyncio: not true: not 1"),
        ("with expect(OSError):\n    pass", 10, "on asyncio: not true: OSError is raised"),
        (
            "with expect(OSError, 'a'):\n    raise OSError('b')",
            10,
            "on asyncio: not true: 'a' in 'b'",
        ),
        (
            "with expect(OSError, 'a b'):\n    raise OSError('a bc')",
            10,
            "on asyncio: not true: 'a b' in 'a bc'",
        ),
        ("raise ExceptionGroup('', [OSError('no')])", 10, "on asyncio: OSError: no"),
        ("1 / 0", 10, "on asyncio: ZeroDivisionError: division by zero"),
        ("assert 1\nfor _ in []:\n    assert 1", 10, "this never ran: assert 1"),
        ("for each in []:\n    assert each\nassert 1", 10, "this never ran: assert each"),
        (
            "for _ in []:\n    with suppress(OSError), expect(KeyError): {}[0]",
            10,
            "this never ran: with suppress(OSError), expect(KeyError):",
        ),
        ("assert library == 'asyncio'", 10, "on trio: not true: library == 'asyncio'"),
    ],
)
def test_what_does_not_hold(names: Namespace, source: str, line: int, told: str) -> None:
    with pytest.raises(ExampleFailed) as failed:
        run(block(source), names)
    assert str(failed.value).startswith(f"docs/a.md:{line}: What stands above is not so, {told}")


def test_what_holds_on_one_library(names: Namespace) -> None:
    run(block("assert library == 'trio'", "trio"), names)


def test_a_hang_is_an_error(names: Namespace) -> None:
    with pytest.raises(ExampleFailed, match="Deadlock"):
        run(
            block(
                "await start(application(lambda: 0))\nimport asyncio\nawait asyncio.Event().wait()"
            ),
            names,
        )


def test_a_browser_has_no_trio(names: Namespace, monkeypatch: pytest.MonkeyPatch) -> None:
    """A check of both runs on asyncio there; one of trio says that it cannot."""
    monkeypatch.setattr(sys, "platform", "emscripten")
    run(block("if library == 'trio':\n    assert 0\nassert library == 'asyncio'"), names)
    with pytest.raises(ExampleFailed, match="a browser has no trio"):
        run(block("assert library == 'trio'", "trio"), names)


def test_the_records_that_a_check_reads() -> None:
    """It is run again when one of them changes."""
    found = reads('seen("a")\nlogged("b", "c") and logged("d")\nrecord("peers")\nunseen("e")')
    assert found == tuple(str(MATRIX / f"{name}.json") for name in ("servers", "loglines", "peers"))
