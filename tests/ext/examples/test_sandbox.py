"""Where an example runs."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import sys
import time
from contextlib import closing, nullcontext
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from lifespec import server
from lifespec.testing import clock, trace
from lifespec_docs.examples import sandbox

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator
    from pathlib import Path

__all__: list[str] = []


@pytest.fixture
def namespace() -> Iterator[sandbox.Namespace]:
    """Give a page, and close it."""
    page = sandbox.Namespace()
    yield page
    page.close()


async def app(_scope: object, receive: Callable[..., object], send: Callable[..., object]) -> None:
    """Complete both halves."""
    for half in ("startup", "shutdown"):
        await receive()
        await send({"type": f"lifespan.{half}.complete"})


def test_output(namespace: sandbox.Namespace, capsys: pytest.CaptureFixture[str]) -> None:
    """What is printed on the stage is kept there, from one time to the next."""
    for number in (1, 2):
        with namespace.staged():
            sys.stdout.write(f"{number}\n")
    sys.stdout.write("outside\n")
    assert namespace.stdout.getvalue() == "1\n2\n"
    assert capsys.readouterr().out == "outside\n"


def test_main_module(namespace: sandbox.Namespace) -> None:
    """The names of the page are those of the main module."""
    outside = sys.modules["__main__"]
    namespace.names["answer"] = 42
    with namespace.staged():
        assert sys.modules["__main__"].answer == 42
    assert sys.modules["__main__"] is outside


def in_runner(main: Coroutine[object, object, object]) -> object:
    """Run in a runner of asyncio's own making."""
    with asyncio.Runner() as runner:
        return runner.run(main)


def in_loop(main: Coroutine[object, object, object]) -> object:
    """Run in a new loop, as it was done of old."""
    with closing(asyncio.new_event_loop()) as loop:
        return loop.run_until_complete(main)


@pytest.mark.parametrize("start", [asyncio.run, in_runner, in_loop])
def test_virtual_clock(namespace: sandbox.Namespace, start: Callable[..., object]) -> None:
    """Every way to a new event loop leads to a virtual one, on the stage alone."""

    async def main() -> type[asyncio.AbstractEventLoop]:
        await asyncio.sleep(0)
        return type(asyncio.get_running_loop())

    with namespace.staged():
        assert start(main()) is clock.VirtualLoop
    assert asyncio.run(main()) is not clock.VirtualLoop


def test_recorded(namespace: sandbox.Namespace) -> None:
    """Every application that meets a Lifespan is recorded, and on the stage alone."""

    async def main() -> None:
        async with server.Lifespan(app):
            pass
        async with server.Lifespan(app=trace.record(app)):
            pass

    constructor = server.Lifespan.__init__
    with namespace.staged():
        asyncio.run(main())
    kinds = [[entry.kind for entry in spoken.entries] for spoken in namespace.conversations]
    assert kinds == [["called", "received", "sent", "received", "sent", "returned"]] * 2
    assert server.Lifespan.__init__ is constructor
    asyncio.run(main())
    assert len(namespace.conversations) == 2


def test_not_callable(namespace: sandbox.Namespace) -> None:
    """What is not callable is given to Lifespan as it is."""
    sentences = []
    for place in (namespace.staged(), nullcontext()):
        with place, pytest.raises(TypeError) as caught:
            server.Lifespan(42)
        sentences.append(str(caught.value))
    assert sentences[0] == sentences[1]


def test_logging(namespace: sandbox.Namespace) -> None:
    """Logging is as in a fresh interpreter, kept for the page, and undone outside."""
    before = sandbox._loggers()
    logger = logging.getLogger("tests.stage.page")
    with namespace.staged():
        assert not logging.root.handlers
        logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(message)s")
        logger.setLevel(logging.DEBUG)
        logger.addFilter(lambda record: record.msg != "no")
        logger.disabled = False
    assert sandbox._loggers() == {**before, logger: sandbox.FRESH}
    with namespace.staged():
        logger.debug("said")
        logger.debug("no")
    logger.warning("outside")
    assert namespace.stdout.getvalue() == "said\n"


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


def test_display(namespace: sandbox.Namespace) -> None:
    """A value is shown as a session shows it, and is known as `_`."""
    with namespace.staged():
        sys.displayhook("a\nb")
        sys.displayhook(None)
    assert namespace.stdout.getvalue() == "'a\\nb'\n"
    assert namespace.names["_"] == "a\nb"


def test_session(namespace: sandbox.Namespace) -> None:
    """A session has one loop from its first statement to the end, where its tasks are cancelled."""

    async def start() -> asyncio.Task[None]:
        async def forever() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                sys.stdout.write("cancelled\n")

        await asyncio.sleep(5)
        task = asyncio.create_task(forever())
        await asyncio.sleep(0)
        return task

    async def now() -> float:
        return asyncio.get_running_loop().time()

    with namespace.staged():
        task = namespace.session().run(start())
        assert namespace.session().run(now()) == 5.0
    assert namespace.names["asyncio"] is asyncio
    namespace.close()
    assert task.cancelled()
    assert namespace.stdout.getvalue() == "cancelled\n"


def beside(source: str, limit: float = 30) -> tuple[int | None, str, str]:
    """Run a program beside."""
    return sandbox.beside(dedent(source), limit)


def test_beside() -> None:
    """A process tells its exit status, its output and its errors."""
    program = """
        import sys
        print("你好")
        print("no", file=sys.stderr)
        sys.exit(3)
    """
    assert beside(program) == (3, "你好\n", "no\n")


def test_beside_world(monkeypatch: pytest.MonkeyPatch) -> None:
    """It knows this package, keeps its asserts, and stands alone in its folder."""
    program = """
        import os, sys, lifespec.server
        print(os.listdir(), __debug__, __file__.rpartition(os.sep)[2], sys.stdin.read())
        print(os.path.dirname(lifespec.server.__file__))
    """
    expected = f"['example.py'] True example.py \n{os.path.dirname(server.__file__)}\n"  # noqa: PTH120
    monkeypatch.setenv("PYTHONOPTIMIZE", "1")
    for path in ("", "relative"):
        monkeypatch.setenv("PYTHONPATH", path)
        assert beside(program) == (0, expected, "")


def test_beside_prints_as_it_does_for_a_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the machine wants of colours, warnings and width is not what a page shows."""
    for name in sandbox.LOUD:
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("COLUMNS", "40")
    program = f"""
        import os
        print(*set(os.environ) & {set(sandbox.LOUD)}, os.environ["COLUMNS"])
    """
    assert beside(program) == (0, "80\n", "")


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
    assert sandbox.beside(dedent(program), 30, [str(file)]) == (0, expected, "")
    assert file.read_text()


def test_beside_texts() -> None:
    """A file may be given by name and text."""
    program = """
        import greeting
        print(greeting.text)
    """
    files = [("greeting.py", "text = 'hello'")]
    assert sandbox.beside(dedent(program), 30, files) == (0, "hello\n", "")


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
