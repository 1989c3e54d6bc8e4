"""How an example is run, and what is said of one that fails."""

import functools
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import pytest

from lifespec_docs.examples import perl_apps, runner


def block(source: str, expected: str | None = None, **fields: object) -> runner.Example:
    """Return a block that begins in line 41 of a page."""
    fields = {"language": "python", **fields}
    shown = None if expected is None else dedent(expected).strip("\n")
    return runner.Example(
        page="docs/startup.md", line=41, source=dedent(source).strip("\n"), expected=shown, **fields
    )


def pycon(source: str) -> runner.Example:
    return block(source, language="pycon")


def told(*blocks: runner.Example) -> str:
    """Return the sentence about the last of these blocks."""
    with runner.Session(blocks) as session, pytest.raises(runner.ExampleFailed) as caught:
        session.run(len(blocks) - 1)
    assert caught.value.block == blocks[-1]
    assert str(caught.value).startswith(f"docs/startup.md:{caught.value.line}: ")
    return str(caught.value)


def output(*blocks: runner.Example) -> str:
    with runner.Session(blocks) as session:
        return session.run(len(blocks) - 1).output


@pytest.mark.parametrize(
    ("source", "expected", "sentence"),
    [
        ("print('b')", "a", "The example printed 'b', the page shows 'a'."),
        ("print('b')", None, "The example printed 'b', the page shows nothing."),
        ("", "a", "The example printed nothing, the page shows 'a'."),
        (
            "print('a')",
            "a\nb",
            "The example printed nothing more, the page shows 'b'.",
        ),
        (
            "print('a\\nb')",
            "a",
            "The example printed 'b', the page shows nothing more.",
        ),
        ("print(' a')", "a", "The example printed ' a', the page shows 'a'."),
        (
            "print('abc')",
            "a...",
            "The example printed 'abc', the page shows 'a...'.",
        ),
    ],
)
def test_other_output(source: str, expected: str | None, sentence: str) -> None:
    """The first line that differs is told, with what the page shows."""
    assert told(block(source, expected)) == f"docs/startup.md:41: {sentence}"


def test_trailing_space() -> None:
    """Space at the end of a line or of the output does not count."""
    assert output(block("print('a  ')\nprint('b')\nprint()", "a\nb  ")) == "a  \nb\n\n"


def test_asserts_count() -> None:
    """Asserts count, also under `python -O`."""
    assert (
        told(block("x = 1\nassert x == 2"))
        == "docs/startup.md:42: The example raised AssertionError: "
    )


@pytest.mark.parametrize("bad", ["\ndef", "\nreturn", "\nawait f()", "x = '\0'"])
def test_syntax(bad: str) -> None:
    """A block that does not parse is told with its line."""
    line = 41 + bad.count("\n")
    begin = f"docs/startup.md:{line}: The example does not parse: "
    assert told(block(f"x = 1{bad}")).startswith(begin)


def test_exception_from_elsewhere() -> None:
    """That line is the page's own."""
    assert told(block("import json\n\njson.loads('')")).startswith(
        "docs/startup.md:43: The example"
    )


SHOWN = """
    started
    Traceback (most recent call last):
      ...
    {}
"""


@pytest.mark.parametrize(
    ("last", "says"),
    [
        ("ValueError: yes", "'ValueError: yes'"),
        ("KeyError: no", "'KeyError: no'"),
        ("other.ValueError: no", "'other.ValueError: no'"),
        ("ValueError", "'ValueError'"),
    ],
)
def test_other_exception(last: str, says: str) -> None:
    """Class and text of a shown exception both count."""
    sentence = told(block("print('started')\nraise ValueError('no')", SHOWN.format(last)))
    assert sentence == (
        f"docs/startup.md:41: The example printed 'ValueError: no', the page shows {says}."
    )


def test_system_exit() -> None:
    """An exit is an exception like any other."""
    assert (
        told(block("raise SystemExit(3)")) == "docs/startup.md:41: The example raised SystemExit: 3"
    )


def test_interrupt() -> None:
    """Ctrl-C ends the run itself."""
    with pytest.raises(KeyboardInterrupt):
        output(block("raise KeyboardInterrupt"))


def test_hang() -> None:
    """A program that would hang for ever is told where it waits."""
    source = """
        import asyncio

        async def main():
            await asyncio.Event().wait()

        asyncio.run(main())
    """
    assert told(block(source)) == (
        "docs/startup.md:46: The example raised Deadlock: Every task waits and no timer is"
        " pending: main → Event.wait at startup.md:44."
    )


@pytest.mark.parametrize("language", ["python", "pycon"])
def test_busy(language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that never ends is ended, and told with the line it was at."""
    monkeypatch.setitem(runner.LIMITS, "virtual", 0.1)
    lines = ["x = 1", "while True: x"]
    source = "\n".join(f">>> {line}" for line in lines) if language == "pycon" else "\n".join(lines)
    assert told(block(source, language=language)) == (
        "docs/startup.md:42: The example ran for more than 0.1 seconds."
    )


def test_session() -> None:
    """A session shows values, output and exceptions, and may await."""
    source = """
        >>> 1 + 1
        2
        >>> print("a")
        a
        >>> # only said
        >>> async def later(value):
        ...     await asyncio.sleep(3600)
        ...
        ...     return value
        ...
        >>> await later("b")
        'b'
        >>>
        >>> asyncio.get_running_loop().time()
        3600.0

        >>> await later(1 / 0)
        Traceback (most recent call last):
          ...
        ZeroDivisionError: division by zero
        >>> task = asyncio.create_task(later(_))
        >>> await task
        3600.0
    """
    assert output(pycon(source)).startswith("2\na\n'b'\n3600.0\nTraceback")


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        (">>> 1\n1\n>>> 2\n3", "44: The example printed '2', the page shows '3'."),
        (">>> x = 1\n>>> y", "42: The example raised NameError: name 'y' is not defined"),
        (">>> x = 1\n>>> x = = 1", "42: The example does not parse: invalid syntax"),
        ("1 + 1", "41: A session begins with the prompt >>>."),
        (">>>1 + 1", "41: A session begins with the prompt >>>."),
        (">>> 1\n...1", "42: The example printed '1', the page shows '...1'."),
        (
            ">>> 1\n1\n... 2",
            "43: The example printed nothing more, the page shows '... 2'.",
        ),
    ],
)
def test_session_fails(source: str, sentence: str) -> None:
    """A statement that does something else is told with its own line."""
    assert told(pycon(source)) == f"docs/startup.md:{sentence}"


@pytest.mark.parametrize("fields", [{"language": "ruby"}, {"language": "pycon", "kind": "real"}])
def test_unknown(fields: dict[str, str]) -> None:
    """A block of an unknown sort is told."""
    assert "41: Nothing is known of a block of language" in told(block("", **fields))


@pytest.mark.parametrize("kind", ["virtual", "real"])
def test_needs(kind: str) -> None:
    """Where a program is missing the block is not run and its page's output stands."""
    needing = block("1 / 0", "recorded", kind=kind, needs=("no-such-program",))
    with runner.Session([needing, replace(needing, expected=None)]) as session:
        assert session.run(0) == runner.Run("recorded", [], ("no-such-program",))
        assert session.run(1) == runner.Run("", [], ("no-such-program",))


def real(source: str, expected: str | None = None, **fields: object) -> runner.Example:
    """Return a block that runs in a process of its own."""
    return block(source, expected, kind="real", **fields)


@pytest.mark.parametrize(
    ("source", "expected", "sentence"),
    [
        (
            "x = 1\nraise ValueError('no')",
            "a",
            "42: The example ended with status 1 and wrote 'ValueError: no'",
        ),
        ("import sys\nsys.exit(3)", None, "41: The example ended with status 3"),
        ("import sys\nsys.exit('no')", SHOWN, "41: The example ended with status 1 and wrote 'no'"),
        (
            "import sys\nprint('gone', file=sys.stderr)",
            None,
            "41: The example ended with status 0 and wrote 'gone'",
        ),
        ("x = 1\nx = = 1", None, "42: The example does not parse: invalid syntax"),
        ("print(1)", "2", "41: The example printed '1', the page shows '2'."),
    ],
)
def test_real_fails(source: str, expected: str | None, sentence: str) -> None:
    """A process that does something else is told as well."""
    assert told(real(source, expected)) == f"docs/startup.md:{sentence}"


def test_real_exception(capsys: pytest.CaptureFixture[str]) -> None:
    """A real block may end in an exception that its page shows; errors go where errors go."""
    printed = output(
        real("print('started')\nraise ValueError('no')", SHOWN.format("ValueError: no"))
    )
    assert printed.endswith("ValueError: no\n")
    assert 'example.py", line 42' in capsys.readouterr().err


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("assert 1 == 2\n\ndef test_two(): pass", "assert 1 == 2\n1 failed, 1 passed\n"),
        ("raise ValueError('0.12 s late')", "ValueError: 0.12 s late\n1 failed\n"),
        ("raise ValueError('\\n0.12 s late\\n\\nend')", "ValueError:\nlate\n\nend\n1 failed\n"),
    ],
)
def test_real_by_pytest(source: str, expected: str) -> None:
    """What counts are the errors and the last line, without times."""
    test = real(f"def test_one():\n    {source}", expected)
    assert output(replace(test, run_by="pytest")) == expected


def test_what_ends_with_a_status_of_its_own_is_told() -> None:
    """A script of a shell, and tests of which there are none."""
    assert "ended with status 3" in told(real("false\nexit 3", language="sh", run_by="sh"))
    assert "ended with status 5" in told(real("x = 1", run_by="pytest"))


def test_real_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that runs too long is killed and told."""
    monkeypatch.setitem(runner.LIMITS, "real", 0.1)
    sentence = told(real("import time\ntime.sleep(600)"))
    assert sentence == "docs/startup.md:41: The example ran for more than 0.1 seconds."


FAKE = """
import json, sys
say = lambda **what: print(json.dumps(what), flush=True)
hear = sys.stdin.readline
exec(open(sys.argv[-1]).read())
"""


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., runner.Example]:
    """Return a block of Perl that runs as a program of Python, which says what a bridge says."""
    (tmp_path / "fake.py").write_text(FAKE)
    monkeypatch.setattr(perl_apps, "COMMAND", [sys.executable, str(tmp_path / "fake.py")])
    return functools.partial(block, language="perl", kind="real")


def test_perl_broken(served: Callable[..., runner.Example]) -> None:
    """Perl's complaint is told with the line of the page that it is about."""
    source = "say(did='broken', error='syntax error at ./app.pl line {}, near \"}}\"')"
    sentence = told(served(source.format(3)))
    assert sentence.startswith("docs/startup.md:43: The example cannot be served: ")
    assert "syntax error at ./app.pl line 3" in sentence
    assert told(served("sys.exit(2)")).startswith("docs/startup.md:41: The example cannot")


def test_perl_too_long(
    served: Callable[..., runner.Example], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has the time of a real block."""
    monkeypatch.setitem(runner.LIMITS, "real", 3)
    monkeypatch.setattr(runner, "patience", lambda: 1)
    sentence = told(served("import time\nsay(did='ready')\ntime.sleep(600)"))
    assert sentence == "docs/startup.md:41: The example ran for more than 3 seconds."
    monkeypatch.setitem(runner.LIMITS, "real", 0.3)
    assert "was not ready within 0.3 s" in told(served("import time\ntime.sleep(600)"))
