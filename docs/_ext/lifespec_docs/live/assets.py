"""The folder `live` of the site: Pyodide as `make live` installed it, our sources, and scripts.

Names hold a version or a digest, so that a browser may keep the files; `manifest.json` lists them.
One is Python's memory when our modules have been imported, packed: to start Python and to import
them takes a browser longer than to load that. Without node there is none.
"""

import gzip
import hashlib
import io
import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path, PurePosixPath
from typing import Any

from lifespec_docs.examples.sandbox import WIDTH

__all__ = ["FOLDER", "assemble", "megabytes", "runtime"]

FOLDER = "live"  # of the site, beside those of the languages

HERE = Path(__file__).parent
SCRIPTS = (
    *("address.js", "client.js", "controls.js", "markdown.js", "worker.js"),
    *("run.js", "run.css", "play.js", "play.css"),
)
EDITOR = "editor.js"  # as `make live` has bundled it
IMPORTED = "pyodide.mjs", "pyodide.asm.mjs"
NEEDED = "pyodide.asm.wasm", "python_stdlib.zip"
MEMORY = 6_800_000  # bytes, about: pages say how much they load before it is made
# What examples import beside us, with all that those import.
PACKAGES = (
    *("starlette", "asgi-lifespan", "httpx"),
    *("anyio", "certifi", "h11", "httpcore", "idna", "sniffio", "typing_extensions"),
)
# FastAPI, with what it imports beside those: wheels for Pyodide's platform, from `make live`.
FETCHED = (
    *("fastapi", "pydantic", "pydantic_core"),
    *("annotated_doc", "annotated_types", "opentelemetry_api", "typing_inspection"),
)
NEED_FETCHED = ["fastapi", "pydantic"]  # the modules
PRINTS = ("rich",)  # a report, which the playground shows
UNPACKED = "/lifespec"
BEGIN = f"""
import sys
sys.path[:0] = ["{UNPACKED}", "{UNPACKED}/site-packages"]
from lifespec_docs.live import bridge
bridge.warm()
del bridge
"""
YEAR = (1980, 1, 1, 0, 0, 0)  # the same sources make the same file
USED = (
    "import sys; from lifespec_docs.live import bridge; bridge.warm();"
    "print(*(m.__file__ for m in sys.modules.values() if getattr(m, '__file__', None)), sep='\\n')"
)


def runtime(root: Path) -> Path | None:
    """Return the folder of Pyodide, or None if `make live` has not installed it."""
    installed = root / "build" / "live"
    there = all((installed / name).exists() for name in ("complete", EDITOR))
    return installed / "node_modules" / "pyodide" if there else None


def megabytes(folder: Path) -> int:
    """Return how much a page loads of Pyodide, in whole megabytes."""
    files = sum((folder / name).stat().st_size for name in (*IMPORTED, *NEEDED))
    return round((files + MEMORY) / 1e6)


def assemble(root: Path, into: Path) -> None:
    """Write the folder, or remove it if there is no runtime."""
    shutil.rmtree(into, ignore_errors=True)
    if not (installed := runtime(root)):
        return
    about = json.loads((installed / "package.json").read_text(encoding="utf-8"))
    lock = json.loads((installed / "pyodide-lock.json").read_text(encoding="utf-8"))
    folder = f"pyodide-{about['version']}"
    (into / folder).mkdir(parents=True)
    for name in (*IMPORTED, *NEEDED):
        shutil.copy2(installed / name, into / folder)
    for name in SCRIPTS:
        shutil.copy2(HERE / name, into)
    shutil.copy2(root / "build" / "live" / EDITOR, into)
    sources = _packed(into, "lifespec", _sources(root))
    packages = _packed(into, "packages", _packages(PACKAGES))
    prints = _packed(into, "prints", _packages(PRINTS))
    fetched = _packed(into, "fetched", _fetched(root / "build" / "live" / "wheels"))
    modules = [name.replace("-", "_") for name in PACKAGES]
    needed = [*(f"{folder}/{name}" for name in NEEDED), sources]
    manifest: dict[str, Any] = {
        "runtime": f"{folder}/",
        "needed": [_file(into, name) for name in needed],
        "sources": sources,
        "packages": [  # each with the modules that need it
            _file(into, packages) | {"modules": [*modules, *NEED_FETCHED]},
            _file(into, fetched) | {"modules": NEED_FETCHED},
            _file(into, prints) | {"modules": [*PRINTS]},
        ],
        "path": UNPACKED,
        "begin": BEGIN,
        "lock": {"info": lock["info"], "packages": {}},
        "environment": {"COLUMNS": WIDTH, "PYTHONUTF8": "1"},
    }
    _write(into, manifest)
    if memory := _memory(root, into, sources):
        manifest["needed"].append(_file(into, memory))
        _write(into, manifest | {"memory": memory})


def _write(into: Path, manifest: dict[str, Any]) -> None:
    (into / "manifest.json").write_text(json.dumps(manifest, indent=1), encoding="utf-8")


def _memory(root: Path, into: Path, sources: str) -> str:
    """Write Python's memory, which is kept for the next build of these sources; return its name."""
    name = f"{PurePosixPath(sources).stem}.memory"
    kept = root / "build" / "live" / name
    if not kept.exists():
        if not (node := shutil.which("node")):
            return ""
        for old in kept.parent.glob("*.memory"):
            old.unlink()
        raw = kept.with_suffix(".raw")
        subprocess.run([node, HERE / "memory.mjs", into, raw], check=True)
        kept.write_bytes(gzip.compress(raw.read_bytes(), mtime=0))
        raw.unlink()
    shutil.copy2(kept, into)
    return name


def _file(into: Path, name: str) -> dict[str, object]:
    """Say how large a file is, and its digest: what a browser has kept is compared with it."""
    content = (into / name).read_bytes()
    return {"name": name, "size": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def _sources(root: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the package, whole, and the modules of this documentation that run in a page."""
    package, extension = root / "src", root / "docs" / "_ext"
    command = [sys.executable, "-c", USED]
    environment = {"PYTHONPATH": f"{package}:{extension}", "PYTHONUTF8": "1"}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    used = (Path(line) for line in done.stdout.splitlines())
    for path in package.rglob("*"):
        if path.is_file() and path.suffix != ".pyc":
            yield path.relative_to(package).as_posix(), path.read_bytes()
    version = metadata.version("lifespec")
    about = f"Metadata-Version: 2.1\nName: lifespec\nVersion: {version}\n"
    yield f"lifespec-{version}.dist-info/METADATA", about.encode()
    for path in used:
        if path.is_relative_to(extension):
            yield path.relative_to(extension).as_posix(), path.read_bytes()


def _packages(names: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """Yield the files of packages, as they are installed here."""
    for name in names:
        for file in metadata.files(name) or ():
            path = PurePosixPath(file)
            if not {"..", "__pycache__"}.intersection(path.parts):
                yield path.as_posix(), Path(str(file.locate())).read_bytes()


def _fetched(wheels: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the files of the wheels."""
    for name in FETCHED:
        for wheel in wheels.glob(f"{name}-*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                yield from ((file, archive.read(file)) for file in archive.namelist())


def _packed(into: Path, name: str, files: Iterable[tuple[str, bytes]]) -> str:
    """Write a zip with a digest in its name; return the name."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in sorted(files):
            archive.writestr(zipfile.ZipInfo(path, YEAR), content, zipfile.ZIP_DEFLATED)
    digest = hashlib.sha256(written.getvalue()).hexdigest()[:12]
    file = into / f"{name}-{digest}.zip"
    file.write_bytes(written.getvalue())
    return file.name
