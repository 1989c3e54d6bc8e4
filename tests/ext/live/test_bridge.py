"""The calls of a page, as Pyodide hands them over."""

import asyncio
import json
import sys
from collections.abc import Callable

import pytest

from lifespec_docs.live import bridge

PROGRAM = "import asyncio\n\nasync def main():\n    print('ran')\n\nasyncio.run(main())"
EXAMPLE = {"page": "docs/a.md", "line": 1, "language": "python", "source": PROGRAM}
REQUEST = {"blocks": [EXAMPLE | {"expected": "ran"}], "edited": {}, "words": {}}


def in_a_callback(check: Callable[[], None]) -> None:
    """Call it while a loop runs, and none of its tasks: so JavaScript calls Pyodide."""
    raised: list[BaseException] = []

    def call() -> None:
        try:
            check()
        except BaseException as error:
            raised.append(error)
        loop.stop()

    loop = asyncio.new_event_loop()
    loop.call_soon(call)
    loop.run_forever()
    loop.close()
    for error in raised:
        raise error


def test_an_example_starts_a_loop_although_one_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pyodide's counts as running always, and its `asyncio.run` is another; both are put back."""

    def run_of_pyodide(_: object) -> None:
        raise AssertionError

    def check() -> None:
        running = asyncio.get_running_loop()
        answer = json.loads(bridge.call("run_blocks", json.dumps(REQUEST)))
        assert answer["output"] == "ran\n"
        assert answer["same"] is True
        assert asyncio.run is run_of_pyodide
        assert asyncio.get_running_loop() is running

    monkeypatch.setattr(asyncio, "run", run_of_pyodide)
    in_a_callback(check)


def test_a_call_that_fails_leaves_the_loop_as_it_was() -> None:
    """A request without examples is a mistake of ours, and is raised."""

    def check() -> None:
        running, run = asyncio.get_running_loop(), asyncio.run
        with pytest.raises(KeyError):
            bridge.call("run_blocks", "{}")
        assert asyncio.get_running_loop() is running
        assert asyncio.run is run

    in_a_callback(check)


def test_only_what_is_listed_can_be_called() -> None:
    """A page has no other way into Python."""
    with pytest.raises(KeyError, match="system"):
        bridge.call("system", "{}")


def test_what_is_warmed_up_is_there() -> None:
    """Every function that is listed, too."""
    bridge.warm()
    for name, module in bridge.CALLS.items():
        assert callable(getattr(sys.modules[module], name))


def test_a_program_cannot_ask_for_input() -> None:
    """The sentence says so; a terminal would be asked else."""

    def check() -> None:
        request = {**REQUEST, "edited": {"0": "input('name? ')"}}
        answer = json.loads(bridge.call("run_blocks", json.dumps(request)))
        assert answer["output"].endswith("RuntimeError: input() is not available in a browser\n")

    in_a_callback(check)


def test_what_a_program_imports_is_imported_before_its_time_counts() -> None:
    """A name that is no module of a package at hand is the program's to fail with."""
    sys.modules.pop("colorsys", None)
    bridge.prepare(json.dumps(["colorsys", "no_such_module"]))
    bridge.prepare(json.dumps(["colorsys"]))
    assert "colorsys" in sys.modules
