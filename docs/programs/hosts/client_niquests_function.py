"""niquests, Session, with an application that is a function and not an object."""

import contextlib

import niquests
import shop


async def app(scope, receive, send):
    """Pass everything on."""
    await shop.app(scope, receive, send)


@contextlib.contextmanager
def host():
    """Use the session as a test does."""
    with niquests.Session(app=app) as session:
        yield lambda: session.get("/").status_code
