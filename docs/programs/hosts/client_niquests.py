"""niquests, Session: runs the application in a thread of its own."""

import contextlib

import niquests
from shop import app


@contextlib.contextmanager
def host():
    """Use the session as a test does."""
    with niquests.Session(app=app) as session:
        yield lambda: session.get("/").status_code
