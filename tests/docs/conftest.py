"""What tests of the built site share: the site, a server for it and a browser."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Browser
from hosting import hosted
from lifespec_docs.live.assets import FOLDER
from published import site


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let a test wait until another file's has built the site."""
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.timeout(600))


@pytest.fixture(scope="session", name="site")
def the_site() -> Path:
    """Build the site, once for each state of its files."""
    return site()


@pytest.fixture(scope="session")
def live(site: Path) -> Path:
    """Return the folder that examples in the browser are loaded from."""
    folder = site / FOLDER
    if not folder.exists():
        pytest.skip("The site has no Run buttons. Run `make live`, which needs npm: not run")
    return folder


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
