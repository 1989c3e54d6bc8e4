"""BentoML with the application mounted in its service."""

import bentoml
from shop import app


@bentoml.asgi_app(app, path="/shop")
@bentoml.service
class Shop:
    """The service; its requests below /shop go to the application."""
