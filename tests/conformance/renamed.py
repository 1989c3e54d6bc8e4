"""A program in which each identifier of its author has another name, and its report with the old.

What others look up stays: imports, attributes of library objects, special methods, `app`.
"""

import ast
import re
from typing import Any

LOOKED_UP = {"app", "urlpatterns"}  # a server and Django look for them
# by these methods a check asks an object whether it is open, so they are no spelling of the author
ASKED_WHETHER_OPEN = {"aclose", "closed", "is_closed"}
# in turn one that says nothing, and one with many words that a guess by spelling would fall for
NEW_NAMES = ("kizu{}", "close_scope_timeout{}")
NEW_NAME = re.compile(r"(?:kizu|close_scope_timeout)(\d+)")
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Renamed(ast.NodeTransformer):
    """A program as its author wrote it in `original`, and with other names in `renamed`.

    The number in a new name is the place of the old one in `old_names`.
    """

    def __init__(self, source: str) -> None:
        tree = ast.parse(source)
        self.original = ast.unparse(tree)  # without comments, as `renamed` is
        self.old_names: list[str] = []
        self.new_names: dict[str, str] = {}  # by the old one
        nodes = list(ast.walk(tree))
        kept = LOOKED_UP | _imported(nodes)
        self.variables: set[str] = set()  # and functions, classes and arguments
        self.members: set[str] = set()
        self.callables: set[str] = set()  # what the author has written, with its keywords
        for node in nodes:
            for name in _bound(node):
                if name in kept or name.startswith("__"):
                    continue
                self.variables.add(name)
                self._rename(name)
                if isinstance(node, Function | ast.ClassDef):
                    self.callables.add(name)
        for node in nodes:
            self.members.update(_members(node))
        for name in sorted(self.members):
            self._rename(name)
        self.renamed = ast.unparse(self.visit(tree))

    def _rename(self, name: str) -> None:
        """Give a name its new one, if it has none yet."""
        if name in self.new_names:
            return
        number = len(self.old_names)
        self.new_names[name] = NEW_NAMES[number % len(NEW_NAMES)].format(number)
        self.old_names.append(name)

    def restored(self, text: str) -> str:
        """Return a text with the old names."""
        return NEW_NAME.sub(lambda match: self.old_names[int(match[1])], text)

    def _new_name(self, name: Any) -> Any:
        """Return what a variable is called now; a name may be None, as that of `except` is."""
        if name in self.variables:
            return self.new_names[name]
        return name

    def visit(self, node: ast.AST) -> Any:
        """Rename what a node names."""
        # a keyword may be a library's (see visit_Call), and an alias is what is imported
        if not isinstance(node, ast.keyword | ast.alias):
            for field in ("id", "arg", "name"):
                if hasattr(node, field):
                    setattr(node, field, self._new_name(getattr(node, field)))
        if isinstance(node, ast.Global | ast.Nonlocal):
            node.names = [self._new_name(name) for name in node.names]
        return super().visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Rename a member of the author's classes, or what the author puts into a state."""
        if node.attr in self.members:
            node.attr = self.new_names[node.attr]
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Rename methods as members; variables of a class stay, because libraries look for them.

        `visit` renames both as if they were variables, so their old names are kept meanwhile.
        """
        methods = [(method, method.name) for method in node.body if isinstance(method, Function)]
        targets = [target for statement in node.body for target in _targets(statement)]
        variables = [(target, target.id) for target in targets]
        self.generic_visit(node)
        for method, name in methods:
            method.name = name
            if name in self.members:
                method.name = self.new_names[name]
        for target, name in variables:
            target.id = name
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Rename the keywords of the author's own functions, and the program that `exec` gets."""
        # the name of the function itself is renamed after this
        if isinstance(node.func, ast.Name) and node.func.id in self.callables:
            for keyword in node.keywords:
                keyword.arg = self._new_name(keyword.arg)
        match node:
            case ast.Call(ast.Name("exec"), [ast.Constant(str(text))]):
                node.args = [ast.Constant(ast.unparse(self.visit(ast.parse(text))))]
                return node
        return self.generic_visit(node)


def _imported(nodes: list[ast.AST]) -> set[str]:
    """Return the names that a program has by an import."""
    names = set()
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                names.add(alias.asname or alias.name.partition(".")[0])
    return names


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
            names = [method.name for method in body if isinstance(method, Function)]
        case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
            names = [name]
        case ast.Attribute(value=ast.Attribute(attr="state"), attr=name, ctx=ast.Store()):
            return [name]
        case _:
            return []
    return [name for name in names if name not in ASKED_WHETHER_OPEN and not name.startswith("__")]


def _targets(statement: ast.stmt) -> list[Any]:
    """Return what an assignment assigns to."""
    if isinstance(statement, ast.Assign):
        return statement.targets
    return []
