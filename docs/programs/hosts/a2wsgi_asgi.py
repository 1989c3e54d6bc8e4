"""a2wsgi, ASGIMiddleware: an ASGI application behind a WSGI server."""

import contextlib
from io import BytesIO

from a2wsgi import ASGIMiddleware
from shop import app

wsgi = ASGIMiddleware(app)


@contextlib.contextmanager
def host():
    """Call the WSGI application as a server does."""

    def get():
        statuses = []
        environ = {
            "REQUEST_METHOD": "GET",
            "PATH_INFO": "/",
            "QUERY_STRING": "",
            "SERVER_NAME": "shop.example",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "wsgi.url_scheme": "http",
            "wsgi.input": BytesIO(),
        }
        list(wsgi(environ, lambda status, *_: statuses.append(int(status[:3]))))
        return statuses[0]

    yield get
