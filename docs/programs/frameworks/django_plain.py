"""Django: it has no hooks for startup and shutdown."""

import django
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
app = get_asgi_application()
