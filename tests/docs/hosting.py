"""A server for the built site, which stands below a prefix."""

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from published import PREFIX

__all__ = ["hosted"]


class Files(SimpleHTTPRequestHandler):
    """Serves files, and logs nothing."""

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@contextmanager
def hosted(site: Path) -> Iterator[str]:
    """Serve the site; yield its address."""
    root = site.parents[len(Path(PREFIX).parts) - 1]
    handler = functools.partial(Files, directory=str(root))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/{PREFIX}"
        finally:
            server.shutdown()
            thread.join()
