"""What programs of the pages do if something fails, by their syntax.

A task in a task group catches its own exceptions. A retry names the errors that may pass, and
raises from the last one. Clean-up that awaits inside a scope that may be cancelled is shielded.
What does otherwise has a sentence on its page that says so.
"""

import ast
from collections.abc import Iterator
from itertools import chain

from samples import ROOT

from lifespec_pages.page import blocks

PAGES = [*sorted(ROOT.glob("docs/*.md")), *sorted(ROOT.glob("docs/frameworks/*.md"))]
RECIPES = ROOT / "docs/programs/recipes"
SHOWN = sorted({*RECIPES.glob("*.py")} - {*RECIPES.glob("test_*.py")})
WAITS = {"sleep", "sleep_forever", "wait", "create_future"}  # calls that raise nothing of their own
LOGS = {"exception", "error", "warning"}
SCOPES = {"create_task_group", "open_nursery", "CancelScope", "move_on_after", "fail_after"}
SAID = {
    ("background-tasks.md", "inside"): "closes the pool, `inside` fails without a line in the log",
    ("background-tasks.md", "lose_connection"): "It is cancelled if one of its tasks fails",
}
Function = ast.FunctionDef | ast.AsyncFunctionDef


def programs() -> Iterator[tuple[str, ast.Module]]:
    """Yield the page of each program and its syntax; a program in a string of one counts too."""
    for page in PAGES:
        for block in blocks(page, page.name):
            if block.language == "python" and block.kind in {"program", "process"}:
                yield from ((page.name, tree) for tree in trees(block.source))
    for path in SHOWN:
        yield from ((path.name, tree) for tree in trees(path.read_text("utf-8")))


def trees(source: str) -> Iterator[ast.Module]:
    yield (tree := ast.parse(source))
    for each in ast.walk(tree):
        if isinstance(each, ast.Constant) and "async def" in str(each.value):
            yield ast.parse(str(each.value))


def called(node: ast.AST | None) -> str:
    """Return the last name of what is called, or ""."""
    function = node.func if isinstance(node, ast.Call) else None
    return getattr(function, "attr", getattr(function, "id", ""))


def calls(node: ast.AST) -> set[str]:
    return {*map(called, ast.walk(node))} - {""}


def names(node: ast.AST | None) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)} if node else set()


def functions(tree: ast.AST) -> dict[str, Function]:
    return {each.name: each for each in ast.walk(tree) if isinstance(each, Function)}


def in_a_group(tree: ast.AST) -> Iterator[str]:
    """Yield the names of functions that task groups run."""
    for each in ast.walk(tree):
        if not (isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and each.args):
            continue
        if called(each) == "start_soon":
            yield ast.unparse(each.args[0])
        elif called(each) == "create_task" and names(each.func) != {"asyncio"}:
            yield called(each.args[0])


def unguarded(statements: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements from which an exception leaves the function."""
    for each in statements:
        match each:
            case ast.Try(handlers=[*_, ast.ExceptHandler(type=None | ast.Name("Exception"))]):
                pass
            case ast.While() | ast.For() | ast.With() | ast.AsyncWith() | ast.If() | ast.Try():
                yield from unguarded([*each.body, *getattr(each, "orelse", ())])
            case ast.Expr(ast.Await(call)) if called(call) in WAITS:
                pass
            case _:
                yield each


def swallows(loop: ast.While | ast.For) -> Iterator[ast.ExceptHandler | None]:
    """Yield the handlers of a retry that do not raise, and None for a `suppress`."""
    for each in ast.walk(loop):
        if isinstance(each, ast.ExceptHandler):
            raised = [at for at in ast.walk(each) if isinstance(at, ast.Raise)]
            if not all(at.exc is None or each.name in names(at.cause) for at in raised) or (
                not raised and not calls(each) & LOGS
            ):
                yield each
        elif called(each) == "suppress":
            yield None


def loses_the_reason(function: Function) -> bool:
    """Whether a retry forgets an error that it swallows, or takes every error for one to pass."""
    causes = [names(each.cause) for each in ast.walk(function) if isinstance(each, ast.Raise)]
    kept = set(chain(*causes))
    loops = [each for each in ast.walk(function) if isinstance(each, ast.While | ast.For)]
    for handler in chain(*(swallows(each) for each in loops if "sleep" in calls(each))):
        bound = {ast.unparse(each) for each in ast.walk(handler)} if handler else set()
        if handler is None or not kept & bound or names(handler.type) & {"Exception", "OSError"}:
            return True
    return False


def awaits_unshielded(function: Function) -> bool:
    """Whether clean-up inside of a scope awaits without a shield."""
    scopes = [
        each
        for each in ast.walk(function)
        if isinstance(each, ast.With | ast.AsyncWith)
        and any(called(item.context_expr) in SCOPES for item in each.items)
        and "shield" not in ast.unparse(each.items[0])
    ]
    tries = [each for scope in scopes for each in ast.walk(scope) if isinstance(each, ast.Try)]
    cleans = [ast.unparse(each) for at in tries for each in at.finalbody]
    return any("await " in each and "shield" not in each for each in cleans)


def faults(tree: ast.Module) -> Iterator[str]:
    """Yield the functions of a program that break one of the three rules."""
    found = functions(tree)
    for name in in_a_group(tree):
        if name not in found or [*unguarded(found[name].body)]:
            yield name
    for name, function in found.items():
        if loses_the_reason(function) or awaits_unshielded(function):
            yield name


def test_programs_survive_what_fails_or_their_page_says_what_ends() -> None:
    found = {(page, name) for page, tree in programs() for name in faults(tree)}
    assert found == SAID.keys()
    for (page, _), sentence in SAID.items():
        assert sentence in (ROOT / "docs" / page).read_text("utf-8"), sentence
