"""Where an example runs."""

import logging
import re
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from textwrap import dedent

import pytest

from lifespec import server
from lifespec_docs.examples import sandbox


@pytest.fixture
def namespace() -> Iterator[sandbox.Namespace]:
    page = sandbox.Namespace()
    yield page
    page.close()


def test_not_callable(namespace: sandbox.Namespace) -> None:
    """What is not callable is given to Lifespan as it is."""
    sentences = []
    for place in (namespace.staged(), nullcontext()):
        with place, pytest.raises(TypeError) as caught:
            server.Lifespan(42)
        sentences.append(str(caught.value))
    assert sentences[0] == sentences[1]


def test_a_session_shows_what_there_is(namespace: sandbox.Namespace) -> None:
    """As Python's own does."""
    with namespace.staged():
        for value in (None, "a"):
            namespace._display(value)
    assert (namespace.stdout.getvalue(), namespace.names["_"]) == ("'a'\n", "a")


def test_logging_unhandled(namespace: sandbox.Namespace) -> None:
    """A warning that no handler takes is printed, for a terminal would show it too."""
    with namespace.staged():
        logging.getLogger("tests.stage.page").warning("mind the gap")
        logging.getLogger("tests.stage.page").info("never mind")
    assert namespace.stdout.getvalue() == "mind the gap\n"


def test_logging_disabled(namespace: sandbox.Namespace) -> None:
    """That a block disables logging is undone outside, and was so inside."""
    before = logging.root.manager.disable
    logging.disable(logging.ERROR)
    with namespace.staged():
        logging.getLogger("tests.stage.page").error("heard")
        logging.disable()
    outside = logging.root.manager.disable
    with namespace.staged():
        logging.getLogger("tests.stage.page").error("not heard")
    logging.disable(before)
    assert (namespace.stdout.getvalue(), outside) == ("heard\n", logging.ERROR)


def beside(source: str, limit: float = 30, *files: str) -> tuple[int | None, str, str]:
    return sandbox.beside(dedent(source), limit, files)


def test_beside_world(monkeypatch: pytest.MonkeyPatch) -> None:
    """It knows this package, keeps its asserts, and stands alone in its folder.

    What the machine wants of colours, warnings and width is not what a page shows.
    """
    program = f"""
        import os, sys, lifespec.server
        print(os.listdir(), __debug__, __file__.rpartition(os.sep)[2], sys.stdin.read())
        print(lifespec.server.__file__)
        print(*set(os.environ) & {set(sandbox.LOUD)}, os.environ["COLUMNS"])
    """
    expected = f"['example.py'] True example.py \n{server.__file__}\n80\n"
    for name in (*sandbox.LOUD, "PYTHONOPTIMIZE"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("COLUMNS", "40")
    for path in ("", "relative"):
        monkeypatch.setenv("PYTHONPATH", path)
        assert beside(program) == (0, expected, "")


def test_beside_files(tmp_path: Path) -> None:
    """Copies of the files that are named lie beside it: it can import them."""
    file = tmp_path / "greeting.py"
    file.write_text("text = 'hello'\n")
    program = """
        import os, pathlib, greeting
        print(greeting.text, sorted(set(os.listdir()) - {"__pycache__"}))
        pathlib.Path("greeting.py").write_text("")
    """
    expected = "hello ['example.py', 'greeting.py']\n"
    assert beside(program, 30, str(file)) == (0, expected, "")
    assert file.read_text()


CHILD = """
    import subprocess, sys
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    print(child.pid)
"""


def gone(pid: int) -> bool:
    """Whether a process is gone, or dead and only not yet buried, within some seconds."""
    for _ in range(200):
        try:
            with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123
                if re.search(r"\) [ZX] ", file.read()):
                    return True
        except FileNotFoundError:
            return True
        time.sleep(0.05)
    return False


def test_beside_leaves_nothing() -> None:
    """What it started does not outlive it, though it holds the output open."""
    status, printed, _ = beside(CHILD)
    assert status == 0
    assert gone(int(printed))


def test_beside_limit() -> None:
    """A process that runs too long is killed with all it started."""
    status, printed, _ = beside(CHILD + "    child.wait()\n", 2)
    assert status is None
    assert gone(int(printed))
