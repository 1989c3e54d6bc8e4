"""What an author would want to know although no rule says it: a sentence and a page for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lifespec.conformance.words import mark as _

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["NOTICES", "Notice"]


class Notice(NamedTuple):
    """One of NOTICES, and what its sentence names, or ""."""

    id: str
    detail: str = ""

    def said(self, translate: Callable[[str], str] = str) -> str:
        """Return the sentence."""
        text = translate(NOTICES[self.id].says)
        return text % self.detail if "%s" in text else text


class _Row(NamedTuple):
    says: str
    page: str
    title: str


NOTICES: Mapping[str, _Row] = {
    "task-left": _Row(
        _("A task still ran after it had stopped: %s. Cancel it in the clean-up."),
        "background-tasks.html",
        _("Background tasks and context variables"),
    ),
    "state-rebound": _Row(
        _(
            'It put another object into `scope["state"]`. Requests get a copy of the object that'
            " was there: change that one in place."
        ),
        "share-state.html",
        _("Share state with requests"),
    ),
    "lifespan-not-run": _Row(
        _("The lifespan of %s was not run: the application around it has to run it."),
        "mount-applications.html",
        _("Mount applications"),
    ),
    "ended-by-cancellation": _Row(
        _(
            "It did not return after it had answered lifespan.shutdown: clean-up that is left runs"
            " only if the server cancels the application."
        ),
        "shutdown.html",
        _("Shutdown"),
    ),
}
