"""Finds what an author would want to know about a lifespan that was played to an application."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lifespec.conformance.oldreport.notices import Notice

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lifespec.conformance.app.fake_server import AppObservation

__all__ = ["noticed"]


def noticed(seen: AppObservation, not_run: Iterable[str], *, framework: bool) -> Iterator[Notice]:
    """Yield what is to be told.

    `not_run` names the applications in it whose lifespan was not run; `framework` says whether its
    lifespan is that of a framework, which ends as it does.
    """
    if seen.startup != "failed":
        yield from (Notice("lifespan-not-run", name) for name in not_run)
    if seen.startup == "complete" and seen.scope.get("state") is not seen.state:
        yield Notice("state-rebound")
    yield from (Notice("task-left", name) for name in seen.left)
    if seen.shutdown == "complete" and seen.ended == "cancelled" and not framework:
        yield Notice("ended-by-cancellation")
