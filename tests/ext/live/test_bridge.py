"""The calls of a page, as Pyodide hands them over."""

import asyncio
import json
import sys

import pytest

from lifespec_docs.live import bridge

__all__: list[str] = []

PROGRAM = "import asyncio\n\nasync def main():\n    print('ran')\n\nasyncio.run(main())"
EXAMPLE = {"page": "docs/a.md", "line": 1, "language": "python", "source": PROGRAM}
REQUEST = {"blocks": [EXAMPLE | {"expected": "ran"}], "edited": {}, "words": {}}


async def test_an_example_starts_a_loop_although_one_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pyodide's counts as running always, and its `asyncio.run` is another; both are put back."""

    def run_of_pyodide(_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(asyncio, "run", run_of_pyodide)
    running = asyncio.get_running_loop()
    answer = json.loads(bridge.call("run_blocks", json.dumps(REQUEST)))
    assert answer["output"] == "ran\n"
    assert answer["same"] is True
    assert asyncio.run is run_of_pyodide
    assert asyncio.get_running_loop() is running


async def test_a_call_that_fails_leaves_the_loop_as_it_was() -> None:
    """A request without examples is a mistake of ours, and is raised."""
    running, run = asyncio.get_running_loop(), asyncio.run
    with pytest.raises(KeyError):
        bridge.call("run_blocks", "{}")
    assert asyncio.get_running_loop() is running
    assert asyncio.run is run


def test_only_what_is_listed_can_be_called() -> None:
    """A page has no other way into Python."""
    with pytest.raises(KeyError, match="system"):
        bridge.call("system", "{}")


def test_what_is_warmed_up_is_there() -> None:
    """Every function that is listed, too."""
    bridge.warm()
    for name, module in bridge.CALLS.items():
        assert callable(getattr(sys.modules[module], name))
