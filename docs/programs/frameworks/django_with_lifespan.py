"""Django, with the package django-asgi-lifespan."""

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
async def lifespan():
    async with (
        connection("database") as database,
        connection("cache"),
        connection("queue"),
    ):
        yield {"database": database}


async def home(request):
    return HttpResponse(request.scope["state"]["database"])


urlpatterns = [path("", home)]
app = get_asgi_application()
register_lifespan_manager(context_manager=lifespan)
