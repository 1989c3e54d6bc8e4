"""A page's examples, run for its reader."""

import linecache
from collections.abc import Iterator
from dataclasses import asdict
from textwrap import dedent
from typing import Any

import pytest

from lifespec_docs.examples.runner import TRACEBACK, Block
from lifespec_docs.live import blocks
from lifespec_docs.live.blocks import EDITED, run_blocks

__all__: list[str] = []

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
    """Return an example as a page's data has it."""
    return asdict(Block("docs/startup.md", line, "python", dedent(source).strip("\n"), expected))


def asked(
    *rows: dict[str, Any], words: dict[str, str] | None = None, **edited: str
) -> dict[str, Any]:
    """Run the last of these after the others; `_1="…"` is what the reader made of the second."""
    by_number = {name.removeprefix("_"): text for name, text in edited.items()}
    return run_blocks({"blocks": list(rows), "edited": by_number, "words": words or {}})


def test_an_example_prints_what_its_page_shows() -> None:
    """It is the same, and there is nothing to complain of."""
    answer = asked(row("print(1)", "1"))
    assert answer == {"output": "1\n", "same": True, "complaint": "", "log": ""}


def test_another_output_is_told() -> None:
    """With the place in the page."""
    answer = asked(row("print(2)", "1"))
    assert answer["output"] == "2\n"
    assert answer["same"] is False
    assert answer["complaint"].startswith("docs/startup.md:41: The example printed '2'")


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
    assert answer["log"].startswith("<details class='said'><summary>事件日志：4 events")


def test_an_example_builds_on_those_before_it() -> None:
    """They run first, once: the next example of the page goes on from there."""
    first = row("import itertools\ncount = itertools.count(1)\nprint('first')", "first")
    second = row("print(next(count))", "1", 51)
    third = row("print(next(count))", "2", 61)
    assert asked(first, second)["output"] == "1\n"
    assert asked(first, second, third)["output"] == "2\n"
    assert asked(first, second)["output"] == "1\n"  # from the beginning


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
