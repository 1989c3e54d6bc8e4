"""Connexion, around an application."""

from connexion import ConnexionMiddleware
from connexion_lifespan import lifespan
from resources import inner

app = ConnexionMiddleware(inner, lifespan=lifespan)
