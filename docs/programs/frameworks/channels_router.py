"""Channels, with ProtocolTypeRouter: a lifespan is a protocol of its own."""

import django
from channels.routing import ProtocolTypeRouter
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.http import HttpResponse
from django.urls import path

settings.configure(
    ALLOWED_HOSTS=["*"], ROOT_URLCONF=__name__, SECRET_KEY="change me"
)
django.setup()


async def home(request):
    return HttpResponse("no database")


urlpatterns = [path("", home)]
app = ProtocolTypeRouter({"http": get_asgi_application()})
