"""A page's examples, run for its reader."""

import linecache
from collections.abc import Iterator
from dataclasses import asdict
from textwrap import dedent
from typing import Any

import pytest

from lifespec_docs.examples.runner import TRACEBACK, Example
from lifespec_docs.live import blocks
from lifespec_docs.live.blocks import EDITED, run_blocks

LIFESPAN = """
    import asyncio
    from lifespec import Lifespan

    async def app(scope, receive, send):
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})

    async def main():
        async with Lifespan(app) as lifespan:
            print(lifespan.supported)

    asyncio.run(main())
"""


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """Begin as a page begins that was just loaded."""
    blocks._last = blocks._Page()
    yield
    blocks._last.namespace.close()
    linecache.cache.pop(EDITED, None)


def row(source: str, expected: str | None = None, line: int = 41) -> dict[str, Any]:
    return asdict(Example("docs/startup.md", line, "python", dedent(source).strip("\n"), expected))


def asked(
    *rows: dict[str, Any], words: dict[str, str] | None = None, **edited: str
) -> dict[str, Any]:
    """Run the last of these after the others; `_1="…"` is what the reader made of the second."""
    by_number = {name.removeprefix("_"): text for name, text in edited.items()}
    return run_blocks({"blocks": list(rows), "edited": by_number, "words": words or {}})


def test_an_exception_that_the_page_does_not_show_is_printed() -> None:
    """Below what was printed before it."""
    answer = asked(row("print(1)\nraise ValueError('no')", "1"))
    assert answer["output"].startswith(f"1\n{TRACEBACK}\n")
    assert answer["output"].endswith("ValueError: no\n")
    assert answer["same"] is False


def test_the_event_log_speaks_the_language_of_the_page() -> None:
    """A word without a translation is the English one."""
    answer = asked(row(LIFESPAN, "True"), words={"Event log: %s": "事件日志：%s"})
    assert answer["same"] is True
    assert answer["log"].startswith("<details class='said'><summary>事件日志：6 entries")


def test_what_ran_before_is_run_anew_where_it_is_edited() -> None:
    """The example is not compared then, though it was not edited itself."""
    first, second = row("x = 1"), row("print(x)", "1", 51)
    assert asked(first, second)["same"] is True
    answer = asked(first, second, _0="x = 2")
    assert (answer["output"], answer["same"]) == ("2\n", None)
    assert asked(first, second)["output"] == "1\n"


def test_an_edited_program_is_compared_with_nothing() -> None:
    """Its event log is shown as any other."""
    answer = asked(row(LIFESPAN, "True"), _0=dedent(LIFESPAN) + "print('more')")
    assert (answer["output"], answer["same"]) == ("True\nmore\n", None)
    assert answer["log"].startswith("<details")


def test_the_exception_of_an_edited_program_is_printed_as_python_prints_it() -> None:
    """It names the line of the program as the reader sees it, and not those of our own."""
    program = "def begin():\n    raise ValueError('no')\n\nprint('here')\nbegin()"
    output = asked(row("print(1)", "1"), _0=program)["output"]
    lines = output.splitlines()
    assert lines[:3] == ["here", TRACEBACK, '  File "example.py", line 5, in <module>']
    assert lines[3].strip() == "begin()"
    assert "blocks.py" not in output
    assert lines[-1] == "ValueError: no"


@pytest.mark.parametrize(
    ("program", "last"),
    [
        ("print(", "SyntaxError: '(' was never closed"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    ],
)
def test_a_program_that_ends_early_leaves_the_next_alone(program: str, last: str) -> None:
    """Whatever it raises is printed."""
    answer = asked(row("print(1)", "1"), _0=program)
    assert answer["output"].splitlines()[-1] == last
    assert asked(row("print(1)", "1"))["same"] is True


def test_standard_error_is_shown_apart_and_long_texts_are_cut() -> None:
    """What an earlier example wrote there is not that of the last."""
    noisy = "import sys\nprint('first', file=sys.stderr)"
    answer = asked(row(noisy), row(f"{noisy}\nprint('x' * {blocks.MOST_TEXT + 1})"))
    assert answer["errors"] == "first\n"
    assert answer["output"] == "x" * blocks.MOST_TEXT + " …\n"


def test_an_earlier_example_that_failed_is_named() -> None:
    """The first of them, whatever comes after it, and until it runs."""
    rows = [row("1 / 0"), row("x = 1"), row("print(x)")]
    assert asked(*rows[:1])["before"] is None
    assert asked(*rows[:2])["before"] == (0, "ZeroDivisionError")
    assert asked(*rows)["before"] == (0, "ZeroDivisionError")
    assert asked(*rows, _0="x = (")["before"] == (0, "SyntaxError")
    assert asked(*rows, _0="x = 2")["before"] is None
    assert asked(row("print(1)", "2"), row("2"))["before"] is None  # it ran


def test_a_traceback_has_the_frames_of_the_program_alone() -> None:
    """Those of the page that runs it say nothing to a reader."""
    text = "try:\n    raise ValueError('no')\nexcept ValueError as e:\n    raise KeyError from e"
    for output in (asked(row(text))["output"], asked(row("1"), _0=text)["output"]):
        files = {line.split(",")[0] for line in output.splitlines() if "File" in line}
        assert len(files) == 1
        assert "ValueError: no" in output


SERVED = """
    async def app(scope, receive, send):
        if scope["type"] == "http":
            assert (await receive())["type"] == "http.request"
            await send({"type": "http.response.start", "status": 200})
            await send({"type": "http.response.body", "body": b"hello"})
        else:
            raise TypeError(scope["type"])
"""


def test_an_application_is_served_after_its_program() -> None:
    """Also one that a reader has edited, but not where no application is left."""
    served = row(SERVED, "GET / → 200 hello") | {"run_by": "lifespan"}
    assert asked(served)["same"]
    changed = asked(served, _0=dedent(SERVED).replace("hello", "good day"))
    assert changed["output"] == "GET / → 200 good day\n"
    assert asked(served, _0="print('no application')")["output"] == "no application\n"
