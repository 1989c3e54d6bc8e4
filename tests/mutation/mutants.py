"""The mutants of a file: all that mutmut changes, and what it leaves alone, tables above all."""

import ast
import difflib
import itertools
from collections.abc import Iterator
from typing import NamedTuple

import libcst as cst
from libcst.metadata import MetadataWrapper
from mutmut.mutation.file_mutation import MutationVisitor, deep_replace
from mutmut.mutation.mutators import mutation_operators
from mutmut.mutation.pragma_handling import IgnoredCode

__all__ = ["Mutant", "mutants"]

# A word of one of these becomes the next word of it: another one that is possible there.
VOCABULARIES = (
    ("waiting", "running", "stopping", "answered", "cancelling", "ended"),
    ("complete", "failed", "unsupported", "crashed", "returned", "timed_out", "cancelled"),
    (
        *("called", "starting", "early", "running", "failing", "stopping", "refused", "stopped"),
        "gone",
    ),
    ("server", "application"),
)
LEVELS = {"ERROR": "WARNING", "WARNING": "INFO", "INFO": "DEBUG", "DEBUG": "INFO"}
STATES, STEPS = VOCABULARIES[2], {"Step", "_open"}
RULE_IDS = ("answers-in-order", "startup-answered-once")
ROWS = 5  # a dict of so many entries is a table, which could lack one


class Mutant(NamedTuple):
    """A file with one change: where, the lines before and after, and the whole text."""

    where: str
    line: int
    old: str
    new: str
    source: str


def after(word: str, words: tuple[str, ...] | str) -> str:
    """Return the next word."""
    return words[(words.index(word) + 1) % len(words)]


def other_word(node: cst.SimpleString) -> Iterator[cst.SimpleString]:
    """Say another word that could stand there."""
    for words in VOCABULARIES:
        if node.raw_value in words:
            yield node.with_changes(value=f'"{after(node.raw_value, words)}"')


def other_level(node: cst.Name) -> Iterator[cst.Name]:
    """Log at another level."""
    if node.value in LEVELS:
        yield cst.Name(LEVELS[node.value])


def other_outcome(node: cst.Tuple) -> Iterator[cst.Tuple]:
    """Decide in a row of the server's table what it leaves open, or leave it open."""
    if len(node.elements) == 4 and isinstance(node.elements[2].value, (cst.Name, cst.Integer)):
        first, second, *rest = node.elements
        decided = isinstance(second.value, cst.SimpleString)
        value = cst.Name("None") if decided else cst.SimpleString('"returned"')
        yield node.with_changes(elements=[first, second.with_changes(value=value), *rest])


def without_a_row(node: cst.Dict) -> Iterator[cst.Dict]:
    """Leave out one entry of a table."""
    for number, element in enumerate(node.elements if len(node.elements) >= ROWS else ()):
        if isinstance(element, cst.DictElement):
            rest = [one for other, one in enumerate(node.elements) if other != number]
            yield node.with_changes(elements=rest)


def other_step(node: cst.Call) -> Iterator[cst.Call]:
    """Change one step of the validator's table: where it leads, what breaks it, or its rule."""
    if not isinstance(node.func, cst.Name) or node.func.value not in STEPS or not node.args:
        return
    first, *rest = node.args
    if isinstance(first.value, cst.SimpleString) and first.value.raw_value in STATES:
        to = after(first.value.raw_value, STATES)
        yield node.with_changes(args=[quoted(to), *rest])
        if rest:
            yield node.with_changes(args=[first])
            yield from (node.with_changes(args=[first, quoted(rule_id)]) for rule_id in RULE_IDS)
        others = {"Step", "_open"} - {node.func.value} if rest and not rest[0].keyword else ()
        yield from (node.with_changes(func=cst.Name(each)) for each in others)


def quoted(word: str) -> cst.Arg:
    """Return an argument that is a string."""
    return cst.Arg(cst.SimpleString(f'"{word}"'))


OPERATORS = [
    *mutation_operators,
    (cst.SimpleString, other_word),
    (cst.Call, other_step),
    (cst.Name, other_level),
    (cst.Tuple, other_outcome),
    (cst.Dict, without_a_row),
]


class Visitor(MutationVisitor):
    """Visit the methods with a decorator too, which mutmut itself cannot switch on and off."""

    def _skip_node_and_children(self, node: cst.CSTNode) -> bool:
        if isinstance(node, cst.FunctionDef) and node.decorators:
            return False
        return super()._skip_node_and_children(node)


def named(tree: ast.Module) -> dict[int, tuple[str, ast.stmt]]:
    """Return for each line the function, method or table that it is part of."""
    found: dict[int, tuple[str, ast.stmt]] = {}

    def add(body: list[ast.stmt], above: str) -> None:
        for node in body:
            target = node.targets[0] if isinstance(node, ast.Assign) else node
            name = getattr(target, "name", "") or ast.unparse(getattr(target, "target", target))
            name = f"{above}{name}".splitlines()[0]
            for line in range(node.lineno, (node.end_lineno or 0) + 1):
                found[line] = name, node
            if isinstance(node, ast.ClassDef):
                add(node.body, f"{name}.")

    add(tree.body, "")
    return found


def counts(where: str, node: ast.stmt, old: str, new: str) -> bool:
    """Leave out what no program sees: types, what a module exports, the sentences for readers."""
    if isinstance(node, (ast.Expr, ast.If, ast.Import, ast.ImportFrom)):
        return False
    value = getattr(node, "value", None)
    if isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(value, ast.Subscript):
        return False
    if isinstance(value, ast.Call) and ast.unparse(value.func) == "TypeVar":
        return False
    table = isinstance(node, (ast.Assign, ast.AnnAssign))
    if table and old.lower() == new.lower():  # the same word, in capitals
        return False
    return where != "__all__"


def mutants(text: str, *, tables: bool) -> Iterator[Mutant]:
    """Make all mutants of a file's functions, or of what stands beside them; none twice."""
    wrapper = MetadataWrapper(cst.parse_module(text))
    visitor = Visitor(OPERATORS, IgnoredCode(set(), set(), set()))
    module, seen = wrapper.visit(visitor), {text}
    lines, places = text.splitlines(), named(ast.parse(text))
    for mutation in visitor.mutations:
        if isinstance(mutation.contained_by_top_level_function, cst.FunctionDef) == tables:
            continue
        changed = deep_replace(module, mutation.original_node, mutation.mutated_node)
        source = changed.code if isinstance(changed, cst.Module) else ""
        if source in seen:
            continue
        seen.add(source)
        others = source.splitlines()
        matcher = itertools.zip_longest(lines, others)
        line = next((n for n, (one, two) in enumerate(matcher, 1) if one != two), 1)
        where, node = places.get(line, ("", ast.Pass()))
        diff = list(difflib.unified_diff(lines, others, n=0, lineterm=""))[3:]
        old, new = (" ".join(each[1:].strip() for each in diff if each[0] == sign) for sign in "-+")
        if counts(where, node, old, new):
            yield Mutant(where, line, old, new, source)
