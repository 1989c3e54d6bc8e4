"""Mangum with lifespan="on": a handler for AWS Lambda."""

import contextlib

from api_gateway import EVENT
from mangum import Mangum
from shop import app

handler = Mangum(app, lifespan="on")
ONE_AT_A_TIME = True  # of an instance of a function


@contextlib.contextmanager
def host():
    """Call the handler as AWS Lambda does."""
    yield lambda: handler(EVENT, None)["statusCode"]
