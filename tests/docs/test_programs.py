"""Every program of a guide passes `lifespec check app --strict`; test_served starts them."""

import ast
import re
import sys
from pathlib import Path

import pytest
from published import ROOT

from lifespec import cli
from lifespec_pages.block import Block
from lifespec_pages.page import blocks

# captions of docs/index.md
GUIDES = "Get started", "Applications", "Operation", "Tests", "Servers and middleware"
TREE = re.compile(r"```\{toctree\}\n(.*?)```", re.DOTALL)
ENTRY = re.compile(r"^(?:.*<)?([\w-]+)>?$", re.MULTILINE)


def guides() -> list[str]:
    """Return the files of the guides, by the captions of the index, and of the README."""
    found = ["index"]
    for tree in TREE.findall((ROOT / "docs/index.md").read_text("utf-8")):
        caption = re.search(r"^:caption: (.*)$", tree, re.MULTILINE)
        if caption and caption[1] in GUIDES:
            found += [name for name in ENTRY.findall(tree) if name != "self"]
    return ["README.md", *(f"docs/{name}.md" for name in found)]


def served(source: str) -> str:
    """Return a program without what runs it, such as `asyncio.run(main())`; "" without `app`."""
    body = [node for node in ast.parse(source).body if not _runs(node)]
    return ast.unparse(ast.Module(body, [])) if any(map(_defines_app, body)) else ""


def _defines_app(node: ast.stmt) -> bool:
    if isinstance(node, ast.Assign):
        return any(isinstance(each, ast.Name) and each.id == "app" for each in node.targets)
    return getattr(node, "name", "") == "app"


def _runs(node: ast.stmt) -> bool:
    match node:
        case ast.Expr(ast.Call(ast.Attribute(ast.Name(), "run"))):
            return True
    return False


PROGRAMS = [
    block
    for file in guides()
    if (ROOT / file).exists()  # an API page is in reStructuredText
    for block in blocks(ROOT / file, file)
    if block.kind in ("program", "process") and block.language == "python"
    if "fragment" not in block.classes and served(block.source)
]
each_program = pytest.mark.parametrize(
    "program", PROGRAMS, ids=lambda block: f"{block.page}:{block.line}"
)


def test_the_guides_and_the_readme_have_programs() -> None:
    names = {Path(program.page).stem for program in PROGRAMS}
    assert names >= {"README", "tutorial", "share-state", "several-workers"}


@pytest.fixture
def target(program: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Write a program and its modules into a folder of their own; return what to serve."""
    name = f"{Path(program.page).stem.replace('-', '_')}_{program.line}"
    for file, text in [*program.files, (f"{name}.py", served(program.source))]:
        (tmp_path / file).write_text(text, encoding="utf-8")
        monkeypatch.delitem(sys.modules, Path(file).stem, raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return f"{name}:app"


@pytest.mark.slow
@each_program
def test_it_passes_the_check(target: str, capfd: pytest.CaptureFixture[str]) -> None:
    status = cli.main(["check", "app", "--strict", "--timeout", "10", target])
    assert status == 0, capfd.readouterr().out
