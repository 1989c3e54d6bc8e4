"""Runs uvicorn or hypercorn with the lifespan class of docs/programs in place of its own.

    python tests/matrix/adapted.py uvicorn|hypercorn ARGUMENTS...

The rest of the command is that of the server.
"""

import importlib
import sys
from pathlib import Path

__all__: list[str] = []

PROGRAMS = Path(__file__).parents[2] / "docs" / "programs"


def adapt(server: str) -> None:
    """Replace the class, in this process."""
    sys.path.insert(0, str(PROGRAMS))
    if server == "uvicorn":
        own = importlib.import_module("uvicorn.config").LIFESPAN
        own["auto"] = own["on"] = "uvicorn_lifespan:LifespanOn"
        return
    for loop, adapter in (("asyncio", "hypercorn_lifespan"), ("trio", "hypercorn_trio_lifespan")):
        runner = importlib.import_module(f"hypercorn.{loop}.run")
        runner.Lifespan = importlib.import_module(adapter).Lifespan  # type: ignore[attr-defined]


if __name__ in {"__main__", "__mp_main__"}:  # a worker process imports this file under that name
    adapt(sys.argv[1])
if __name__ == "__main__":
    server, *arguments = sys.argv[1:]
    found = importlib.import_module("uvicorn" if server == "uvicorn" else "hypercorn.__main__")
    sys.exit(found.main(arguments))
