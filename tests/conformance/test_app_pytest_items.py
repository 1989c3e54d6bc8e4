"""The cases of applications as tests of pytest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lifespec.conformance.app import pytest_items
from lifespec.conformance.app import run as app_run
from lifespec.testing import plugin

if TYPE_CHECKING:
    from collections.abc import Callable

    Run = Callable[..., pytest.RunResult]

__all__: list[str] = []

pytest_plugins = ("pytester",)

PLUGIN = ("-p", "no:lifespec", "-p", plugin.__name__)
OTHERS = "no:cov", "no:timeout", "no:asyncio", "no:anyio"
# what pytest has to say of python -O
OPTIMIZED = ("-W", "ignore:assertions not in test modules:pytest.PytestConfigWarning")
COUNT = len(app_run.cases_for("asgi 2.0")) + 2  # whether it starts, whether it stops
SHOP = """
    from lifespec import with_lifespan
    import asyncio
    import contextlib

    @contextlib.asynccontextmanager
    async def life(_: object):
        yield

    async def nothing(scope, receive, send):
        raise ValueError(scope["type"])

    good = with_lifespan(nothing, life)

    async def deaf(scope, receive, send):
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()

    async def lax(scope, receive, send):
        while True:
            event = await receive()
            if event["type"] == "lifespan.startup":
                await send({"type": "lifespan.startup.complete"})
            if event["type"] == "lifespan.shutdown":
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def unsupported(scope, receive, send):
        raise NotImplementedError

    def made():
        return good

    @contextlib.asynccontextmanager
    async def forgetful(_: object):
        task = asyncio.create_task(asyncio.Event().wait())
        yield

    leaky = with_lifespan(nothing, forgetful)
"""


@pytest.fixture
def run(pytester: pytest.Pytester) -> Run:
    """Run pytest beside shop.py, in this process or in one of its own."""
    pytester.makepyfile(shop=SHOP)
    pytester.syspathinsert()

    def run(*options: str, apart: bool = False) -> pytest.RunResult:
        started = pytester.runpytest_subprocess if apart else pytester.runpytest_inprocess
        others = [word for name in OTHERS for word in ("-p", name)]
        return started("-W", "default", *PLUGIN, *others, *options, *OPTIMIZED)

    return run


def test_several_applications_beside_other_tests(run: Run, pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_own():\n    pass")
    options = "--lifespec-app", "shop:good", "--lifespec-app", "shop:deaf"
    result = run(*options, "-k", "start-and-stop or test_own")
    result.assert_outcomes(passed=2, failed=1, deselected=2 * COUNT - 2)


def test_a_failed_case_shows_rule_and_message_sequence(run: Run) -> None:
    result = run("--lifespec-app", "shop:deaf", "-x", "-k", "start-and-stop")
    result.assert_outcomes(failed=1, deselected=COUNT - 1)
    result.stdout.fnmatch_lines(
        [
            "FAIL [[]shutdown-answered[]] The application * (must, *",
            "expected: *",
            "actual: *shutdown was not answered: it returned.",
            "* server * application",
            "*|-- lifespan.shutdown ---*>|",
        ]
    )
    result.stdout.no_fnmatch_line(f"*{pytest_items.__file__}*")


def test_what_an_author_wants_to_know_is_told_once(run: Run) -> None:
    """By the first test of the application that runs, whichever that is."""
    for chosen, first in (("", "starts"), ("extra-keys", "extra-keys")):
        result = run("--lifespec-app", "shop:leaky", "-k", chosen)
        assert result.parseoutcomes()["warnings"] == 1
        result.stdout.fnmatch_lines(
            [f"shop:leaky::{first}", "*LifespanWarning: A task still ran after it had stopped: *"]
        )


def test_what_a_framework_misses_is_told_once(run: Run, pytester: pytest.Pytester) -> None:
    """And in one line, as nobody who reads it can change that."""
    pytester.makepyfile(star="import starlette.applications as s; app = s.Starlette()")
    result = run("--lifespec-app", "star:app")
    result.assert_outcomes(passed=COUNT, warnings=1)
    result.stdout.fnmatch_lines(
        ["*LifespanWarning: 1 SHOULD missed by Starlette, not by your code: lifespec explain *"]
    )


def test_a_warning_that_is_an_error_shows_no_traceback(run: Run) -> None:
    options = "--lifespec-app", "shop:lax", "-k", "unknown-event-while-running"
    result = run(*options, "-W", "error")
    result.assert_outcomes(failed=1, deselected=COUNT - 1)
    result.stdout.fnmatch_lines(["[[]receive-refuses-unknown[]] * (should, *"])
    result.stdout.no_fnmatch_line("*warn_explicit*")


def test_a_case_that_is_not_applicable_is_skipped(run: Run) -> None:
    result = run("--lifespec-app", "shop:unsupported", "-rs")
    outcomes = result.parseoutcomes()
    assert outcomes["skipped"] > 1
    assert outcomes.keys() == {"passed", "skipped"}
    result.stdout.fnmatch_lines(["SKIPPED [[]1] shop:unsupported:1: It starts without lifespan: *"])
    result.stdout.fnmatch_lines(["SKIPPED [[]*] shop:unsupported:1: It *"])


@pytest.mark.parametrize("lines", ["os._exit(3)", "raise SystemExit(3)", "await hangs()"])
def test_what_does_not_start_is_a_failure_and_all_else_an_error(
    run: Run, pytester: pytest.Pytester, lines: str
) -> None:
    pytester.makepyfile(
        dies=f"""
            import asyncio, os

            async def app(scope, receive, send):
                if scope["type"] != "lifespan":
                    raise ValueError(scope["type"])
                await receive()
                {lines}

            async def hangs():
                await asyncio.sleep(3600)
        """
    )
    result = run("--lifespec-app", "dies:app")
    played = 2  # start-and-stop itself, and the scope that is none of a lifespan
    result.assert_outcomes(failed=1, errors=COUNT - 1 - played, passed=played)
    result.stdout.fnmatch_lines(["It does not start: *", "*::stops - *it does not start: *"])
    result.stdout.no_fnmatch_line(f"*{pytest_items.__file__}*")


def test_a_clean_up_that_fails_is_shown_with_its_own_traceback(
    run: Run, pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(
        fails="""
            import contextlib
            from lifespec import with_lifespan
            from shop import nothing

            @contextlib.asynccontextmanager
            async def life(_: object):
                yield
                raise OSError("cannot flush")

            app = with_lifespan(nothing, life)
        """
    )
    result = run("--lifespec-app", "fails:app")
    result.assert_outcomes(failed=1, passed=COUNT - 1)
    result.stdout.fnmatch_lines(
        [
            "Traceback (most recent call last):",
            "*fails.py*, line 8, in life",
            "OSError: cannot flush",
            "It does not stop: its clean-up failed: OSError: cannot flush, in `life`, fails.py:8.",
        ]
    )


def test_an_application_has_to_wait_for_shutdown_where_strict(
    run: Run, pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(
        early="""
            async def app(scope, receive, send):
                if scope["type"] != "lifespan" or (await receive())["type"] != "lifespan.startup":
                    raise ValueError(scope["type"])
                await send({"type": "lifespan.startup.complete"})
        """
    )
    run("--lifespec-app", "early:app", "-k", "stops").assert_outcomes(
        skipped=1, deselected=COUNT - 1
    )
    result = run("--lifespec-app", "early:app", "-k", "stops", "--lifespec-strict")
    result.assert_outcomes(failed=1, deselected=COUNT - 1)


@pytest.mark.parametrize("target", ["shopp:good", "shop:godo", "shop"])
def test_what_cannot_be_imported_is_an_error_of_collection(run: Run, target: str) -> None:
    result = run("--lifespec-app", target)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"*ERROR collecting {target}*", "*Interrupted: 1 error during*"])


def test_what_cannot_be_imported_fails_each_case_where_errors_are_passed_over(run: Run) -> None:
    options = "--continue-on-collection-errors", "-k", "start-and-stop"
    result = run("--lifespec-app", "shop:godo", *options)
    result.assert_outcomes(errors=2, deselected=COUNT - 1)


def test_collection_alone_imports_nothing(run: Run) -> None:
    result = run("--lifespec-app", "shopp:good", "--collect-only", "-q")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["shopp:good::start-and-stop", f"{COUNT} tests collected*"])


def test_the_last_failed_are_run_again(run: Run) -> None:
    first = run("--lifespec-app", "shop:deaf")
    failed = first.parseoutcomes()["failed"]
    assert 0 < failed < COUNT
    again = run("--lifespec-app", "shop:deaf", "--lf")
    assert again.parseoutcomes()["failed"] == failed
    assert again.parseoutcomes()["deselected"] == COUNT - failed


def test_an_error_that_is_not_the_applications_keeps_its_traceback(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*_: object) -> None:
        raise OSError("no processes")

    monkeypatch.setattr("lifespec.conformance.app.check.CaseRunner.tried", lost)
    result = run("--lifespec-app", "shop:good", "-k", "extra-keys")
    result.stdout.fnmatch_lines(["E *OSError: no processes"])


# ---- pyproject.toml ----------------------------------------------------------------------------


def test_the_application_is_named_in_pyproject(run: Run, pytester: pytest.Pytester) -> None:
    """With paths, only if it is named there as well."""
    pytester.makepyprojecttoml('[tool.lifespec]\napp = "shop:good"')
    result = run("-v")
    result.assert_outcomes(passed=COUNT)
    result.stdout.fnmatch_lines(["shop:good::start-and-stop PASSED *"])
    run("-n", "1", apart=True).assert_outcomes(passed=COUNT)
    file = str(pytester.makepyfile("def test_own():\n    pass"))
    run(file).assert_outcomes(passed=1)
    run(file, "--lifespec-app", "shop:good").assert_outcomes(passed=COUNT + 1)


def test_rules_are_left_out_in_pyproject(run: Run, pytester: pytest.Pytester) -> None:
    line = 'ignore = ["unknown-scope-rejected", "receive-refuses-unknown"]'
    pytester.makepyprojecttoml(f"[tool.lifespec]\nstrict = true\ntimeout = 20\n{line}")
    result = run("--lifespec-app", "shop:good", "-k", "unknown-scope")
    result.assert_outcomes(skipped=1, deselected=COUNT - 1)
    pytester.makepyprojecttoml('[tool.lifespec]\nignore = ["nosuch"]')
    result = run("--lifespec-app", "shop:good")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: there is no rule 'nosuch'*"])
    pytester.makepyprojecttoml("")
    result = run("--lifespec-app", "shop:good", "--lifespec-spec", "wsgi")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: there is no * 'wsgi'*"])


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"[[tool.lifespec]]", "*pyproject.toml: tool.lifespec is not a table*; the table is ign*"),
        (b"[tool.lifespec]\nstrct = true", "*has no key 'strct': did you mean strict*ignored*"),
        (b"[tool.shop]  # not tool.lifespec", ""),
    ],
)
def test_the_tests_of_others_run_whatever_the_table_is(
    run: Run, pytester: pytest.Pytester, content: bytes, told: str
) -> None:
    """A warning tells what is wrong; who takes warnings for errors gets one sentence."""
    (pytester.path / "pyproject.toml").write_bytes(content)
    pytester.makepyfile("def test_own():\n    pass")
    result = run()
    result.assert_outcomes(passed=1, warnings=bool(told))
    if told:
        result.stdout.fnmatch_lines([f"*LifespanWarning: {told}"])
        result = run("-W", "error")
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines([f"ERROR: {told.rpartition(';')[0]}*"])
