"""The programs of the page of edge cases run here once more, to see what happens in the server."""

from typing import Any

import pytest
from published import ROOT

from lifespec.server import TABLE, Lifespan
from lifespec_pages.page import blocks
from lifespec_pages.runner import run
from lifespec_pages.sandbox import Namespace


def test_every_step_of_the_server_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row of server.TABLE is taken by a program of the page; a row without is named."""
    met: set[tuple[str, str]] = set()
    happened = Lifespan._on

    def noted(self: Any, what: str, *rest: Any, **more: Any) -> bool:
        met.add((self.phase, what))
        return happened(self, what, *rest, **more)

    monkeypatch.setattr(Lifespan, "_on", noted)
    namespace = Namespace()
    for block in blocks(ROOT / "docs" / "edge-cases.md", "docs/edge-cases.md"):
        run(block, namespace)
    namespace.close()
    rows = {(phase, what) for phase in TABLE for what in TABLE[phase]}
    exits = {(phase, "exited") for phase in TABLE}  # one case: tests/limits has each phase
    assert rows - exits <= met
    assert exits & met
