"""https://github.com/simonw/datasette-auth-github/issues/10: middleware takes all for requests."""

from starlette.applications import Starlette


class Login:
    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        if scope["path"] != "/login":
            await self.app(scope, receive, send)


app = Login(Starlette())
