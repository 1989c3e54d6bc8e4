"""Results of examples: run once, kept, and run again where anything that they come from changed."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from lifespec_docs.examples import runner
from lifespec_docs.examples.results import Result, Results, keys
from lifespec_docs.examples.runner import Example, ExampleFailed, Run

ONE = Example("docs/a.md", 3, "python", "x = 1  # one\nprint(x)\n", "1\n")
TWO = Example("docs/a.md", 9, "python", "print(x + 1)\n", "2\n")
REAL = Example("docs/a.md", 15, "python", "print('apart')\n", "apart\n", kind="real")
TALK = Example(
    "docs/b.md",
    3,
    "pycon",
    ">>> from lifespec import Lifespan\n"
    ">>> async def app(scope, receive, send): raise OSError('no')\n"
    ">>> async with Lifespan(app): pass",
    None,
)


def told(found: list[Result]) -> list[tuple[str, bool]]:
    """Give what each block printed or why it failed, and whether it was reused."""
    return [
        (each.done.output if isinstance(each.done, Run) else str(each.done), each.reused)
        for each in found
    ]


@pytest.fixture
def results(tmp_path: Path) -> Results:
    return Results(tmp_path / "kept", "library", "code")


def test_what_has_run_is_not_run_again(results: Results) -> None:
    """In either language: comments do not count; without a folder everything runs."""
    blocks = [ONE, TWO, REAL]
    first = [("1\n", False), ("2\n", False), ("apart\n", False)]
    assert told(results.of(blocks)) == first
    chinese = [replace(ONE, source=ONE.source.replace("one", "一")), TWO, REAL]
    assert told(results.of(chinese)) == [(text, True) for text, _ in first]
    assert told(Results(None, "library", "code").of(blocks)) == first
    assert results.of([]) == []


@pytest.mark.parametrize(
    ("change", "reused"),
    [
        ({"source": "x = 2  # one\nprint(x - 1)\n"}, [False, False, True]),
        ({"line": 4}, [False, False, True]),
        ({"expected": "1"}, [False, False, True]),
    ],
)
def test_a_changed_block_runs_again_with_those_that_stand_on_it(
    results: Results, change: dict[str, str], reused: list[bool]
) -> None:
    """A real block stands by itself."""
    results.of([ONE, TWO, REAL])
    found = results.of([replace(ONE, **change), TWO, REAL])
    assert [each.reused for each in found] == reused


def test_another_package_runs_all_again(results: Results) -> None:
    results.of([ONE, TWO, REAL])
    other = Results(results.folder, "other", "code")
    assert [each.reused for each in other.of([ONE, TWO, REAL])] == [False] * 3


@pytest.mark.parametrize(
    ("source", "more"),
    [
        ("from lifespec import testing", False),
        ("import lifespec.server; lifespec.server", False),
        ("lifespec.conformance.check_app(app)", True),
        ("command('lifespec check app shop:app')", True),
        ("'-m lifespec explain'", True),
    ],
)
def test_a_block_that_uses_commands_runs_again_if_they_change(
    results: Results, source: str, more: bool
) -> None:
    """One that uses only the library does not."""
    block = replace(REAL, source=f"{source!r}\nprint('apart')")
    shell = replace(REAL, language="sh", run_by="sh", source="echo apart")
    results.of([ONE, block, shell])
    other = Results(results.folder, "library", "other")
    assert [each.reused for each in other.of([ONE, block, shell])] == [True, not more, False]


def test_a_failure_is_never_kept(results: Results) -> None:
    """What passed beside it is."""
    wrong = replace(TWO, expected="3\n")
    for reused in (False, True):
        _, failed, real = results.of([ONE, wrong, REAL])
        assert isinstance(failed.done, ExampleFailed)
        assert real.reused == reused


def test_what_did_not_run_is_not_kept(results: Results) -> None:
    """Another time the program may be there."""
    for _ in range(2):
        (found,) = results.of([replace(REAL, needs=("no-such-program",))])
        assert isinstance(found.done, Run)
        assert (found.done.missing, found.reused) == (("no-such-program",), False)


def test_what_was_said_is_kept_too(results: Results) -> None:
    """The drawing below an example is the same."""
    first, again = (results.of([TALK])[0].done for _ in range(2))
    assert isinstance(first, Run)
    assert first.conversations[0]
    assert first == again


@pytest.mark.parametrize("text", ["", "{"])
def test_a_file_that_is_not_whole_is_no_result(results: Results, text: str) -> None:
    """Its examples run."""
    results.of([ONE])
    assert results.folder
    (file,) = results.folder.glob("*.json")
    assert json.loads(file.read_text())
    file.write_text(text)
    assert told(results.of([ONE])) == [("1\n", False)]


def test_the_files_beside_a_block_count(tmp_path: Path) -> None:
    """By their content."""
    file = tmp_path / "a.py"
    file.write_text("1")
    block = replace(REAL, beside=(str(file),))
    before = keys([block], "library", "code")
    assert before == keys([block], "library", "code")
    file.write_text("2")
    assert before != keys([block], "library", "code")
    named = [replace(REAL, named=(("a.py", text),)) for text in "12"]
    assert keys(named[:1], "library", "code") != keys(named[1:], "library", "code")


def test_a_block_that_does_not_parse_has_a_key() -> None:
    """It fails when it runs."""
    assert keys([replace(ONE, source="f(")], "library", "code") != keys([ONE], "library", "code")


def test_real_blocks_run_side_by_side(tmp_path: Path) -> None:
    """Each waits for the others to have begun."""
    meet = (
        "import pathlib, time\n"
        f"folder = pathlib.Path({str(tmp_path)!r})\n"
        "(folder / '{}').touch()\n"
        "while len([*folder.iterdir()]) < 3:\n"
        "    time.sleep(0.01)\n"
        "print('met')\n"
    )
    blocks = [replace(REAL, source=meet.format(n), expected="met\n") for n in range(3)]
    found = runner.results(blocks, range(3))
    assert [each.output for each in found if isinstance(each, Run)] == ["met\n"] * 3
