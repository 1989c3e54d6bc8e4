"""A worker of gunicorn that runs uvicorn with `--lifespan on`."""

from uvicorn_worker import UvicornWorker


class StrictWorker(UvicornWorker):
    """Give it to gunicorn: --worker-class strict_worker.StrictWorker."""

    CONFIG_KWARGS = {**UvicornWorker.CONFIG_KWARGS, "lifespan": "on"}
