"""Write the folder `live` of the site: `python files.py build/live/package site/live`.

It has Python for browsers, as npm has it, our sources with what programs import, and the scripts.
"""

import io
import json
import shutil
import sys
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).parent
RUNTIME = "pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip"

PACKAGES = (
    "starlette",
    "asgi-lifespan",
    "httpx",
    # what these need
    "anyio",
    "certifi",
    "h11",
    "httpcore",
    "idna",
    "sniffio",
    "typing_extensions",
)


def sources() -> Iterator[tuple[str, bytes]]:
    """Yield name and content of each file that Python imports in a browser."""
    for folder in (HERE.parents[3] / "src/lifespec", HERE.parents[1] / "lifespec_pages"):
        for path in folder.rglob("*"):
            if path.is_file() and path.suffix != ".pyc":
                yield path.relative_to(folder.parent).as_posix(), path.read_bytes()
    for name in PACKAGES:
        for file in metadata.files(name) or ():
            if ".." not in file.parts and "__pycache__" not in file.parts:
                yield file.as_posix(), file.read_binary()


def main(package: Path, into: Path) -> None:
    """Write the folder anew."""
    shutil.rmtree(into, ignore_errors=True)
    about = json.loads((package / "package.json").read_text("utf-8"))
    lock = json.loads((package / "pyodide-lock.json").read_text("utf-8"))
    runtime = into / f"pyodide-{about['version']}"
    runtime.mkdir(parents=True)
    for name in RUNTIME:
        shutil.copy2(package / name, runtime)
    for pattern in ("*.js", "*.css"):
        for path in HERE.glob(pattern):
            shutil.copy2(path, into)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(sources()):  # the same sources make the same archive
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    (into / "sources.zip").write_bytes(packed.getvalue())
    size = sum(path.stat().st_size for path in into.rglob("*"))
    manifest = {"version": about["version"], "size": size, "info": lock["info"]}
    (into / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
