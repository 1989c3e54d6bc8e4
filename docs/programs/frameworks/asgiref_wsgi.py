"""A WSGI application under ASGI, with asgiref."""

from asgiref.wsgi import WsgiToAsgi


def wsgi(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"no database"]


app = WsgiToAsgi(wsgi)
