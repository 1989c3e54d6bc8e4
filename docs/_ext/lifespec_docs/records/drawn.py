"""What each page draws from its records: code that draws it otherwise has to be looked at.

`docs/drawn.json` has two digests for a page: of what its directives are drawn from, which is their
text and the files that they read, and of the nodes that came of it in English. A build writes the
two down. Where the first is what it was and the second is not, the code has changed what stands on
the page, which nobody else would tell.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

Pages = Mapping[str, list[str]]

__all__ = ["DRAWN", "faults", "note", "setup"]

DRAWN = "drawn.json"  # in docs, and beside the doctrees
DATA = Path(__file__).parent


def note(env: BuildEnvironment, text: object, drawn: Iterable[nodes.Node]) -> None:
    """Note what a directive of this text has drawn on the page that is being read."""
    root = str(Path(env.srcdir).parent)  # a program that is shown has its path
    files = {Path(env.srcdir, name).resolve() for name in env.dependencies[env.docname]}
    files.update(DATA.glob("*.toml"))
    read = [path.read_bytes() for path in sorted(files) if path.suffix in {".json", ".toml"}]
    page = _pages(env).setdefault(env.docname, ["", ""])
    texts = (node.pformat().replace(root, "").encode() for node in drawn)
    page[0] = _digest(page[0].encode(), repr(text).encode(), *read)
    page[1] = _digest(page[1].encode(), *texts)


def faults(before: Pages, now: Pages) -> Iterator[str]:
    """Yield where the same was drawn otherwise."""
    for name, (read, drawn) in before.items():
        if name in now and now[name][0] == read and now[name][1] != drawn:
            yield (
                f"docs/{name}.md: from the same records this page draws something else than before:"
                f" look at it, and if that is right take {name!r} out of docs/{DRAWN}."
            )


def _pages(env: BuildEnvironment) -> dict[str, list[str]]:
    if not hasattr(env, "lifespec_pages_drawn"):
        env.lifespec_pages_drawn = {}  # type: ignore[attr-defined]
    return env.lifespec_pages_drawn  # type: ignore[attr-defined, no-any-return]


def _digest(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:12]


def _forget(_app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    _pages(env).pop(docname, None)


def _write(app: Sphinx, _exception: Exception | None) -> None:
    found = dict(sorted(_pages(app.env).items()))
    Path(app.doctreedir, DRAWN).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Write down what was drawn."""
    app.connect("env-purge-doc", _forget)
    app.connect("build-finished", _write)
