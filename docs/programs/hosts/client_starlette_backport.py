"""starlette-testclient: Starlette's old client, which uses requests."""

import contextlib

from shop import app
from starlette_testclient import TestClient


@contextlib.contextmanager
def host():
    """Use the client as a test does."""
    with TestClient(app) as client:
        yield lambda: client.get("/").status_code
