"""Where an example runs."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import signal
import sys
import threading
import time
from contextlib import closing, nullcontext
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from lifespec import server, stage
from lifespec.testing import clock, trace

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator
    from pathlib import Path

__all__: list[str] = []


@pytest.fixture
def namespace() -> Iterator[stage.Namespace]:
    """Give a page, and close it."""
    page = stage.Namespace()
    yield page
    page.close()


async def app(_scope: object, receive: Callable[..., object], send: Callable[..., object]) -> None:
    """Complete both halves."""
    for half in ("startup", "shutdown"):
        await receive()
        await send({"type": f"lifespan.{half}.complete"})


def test_output(namespace: stage.Namespace, capsys: pytest.CaptureFixture[str]) -> None:
    """What is printed on the stage is kept there, from one time to the next."""
    for number in (1, 2):
        with namespace.staged():
            sys.stdout.write(f"{number}\n")
    sys.stdout.write("outside\n")
    assert namespace.stdout.getvalue() == "1\n2\n"
    assert capsys.readouterr().out == "outside\n"


def test_main_module(namespace: stage.Namespace) -> None:
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
def test_virtual_clock(namespace: stage.Namespace, start: Callable[..., object]) -> None:
    """Every way to a new event loop leads to a virtual one, on the stage alone."""

    async def main() -> type[asyncio.AbstractEventLoop]:
        await asyncio.sleep(0)
        return type(asyncio.get_running_loop())

    with namespace.staged():
        assert start(main()) is clock.VirtualLoop
    assert asyncio.run(main()) is not clock.VirtualLoop


def test_recorded(namespace: stage.Namespace) -> None:
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


def test_not_callable(namespace: stage.Namespace) -> None:
    """What is not callable is given to Lifespan as it is."""
    sentences = []
    for place in (namespace.staged(), nullcontext()):
        with place, pytest.raises(TypeError) as caught:
            server.Lifespan(42)
        sentences.append(str(caught.value))
    assert sentences[0] == sentences[1]


def test_logging(namespace: stage.Namespace) -> None:
    """Logging is as in a fresh interpreter, kept for the page, and undone outside."""
    before = stage._loggers()
    logger = logging.getLogger("tests.stage.page")
    with namespace.staged():
        assert not logging.root.handlers
        logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(message)s")
        logger.setLevel(logging.DEBUG)
        logger.addFilter(lambda record: record.msg != "no")
        logger.disabled = False
    assert stage._loggers() == {**before, logger: stage.FRESH}
    with namespace.staged():
        logger.debug("said")
        logger.debug("no")
    logger.warning("outside")
    assert namespace.stdout.getvalue() == "said\n"


def test_logging_unhandled(namespace: stage.Namespace) -> None:
    """A warning that no handler takes is printed, for a terminal would show it too."""
    with namespace.staged():
        logging.getLogger("tests.stage.page").warning("mind the gap")
        logging.getLogger("tests.stage.page").info("never mind")
    assert namespace.stdout.getvalue() == "mind the gap\n"


def test_logging_disabled(namespace: stage.Namespace) -> None:
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


def test_display(namespace: stage.Namespace) -> None:
    """A value is shown as a session shows it, and is known as `_`."""
    with namespace.staged():
        sys.displayhook("a\nb")
        sys.displayhook(None)
    assert namespace.stdout.getvalue() == "'a\\nb'\n"
    assert namespace.names["_"] == "a\nb"


def test_session(namespace: stage.Namespace) -> None:
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


def spin() -> None:
    """Be busy for ever."""
    while True:
        pass


def elsewhere(target: Callable[[], object]) -> list[BaseException]:
    """Return what `target` raises in a thread that gets no signals."""
    raised: list[BaseException] = []

    def called() -> None:
        try:
            target()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=called)
    thread.start()
    thread.join()
    return raised


def limited(program: Callable[[], object], seconds: float = 0.1) -> None:
    """Run a program so long at most."""
    with stage.limited(seconds):
        program()


def test_limit() -> None:
    """A busy program is ended."""
    with pytest.raises(stage.LimitPassed):
        limited(spin)


def test_limit_of_blocking_call() -> None:
    """So is one that blocks."""
    with pytest.raises(stage.LimitPassed):
        limited(lambda: time.sleep(60))


def test_limit_in_task() -> None:
    """So is a task, though asyncio keeps what a task raises."""

    async def main() -> None:
        async def busy() -> None:
            spin()

        await asyncio.gather(busy(), return_exceptions=True)

    with pytest.raises(stage.LimitPassed):
        limited(lambda: clock.run(main()))


def stubborn() -> None:
    """Swallow the first interruption."""
    try:
        spin()
    except KeyboardInterrupt:
        spin()


def test_limit_swallowed() -> None:
    """A program that swallows the interruption is interrupted again."""
    with pytest.raises(stage.LimitPassed):
        limited(stubborn)


def test_limit_in_thread() -> None:
    """All that holds in a thread, too, where no signal arrives."""
    assert [type(error) for error in elsewhere(lambda: limited(stubborn))] == [stage.LimitPassed]


def test_limit_kept() -> None:
    """A program that ends in time notices nothing, here or in a thread."""
    limited(int, 5)
    assert elsewhere(lambda: limited(int, 5)) == []


@pytest.mark.parametrize("wait", [0.0, 0.05])
def test_alarm_of_others(wait: float) -> None:
    """Who waited for the alarm clock before gets it back, and late is better than never."""
    rung = threading.Event()
    old_handler = signal.signal(signal.SIGALRM, lambda *_: rung.set())
    old_timer = signal.setitimer(signal.ITIMER_REAL, 0.04)
    try:
        with stage.limited(10):
            end = time.monotonic() + wait
            while time.monotonic() < end:
                pass
            assert not rung.is_set()
        assert rung.wait(5)
    finally:
        signal.signal(signal.SIGALRM, old_handler)
        signal.setitimer(signal.ITIMER_REAL, *old_timer)


def test_alarm_of_nobody() -> None:
    """Where nobody waited for the alarm clock, it stands still afterwards."""
    old_timer = signal.setitimer(signal.ITIMER_REAL, 0)
    try:
        limited(int, 5)
        assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, *old_timer)


def test_alarm_that_rings_before_anything_ran(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine the limit can pass in the call that sets it: it does not ring again."""
    old_timer = signal.setitimer(signal.ITIMER_REAL, 0)
    setitimer, handler = signal.setitimer, signal.getsignal(signal.SIGALRM)

    def slow(which: int, seconds: float, interval: float = 0) -> tuple[float, float]:
        left = setitimer(which, seconds, interval)
        time.sleep(0.05 if seconds else 0)
        return left

    monkeypatch.setattr(signal, "setitimer", slow)
    try:
        with pytest.raises(stage.LimitPassed):
            limited(int, 0.01)
        assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
        assert signal.getsignal(signal.SIGALRM) is handler
    finally:
        setitimer(signal.ITIMER_REAL, *old_timer)


def beside(source: str, limit: float = 30) -> tuple[int | None, str, str]:
    """Run a program beside."""
    return stage.beside(dedent(source), limit)


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
    expected = f"['example.py'] True example.py \n{os.path.dirname(stage.__file__)}\n"  # noqa: PTH120
    monkeypatch.setenv("PYTHONOPTIMIZE", "1")
    for path in ("", "relative"):
        monkeypatch.setenv("PYTHONPATH", path)
        assert beside(program) == (0, expected, "")


def test_beside_prints_as_it_does_for_a_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the machine wants of colours, warnings and width is not what a page shows."""
    for name in stage.LOUD:
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("COLUMNS", "40")
    program = f"""
        import os
        print(*set(os.environ) & {set(stage.LOUD)}, os.environ["COLUMNS"])
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
    assert stage.beside(dedent(program), 30, [str(file)]) == (0, expected, "")
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
