"""Write the folder `live` of the site: `python files.py build/live/package site/live`.

It has Python for browsers, as npm has it, our sources with what programs import, and the scripts.
"""

import hashlib
import io
import json
import shutil
import sys
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

__all__ = ["PACKAGES"]

HERE = Path(__file__).parent
SCRIPTS = "live.js", "worker.js", "live.css"
RUNTIME = "pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip"
PACKAGES = (
    *("starlette", "asgi-lifespan", "httpx"),
    *("anyio", "certifi", "h11", "httpcore", "idna", "sniffio", "typing_extensions"),
)


def sources() -> Iterator[tuple[str, bytes]]:
    """Yield name and content of each file that Python imports in a browser."""
    for root, package in ((HERE.parents[3] / "src", "lifespec"), (HERE.parents[1], "lifespec_pages")):
        for path in (root / package).rglob("*"):
            if path.is_file() and path.suffix != ".pyc":
                yield path.relative_to(root).as_posix(), path.read_bytes()
    for name in PACKAGES:
        for file in metadata.files(name) or ():
            if not {"..", "__pycache__"}.intersection(file.parts):
                yield file.as_posix(), file.read_binary()


def main(package: Path, into: Path) -> None:
    """Write the folder anew; what is large is named so that a browser may keep it."""
    shutil.rmtree(into, ignore_errors=True)
    version = json.loads((package / "package.json").read_text(encoding="utf-8"))["version"]
    runtime = into / f"pyodide-{version}"
    runtime.mkdir(parents=True)
    large = [Path(shutil.copy2(package / name, runtime)) for name in RUNTIME]
    for name in SCRIPTS:
        shutil.copy2(HERE / name, into)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(sources()):  # the same sources make the same archive
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    large.append(into / f"sources-{hashlib.sha256(packed.getvalue()).hexdigest()[:12]}.zip")
    large[-1].write_bytes(packed.getvalue())
    size = sum(path.stat().st_size for path in large)
    lock = json.loads((package / "pyodide-lock.json").read_text(encoding="utf-8"))["info"]
    manifest = {"runtime": f"{runtime.name}/", "sources": large[-1].name, "size": size, "lock": lock}
    (into / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
