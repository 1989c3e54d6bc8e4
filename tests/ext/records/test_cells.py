"""What a cell says of what no record has today; of the others the pages are the test."""

from lifespec_docs.records import loglines, middleware
from lifespec_docs.records.asked import NONE
from lifespec_docs.records.hosts import GROUPS, NO, HostRun

__all__: list[str] = []


def test_what_a_server_without_an_exit_status_logged() -> None:
    """It was ended by force."""
    assert loglines._status({"status": None}, str) == loglines.NONE


def test_a_middleware_that_does_not_pass_the_scope_on() -> None:
    """The application inside was never called."""
    assert middleware._scope({"usual": []}) == ("Not passed on",)


def test_a_host_that_sends_no_shutdown_has_no_state_then() -> None:
    """There is nothing to see."""
    assert GROUPS["state"][3].says(HostRun([["lifespan", "state"]])) == (NONE,)


def test_a_host_whose_state_is_empty_at_shutdown() -> None:
    """The pool is somewhere else."""
    assert GROUPS["state"][3].says(HostRun([["state at shutdown", "no pool"]])) == NO


def test_a_middleware_that_passes_a_copy_of_the_scope_on() -> None:
    """The keys that differ are named."""
    copies = [["scope", "copy", "state", "extra"]], [["scope", "copy"]]
    says = [middleware._scope({"usual": each}) for each in copies]
    assert says == [("A copy, other in `%s`", "state extra"), ("A copy",)]
