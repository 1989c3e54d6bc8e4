"""Serves the messages of a broker on a port of 127.0.0.1, so that servers of AMGI can be tried.

python tests/measure/consume.py SERVER MODULE:ATTRIBUTE TOPIC PORT
"""

import importlib
import sys

__all__ = ["main"]


def main(server: str, target: str, topic: str, port: int) -> None:
    """Run one of the servers until a signal comes."""
    module, _, attribute = target.partition(":")
    app = getattr(importlib.import_module(module), attribute)
    run = importlib.import_module(server).run
    if server == "amgi_redis":
        run(app, topic, url=f"redis://127.0.0.1:{port}")
    else:
        run(app, topic, host="127.0.0.1", port=port)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
