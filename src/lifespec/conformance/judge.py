"""What the phrases of cases mean: for each role a subclass of `Judge`, with a method for each."""

from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

from lifespec.conformance.cases import Expectation
from lifespec.conformance.finding import Assessment, How
from lifespec.diagnosis.fact import fact
from lifespec.words import Explained


class NotJudged(Explained):
    """A phrase says nothing about this sequence; `fact` says why."""


def _assessment(how: How, kind: str, /, **parts: Any) -> Assessment:
    return Assessment(how, fact(kind, **parts))


holds, breaks = partial(_assessment, "held"), partial(_assessment, "broken")
leaves_open = partial(_assessment, "unspecified")


def holds_if(held: object, kind: str, /, **parts: Any) -> Assessment:
    """Return an outcome that holds or not, with the same fact."""
    if held:
        return holds(kind, **parts)
    return breaks(kind, **parts)


def skip(kind: str, /, **parts: Any) -> NoReturn:
    """Raise NotJudged, and say why."""
    raise NotJudged(fact(kind, **parts))


class Judge:
    """Judge what was observed in one case.

    The method of a phrase returns whether it holds, and a fact about what was observed.  It raises
    NotJudged if the sequence did not come so far that the phrase says anything: so a report names
    the rule that is broken, and not all rules that follow.
    """

    wanted: Expectation

    def outcome(self, wanted: Expectation) -> Assessment:
        """Return what became of an expectation."""
        self.wanted = wanted
        try:
            return self.phrase(wanted.phrase)
        except NotJudged as reason:
            return Assessment("skip", reason.fact)

    def phrase(self, name: str) -> Assessment:
        """Return what the method of a phrase says."""
        # a test holds the phrases of the cases to the methods, so that none is missing here
        method: Callable[[], Assessment] = getattr(self, name.replace(" ", "_"))
        return method()
