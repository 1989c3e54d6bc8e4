"""Falcon, with middleware that has process_startup and process_shutdown."""

import falcon.asgi
from resources import connect, disconnect


class Database:
    async def process_startup(self, scope, event):
        self.database = await connect("database")

    async def process_shutdown(self, scope, event):
        await disconnect("database")

    async def process_request(self, req, resp):
        req.context.database = self.database


class Cache:
    async def process_startup(self, scope, event):
        await connect("cache")

    async def process_shutdown(self, scope, event):
        await disconnect("cache")


class Queue:
    async def process_startup(self, scope, event):
        await connect("queue")

    async def process_shutdown(self, scope, event):
        await disconnect("queue")


class Home:
    async def on_get(self, req, resp):
        resp.text = req.context.database


app = falcon.asgi.App(middleware=[Database(), Cache(), Queue()])
app.add_route("/", Home())
