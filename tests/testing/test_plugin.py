"""What the pytest plugin does, with each plugin for async tests."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio  # noqa: F401  so that not every inner session imports it

import lifespec.conformance.app.check
import lifespec.testing
from lifespec.testing import plugin

Run = Callable[..., pytest.RunResult]

pytest_plugins = ("pytester",)

ROOT = Path(__file__).parents[2]
PLUGIN = ("-p", "no:lifespec", "-p", plugin.__name__)  # whether or not the entry point is installed
QUIET = tuple(f"-pno:{name}" for name in ("cacheprovider", "cov", "faker", "timeout", "xdist"))
LOOP = "-oasyncio_default_fixture_loop_scope=function"
SHOP = """
    import asyncio
    import contextlib

    import lifespec


    def life(start):
        async def app(scope, receive, send):
            if scope["type"] != "lifespan":
                await send(dict(scope["state"]))
                return
            await receive()
            await start(scope)
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await send({"type": "lifespan.shutdown.complete"})
        return app


    @life
    async def app(scope):
        scope["state"]["pool"] = "three connections"


    @life
    async def slow(scope):
        await asyncio.sleep(0.2)


    @life
    async def hangs(scope):
        await asyncio.Event().wait()


    @life
    async def broken(scope):
        raise ConnectionError("no database")


    async def get(app):
        sent = []
        async def send(message):
            sent.append(message)
        await app({"type": "http"}, None, send)
        return sent[0]
"""
REQUEST = """
        async with lifespan(shop.app) as running:
            assert await shop.get(running.app) == {"pool": "three connections"}
"""


@pytest.fixture
def run(pytester: pytest.Pytester, request: pytest.FixtureRequest) -> Run:
    """Run a file of tests beside shop.py, in this process."""
    pytester.makepyfile(shop=SHOP)
    pytester.syspathinsert()

    def run(source: str, *options: str) -> pytest.RunResult:
        pytester.makepyfile(test_shop=f"import asyncio\nimport pytest\nimport shop\n\n{source}")
        return pytester.runpytest_inprocess(
            "-Wdefault", LOOP, *PLUGIN, *QUIET, *options, *OPTIMIZED
        )

    return run


# what pytest has to say of python -O
OPTIMIZED = ("-W", "ignore:assertions not in test modules:pytest.PytestConfigWarning")
AUTO, STRICT = ("-o", "asyncio_mode=auto"), ("-o", "asyncio_mode=strict")
ASYNC = f"async def test_shop(lifespan):\n{REQUEST}"


def test_the_fixture_works_in_a_class_of_unittest(run: Run) -> None:
    source = f"""
import unittest

class TestShop(unittest.IsolatedAsyncioTestCase):
    @pytest.fixture(autouse=True)
    def fixtures(self, lifespan):
        self.lifespan = lifespan

    async def test_shop(self):
        lifespan = self.lifespan{REQUEST}
"""
    run(source, *STRICT).assert_outcomes(passed=1)


UVLOOP_POLICY = """
import uvloop

@pytest.fixture(scope="session")
def anyio_backend():
    return "asyncio", {"use_uvloop": True}

def pytest_asyncio_loop_factories(config, item):
    return {"uvloop": uvloop.new_event_loop}
"""


@pytest.mark.skipif(sys.platform == "win32", reason="uvloop has no wheels for Windows")
@pytest.mark.parametrize("library", ["asyncio", "anyio"])
def test_the_fixture_works_under_uvloop(run: Run, pytester: pytest.Pytester, library: str) -> None:
    pytester.makeconftest(f"import pytest\n{UVLOOP_POLICY}")
    source = f"""
@pytest.mark.{library}
{ASYNC}
        assert type(asyncio.get_running_loop()).__module__.startswith("uvloop")
        with pytest.raises(shop.lifespec.StartupTimeout):
            async with lifespan(shop.hangs, startup_timeout=0.01):
                pass
"""
    run(source, *STRICT).assert_outcomes(passed=1)


def test_a_run_without_the_fixture_imports_the_plugin_alone() -> None:
    program = f"import pytest, sys; before = {{*sys.modules}}; import {plugin.__name__}"
    program += "; print(*sorted({*sys.modules} - before))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    own = ["lifespec", "lifespec.catalog", "lifespec.testing", "lifespec.testing.plugin"]
    assert done.stdout.split() == own


@pytest.mark.parametrize(
    ("package", "module", "name"),
    [(lifespec, "server", "Lifespan"), (lifespec.testing, "running", "Running")],
)
def test_a_package_imports_what_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, package: Any, module: str, name: str
) -> None:
    monkeypatch.delattr(package, module)  # as if nobody had imported it
    assert getattr(package, name) is getattr(getattr(package, module), name)
    with pytest.raises(AttributeError, match="has no attribute 'nosuch'"):
        package.nosuch  # noqa: B018


# ---- timeouts ----------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["soon", "-1", "nan"])
@pytest.mark.parametrize("option", ["-olifespec_shutdown_timeout=", "--lifespec-shutdown-timeout="])
def test_what_is_no_timeout_is_refused(run: Run, option: str, text: str) -> None:
    result = run(ASYNC, *AUTO, f"{option}{text}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        [f"*lifespec_shutdown_timeout is '{text}', no timeout: give seconds from 0 on, or none*"]
    )


LEAVES_A_TASK = """
async def test_shop(lifespan):
    @shop.life
    async def app(scope):
        asyncio.create_task(asyncio.sleep(600), name="worker")
    async with lifespan(app):
        pass

async def test_hangs(lifespan):
    async with lifespan(shop.hangs, startup_timeout=0.01):
        pass
"""


def test_a_chinese_reader_is_told_in_chinese(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The help, a wrong option, a failure with its advice and its diagram, and a warning."""
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    run("", "--help").stdout.fnmatch_lines(["有 lifespan 的应用程序（lifespec）:"])
    refused = run(ASYNC, *AUTO, "--lifespec-startup-timeout=soon")
    refused.stderr.fnmatch_lines(["*lifespec_startup_timeout 的值 'soon' 不是超时时间：*"])
    told = run(LEAVES_A_TASK, *AUTO).stdout
    told.fnmatch_lines(
        ["E  *等待* Event *", "E  *服务器 *应用程序", "*应用程序停止后留下了任务：*"]
    )


def test_an_argument_counts_before_the_option_and_that_before_the_configuration(run: Run) -> None:
    source = """
async def test_shop(lifespan):
    with pytest.raises(shop.lifespec.StartupTimeout, match="within 0.01 s"):
        async with lifespan(shop.slow, startup_timeout=0.01):
            pass
    async with lifespan(shop.slow):
        pass
"""
    options = "-olifespec_startup_timeout=0.02", "--lifespec-startup-timeout=none"
    run(source, *AUTO, *options).assert_outcomes(passed=1)


# ---- pytest itself -----------------------------------------------------------------------------


def test_a_conformance_report_is_shown_where_its_assertion_fails(run: Run) -> None:
    source = """
from lifespec.conformance import check_app

def test_conformance():
    report = check_app(shop.broken, timeout=60)
    assert report.ok, report
"""
    result = run(source)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "E *AssertionError: <Report: life.<locals>.app is served without its startup>",
            "*- lifespec -*",
            "life.<locals>.app is served without its startup",
            "starts   no: the application raised ConnectionError: no database, in `broken`,",
        ]
    )
