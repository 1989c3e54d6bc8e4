"""Lilya, with an application mounted in it."""

from lilya.apps import Lilya
from lilya.routing import Include
from lilya_lifespan import lifespan
from resources import inner

app = Lilya(lifespan=lifespan, routes=[Include("/inner", app=inner)])
