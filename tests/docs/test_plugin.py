"""What the pytest plugin that runs the blocks of the pages says of a fault, on pages of its own.

What it does with blocks that are right, each page shows.
"""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lifespec_pages import browser, plugin, runner
from lifespec_pages.sandbox import run_process

pytest_plugins = ["pytester"]
assert plugin  # is loaded here: a run inside of a test shares our modules

EXT = Path(__file__).resolve().parents[2] / "docs" / "_ext"
CONFTEST = f"import sys\nsys.path.insert(0, {str(EXT)!r})\nfrom lifespec_pages.plugin import *\n"
PROCESSES = ("-p", "xdist", "-p", "pytest_timeout", "-n", "1")
Run = Callable[..., pytest.RunResult]


@pytest.fixture(name="run")
def run_page(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs pytest on a page."""
    monkeypatch.delenv("LIFESPEC_ALLOW_NO_SKIP", raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # each run would import them anew
    docs = pytester.path / "docs"
    docs.mkdir()
    (docs / "conftest.py").write_text(CONFTEST)

    def run(text: str, *options: str, name: str = "page.md", only: str = "") -> pytest.RunResult:
        (docs / name).write_text(text)
        return pytester.runpytest_inprocess(f"docs/{name}{only}", "-Werror", *options)

    return run


def output_of(result: pytest.RunResult) -> str:
    return "\n".join(result.outlines)


def python(source: str, output: str = "") -> str:
    shown = f"```{{output}}\n{output}\n```\n" if output else ""
    return f"```python\n{source}\n```\n{shown}\n"


def check(source: str, libraries: str = "") -> str:
    return f"```{{check}} {libraries}\n{source}\n```\n\n"


def test_each_wrong_output_is_told_at_its_line_and_the_page_goes_on(run: Run) -> None:
    page = python("a = 1\nprint(a)\nprint(2)", "1\nthree") + python("print(a)")
    page += python("print(a)", "1")
    result = run(page + "```pycon\n>>> a\n5\n>>> 6\n6\n>>> 7\n```\n")
    result.assert_outcomes(passed=1, failed=3)
    told = {8: "  1\n- three\n+ 2\n", 14: "+ 1\n", 24: "- 5\n+ 1\n", 28: "+ 7\n"}
    for line, shown in told.items():
        sentence = f"docs/page.md:{line}: the output (+) is not the one on the page (-)\n{shown}"
        assert sentence in output_of(result)


def test_an_exception_is_told_with_its_line_and_so_is_what_depends_on_it(run: Run) -> None:
    page = python("def fail():\n    raise OSError('no disk')\n\n\nb = fail()") + python("print(b)")
    result = run(page + python("print('alone')", "alone"))
    result.assert_outcomes(passed=1, failed=2)
    text = output_of(result)
    assert "docs/page.md:3: the block raised OSError: no disk" in text
    assert 'File "docs/page.md", line 6, in <module>\n    b = fail()' in text
    assert "docs/page.md:10: the block raised NameError: name 'b' is not defined" in text
    assert "That follows from line 3, where a block above raised." in text


def test_a_traceback_is_an_output_without_its_frames(run: Run) -> None:
    shown = "before\nTraceback (most recent call last):\n  ...\nStartupFailed: no"
    source = "from lifespec import StartupFailed\nprint('before')\nraise StartupFailed('no')"
    run(python(source, shown)).assert_outcomes(passed=1)
    run(python(source, shown + "t")).assert_outcomes(failed=1)


def test_pytest_explains_a_failed_check_with_its_line(run: Run) -> None:
    result = run(check("a = 1\nassert await outcome_of(application()) == 'crashed'", "trio"))
    result.assert_outcomes(failed=1)
    told = "docs/page.md:3: what stands above this check is not true, on trio: assert 'complete' =="
    assert told in output_of(result)


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("with expect(OSError):\n    pass", "on asyncio: OSError is not raised"),
        ("with expect(OSError, 'b'):\n    raise OSError('a')", "on asyncio: 'b' is not in 'a'"),
        ("if library == 'curio':\n    assert library", "this never ran: assert library"),
        ("assert 1\nif library == 'curio':\n    assert 2", "this never ran: assert 2"),
        (
            "if library == 'curio':\n    with expect(OSError): pass",
            "this never ran: with expect(OSError):",
        ),
        ("assert library != 'asyncio'", "on asyncio: assert 'asyncio' != 'asyncio'"),
        ("assert library != 'trio'", "on trio: assert 'trio' != 'trio'"),
        ("assert (", "the block does not parse: '(' was never closed"),
        ("1 / 0", "on asyncio: ZeroDivisionError: division by zero"),
    ],
)
def test_a_check_that_proves_nothing_fails(run: Run, source: str, sentence: str) -> None:
    result = run(check(source))
    result.assert_outcomes(failed=1)
    assert sentence in output_of(result)


def test_a_check_runs_on_known_libraries_alone(run: Run) -> None:
    assert "a check runs on asyncio or trio, not on 'curio'" in output_of(run(check("1", "curio")))
    page = check("import sys\nassert library not in sys.modules.get('seen', [])", "asyncio")
    run(page).assert_outcomes(passed=1)


@pytest.mark.parametrize(
    "source",
    [
        "assert '    print(1)\\n    yield\\n    print(2)\\n' in module('print(1)', 'print(2)')",
        "assert command('A=b a', a='import os; print(os.environ[\"A\"])') == (0, 'b\\n')",
    ],
)
def test_a_check_has_modules_and_commands(run: Run, source: str) -> None:
    run(check(source, "asyncio")).assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("source", "sent", "error", "why"),
    [
        ("print(a + 1)", "2\n", "", ""),
        ("print(a)", "1\n", "", ""),
        ("1 / 0", "", "ZeroDivisionError: division by zero", ""),
        ("raise SystemExit(0)", "", "", ""),
        ("raise SystemExit(3)", "", "SystemExit: 3", "exited"),
        ("raise SystemExit('no')", "", "no", ""),
        ("import absent", "", "ModuleNotFoundError: No module named 'absent'", "absent"),
        ("raise EOFError", "", "EOFError", "input"),
    ],
)
def test_a_browser_is_sent_what_the_last_program_does(
    source: str, sent: str, error: str, why: str
) -> None:
    texts: list[str] = []
    row = {"source": source, "classes": [], "output": "2\n"}
    rows = [{"source": "a = 1\nprint(a)", "classes": [], "output": "1\n"}, row]
    answer = json.loads(browser.run(json.dumps(rows), texts.append))
    assert "".join(texts) == sent
    assert answer["error"].rstrip().rpartition("\n")[2] == error
    assert (answer["same"], answer["why"]) == (sent == "2\n", why)


def test_one_block_runs_alone_after_the_programs_above_it(run: Run) -> None:
    page = python("a = 1\nprint(a)", "2") + check("assert not a") + python("print(a)", "1")
    run(page, only="::14").assert_outcomes(passed=1)


def test_a_block_that_neither_runs_nor_says_so_is_refused(run: Run) -> None:
    for block in "```\na\n```", "```perl\na\n```", "    a = 1", "```{code-block} python\na\n```":
        result = run(f"# A\n\n{block}\n")
        result.assert_outcomes(errors=1)
        assert "docs/page.md:" in output_of(result)
        assert "this block does not run: write ```python" in output_of(result)
    assert "no program stands directly above" in output_of(run("Text.\n\n```{output}\na\n```\n"))
    result = run("A\n=\n\n.. code-block:: python\n\n   a = 1\n", name="page.rst")
    assert "docs/page.rst:4: a page in reStructuredText has no blocks but checks" in output_of(
        result
    )


def test_blocks_are_found_in_lists_and_directives(run: Run) -> None:
    page = "1. One\n\n   ```python\n   a = 1\n   ```\n\n:::{folded} Two\n"
    page += python("print(a)", "1") + ":::\n"
    page += "```{framework} x\nText.\n```\nTerm\n: It is.\n\n  ```{check}\n  assert a == 1\n  ```\n"
    run(page).assert_outcomes(passed=3)


def test_checks_of_restructured_text_run(run: Run) -> None:
    page = "A\n=\n\n.. py:module:: a\n\n   .. check:: trio\n\n"
    page += "      assert library == 'trio'\n\n      assert 0\n"
    result = run(page, name="page.rst")
    result.assert_outcomes(failed=1)
    assert "docs/page.rst:10: what stands above" in output_of(result)


@pytest.mark.parametrize("options", [(), PROCESSES], ids=["one process", "two processes"])
def test_new_outputs_are_written_and_checks_are_not(
    run: Run, pytester: pytest.Pytester, options: tuple[str, ...]
) -> None:
    end = python("raise OSError('a')", "b") + check("assert 0")
    page = python("print(1)\nprint()\nprint(2)", "old\nold\nold")
    page += "- a\n\n  ```python\n  print(3)\n  ```\n\n```pycon\n>>> 4\n5\n>>> 6\n```\n\n" + end
    result = run(page, "--update", *options)
    result.assert_outcomes(passed=3, failed=2)
    assert re.search(r"^docs/page.md: new outputs written: 4$", output_of(result), re.MULTILINE)
    assert "Left to you" in output_of(result)
    lines = [page[: page.index(each)].count("\n") + 1 for each in ("raise", "assert")]
    found = re.findall(r"^docs/page.md:(\d+)$", output_of(result), re.MULTILINE)
    assert [*map(int, found)] == lines
    text = (pytester.path / "docs" / "page.md").read_text()
    assert text == (
        python("print(1)\nprint()\nprint(2)", "1\n\n2")
        + "- a\n\n  ```python\n  print(3)\n  ```\n  ```{output}\n  3\n  ```\n\n"
        + f"```pycon\n>>> 4\n4\n>>> 6\n6\n```\n\n{end}"
    )
    run(text).assert_outcomes(passed=3, failed=2)


def test_a_process_finds_files_named_or_shown(run: Run, pytester: pytest.Pytester) -> None:
    (pytester.path / "docs" / "other.py").write_text("b = 2\n")
    page = "{.file-shop .not-run}\n```python\na = 1\n```\n\n```{shown} other.py\n```\n\n"
    page += "{.real .beside}\n" + python("import shop, other\nprint(shop.a + other.b)", "3")
    page += "{.real}\n```sh\nls *.py\npython -c 'import shop; print(shop.a)'\nexit 0\n```\n"
    page += "```{output}\nexample.py\nshop.py\n1\n```\n\n"
    page += "{.real .pytest}\n"
    page += python("def test_a():\n    assert 1 == 2", "assert 1 == 2\n1 failed")
    run(page).assert_outcomes(passed=3)
    result = run("{.real}\n" + python("print(1)\n\nraise SystemExit('no')", "1"))
    assert "docs/page.md:3: the block ended with status 1 and wrote 'no'" in output_of(result)


def test_a_report_names_the_application_as_its_command_does(run: Run) -> None:
    page = "{.file-shop .not-run}\n" + python(
        "async def app(scope, receive, send):\n"
        "    for phase in 'startup', 'shutdown':\n"
        "        await receive()\n"
        "        await send({'type': f'lifespan.{phase}.complete'})"
    )
    page += '{.real .report}\n```sh\nlifespec check app --quick shop:app\necho "exit status $?"\n'
    page += "```\n```{output}\nshop:app keeps lifespan 2.0 (ASGI)\nstarts   yes\nstops    yes\n"
    page += "rules    1 kept\nexit status 0\n```\n"
    run(page).assert_outcomes(passed=1)


def test_a_block_whose_program_is_missing_is_skipped_unless_nothing_may_be(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = "{.real .needs-no-such-program}\n" + python("print(1)", "1")
    result = run(page, "-rs")
    result.assert_outcomes(skipped=1)
    assert "no-such-program is not installed" in output_of(result)
    monkeypatch.setenv("LIFESPEC_ALLOW_NO_SKIP", "1")
    run(page).assert_outcomes(failed=1)


def test_a_block_that_does_not_end_is_ended(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "LIMIT", 0.2)
    monkeypatch.setattr(runner, "PROCESS_LIMIT", 0.5)
    forever = "while True:\n    try:\n        while True: pass\n    except Exception: pass"
    result = run(python(forever) + "{.real}\n" + python("import time\ntime.sleep(60)"))
    result.assert_outcomes(failed=2)
    assert "the block ran for more than 0.2 seconds" in output_of(result)
    assert "docs/page.md:10: the block ran for more than 0.5 seconds" in output_of(result)


@pytest.mark.parametrize(
    ("options", "source"),
    [
        ((), "import sys\nprint(sys.argv, sys.stdin.read())\nraise SystemExit('no')"),
        ((), "import atexit, os\natexit.register(print, 2)\nprint(os.path.split(__file__)[1])"),
        ((), "import os\nprint(os.getsid(0) == os.getpid())\nos.kill(os.getpid(), 15)"),
        (("-m",), "import os, sys\nprint(__spec__.name, sys.path[0] == os.getcwd())\nsys.exit(7)"),
    ],
)
def test_a_fork_does_what_an_interpreter_of_its_own_does(
    options: tuple[str, ...], source: str
) -> None:
    name = "example" if options else "example.py"
    commands = [name], [sys.executable, *options, name]
    forked, alone = (run_process(each, 60, [("example.py", source)]) for each in commands)
    assert forked == alone
    assert forked.output


def test_a_shell_has_the_signals_of_a_new_process() -> None:
    assert run_process(["/bin/sh", "-c", "kill -PIPE $$"], 60, []).status == -signal.SIGPIPE


def test_the_plugin_loads_nothing_of_sphinx() -> None:
    program = "import sys, lifespec_pages.plugin; print({'sphinx', 'docutils'} & {*sys.modules})"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, cwd=EXT, timeout=60, check=True)
    assert done.stdout == "set()\n"


def test_a_shell_runs_again_in_a_chinese_locale_if_the_page_shows_a_chinese_output(
    run: Run, pytester: pytest.Pytester
) -> None:
    shell = '{.real}\n```sh\necho "$LC_MESSAGES"\n```\n```{output}\nC.UTF-8\n```\n'
    result = run(shell + "```{output} zh\n```\n", "--update")
    result.assert_outcomes(passed=2)
    text = (pytester.path / "docs" / "page.md").read_text()
    assert text == shell + "```{output} zh\nzh_CN.UTF-8\n```\n"
    run(text, only="::3[zh]").assert_outcomes(passed=1)
    result = run(python("print(1)", "1") + "```{output} zh\n1\n```\n")
    assert "no program stands directly above" in output_of(result)
