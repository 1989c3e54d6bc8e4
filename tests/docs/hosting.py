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
    """Serves files with these headers, and does not talk about it."""

    def __init__(self, *given: object, headers_: dict[str, str], directory: str) -> None:
        self.headers_ = headers_
        super().__init__(*given, directory=directory)  # type: ignore[arg-type]

    def end_headers(self) -> None:
        """Add the headers to what the server says."""
        for name, value in self.headers_.items():
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def hosted(site: Path, **headers: str) -> Iterator[str]:
    """Serve the site; yield its address. `X_Y="z"` is the header X-Y."""
    root = site.parents[len(Path(PREFIX).parts) - 1]
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    handler = functools.partial(Files, headers_=named, directory=str(root))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/{PREFIX}"
        finally:
            server.shutdown()
            thread.join()
