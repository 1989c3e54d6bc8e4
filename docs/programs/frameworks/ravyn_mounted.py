"""Ravyn, with an application mounted in it."""

from ravyn import Include, Ravyn
from ravyn_lifespan import lifespan
from resources import inner

app = Ravyn(lifespan=lifespan, routes=[Include("/inner", app=inner)])
