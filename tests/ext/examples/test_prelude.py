"""A check on a page: what it may use, and what it says if its statement is false."""

import sys

import pytest

from lifespec_docs.examples.prelude import MATRIX, reads
from lifespec_docs.examples.runner import Example, ExampleFailed, Namespace, run

RAISES = "with expect(OSError, "


@pytest.fixture
def names() -> Namespace:
    """Return what the blocks of a page share."""
    return Namespace()


def block(source: str, libraries: str = "asyncio trio") -> Example:
    """Return a check in line 10 of a page."""
    return Example("docs/a.md", 10, "python", source, None, kind="check", run_by=libraries)


def test_what_a_check_names_is_not_the_page_s(names: Namespace) -> None:
    names.names["mine"] = 1
    assert run(block("assert isinstance(mine, int)\nmine = 2"), names).output == ""
    assert names.names["mine"] == 1


@pytest.mark.parametrize(
    ("source", "line", "told"),
    [
        ("x = 2\nassert 1 + 1 == x + 1", 11, "on asyncio: not true: 1 + 1 == x + 1\n    2\n    3"),
        ("assert not 1", 10, "on asyncio: not true: not 1"),
        ("with expect(OSError):\n    pass", 10, "on asyncio: not true: OSError is raised"),
        (f"{RAISES}'a'): raise OSError('b')", 10, "on asyncio: not true: 'a' in 'b'"),
        (f"{RAISES}'a b'): raise OSError('a bc')", 10, "on asyncio: not true: 'a b' in 'a bc'"),
        ("raise ExceptionGroup('', [OSError('no')])", 10, "on asyncio: OSError: no"),
        ("1 / 0", 10, "on asyncio: ZeroDivisionError: division by zero"),
        ("assert 1\nfor _ in []:\n    assert 1", 10, "this never ran: assert 1"),
        ("for each in []:\n    assert each\nassert 1", 10, "this never ran: assert each"),
        (f"for _ in []:\n    {RAISES}'a'): 0", 10, f"this never ran: {RAISES}'a'):"),
        ("assert library == 'asyncio'", 10, "on trio: not true: library == 'asyncio'"),
    ],
)
def test_what_does_not_hold(names: Namespace, source: str, line: int, told: str) -> None:
    with pytest.raises(ExampleFailed) as failed:
        run(block(source), names)
    assert str(failed.value).startswith(f"docs/a.md:{line}: What stands above is not so, {told}")


def test_a_hang_is_an_error(names: Namespace) -> None:
    with pytest.raises(ExampleFailed, match="Deadlock"):
        run(block("import asyncio\nawait asyncio.Event().wait()"), names)


def test_a_browser_has_no_trio(names: Namespace, monkeypatch: pytest.MonkeyPatch) -> None:
    """A check of both runs on asyncio there; one of trio says that it cannot."""
    monkeypatch.setattr(sys, "platform", "emscripten")
    run(block("if library == 'trio':\n    assert 0\nassert library == 'asyncio'"), names)
    with pytest.raises(ExampleFailed, match="a browser has no trio"):
        run(block("assert library == 'trio'", "trio"), names)


def test_the_records_that_a_check_reads() -> None:
    """It is run again when one of them changes."""
    found = reads(
        'measured("a")\nlogged("b", "c") and logged("d")\nrecord("peers")\nunmeasured("e")'
    )
    assert found == tuple(str(MATRIX / f"{name}.json") for name in ("servers", "loglines", "peers"))
