"""Django below /admin, beside Starlette, which has the lifespan."""

import contextlib

from django.conf import settings
from django.core.asgi import get_asgi_application
from django.http import HttpResponse
from django.urls import path
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

settings.configure(ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"], SECRET_KEY="example")


async def admin(request):
    prices = request.scope["state"]["prices"]
    return HttpResponse(f"Django: {prices}")


urlpatterns = [path("admin/", admin)]


@contextlib.asynccontextmanager
async def lifespan(app):
    yield {"prices": "3"}


async def home(request):
    return PlainTextResponse(f"Starlette: {request.state.prices}")


routes = [Route("/", home), Mount("/", get_asgi_application())]
app = Starlette(lifespan=lifespan, routes=routes)
