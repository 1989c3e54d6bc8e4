"""Ravyn without hooks, with an application mounted in it."""

from ravyn import Include, Ravyn
from resources import inner

app = Ravyn(routes=[Include("/inner", app=inner)])
