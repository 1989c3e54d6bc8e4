"""What a site offers for installation: packages, an index of them, files to copy, checksums."""

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Iterable
from html import escape
from pathlib import Path

from lifespec.cli import COPY_ME
from lifespec_docs.theme.metadata import POLICY
from lifespec_pages.sandbox import plain

__all__ = ["CHECKSUMS", "FOLDER", "INDEX", "assemble"]

FOLDER = "packages"  # beside the pages of the last build; its files stand at the site's top
INDEX = "simple"
CHECKSUMS = "SHA256SUMS"
PROJECT = "lifespec"


def assemble(root: Path, into: Path) -> None:
    """Write the folder anew."""
    shutil.rmtree(into, ignore_errors=True)
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(into)]
    subprocess.run(command, check=True, capture_output=True, cwd=root, env=plain())
    packages = {path.name: _digest(path) for path in sorted(into.iterdir())}
    for name in COPY_ME:
        shutil.copy(root / "src" / PROJECT / f"{name}.py", into)
    files = [path for path in sorted(into.iterdir()) if path.is_file()]
    sums = "".join(f"{_digest(path)}  {path.name}\n" for path in files)
    (into / CHECKSUMS).write_text(sums, encoding="utf-8")
    (into / INDEX / PROJECT).mkdir(parents=True)
    links = {f"../../{name}#sha256={digest}": name for name, digest in packages.items()}
    projects = _page(PROJECT, {f"{PROJECT}/": PROJECT}.items())
    (into / INDEX / "index.html").write_text(projects, encoding="utf-8")
    (into / INDEX / PROJECT / "index.html").write_text(_page(PROJECT, links.items()), "utf-8")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _page(title: str, links: Iterable[tuple[str, str]]) -> str:
    """Return a page of the index, as the simple repository API has it."""
    return "\n".join([
        '<!DOCTYPE html>\n<html lang="en">\n<head>',
        f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">',
        '<meta name="pypi:repository-version" content="1.0">',
        '<meta name="viewport" content="width=device-width">',
        f"<title>{title}</title>\n</head>\n<body>\n<h1>{title}</h1>",
        *(f'<a href="{escape(link)}">{name}</a><br>' for link, name in links),
        "</body>\n</html>\n",
    ])  # fmt: skip
