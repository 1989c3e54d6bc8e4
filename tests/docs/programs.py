"""The programs of the guides and of the README: each block of Python that defines `app`.

A block of the class `fragment` or `not-run` is none.  A block of the class `file-NAME` is a module
for those below it.  What runs the application at the end, such as `asyncio.run(main())`, is left
out: in these tests a server, or the suite, does that.
"""

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from markdown_it import MarkdownIt

__all__ = ["Program", "guides", "programs"]

# captions of docs/index.md
GUIDES = "Get started", "Applications", "Operation", "Tests", "Servers and middleware"
TREE = re.compile(r"```\{toctree\}\n(.*?)```", re.DOTALL)
ENTRY = re.compile(r"^(?:.*<)?([\w-]+)>?$", re.MULTILINE)
CLASS = re.compile(r"\.([\w-]+)")


class Program(NamedTuple):
    """A program: its file and line, its text, and the modules that it can import."""

    file: str
    line: int
    text: str
    modules: dict[str, str]


def guides(index: str) -> list[str]:
    """Return the names of the guides, by the captions of the index; "index" is one."""
    found = ["index"]
    for tree in TREE.findall(index):
        caption = re.search(r"^:caption: (.*)$", tree, re.MULTILINE)
        if caption and caption[1] in GUIDES:
            found += [name for name in ENTRY.findall(tree) if name != "self"]
    return found


def programs(file: str, text: str) -> Iterator[Program]:
    """Yield the programs of a page."""
    lines, modules = text.splitlines(), dict[str, str]()
    for token in MarkdownIt().parse(text):
        if token.type != "fence" or token.info.strip() != "python":
            continue
        first = token.map[0] if token.map else 0
        above = lines[first - 1] if first else ""
        classes = set(CLASS.findall(above)) if above.startswith("{") else set()
        for name in (each[5:] for each in classes if each.startswith("file-")):
            modules[name.replace("-", "_")] = token.content
        if not classes & {"fragment", "not-run"} and (served := _served(token.content)):
            yield Program(file, first + 1, served, dict(modules))


def _served(text: str) -> str:
    """Return a program without what runs it, or "" if it defines no `app`."""
    body = ast.parse(text).body
    if not any("app" in _defined(node) for node in body):
        return ""
    return ast.unparse(ast.Module([node for node in body if not _runs(node)], []))


def _defined(node: ast.stmt) -> set[str]:
    match node:
        case ast.FunctionDef(name) | ast.AsyncFunctionDef(name) | ast.ClassDef(name):
            return {name}
        case ast.Assign(targets):
            return {target.id for target in targets if isinstance(target, ast.Name)}
    return set()


def _runs(node: ast.stmt) -> bool:
    """Whether a line runs the program: `asyncio.run(main())`, `uvicorn.run(app)`."""
    match node:
        case ast.Expr(ast.Call(ast.Attribute(ast.Name(), "run"))):
            return True
    return False
