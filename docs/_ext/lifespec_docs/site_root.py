"""Writes what of the site belongs to no language: first page, 404, sitemap, `llms.txt`, packages.

python -m lifespec_docs.site_root SITE DOCTREES
"""

import json
import os
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import urlsplit
from xml.sax.saxutils import quoteattr

from lifespec_docs import packages
from lifespec_docs.theme.metadata import PAGES, POLICY
from lifespec_docs.theme.navigation import LANGUAGES
from lifespec_docs.theme.plain_text import FILE

__all__ = ["address", "files", "main"]

ROOT = Path(__file__).resolve().parents[3]
SITEMAPS = "http://www.sitemaps.org/schemas/sitemap/0.9"
XHTML = "http://www.w3.org/1999/xhtml"
ABOUT = "The reference for lifespan, the protocol by which ASGI servers start and stop applications"
NAMES = {  # the entry of [project.urls], and the variable that takes its place
    "Documentation": "LIFESPEC_BASE_URL",
    "Repository": "LIFESPEC_REPOSITORY",
    "Issues": "LIFESPEC_ISSUES",
}


def address(name: str, root: Path) -> str:
    """Return an address of `[project.urls]`, or what the environment has in its place, or ""."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return os.environ.get(NAMES[name]) or str(project.get("urls", {}).get(name, ""))


def files(base: str, templates: Path, doctrees: Mapping[str, Path]) -> dict[str, str]:
    """Return the files by name, for a site that stands at this address, "" if it is not known.

    `doctrees` has the folder of each language's doctrees.
    """
    base = f"{base.rstrip('/')}/" if base else ""
    known = {"base": base, "path": urlsplit(base).path or "/", "policy": POLICY}
    found = {
        path.name: Template(path.read_text(encoding="utf-8")).substitute(known)
        if path.suffix == ".html"
        else path.read_text(encoding="utf-8")
        for path in sorted(templates.iterdir())
    }
    pages = {
        language: json.loads((folder / PAGES).read_text(encoding="utf-8"))
        for language, folder in doctrees.items()
    }
    found["llms.txt"] = "".join(f"{line}\n" for line in _llms(base, pages))
    if base:
        found["sitemap.xml"] = "".join(f"{line}\n" for line in _sitemap(base, pages))
    return found


def _llms(base: str, told: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of llms.txt: each page with a link and its description."""
    yield "# lifespec"
    yield ""
    yield f"> {ABOUT}. In English and in Chinese."
    for language, pages in told.items():
        folder, _, name = LANGUAGES[language]
        for section in pages["sections"]:
            yield ""
            yield f"## {name}: {section['caption']}" if section["caption"] else f"## {name}"
            yield ""
            if not section["caption"]:
                yield f"- [{FILE}]({base}{folder}/{FILE}): {pages['specification']}"
            for page in section["pages"]:
                link = f"[{page['title']}]({base}{folder}/{page['name']}.html)"
                yield f"- {link}: {page['description']}"


def _sitemap(base: str, told: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the sitemap: each page, and the same page in each language."""
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield f'<urlset xmlns="{SITEMAPS}" xmlns:xhtml="{XHTML}">'
    for language, pages in told.items():
        names = [page["name"] for section in pages["sections"] for page in section["pages"]]
        for name in names:
            yield f"<url><loc>{base}{LANGUAGES[language][0]}/{name}.html</loc>"
            for other in told:
                folder, tag, _ = LANGUAGES[other]
                href = quoteattr(f"{base}{folder}/{name}.html")
                yield f'<xhtml:link rel="alternate" hreflang="{tag}" href={href}/>'
            yield "</url>"
    yield "</urlset>"


def main(site: Path, doctrees: Path) -> None:
    """Write the files beside the pages of both languages."""
    templates = ROOT / "docs" / "_templates" / "root"
    folders = {language: doctrees / folder for language, (folder, _, _) in LANGUAGES.items()}
    for name, text in files(address("Documentation", ROOT), templates, folders).items():
        (site / name).write_text(text, encoding="utf-8")
    (site / ".nojekyll").touch()  # GitHub Pages would leave out what begins with "_"
    with tempfile.TemporaryDirectory() as folder:
        packages.assemble(ROOT, Path(folder, packages.FOLDER))
        shutil.copytree(Path(folder, packages.FOLDER), site, dirs_exist_ok=True)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
