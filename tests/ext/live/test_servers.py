"""What the playground knows of recorded servers: each row says what its record says."""

from typing import Any

import pytest

from lifespec.conformance.observed import translated
from lifespec_docs.facts import recorded
from lifespec_docs.live import servers
from lifespec_docs.live.imitation import CASES, LOGGED


@pytest.fixture(scope="module")
def rows() -> dict[str, dict[str, Any]]:
    return servers.rows(recorded.ROOT, str)


def test_each_case_is_one_of_the_suite_and_was_recorded(rows: dict[str, dict[str, Any]]) -> None:
    """And each program has log lines."""
    assert len({*CASES}) == len(CASES)
    assert {*rows["uvicorn"]["shown"]} == {*CASES}
    assert {*rows["uvicorn"]["logs"]} == {*LOGGED}


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
