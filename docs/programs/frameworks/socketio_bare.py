"""python-socketio without hooks, in front of an application."""

import socketio
from resources import inner

app = socketio.ASGIApp(
    socketio.AsyncServer(async_mode="asgi"), other_asgi_app=inner
)
