"""What tests of the playground share."""

import gc

import pytest


@pytest.fixture(scope="module", autouse=True)
def _frozen() -> None:
    """Leave out of each run's collection what other tests have loaded, which takes long."""
    gc.freeze()
