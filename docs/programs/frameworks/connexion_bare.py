"""Connexion without hooks, around an application."""

from connexion import ConnexionMiddleware
from resources import inner

app = ConnexionMiddleware(inner)
