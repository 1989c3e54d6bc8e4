"""Puts the site where it stands, whole or not at all."""

import filecmp
import shutil
from collections.abc import Sequence
from pathlib import Path

from lifespec_docs import packages, site_root
from lifespec_docs.live import assets
from lifespec_docs.sphinx_run import Build

__all__ = ["publish", "swap"]


def publish(builds: Sequence[Build], work: Path, into: Path) -> None:
    """Put copies of the pages where the site stands; leave it alone where they stand there."""
    templates = builds[0].pages / "_templates" / "root"
    base = site_root.address("Documentation", builds[0].pages.parent)
    doctrees = {build.language: build.doctrees for build in builds}
    root = site_root.files(base, templates, doctrees)
    stands = all(_holds(into / name, text) for name, text in root.items())
    folders = {build.folder: build.html for build in builds}
    if (live := builds[0].work / assets.FOLDER).exists():
        folders[assets.FOLDER] = live
    offered = builds[0].work / packages.FOLDER
    folders[packages.INDEX] = offered / packages.INDEX
    loose = [path for path in offered.iterdir() if path.is_file()]
    _, *others = filecmp.cmpfiles(offered, into, [path.name for path in loose])
    stands = stands and not any(others)
    if stands and all(_same(folder, into / name) for name, folder in folders.items()):
        return
    for name, folder in folders.items():
        shutil.copytree(folder, work / "site" / name)
    for path in loose:
        shutil.copy2(path, work / "site")
    for name, text in root.items():
        (work / "site" / name).write_text(text, encoding="utf-8")
    (work / "site" / ".nojekyll").touch()  # GitHub Pages leaves out what begins with "_" else
    swap(work / "site", into)


def _holds(file: Path, text: str) -> bool:
    return file.exists() and file.read_text(encoding="utf-8") == text


def _same(ours: Path, theirs: Path) -> bool:
    """Whether two folders have the same files, by name, size and time."""
    return theirs.is_dir() and _equal(filecmp.dircmp(ours, theirs, ignore=[], hide=[]))


def _equal(found: filecmp.dircmp[str]) -> bool:
    other = found.left_only or found.right_only or found.diff_files or found.funny_files
    return not other and all(map(_equal, found.subdirs.values()))


def swap(new: Path, site: Path) -> None:
    """Put the new folder where the site stands; the old one stays until the new one is there."""
    old = new.with_name("old")
    if site.exists():
        site.rename(old)
    try:
        new.rename(site)
    except OSError:
        if old.exists():
            old.rename(site)
        raise
