"""A folder as `make live` leaves it, with small files in the place of Pyodide's."""

import json
import zipfile
from pathlib import Path

__all__ = ["FILES", "VERSION", "install"]

VERSION = "314.0.7"
FILES = {
    "pyodide.mjs": 10,
    "pyodide.asm.mjs": 1_000_000,
    "pyodide.asm.wasm": 9_000_000,
    "python_stdlib.zip": 2_000_000,
    "README.md": 5,  # which no page needs
}
SCRIPT = """
export const loadPyodide = () => ({
  unpackArchive() {}, runPython() {}, makeMemorySnapshot: () => new Uint8Array(10),
});
"""


# What pip fetches beside: a wheel that nothing in a page imports is left out.
WHEELS = {
    "fastapi": "fastapi/applications.py",
    "pydantic_core": "pydantic_core/core.so",
    "rich": "rich/console.py",
}


def install(root: Path) -> Path:
    """Write the folder into a project and return where Pyodide is."""
    folder = root / "build" / "live"
    runtime = folder / "node_modules" / "pyodide"
    runtime.mkdir(parents=True)
    (folder / "wheels").mkdir()
    for name, file in WHEELS.items():
        with zipfile.ZipFile(folder / "wheels" / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
            wheel.writestr(file, "")
    for name, size in FILES.items():
        (runtime / name).write_bytes(bytes(size))
    (runtime / "pyodide.mjs").write_text(SCRIPT)
    (runtime / "package.json").write_text(json.dumps({"version": VERSION}))
    lock = {"info": {"python": "3.14.2"}, "packages": {"numpy": {}}}
    (runtime / "pyodide-lock.json").write_text(json.dumps(lock))
    (folder / "package-lock.json").write_text("{}")
    (folder / "editor.js").write_text("export class Editor {}")
    (folder / "complete").touch()
    return runtime
