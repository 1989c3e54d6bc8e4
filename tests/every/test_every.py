"""Every application of up to five actions, at every moment, against the decision table."""

import pytest

from actors import Said, below, scripts
from drivers import Reader, Seen, Verdict, verdicts_of
from exhaustive import FAST, FAST_DRIVERS
from runs import Job, Runner, explore

__all__: list[str] = []


@pytest.mark.timeout(280)
def test_our_server_does_what_the_table_says() -> None:
    """Outcome, exception, events, refusals, log and time are those of the oracle; none hangs."""
    assert explore(FAST, [Job(())])[0].differences == []


@pytest.mark.timeout(280)
def test_what_was_left_out_could_not_be_told_apart() -> None:
    """With nothing left out there are as many applications, and no difference either."""
    size, runner, applications = 4, Runner(4), 0
    for script in scripts(size):
        runner.refused = False
        runner.try_all(script, swallows=False)
        applications += 1 + runner.refused
        if runner.refused:
            runner.try_all(script, swallows=True)
    runner.loop.close()
    assert runner.tally.differences == []
    assert applications == explore(size, [Job(())])[0].applications


TOLD = [Said("heard", "lifespan.startup")]
COMPLETE = [Said("sent", "lifespan.startup.complete"), Said("served"), Said("asked to stop")]
STOPPED = [Said("heard", "lifespan.shutdown"), Said("sent", "lifespan.shutdown.complete")]
FAILED = Said("sent", "lifespan.startup.failed")
OVER = [Said("return"), Said("ended")]


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        ([*TOLD, *COMPLETE, *STOPPED, *OVER], "as the texts say"),
        ([*TOLD, *COMPLETE, *STOPPED, Said("ended"), Said("return")], "as the texts say"),
        ([*TOLD], "as the texts say"),  # it waits for the answer
        ([*TOLD, FAILED, Said("raise"), Said("ended")], "as the texts say"),
        ([*TOLD, Said("raise"), Said("served"), Said("ended")], "as the texts say"),
        ([*TOLD, Said("raise"), Said("ended")], "otherwise"),
        ([*TOLD, Said("served"), Said("ended")], "otherwise"),
        ([*TOLD, FAILED, Said("served"), Said("ended")], "otherwise"),
        ([*TOLD, *COMPLETE, Said("ended")], "otherwise"),
        ([*TOLD, *COMPLETE], "otherwise"),
        ([*TOLD, *TOLD], "otherwise"),
        ([*TOLD, *COMPLETE, *STOPPED[:1], Said("ended")], "otherwise"),
        ([*TOLD, Said("return"), Said("ended")], "unspecified"),
        ([FAILED, Said("served"), *OVER], "unspecified"),
        ([*TOLD, Said("sent", ""), Said("served"), *OVER], "unspecified"),
        ([*TOLD, *COMPLETE[:1], Said("raise"), Said("ended")], "unspecified"),
        ([*TOLD, Said("return")], "waits for ever"),
        ([*TOLD, FAILED], "waits for ever"),
    ],
)
def test_what_the_texts_say(facts: list[Said], verdict: Verdict) -> None:
    """A driver is checked where a specification binds it; its limits are unspecified."""
    assert Reader(Seen(facts, waited=False, begun=0)).verdict() == verdict
    if Said("ended") in facts and verdict == "otherwise" and Said("served") not in facts:
        assert Reader(Seen(facts, waited=True, begun=0)).verdict() == "unspecified"


@pytest.mark.parametrize("name", ["lifespec", "uvicorn", "starlette"])
def test_a_driver_is_checked(name: str) -> None:
    """Each script has a verdict, and ours is never otherwise than the texts say."""
    found = verdicts_of(name, FAST_DRIVERS)
    assert sum(found.values()) == below(FAST_DRIVERS)
    assert name != "lifespec" or found["otherwise"] == 0
    assert found["as the texts say"] > 0
