"""Runs a server with the lifespan class of docs/programs in place of its own.

    python tests/measure/adapted.py uvicorn|hypercorn|granian|gunicorn ARGUMENTS...

The rest of the command is that of the server.  It runs from a copy of the installed package in
build/adapted, which is changed as the docstrings of the classes say.
"""

import contextlib
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

__all__ = ["adapt"]

ROOT = Path(__file__).parents[2]
PROGRAMS, SERVER = "docs/programs", "src/lifespec/server.py"
FILES: Mapping[str, Mapping[str, str]] = {  # a file of the package, and what it is here
    "uvicorn": {
        "lifespan/server.py": SERVER,
        "lifespan/on.py": f"{PROGRAMS}/uvicorn_lifespan.py",
    },
    "hypercorn": {
        "server.py": SERVER,
        "server_trio.py": "src/lifespec/server_trio.py",
        "asyncio/lifespan.py": f"{PROGRAMS}/hypercorn_lifespan.py",
        "trio/lifespan.py": f"{PROGRAMS}/hypercorn_trio_lifespan.py",
    },
    "granian": {
        "lifespan.py": SERVER,
        "asgi.py": f"{PROGRAMS}/granian_lifespan.py",
    },
    "gunicorn": {
        "asgi/server.py": SERVER,
        "asgi/lifespan.py": f"{PROGRAMS}/gunicorn_lifespan.py",
    },
}


def adapt(server: str, package: Path) -> None:
    """Replace the class in a copy of the package."""
    for name, source in FILES[server].items():
        text = (ROOT / source).read_text("utf-8")
        if name == "asgi.py":  # it has other things besides the class: the later one counts
            text = (package / name).read_text("utf-8") + text
        (package / name).write_text(text, "utf-8")


def copied(server: str) -> Path:
    """Return a folder with a copy of the installed package; make it if there is none yet."""
    found = find_spec(server)
    assert found
    assert found.origin
    package = Path(found.origin).parent
    state = hashlib.sha256(f"{package} {package.stat().st_mtime_ns}".encode())
    for source in FILES[server].values():
        state.update((ROOT / source).read_bytes())
    folder = ROOT / "build" / "adapted" / state.hexdigest()[:16]
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as new:
            shutil.copytree(package, Path(new, "new", server))
            adapt(server, Path(new, "new", server))
            with contextlib.suppress(OSError):  # another process was first
                Path(new, "new").rename(folder)
    return folder


if __name__ == "__main__":
    server, *arguments = sys.argv[1:]
    paths = [str(copied(server)), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    os.execv(sys.executable, [sys.executable, "-m", server, *arguments])  # noqa: S606  its signals are ours
