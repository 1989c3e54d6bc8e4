"""Where the site is that tests look at, which `make docs` has built, and a server for it."""

import functools
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PREFIX = "some/prefix"  # a site may stand anywhere


def site(into: Path) -> Path:
    """Copy the site of `make docs` below a prefix."""
    built = ROOT / "site"
    if not (built / "zh-cn" / "index.html").exists():
        raise FileNotFoundError("There is no site: run `make docs` before these tests.")
    return Path(shutil.copytree(built, into / PREFIX))


class Files(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Log nothing."""


@contextmanager
def hosted(site: Path) -> Iterator[str]:
    """Serve the site; yield its address."""
    handler = functools.partial(Files, directory=str(site.parents[1]))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/{PREFIX}"
        finally:
            server.shutdown()
            thread.join()
