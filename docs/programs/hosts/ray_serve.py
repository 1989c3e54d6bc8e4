"""Ray Serve with the application as its ingress: python ray_serve.py PORT."""

import contextlib
import sys
import time

import ray
from ray import serve
from shop import app


@serve.deployment
@serve.ingress(app)
class Shop:
    """The deployment; its requests go to the application."""


if __name__ == "__main__":
    ray.init(num_cpus=1, include_dashboard=False)
    serve.start(http_options={"host": "127.0.0.1", "port": int(sys.argv[1])})
    serve.run(Shop.bind())
    with contextlib.suppress(KeyboardInterrupt):
        time.sleep(3600)
    serve.shutdown()
    time.sleep(2)  # until the lines of the replicas have come
