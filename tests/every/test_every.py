"""Every application of up to five actions, at every moment, against the decision table."""

import json

import pytest

from actors import KNOWN, MOVES, Script, scripts
from runs import FILE, Runner, explore


@pytest.mark.timeout(280)
@pytest.mark.parametrize(("size", "moves"), [(4, MOVES), (5, KNOWN)])
def test_our_server_does_what_the_table_says(size: int, moves: Script) -> None:
    tally = explore(size, moves)
    assert tally.differences == []
    if moves is MOVES:  # the record has longer ones, too
        runs = json.loads(FILE.read_text("utf-8"))["runs by length"]
        assert [tally.by_length[length] for length in range(1, size + 1)] == runs[:size]


def test_what_was_left_out_could_not_be_told_apart() -> None:
    """With nothing left out there are as many applications, and no difference either."""
    size, runner, applications = 3, Runner(3), 0
    for script in scripts(size):
        runner.refused = False
        runner.try_all(script, swallows=False)
        applications += 1 + runner.refused
        if runner.refused:
            runner.try_all(script, swallows=True)
    runner.loop.close()
    assert runner.tally.differences == []
    assert applications == explore(size).applications
