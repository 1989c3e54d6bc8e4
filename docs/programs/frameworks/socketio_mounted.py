"""python-socketio, in front of an application."""

import socketio
from resources import inner
from socketio_on_startup import close_resources, open_resources

app = socketio.ASGIApp(
    socketio.AsyncServer(async_mode="asgi"),
    other_asgi_app=inner,
    on_startup=open_resources,
    on_shutdown=close_resources,
)
