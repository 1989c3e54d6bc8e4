"""The packages of the site."""

from pathlib import Path

from published import ROOT

from lifespec_docs import packages


def test_two_builds_give_the_same_bytes(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    second.mkdir()
    (second / "old.whl").touch()
    for folder in (first, second):
        packages.assemble(ROOT, folder)
    assert _contents(first) == _contents(second)
    assert {"server.py", "SHA256SUMS", "simple/index.html"} < _contents(first).keys()


def _contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}
