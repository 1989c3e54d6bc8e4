"""What tests of the pages share: the built site, a server for it, a browser, and sample pages."""

import functools
import shutil
import threading
from collections.abc import Callable, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from browser import Browser
from samples import ROOT, Sample

PREFIX = "some/prefix"  # a site may stand anywhere


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the site of `make docs` or `make live`, whichever was built last, below a prefix."""
    first_pages = [ROOT / "site" / "index.html", ROOT / "build" / "live-site" / "index.html"]
    built = [page for page in first_pages if page.exists()]
    if not built:
        raise FileNotFoundError("There is no site: run `make docs` before these tests.")
    newest = max(built, key=lambda page: page.stat().st_mtime)
    return Path(shutil.copytree(newest.parent, tmp_path_factory.mktemp("site") / PREFIX))


class Files(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    """Serve the site; return its address."""
    handler = functools.partial(Files, directory=str(site.parents[1]))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/{PREFIX}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Start one browser for all tests."""
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
