"""Django, with a manager of django-asgi-lifespan for each resource."""

import contextlib

import django
from django.conf import settings
from django.http import HttpResponse
from django.urls import path
from django_asgi_lifespan.asgi import get_asgi_application
from django_asgi_lifespan.register import register_lifespan_manager
from resources import connection

settings.configure(
    ALLOWED_HOSTS=["*"], ROOT_URLCONF=__name__, SECRET_KEY="change me"
)
django.setup()


@contextlib.asynccontextmanager
async def database():
    async with connection("database") as opened:
        yield {"database": opened}


@contextlib.asynccontextmanager
async def cache():
    async with connection("cache"):
        yield {}


@contextlib.asynccontextmanager
async def queue():
    async with connection("queue"):
        yield {}


async def home(request):
    return HttpResponse(request.scope["state"]["database"])


urlpatterns = [path("", home)]
app = get_asgi_application()
for manager in (database, cache, queue):
    register_lifespan_manager(context_manager=manager)
