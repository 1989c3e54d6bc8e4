"""What tests of the pages share: the built site, a server for it, a browser, and sample pages."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import Browser
from published import hosted, site
from samples import Sample


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


@pytest.fixture
def build(tmp_path: Path) -> Iterator[Callable[..., Sample]]:
    """Return what builds pages, which are given as texts by file."""
    built: list[Sample] = []

    def build(pages: dict[str, str], **configuration: Any) -> Sample:
        for name, text in pages.items():
            (tmp_path / name).write_text(text, "utf-8")
        built.append(Sample(tmp_path, **configuration))
        return built[-1]

    yield build
    for each in built:
        each.app.cleanup()
