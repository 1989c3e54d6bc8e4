"""Every application of up to five actions, at every moment, against the decision table."""

import pytest

from actors import Said, below, scripts
from drivers import Reader, Seen, Verdict, verdicts_of
from exhaustive import FAST, FAST_DRIVERS
from lifespec import server
from runs import Job, Runner, Stop, explore

__all__: list[str] = []

STARTED = ("receive", "startup.complete")
STOPPING = (*STARTED, "receive")
# What only an application reaches that defies its cancellation, or says something when it is over.
DEFIANT = {("cancelling", "raised"), ("cancelling", "expired"), ("ended", "raised")}
ROWS = {(phase, what) for phase, rows in server.TABLE.items() for what in rows}
LINGERING = {("answered", "expired")}  # it takes time; no script does, but to receive


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


@pytest.mark.parametrize("size", range(6))
def test_how_many_scripts_there_are(size: int) -> None:
    """The number that is given for a size is the number of different scripts."""
    assert len(set(scripts(size))) == len(scripts(size)) == below(size)


@pytest.mark.parametrize("row", sorted(ROWS - DEFIANT - LINGERING), ids=" ".join)
def test_no_row_of_the_server_could_be_missing(
    row: tuple[server.Phase, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without any one of the rows that are reached, the oracle finds a difference."""
    phase, what = row
    others = {each: does for each, does in server.TABLE[phase].items() if each != what}
    monkeypatch.setitem(server.TABLE, phase, others)  # whose rows keep their order afterwards
    begins = ("receive",), ("receive", "startup.failed"), STARTED, STOPPING
    jobs = [Job(begin) for begin in begins]
    differences = [explore(len(job.begin) + 2, [job])[0].differences for job in jobs]
    assert any(differences)


def test_a_row_that_leads_elsewhere_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """An application that is forgotten instead of cancelled is found to run still."""
    rows = server.TABLE["waiting"]
    monkeypatch.setitem(rows, "expired", ("ended", *rows["expired"][1:]))
    assert "still runs" in " ".join(explore(3, [Job(())])[0].differences)


def test_a_hang_is_a_difference() -> None:
    """An application that waits for what does not come hangs where there is no limit."""
    runner = Runner(4)
    runner.try_all(("receive", "receive", "return"), swallows=False)
    runner.loop.close()
    assert (runner.tally.hangs, runner.tally.differences) == (1, [])


def test_the_moments_of_one_application() -> None:
    """The body ends at each turn until all waits; after each of them the server is cancelled."""
    runner, stops = Runner(5), []
    runner.try_one = lambda script, stop, **rest: (  # type: ignore[method-assign]
        stops.append(stop),
        Runner.try_one(runner, script, stop, **rest),
    )[1]
    runner.try_all((*STARTED, "pause", "receive", "return"), swallows=False)
    runner.loop.close()
    assert [stop.turns for stop in stops if stop.cancelled is None] == [0, 1, 1]
    assert stops[-1] == Stop(1, limit=None)
    assert [stop.cancelled for stop in stops if not stop.turns] == [None, 1, 2, 3, 4]
    assert [stop.cancelled for stop in stops if stop.turns] == [None, 0, 1, 2, None]


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
