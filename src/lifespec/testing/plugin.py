"""The pytest plugin: a fixture that runs applications, a virtual clock, the cases of the suite.

pytest loads this module in every run, so it imports nothing of ours before that is needed.
"""

from __future__ import annotations

import argparse
import functools
import inspect
import sys
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator, Iterator

    from lifespec.testing.running import Starter

__all__ = ["lifespan"]

TIMEOUT = "10"  # seconds: a test has to end
EVENTS = {"startup_timeout": "lifespan.startup", "shutdown_timeout": "lifespan.shutdown"}
MARKERS = {
    "lifespan(startup_timeout=10.0, shutdown_timeout=10.0)": "timeouts, in seconds or None, of the"
    " applications that the test starts with the fixture lifespan.",
    "virtual_clock": "run this async test on a clock that jumps to the next timer instead of"
    " waiting for it; a test that would hang fails at once.",
}
UNREACHED = (
    "virtual_clock: this test has a real event loop, which an async fixture of anyio or a"
    " pytest-asyncio before 1.4 made.  Make that loop a lifespec.testing.VirtualLoop, or call"
    " lifespec.testing.run in a plain function"
)
PLAIN = (
    "virtual_clock is for `async def` tests of pytest; in a plain function, or in a method of a"
    " unittest.TestCase, call lifespec.testing.run"
)

_ITEM = pytest.StashKey[pytest.Item]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options and what they are in a configuration file."""
    group = parser.getgroup("lifespec", "applications with a lifespan (lifespec)")
    for name, event in EVENTS.items():
        text = f"how long the fixture lifespan waits for the answer to {event}: seconds, or none"
        option = f"--lifespec-{name.replace('_', '-')}"
        group.addoption(option, type=_seconds_of_option, metavar="SECONDS", help=text)
        parser.addini(f"lifespec_{name}", f"{text} (by default {TIMEOUT})", default=TIMEOUT)

    group.addoption(
        "--lifespec-app",
        metavar="TARGET",
        action="append",
        help="check this application, module:attribute, with the cases of `lifespec check app` as"
        " tests; repeatable.  The key app of [tool.lifespec] in pyproject.toml does the same where"
        " no paths are given",
    )
    text = "the specification that --lifespec-app checks by (the default is asgi 2.0)"
    group.addoption("--lifespec-spec", metavar="SPEC", help=text)
    text = "with --lifespec-app: fail a test also where the specification says should"
    group.addoption("--lifespec-strict", action="store_true", default=None, help=text)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the markers, and collect the cases of applications where they are asked for."""
    for marker, text in MARKERS.items():
        config.addinivalue_line("markers", f"{marker}: {text}")
    _configure_applications(config)


def _seconds(text: str) -> float | None:
    """Return seconds, or None for "none"; raise ValueError for what is neither."""
    if text.strip().lower() == "none":
        return None
    seconds = float(text)
    if not seconds >= 0:
        raise ValueError(text)
    return seconds


def _seconds_of_option(text: str) -> tuple[float | None]:
    """Return the seconds in a tuple, so that "none" is another thing than no option."""
    try:
        return (_seconds(text),)
    except ValueError:
        wanted = "give seconds from 0 on, or none to wait without end"
        raise argparse.ArgumentTypeError(f"{text!r} is no timeout: {wanted}") from None


# ---- cases of applications ---------------------------------------------------------------------


def _configure_applications(config: pytest.Config) -> None:
    """Collect the cases of the applications that are named, here or in pyproject.toml."""
    options, table = config.option, _table(config)
    if not options.lifespec_app and config.args_source is not pytest.Config.ArgsSource.ARGS:
        options.lifespec_app = table.get("app")  # a worker of pytest-xdist gets the options
    if not options.lifespec_app:
        return
    found = import_module("lifespec.conformance.app.pytest_items")
    settings = found.Settings(
        targets=tuple(dict.fromkeys(options.lifespec_app)),
        spec=options.lifespec_spec or table.get("spec", "asgi"),
        strict=options.lifespec_strict or table.get("strict", False),
        factory=table.get("factory", False),
        ignore=tuple(table.get("ignore", ())),
        timeout=table.get("timeout", 0),
    )
    config.pluginmanager.register(found.Applications(settings), "lifespec-applications")


def _table(config: pytest.Config) -> dict[str, Any]:
    """Return [tool.lifespec] of the project, {} where it cannot be read.

    That is an error for who asks for --lifespec-app; a warning is enough for other tests.
    """
    file = config.rootpath / "pyproject.toml"
    if not file.is_file() or b"lifespec" not in file.read_bytes():
        return {}
    unchecked = import_module("lifespec.conformance.unchecked")
    try:
        table: dict[str, Any] = import_module("lifespec.conformance.settings").read(file)
    except unchecked.Unchecked as error:
        if config.option.lifespec_app:
            raise pytest.UsageError(str(error)) from None
        _warn(config, f"{error}; the table is ignored")
        return {}
    return table


def _warn(config: pytest.Config, text: str) -> None:
    """Warn; raise UsageError where warnings are errors."""
    warning = import_module("lifespec.testing").LifespanWarning
    try:
        config.issue_config_time_warning(warning(text), stacklevel=2)
    except warning:
        raise pytest.UsageError(text) from None


# ---- the fixture -------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def lifespan(request: pytest.FixtureRequest) -> Starter:
    """Start and stop an application around the body of `async with`, in a test or a fixture.

        async with lifespan(app) as running:
            transport = httpx.ASGITransport(running.app)

    The arguments are those of `lifespec.Lifespan`.
    """
    from lifespec.testing.running import Starter  # noqa: PLC0415  its price is the test's

    return Starter(functools.partial(_timeouts, request.config))


def _timeouts(config: pytest.Config) -> dict[str, float | None]:
    """Return the timeouts of the test that runs now: marker, option, configuration file."""
    item = config.stash.get(_ITEM, None)
    return {name: _timeout(config, name) for name in EVENTS} | (_marked(item) if item else {})


def _timeout(config: pytest.Config, name: str) -> float | None:
    given: tuple[float | None] | None = config.getoption(f"lifespec_{name}")
    if given is not None:
        return given[0]
    text = config.getini(f"lifespec_{name}")
    try:
        return _seconds(text)
    except ValueError:
        wanted = "give seconds from 0 on, or none to wait without end"
        raise pytest.UsageError(f"lifespec_{name} is {text!r}, no timeout: {wanted}") from None


def _marked(item: pytest.Item) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for mark in item.iter_markers("lifespan"):  # the closest comes first
        if mark.args or not mark.kwargs.keys() <= EVENTS.keys():
            given = ", ".join(
                [*map(repr, mark.args), *(f"{k}={v!r}" for k, v in mark.kwargs.items())]
            )
            pytest.fail(
                f"the marker lifespan takes {' and '.join(EVENTS)}, not {given}", pytrace=False
            )
        found = {**mark.kwargs, **found}
    return found


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Know which test runs, for the sake of its markers."""
    item.config.stash[_ITEM] = item
    try:
        return (yield)
    finally:
        del item.config.stash[_ITEM]


# ---- the virtual clock -------------------------------------------------------------------------


def _virtual(node: pytest.Item) -> bool:
    return node.get_closest_marker("virtual_clock") is not None


@contextmanager
def _virtual_loops(node: Any) -> Iterator[None]:
    """Have pytest-asyncio make virtual loops meanwhile, if the test is marked."""
    if not _virtual(node):
        yield
        return
    plugins, factories = node.config.pluginmanager, _LoopFactories()
    plugins.register(factories)
    try:
        yield
    finally:
        plugins.unregister(factories)


class _LoopFactories:
    @pytest.hookimpl(optionalhook=True)
    def pytest_asyncio_loop_factories(self) -> dict[str, Any]:
        from lifespec.testing.clock import VirtualLoop  # noqa: PLC0415

        return {"virtual": VirtualLoop}


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> Generator[None, None, None]:
    """Let pytest-asyncio choose the loop."""
    with _virtual_loops(metafunc.definition):
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, None, None]:
    """Let pytest-asyncio make fixtures of another loop anew."""
    with _virtual_loops(item):
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Hold a marked test to the virtual clock, and say where it hangs."""
    if not _virtual(item):
        return (yield)
    from lifespec.testing.clock import Deadlock  # noqa: PLC0415

    if not isinstance(item, pytest.Function) or not _is_async(item):
        return (yield)
    if "anyio_backend" in item.funcargs:
        item.funcargs["anyio_backend"] = _virtual_backend(item.funcargs["anyio_backend"])
    test, item.obj = item.obj, _guarded(item.obj)
    try:
        return (yield)
    except Deadlock as deadlock:
        hang = str(deadlock)  # its traceback is the event loop's
    finally:
        item.obj = test
    pytest.fail(f"The test hangs.  {hang}", pytrace=False)


def _is_async(item: pytest.Function) -> bool:
    """Say whether it is an async test; fail one that was marked for nothing."""
    unittest: Any = sys.modules.get("unittest")
    own = any(mark.name == "virtual_clock" for mark in item.own_markers)
    is_async = inspect.iscoroutinefunction(item.obj)
    is_unittest = unittest and item.cls and issubclass(item.cls, unittest.TestCase)
    if (is_async and is_unittest) or (own and not is_async):
        pytest.fail(PLAIN, pytrace=False)
    return is_async


def _virtual_backend(backend: Any) -> tuple[str, dict[str, Any]]:
    """Return a backend of anyio's with a virtual clock."""
    name, options = (backend, {}) if isinstance(backend, str) else backend
    if name == "trio":
        import trio.testing  # noqa: PLC0415

        return name, {**options, "clock": trio.testing.MockClock(autojump_threshold=0)}
    from lifespec.testing.clock import VirtualLoop  # noqa: PLC0415

    return name, {**options, "loop_factory": VirtualLoop}


def _guarded(test: Callable[..., Awaitable[object]]) -> Callable[..., Awaitable[object]]:
    """Return the test, failing where its clock is a real one."""

    @functools.wraps(test)
    async def guarded(*args: Any, **kwargs: Any) -> object:
        __tracebackhide__ = True
        if not _is_virtual():
            pytest.fail(UNREACHED, pytrace=False)
        return await test(*args, **kwargs)

    return guarded


def _is_virtual() -> bool:
    import asyncio  # noqa: PLC0415

    from lifespec.testing.clock import VirtualLoop  # noqa: PLC0415

    trio = sys.modules.get("trio")
    if trio is not None and trio.lowlevel.in_trio_run():
        return isinstance(trio.lowlevel.current_clock(), trio.testing.MockClock)
    return isinstance(asyncio.get_running_loop(), VirtualLoop)


def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a marked test that no plugin for async tests has taken."""
    if not _virtual(pyfuncitem) or not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    from lifespec.testing.clock import run  # noqa: PLC0415

    names = pyfuncitem._fixtureinfo.argnames  # noqa: SLF001  as each plugin for async tests does
    run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True
