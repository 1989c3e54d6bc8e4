"""Litestar without hooks, with an application mounted in it."""

from litestar import Litestar, asgi
from litestar.types import Receive, Scope, Send
from resources import inner


@asgi("/inner", is_mount=True, copy_scope=True)
async def mounted(scope: Scope, receive: Receive, send: Send) -> None:
    await inner(scope, receive, send)


app = Litestar([mounted])
