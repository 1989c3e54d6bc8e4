"""Lilya without hooks, with an application mounted in it."""

from lilya.apps import Lilya
from lilya.routing import Include
from resources import inner

app = Lilya(routes=[Include("/inner", app=inner)])
