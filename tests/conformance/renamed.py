"""A program in which each identifier of its author has another name, and its report with the old.

What others look up stays: imports, attributes of library objects, special methods, `app`.
"""

import ast
import re
from typing import Any

KEPT = {"app", "urlpatterns"}  # a server and Django look for them
ASKED = {"aclose", "closed", "is_closed"}  # of objects that may be open
NAMES = ("kizu{}", "close_scope_timeout{}")  # one says nothing, the other names many things
_NEW = re.compile(r"(?:kizu|close_scope_timeout)(\d+)")
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Renamed(ast.NodeTransformer):
    """A program with other names: `source`, what it was called before in `old`."""

    def __init__(self, source: str) -> None:
        tree = ast.parse(source)
        self.before = ast.unparse(tree)  # without comments, as `source` is
        self.old: list[str] = []
        self.new: dict[str, str] = {}
        imported = {
            alias.asname or alias.name.partition(".")[0]
            for node in ast.walk(tree)
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
        }
        nodes = [*ast.walk(tree)]
        bound = [name for node in nodes for name in _bound(node) if name not in imported | KEPT]
        self.names = {name for name in bound if not name.startswith("__")}
        self.members = {name for node in nodes for name in _members(node)}
        for name in dict.fromkeys([*bound, *sorted(self.members)]):
            if name in self.names | self.members:
                self._rename(name)
        self.source = ast.unparse(self.visit(tree))

    def _rename(self, name: str) -> None:
        if name not in self.new:
            self.new[name] = NAMES[len(self.old) % 2].format(len(self.old))
            self.old.append(name)

    def restored(self, text: str) -> str:
        """Return a text with the old names."""
        return _NEW.sub(lambda match: self.old[int(match[1])], text)

    def _name(self, name: Any) -> Any:
        return self.new[name] if name in self.names else name

    def visit(self, node: ast.AST) -> Any:
        """Rename what a node names."""
        for field in ("id", "arg", "name"):
            if not isinstance(node, ast.keyword | ast.alias) and hasattr(node, field):
                setattr(node, field, self._name(getattr(node, field)))
        if isinstance(node, ast.Global):
            node.names = [self._name(name) for name in node.names]
        return super().visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Rename a member of the author's classes, or what the author puts into a state."""
        node.attr = self.new[node.attr] if node.attr in self.members else node.attr
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Rename methods; variables of classes are what libraries ask for."""
        kept = {id(target): target.id for each in node.body for target in _targets(each)}
        names = {id(each): each.name for each in node.body if isinstance(each, Function)}
        self.generic_visit(node)
        for each in node.body:
            if isinstance(each, Function):
                name = names[id(each)]
                each.name = self.new[name] if name in self.members else name
            for target in _targets(each):
                target.id = kept[id(target)]
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Rename the keywords of the author's own functions, and what a library's code calls."""
        own = isinstance(node.func, ast.Name) and node.func.id in self.new.values()
        for keyword in node.keywords if own else ():
            if keyword.arg:
                self._rename(keyword.arg)
                keyword.arg = self.new[keyword.arg]
        match node:
            case ast.Call(ast.Name("exec"), [ast.Constant(str(text))]):
                node.args = [ast.Constant(ast.unparse(self.visit(ast.parse(text))))]
                return node
        return self.generic_visit(node)


def _bound(node: ast.AST) -> list[str]:
    """Return the names that a node binds."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()):
            return [name]
        case ast.ExceptHandler(name=str(name)):
            return [name]
    return []


def _members(node: ast.AST) -> list[str]:
    """Return the methods that a class of its author has, and the attributes that are its own."""
    match node:
        case ast.ClassDef(bases=[], body=body):
            names = [each.name for each in body if isinstance(each, Function)]
            return [name for name in names if not name.startswith("__") and name not in ASKED]
        case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
            return [] if name in ASKED else [name]
        case ast.Attribute(value=ast.Attribute(attr="state"), attr=name, ctx=ast.Store()):
            return [name]
    return []


def _targets(node: ast.AST) -> list[Any]:
    return node.targets if isinstance(node, ast.Assign) else []
