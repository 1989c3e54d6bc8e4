"""Places are found in the author's own code, through whatever a call awaits; errors are data."""

import asyncio
import functools
import inspect
import os
import sys
from collections.abc import Awaitable, Callable, Generator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from lifespec.diagnosis import author, stacks
from lifespec.diagnosis.fact import short_path
from lifespec.diagnosis.stacks import awaited, line
from lifespec.words import english

FILE = Path(__file__).name


def line_of(marker: str) -> int:
    """Return the number of the line here that ends with a marker."""
    lines = Path(__file__).read_text("utf-8").splitlines()
    [number] = [n for n, text in enumerate(lines, 1) if text.endswith(f"  # line: {marker}")]
    return number


async def waits() -> None:
    await asyncio.Event().wait()


class Custom:
    def __await__(self) -> Generator[Any, None, None]:
        yield from asyncio.create_task(waits()).__await__()


async def through_an_awaitable_and_a_task() -> None:
    await Custom()


async def through_a_shield() -> None:
    await asyncio.shield(waits())  # nothing leads from here to what waits


async def frames(call: Callable[[], Awaitable[None]]) -> list[Any]:
    """Return the frames of a call once it waits."""
    task = asyncio.ensure_future(call())
    await asyncio.sleep(0.01)
    found = [*map(line, awaited(task))]
    task.cancel()
    return found


@pytest.mark.parametrize(
    ("call", "function", "source"),
    [
        (through_an_awaitable_and_a_task, waits, "await asyncio.Event().wait()"),
        (through_a_shield, through_a_shield, "await asyncio.shield(waits())"),
    ],
)
def test_a_place_is_that_of_the_innermost_function(
    call: Callable[[], Awaitable[None]],
    function: Callable[..., Any],
    source: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(Path(__file__).parent)
    found = author.place(asyncio.run(frames(call)))
    lines, first = inspect.getsourcelines(function)
    line = first + next(number for number, each in enumerate(lines) if source in each)
    assert found is not None
    assert found[:3] == (function.__name__, FILE, line)
    assert found.source.startswith(source)


@pytest.mark.parametrize("module", ["stand", "stand.kiosk"])
def test_an_installed_package_is_its_authors_own_code_only_if_it_is_checked(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "site-packages"
    file = folder.joinpath(*module.split(".")).with_suffix(".py")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()
    if "." in module:
        (file.parent / "__init__.py").touch()
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr(stacks, "own_paths", [])
    package = ModuleType("stand")
    package.__file__ = str(file)
    monkeypatch.setitem(sys.modules, "stand", package)
    assert (stacks.is_own(str(file)), author.library(module)) == (False, "stand")
    monkeypatch.delitem(sys.modules, "stand")
    author.own_package("stand")
    monkeypatch.setitem(sys.modules, "stand", package)
    assert (stacks.is_own(str(file)), author.library(module)) == (True, "")
    assert not stacks.is_own(str(folder / "other.py"))
    author.own_package("__main__")
    author.own_package("nosuch")
    assert not stacks.is_own(str(file))


def test_a_path_is_one_by_which_a_file_can_be_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setattr(sys, "path", ["", "/srv", "/srv/lib", str(here)])
    found = {
        here / "shop/main.py": "shop/main.py",
        here / ".venv/lib/python3.11/site-packages/hub/proxy/utils.py": "hub/proxy/utils.py",
        Path("/usr/lib/python3/dist-packages/one.py"): "one.py",
        Path("/srv/lib/asyncio/locks.py"): "asyncio/locks.py",
        Path("/opt/jobs/main.py"): "/opt/jobs/main.py",
        Path("<string>"): "<string>",
    }
    assert {file: short_path(file) for file in found} == found
    here.rmdir()  # nor is there a current folder
    assert short_path(Path("/srv/lib/asyncio/locks.py")) == "asyncio/locks.py"

    def forbidden() -> str:  # as blockbuster does it in an event loop
        raise Exception("blocking call")  # noqa: TRY002

    with monkeypatch.context() as patch:
        patch.setattr(os, "getcwd", forbidden)
        patch.setenv("PWD", "/opt/jobs")
        found_path = short_path(Path("/opt/jobs/main.py"))
    assert found_path == "main.py"


def test_an_exception_is_described_by_the_first_of_its_group_and_a_place_of_its_causes() -> None:
    class Silent(Exception):
        def __str__(self) -> str:
            raise asyncio.CancelledError

    try:
        try:
            raise KeyError("pool")  # noqa: TRY301
        except KeyError as error:
            raise ExceptionGroup("two", [Silent().with_traceback(None)]) from error
    except ExceptionGroup as group:
        found = author.described(group)
    assert (found.type, found.text) == ("Silent", "")
    later = [each.classes[0] for each in found.chain[1:]]
    assert later == ["builtins.ExceptionGroup", "builtins.KeyError"]
    assert [each.text for each in found.of("builtins.LookupError")] == ["'pool'"]
    assert english(found.fact()).startswith("Silent, in `test_an_exception")
    for text, said in ("x", "x"), ("Not here.", "Not here"), ("Wait ...", "Wait ..."):
        assert english(author.described(OSError(text)).fact()) == f"OSError: {said}"


def test_what_is_no_module_is_nobodys_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "shop", None)  # type: ignore[arg-type]
    own = dict(author.own_modules())
    assert None not in own
    assert sys.modules[__name__] in own
    assert pytest not in own


# ---- what stands between lifespec and the author's code ------------------------------------------


def run_from(file: str) -> Callable[..., Any]:
    """Return a function of a file that calls another one with its own frame."""
    variables: dict[str, Any] = {}
    source = "import sys\ndef call(function, *_):\n    return function(sys._getframe())\n"
    exec(compile(source, file, "exec"), variables)  # noqa: S102
    call: Callable[..., Any] = variables["call"]
    return call


OURS, LIBRARY = f"{stacks.OURS}__main__.py", "<library>"  # of a file that there is, for coverage
of_lifespec, of_a_library = run_from(OURS), run_from(LIBRARY)


def outer() -> Any:
    return inner()


def inner() -> Any:
    return of_a_library(author.caller)  # line: called


def test_who_has_called_is_the_innermost_of_the_author_that_lifespec_has_called() -> None:
    found = outer()
    assert found[:3] == ("inner", short_path(Path(__file__)), line_of("called"))
    assert of_lifespec(lambda _: outer()) == found
    assert of_lifespec(functools.partial(of_a_library, author.caller)) is None


def test_a_traceback_begins_with_the_applications_first_frame() -> None:
    def fails(_: object) -> None:
        raise LookupError

    with pytest.raises(LookupError) as caught:
        of_lifespec(fails)
    trace = caught.tb.tb_next  # that of lifespec
    assert author.without_lifespec(caught.tb) is caught.tb
    assert trace
    assert author.without_lifespec(trace) is trace.tb_next
    ours = trace.tb_frame
    trace = type(trace)(None, ours, 0, 1)
    assert author.without_lifespec(trace) is trace


DUMP = f"""\
Thread 0x1 (most recent call first):
  File "/x/other.py", line 1 in other

Current thread 0x2 (most recent call first):
  File "{asyncio.base_events.__file__}", line 9 in _run_once
  File "/x/\\xe9tat.py", line 7 in inner
  File "/x/shop.py", line 5 in outer
  File "{OURS}", line 3 in play
  File "/x/below.py", line 1 in below

Extension modules: x (total: 1)
  File "/x/shop.py", line 1 in no_frame
"""


def test_a_dump_is_read_from_the_frame_that_lifespec_has_called() -> None:
    lines = author.dumped(DUMP)
    assert lines == [("/x/shop.py", 5, "outer"), ("/x/état.py", 7, "inner")]
    innermost = author.innermost(lines)
    assert innermost
    assert (innermost.function, innermost.line) == ("inner", 7)


def test_what_was_installed_beside_the_authors_code_is_a_librarys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `pip install --target` does, for functions in the cloud and archives."""
    for name in "pool/core.py", "one.py", "shop.py", "pool-1.dist-info/RECORD":
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "pool-1.dist-info/RECORD").write_text("pool/core.py,,\none.py,,\n")
    (tmp_path / "broken.dist-info").mkdir()
    monkeypatch.setattr(sys, "path", [str(tmp_path.parent), str(tmp_path), "/no/folder"])
    own = [stacks.is_own(str(tmp_path / each)) for each in ("pool/core.py", "one.py", "shop.py")]
    assert own == [False, False, True]
    assert stacks.is_own("/no/folder/shop.py")


# ---- the line of an exception ------------------------------------------------------------------


def raises() -> None:
    raise OSError("no disk")  # line: raised


def raises_and_tidies() -> None:
    log = []
    try:
        raise OSError("no disk")  # line: before it tidies
    finally:
        log.append("closed")


def raises_again() -> None:
    try:
        raises()
    except OSError as error:
        log = str(error)
        raise error.with_traceback(error.__traceback__) from None if log else error


async def fails() -> None:
    raise OSError("no disk")  # line: in a group


async def fails_in_a_group() -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(fails())


async def raises_from_its_own_group() -> None:
    try:
        await fails_in_a_group()
    except ExceptionGroup as group:
        raise group.exceptions[0]  # noqa: B904  the group is the context of its own exception


async def raises_after() -> None:
    try:
        raises()
    except OSError:
        exec("raise ValueError('of a library')")  # noqa: S102  # line: raised after


async def for_ever() -> None:
    await asyncio.Event().wait()  # line: not here, where it was cancelled


async def awaits_a_cancelled_task() -> None:
    task = asyncio.create_task(for_ever())
    await asyncio.sleep(0)
    task.cancel()
    await task  # line: awaited


async def is_cancelled() -> None:
    task = asyncio.current_task()
    assert task
    task.cancel()
    await asyncio.sleep(1)  # line: cancelled


@pytest.mark.parametrize(
    ("fails", "marker", "raised_in"),
    [
        (raises, "raised", FILE),
        (raises_and_tidies, "before it tidies", FILE),
        (raises_again, "raised", FILE),
        (fails_in_a_group, "in a group", FILE),
        (raises_from_its_own_group, "in a group", FILE),
        (raises_after, "raised after", "<string>"),
        (awaits_a_cancelled_task, "awaited", "locks.py"),
        (is_cancelled, "cancelled", "tasks.py"),
    ],
)
def test_the_line_of_an_exception_is_the_authors_where_it_came_from(
    fails: Callable[[], Any], marker: str, raised_in: str
) -> None:
    try:
        outcome = fails()
        if inspect.isawaitable(outcome):
            asyncio.run(outcome)  # type: ignore[arg-type]
    except BaseException as error:
        found = author.described(error)
    assert found.place is not None
    assert (found.place.line, Path(found.place.file).name) == (line_of(marker), FILE)
    assert Path(found.file).name == raised_in


def test_what_is_handled_around_the_event_loop_is_no_cause() -> None:
    async def fails() -> Any:
        try:
            raise LookupError  # noqa: TRY301
        except LookupError as error:
            return author.described(error)

    try:
        raise ImportError  # noqa: TRY301
    except ImportError:
        found = asyncio.run(fails())
    assert [raised.classes[0] for raised in found.chain] == ["builtins.LookupError"]
