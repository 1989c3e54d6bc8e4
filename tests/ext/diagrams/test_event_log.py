"""The event log below an example."""

import pytest

from lifespec.testing.trace import Entry
from lifespec_docs.diagrams.event_log import event_log

__all__: list[str] = []


@pytest.mark.parametrize("folder", ["/home/ann/.venv/lib/python3.13/site-packages", "/opt/my shop"])
def test_a_traceback_does_not_name_the_machine_that_built_the_page(folder: str) -> None:
    """Of each file, its folder is enough."""
    told = f'File "{folder}/starlette/routing.py", line 661, in lifespan'
    shown = event_log([[Entry(0.0, "sent", "lifespan.shutdown.failed", told)]], str)
    assert "&quot;starlette/routing.py&quot;" in shown
    assert folder not in shown
