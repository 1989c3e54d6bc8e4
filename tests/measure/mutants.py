"""Changes the files to copy in places drawn at random, and runs the pages after each change.

python tests/measure/mutants.py [NUMBER [SEED]]

The programs and checks of all pages run until the first one fails. A change that none of them
notices is printed.
"""

import ast
import difflib
import os
import random
import shutil
import subprocess
import sys
import tempfile
from copy import copy
from pathlib import Path
from typing import Any, cast

ROOT = Path(__file__).resolve().parents[2]
FILES = "server.py", "application.py", "validate.py"
LIMIT = 1200  # seconds of one change
SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
}
REMOVED = ast.Assign, ast.AugAssign, ast.Expr, ast.Raise, ast.Return, ast.Delete
TYPES = "annotation", "returns"  # fields that change nothing


class Mutator(ast.NodeTransformer):
    """Changes a tree in one place, and counts the places where it could."""

    def __init__(self, place: int = -1) -> None:
        self.place, self.places = place, 0

    def visit(self, node: ast.AST) -> ast.AST:
        """Change a node, if this is the place, or what is inside of it."""
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return node  # a docstring
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return node
        if new := changed(node):
            self.places += 1
            if self.places - 1 == self.place:
                return ast.copy_location(new, node)
        types = {name: getattr(node, name) for name in TYPES if getattr(node, name, None)}
        for name in types:
            setattr(node, name, None)
        self.generic_visit(node)
        for name, value in types.items():
            setattr(node, name, value)
        return node


def changed(node: Any) -> ast.AST | None:
    """Return another node that could stand in the place of one, or None."""
    new = copy(node)
    match node:
        case ast.Constant(bool(value)):
            new.value = not value
        case ast.Constant(int(value)) | ast.Constant(float(value)):
            new.value = value + 1
        case ast.Constant(str(value)) if value.isidentifier():
            new.value = f"{value}_"
        case ast.UnaryOp(ast.Not(), operand):
            new = operand
        case ast.If(test) | ast.While(test) | ast.IfExp(test):
            new.test = ast.UnaryOp(ast.Not(), test)
        case ast.Compare(_, [op]) if type(op) in SWAPPED:
            new.ops = [SWAPPED[type(op)]()]
        case ast.BoolOp(op) | ast.BinOp(_, op) if type(op) in SWAPPED:
            new.op = SWAPPED[type(op)]()
        case _:
            return ast.Pass() if isinstance(node, REMOVED) else None
    return cast("ast.AST", new)


def mutant(text: str, place: int) -> str:
    """Return a source with one change."""
    tree = Mutator(place).visit(ast.parse(text))
    return ast.unparse(ast.fix_missing_locations(tree))


def places(text: str) -> int:
    """Return in how many places a source can be changed."""
    mutator = Mutator()
    mutator.visit(ast.parse(text))
    return mutator.places


def noticed(src: Path) -> bool:
    """Return whether a program or check of a page fails with the package in this folder."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "auto", "-p", "no:cacheprovider"]
    environment = os.environ | {"PYTHONPATH": str(src)}
    try:
        done = subprocess.run(
            [*command, "docs"], cwd=ROOT, env=environment, capture_output=True, timeout=LIMIT,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0


def main(number: int = 60, seed: int = 1) -> None:
    """Try so many changes; print those that no page notices, and how many it did."""
    with tempfile.TemporaryDirectory() as folder:
        src = Path(folder, "src")
        shutil.copytree(ROOT / "src", src)
        if noticed(src):
            sys.exit("The pages fail without any change.")
        texts = {name: (src / "lifespec" / name).read_text("utf-8") for name in FILES}
        plain = {name: ast.unparse(ast.parse(text)) for name, text in texts.items()}
        every = [(name, place) for name, text in texts.items() for place in range(places(text))]
        found = 0
        for name, place in random.Random(seed).sample(every, number):  # noqa: S311  no secret
            text = mutant(texts[name], place)
            (src / "lifespec" / name).write_text(text, "utf-8")
            if noticed(src):
                found += 1
            else:
                lines = difflib.unified_diff(
                    plain[name].splitlines(), text.splitlines(), name, name, n=1, lineterm=""
                )
                print("\n".join(lines), flush=True)
            (src / "lifespec" / name).write_text(texts[name], "utf-8")
        print(f"{found} of {number} changes, drawn from {len(every)}, were noticed.")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
