"""A WSGI application under ASGI, with a2wsgi."""

from a2wsgi import WSGIMiddleware


def wsgi(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"no database"]


app = WSGIMiddleware(wsgi)
