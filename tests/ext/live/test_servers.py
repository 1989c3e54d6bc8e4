"""What the playground knows of recorded servers: each row says what its record says."""

from typing import Any

import pytest

from lifespec.conformance.observed import translated
from lifespec_docs.facts import recorded
from lifespec_docs.live import servers
from lifespec_docs.live.imitation import CASES, LOGGED
from lifespec_docs.records.record import Record

__all__: list[str] = []


@pytest.fixture(scope="module")
def rows() -> dict[str, dict[str, Any]]:
    """Return the rows in English."""
    return servers.rows(recorded.ROOT, str)


def test_each_server_and_client_of_the_records_has_a_row(rows: dict[str, dict[str, Any]]) -> None:
    """With its versions, and the day of its record."""
    records = [Record(name, recorded.read(recorded.ROOT, name)) for name in servers.GROUPS]
    subjects = [(each.data["date"], row) for each in records for row in each.subjects]
    assert [*rows] == [subject.key for _date, subject in subjects]
    for (date, subject), row in zip(subjects, rows.values(), strict=True):
        assert subject.release in row["title"]
        assert row["on"][0] == date


def test_each_case_is_one_of_the_suite_and_was_recorded(rows: dict[str, dict[str, Any]]) -> None:
    """And each program has log lines."""
    assert len({*CASES}) == len(CASES)
    assert {*rows["uvicorn"]["shown"]} == {*CASES}
    assert {*rows["uvicorn"]["logs"]} == {*LOGGED}


def test_a_row_is_what_the_sentences_say(rows: dict[str, dict[str, Any]]) -> None:
    """Scope, timeouts, service, what `send` raised, and how the process ended."""
    data = Record("servers", recorded.read(recorded.ROOT, "servers"))
    for subject in data.subjects:
        row = rows[subject.key]
        seen = {(each.case, each.rule): each.actual for each in subject.findings}
        if row["scope"] is None:
            assert "no lifespan took place" in seen["well-behaved", "scope-type"]
            continue
        assert f"asgi is {row['scope']['asgi']}." == seen["well-behaved", "scope-versions"]
        slow = seen["very-slow-start", "wait-for-startup"]
        assert (row["limits"][0] is not None) == ("ended startup after" in slow)
        for case, serves in row["serves"].items():
            said = " ".join(text for (of, _rule), text in seen.items() if of == case)
            assert serves == ("It was served" in said or "1 request came" in said), case
        refused = seen["completes-twice", "startup-answered-once"]
        raised = row["sends"]["completes-twice"]
        assert refused == (
            f"send has raised {': '.join(raised)}" if raised else "send has returned."
        )
        status = seen["failed-with-message", "startup-failed-exits"]
        assert row["exits"]["failed-with-message"].removeprefix("exit status ") in status


def test_where_a_caught_failure_is_served_send_raises(rows: dict[str, dict[str, Any]]) -> None:
    """What the output says, with a place for the application's own words."""
    raised = "LifespanFailureError", "Lifespan failure in startup. '%s'"
    assert rows["hypercorn-asyncio"]["sends"]["failed-with-message"] == raised
    assert "failed-with-message" not in rows["uvicorn"]["sends"]
    assert rows["granian"]["sends"]["sends-an-unknown-type"] == ("KeyError", "%s")


def test_each_sentence_can_be_translated(rows: dict[str, dict[str, Any]]) -> None:
    """It follows a pattern that the catalogs have."""
    shown = [said for row in rows.values() for seen in row["shown"].values() for *_, said in seen]
    assert [said for said in shown if not translated(said, str)] == []
