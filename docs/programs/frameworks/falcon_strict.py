"""Falcon, with one middleware that closes what it has opened."""

import contextlib

import falcon.asgi
from falcon_middleware import Home
from resources import connection


class Resources:
    async def process_startup(self, scope, event):
        async with contextlib.AsyncExitStack() as stack:
            enter = stack.enter_async_context
            self.database = await enter(connection("database"))
            await enter(connection("cache"))
            await enter(connection("queue"))
            self.opened = stack.pop_all()

    async def process_shutdown(self, scope, event):
        await self.opened.aclose()

    async def process_request(self, req, resp):
        req.context.database = self.database


app = falcon.asgi.App(middleware=[Resources()])
app.add_route("/", Home())
