"""What tests of the built site share: the site, a server for it and a browser."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Browser
from hosting import hosted
from published import site


@pytest.fixture(scope="session", name="site")
def the_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the built site, below a prefix."""
    return site(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Serve the site below a prefix."""
    with hosted(site) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Start one browser for all of it."""
    with Browser() as started:
        yield started
