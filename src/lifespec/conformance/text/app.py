"""The sentences about applications and middleware: one for each kind of fact."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lifespec.conformance.words import mark as _

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lifespec.conformance.report import Report

__all__ = ["NOT_JUDGED", "SENTENCES", "headline"]

SENTENCES: Mapping[str, str] = {}
NOT_JUDGED = ("not-started", "not-stopped")  # reasons of a skip that are a fault


def headline(report: Report) -> str:
    """Return the first line of a report about an application or middleware."""
    if report.unchecked:
        return _("{subject} could not be checked against {title}")
    kept = not any(each.fails() for each in report.findings)
    return _("{subject} keeps {title}") if kept else _("{subject} does not keep {title}")
