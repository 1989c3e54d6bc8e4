"""The folder of the site that a browser loads Python from."""

import gzip
import hashlib
import json
import shutil
import zipfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from published import ROOT

from lifespec_docs.live import assets
from sample_runtime import VERSION, install


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a project with our sources and a runtime."""
    root = tmp_path / "project"
    (root / "docs").mkdir(parents=True)
    (root / "src").symlink_to(ROOT / "src")
    (root / "docs" / "_ext").symlink_to(ROOT / "docs" / "_ext")
    install(root)
    return root


def manifest(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
    return found


def test_a_runtime_is_there_when_its_installation_is_complete(project: Path) -> None:
    """An interrupted one counts for nothing."""
    found = assets.runtime(project)
    assert found == project / "build" / "live" / "node_modules" / "pyodide"
    assert assets.megabytes(found) == 19
    (project / "build" / "live" / "complete").unlink()
    assert assets.runtime(project) is None


def test_what_a_browser_loads_is_listed_with_its_size(project: Path, tmp_path: Path) -> None:
    """It is there, under a name that changes with the content, and nothing else is."""
    live = tmp_path / "live"
    assets.assemble(project, live)
    about = manifest(live)
    folder = f"pyodide-{VERSION}"
    sources = str(about["sources"])
    packages, fetched, prints = (str(each["name"]) for each in about["packages"])

    def file(name: str) -> dict[str, object]:
        content = (live / name).read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        return {"name": name, "size": len(content), "sha256": digest}

    assert about["runtime"] == f"{folder}/"
    wasm, stdlib = f"{folder}/pyodide.asm.wasm", f"{folder}/python_stdlib.zip"
    memory = [file(str(about["memory"]))] if "memory" in about else []
    assert about["needed"] == [file(wasm), file(stdlib), file(sources), *memory]
    beside, native, terminal = about["packages"]
    assert beside == file(packages) | {"modules": beside["modules"]}
    assert native == file(fetched) | {"modules": ["fastapi", "pydantic"]}
    assert terminal == file(prints) | {"modules": ["rich"]}
    assert {"starlette", "asgi_lifespan", *native["modules"]} < {*beside["modules"]}
    assert about["lock"] == {"info": {"python": "3.14.2"}, "packages": {}}
    assert sorted(path.name for path in (live / folder).iterdir()) == [
        *("pyodide.asm.mjs", "pyodide.asm.wasm", "pyodide.mjs", "python_stdlib.zip")
    ]
    assert {path.name for path in live.iterdir()} == {
        *(folder, "manifest.json", sources, packages, fetched, prints),
        *(*assets.SCRIPTS, assets.EDITOR, *(str(each["name"]) for each in memory)),
    }


def test_the_zips_hold_what_examples_import(project: Path, tmp_path: Path) -> None:
    """The package whole, the modules of ours that run in a page, and the packages beside."""
    live = tmp_path / "live"
    assets.assemble(project, live)
    about = manifest(live)
    packages, fetched, prints = (each["name"] for each in about["packages"])
    files = {
        "sources": about["sources"],
        "packages": packages,
        "fetched": fetched,
        "prints": prints,
    }
    names = {key: set(zipfile.ZipFile(live / file).namelist()) for key, file in files.items()}
    assert {
        "lifespec/__init__.py",
        "lifespec/conformance/data/rules.toml",
        "lifespec_docs/live/bridge.py",
        "lifespec_docs/examples/runner.py",
    } <= names["sources"]
    assert f"lifespec-{version('lifespec')}.dist-info/METADATA" in names["sources"]
    assert "lifespec_docs/live/pages.py" not in names["sources"]  # that is the build's
    assert {"starlette/applications.py", "httpx/_client.py"} <= names["packages"]
    assert "rich/console.py" in names["prints"] - names["packages"]
    assert names["fetched"] == {"fastapi/applications.py", "pydantic_core/core.so"}
    for found in names.values():
        assert not [name for name in found if ".." in name or name.endswith(".pyc")]


def test_the_same_sources_make_the_same_files(project: Path, tmp_path: Path) -> None:
    """A browser keeps them, whoever has built the site."""
    first, second = tmp_path / "first", tmp_path / "second"
    for live in (first, second):
        assets.assemble(project, live)
    assert manifest(first) == manifest(second)


@pytest.mark.needs("node")
def test_the_memory_is_made_once_for_the_same_sources(project: Path, tmp_path: Path) -> None:
    """It is packed, and what another build has left of other sources is removed."""
    live, kept = tmp_path / "live", project / "build" / "live"
    (kept / "other.memory").touch()
    assets.assemble(project, live)
    (made,) = kept.glob("*.memory")
    assert manifest(live)["memory"] == made.name == f"{Path(manifest(live)['sources']).stem}.memory"
    assert gzip.decompress((live / made.name).read_bytes()) == bytes(10)
    made.write_bytes(b"kept")
    assets.assemble(project, live)
    assert (live / made.name).read_bytes() == b"kept"


def test_without_node_a_browser_starts_python_itself(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The manifest names no memory."""
    monkeypatch.setenv("PATH", "")
    assets.assemble(project, tmp_path / "live")
    assert "memory" not in manifest(tmp_path / "live")


def test_a_runtime_without_wheels_has_no_fastapi(project: Path, tmp_path: Path) -> None:
    """The rest is as with them."""
    shutil.rmtree(project / "build" / "live" / "wheels")
    live = tmp_path / "live"
    assets.assemble(project, live)
    _, fetched, _ = manifest(live)["packages"]
    assert zipfile.ZipFile(live / fetched["name"]).namelist() == []


def test_without_a_runtime_there_is_no_folder(tmp_path: Path) -> None:
    """One that an earlier build has left is removed."""
    live = tmp_path / "live"
    live.mkdir()
    assets.assemble(tmp_path, live)
    assert not live.exists()
