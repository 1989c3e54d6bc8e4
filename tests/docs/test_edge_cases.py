"""The programs of the page of edge cases run here once more, to see what happens in the server."""

from typing import Any

import pytest
from lifespec_docs.examples import runner
from published import published

from lifespec.server import TABLE, StateMachine


def test_every_step_of_the_server_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row of server.TABLE is taken by a program of the page; a row without is named."""
    met: set[tuple[str, str]] = set()
    happened = StateMachine._transition

    def noted(self: Any, what: str, *rest: Any) -> bool:
        met.add((self.phase, what))
        return happened(self, what, *rest)

    monkeypatch.setattr(StateMachine, "_transition", noted)
    with runner.Session(published()["en"]["edge-cases"]) as session:
        for number in range(len(session.blocks)):
            session.run(number)
    assert [
        (phase, what) for phase in TABLE for what in TABLE[phase] if (phase, what) not in met
    ] == []
