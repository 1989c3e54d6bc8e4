"""What a cell says of what no record has today; of the others the pages are the test."""

from lifespec_docs.records import loglines, middleware
from lifespec_docs.records.asked import NONE
from lifespec_docs.records.hosts import GROUPS, NO, HostRun


def test_what_no_record_has_today() -> None:
    """A server ended by force, a scope that is not passed on, or a copy of it, and no state."""
    assert loglines._status({"status": None}, str) == loglines.NONE
    scopes = [], [["scope", "copy", "state", "extra"]], [["scope", "copy"]]
    assert [middleware._scope({"usual": each}) for each in scopes] == [
        *(("Not passed on",), ("A copy, other in `%s`", "state extra"), ("A copy",))
    ]
    state = GROUPS["state"][3]
    assert state.says(HostRun([["lifespan", "state"]])) == (NONE,)
    assert state.says(HostRun([["state at shutdown", "no pool"]])) == NO
