"""Agraffe: a handler for AWS Lambda."""

import contextlib

from agraffe import Agraffe
from agraffe.services import Service
from api_gateway import EVENT
from shop import app

handler = Agraffe.entry_point(app, Service.aws_lambda)
ONE_AT_A_TIME = True  # of an instance of a function


@contextlib.contextmanager
def host():
    """Call the handler as AWS Lambda does."""
    yield lambda: handler(EVENT, None)["statusCode"]
