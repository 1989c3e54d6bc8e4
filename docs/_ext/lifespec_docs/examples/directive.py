"""Runs the examples of each page while it is read, and shows what was said.

Every `python`, `pycon` and `perl` block is an example, and a `sh` block that is real. A line of
attributes above it says more:

    {.not-run}                      shown only
    {.real .needs-redis-server}     a process of its own, in real time; needs a program
    {.real .needs-perl .requests-2}     an application of PAGI, and how many requests it is given
    {.real .beside}                 the files that the page shows lie beside it
    {.fragment}                     no whole application: tests do not serve and check it
    {.file-shop}                    real blocks after it find it as shop.py (shop.toml, …)
    {.real .pytest}                 run by pytest; the output is errors and summary, without times
    {.real .uvicorn}                `app` is started by uvicorn and stopped; the output is its log
    {.lifespan}                     `app` is served by `Lifespan`; the output has one request, too

A block in another language, however it is spelled, says {.not-run}; other shell commands and
settings need not, which are not run.

What a block prints stands in an `{output}` block directly below it and is compared exactly.

A `{check}` block proves the statement or the list directly above it: a few lines of Python that
raise if it is false, with the names of the page's programs and those of `prelude`. They run on
asyncio and on trio; `{check} asyncio` is for what holds there alone. A page shows a ✓ that unfolds
them.
"""

import json
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from pathlib import Path
from typing import TypeGuard

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from lifespec_docs.diagrams.event_log import event_log, is_usual
from lifespec_docs.examples import download, prelude, runner
from lifespec_docs.examples.results import Result, Results, uses_more
from lifespec_docs.i18n.messages import note_cases, words

__all__ = [
    "Examples",
    "Output",
    "blocks",
    "is_check",
    "is_command",
    "is_example",
    "is_folded",
    "pages",
    "programs",
    "runs",
    "setup",
]

logger = logging.getLogger(__name__)

LANGUAGES = ("python", "pycon", "perl")
SUFFIXES = {"python": "py", "perl": "pl"}  # of other languages: the language
NEVER_RUN = ("json", "sh", "toml", "yaml")
SAY_SO = {"drawn", "not-run", "output", "shown"}  # classes of blocks that are not run
PRINTING = ("python", "perl", "sh")
JOINED = ("python", "virtual", "python")


@dataclass
class Examples:
    """The examples of a page, how many of them ran, and where those stand that did not.

    Of those that ran `reused` did so for an earlier build, or for the other language; `seconds` is
    how long it took to have the results.
    """

    blocks: list[runner.Example]
    run: int = 0
    reused: int = 0
    seconds: float = 0.0
    not_run: list[str] = field(default_factory=list)


class Output(SphinxDirective):
    """What the block above prints, exactly."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return a literal block that no catalog holds."""
        text = "\n".join(self.content)
        block = nodes.literal_block(text, text, language="text", classes=["output"])
        self.set_source_info(block)
        return [block]


class Check(SphinxDirective):
    """A few lines of Python that prove the statement above them."""

    has_content = True
    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the lines, folded; they run as an example does."""
        translate, text = words(self.env), "\n".join(self.content)
        title = translate("This statement is checked: show how")
        block = nodes.literal_block(text, text, language="python", classes=["check"])
        both = " ".join(prelude.LIBRARIES)
        block["libraries"] = self.arguments[0] if self.arguments else both
        if not {*block["libraries"].split()} <= {*prelude.LIBRARIES}:
            raise self.error(f"A check runs on {both}, not on {block['libraries']!r}.")
        self.set_source_info(block)
        begin = f'<details class="check"><summary title="{title}">✓</summary>'
        folds = (nodes.raw("", html, format="html", check=True) for html in (begin, "</details>"))
        return [next(folds), block, next(folds)]


def pages(env: BuildEnvironment) -> dict[str, Examples]:
    """Return what is known of the examples of every page, by docname."""
    if not hasattr(env, "lifespec_pages"):
        env.lifespec_pages = {}  # type: ignore[attr-defined]
    return env.lifespec_pages  # type: ignore[attr-defined, no-any-return]


def blocks(env: BuildEnvironment) -> dict[str, list[runner.Example]]:
    """Return the examples of every page by docname, in page order."""
    return {docname: page.blocks for docname, page in pages(env).items()}


def is_check(node: nodes.Node) -> bool:
    """Whether this node is a check."""
    return isinstance(node, nodes.literal_block) and "check" in node["classes"]


def is_folded(node: nodes.Node) -> bool:
    """Whether this node is a check, or begins or ends one."""
    return is_check(node) or (isinstance(node, nodes.raw) and "check" in node)


def runs(node: nodes.Node) -> bool:
    """Whether this node is a block that runs."""
    return is_check(node) or is_example(node)


def is_example(node: nodes.Node) -> bool:
    """Whether this node is an example: a block that runs, and is shown."""
    return (
        not is_check(node)
        and isinstance(node, nodes.literal_block)
        and (node.get("language") in LANGUAGES or is_command(node))
        and not {"not-run", "shown"} & set(node["classes"])
    )


def is_command(node: nodes.Element) -> bool:
    """Whether this block holds commands of a shell that run."""
    return node.get("language") == "sh" and "real" in node["classes"]


def programs(page_blocks: list[runner.Example]) -> list[runner.Example]:
    """Return the blocks that are joined as the one file a page offers.

    A real block is a program by itself, and so is an application.
    """
    return [block for block in page_blocks if (block.language, block.kind, block.run_by) == JOINED]


def _beside(node: nodes.Node, step: int) -> nodes.Node | None:
    siblings = node.parent.children
    place = siblings.index(node) + step
    return siblings[place] if 0 <= place < len(siblings) else None


def _output_of(node: nodes.Node) -> nodes.Element | None:
    below = _beside(node, 1)
    return below if _is_output(below) else None


def _is_output(node: nodes.Node | None) -> TypeGuard[nodes.Element]:
    return isinstance(node, nodes.literal_block) and "output" in node["classes"]


def _first_line(page: list[str], node: nodes.Element) -> int:
    """Return the line of the page where the block's code begins: below fence and options."""
    start = node.line or 1
    code = node.get("untranslated", node.astext()).strip("\n").split("\n")[0].strip()
    for number, text in enumerate(page[start - 1 :], start):
        if text.strip() == code:
            return number
    return start + 1


def _block(
    name: str,
    page: list[str],
    node: nodes.Element,
    files: tuple[str, ...],
    named: tuple[tuple[str, str], ...],
) -> runner.Example:
    shown = _output_of(node)
    classes = node["classes"]
    if is_check(node):
        files = prelude.reads(node.astext())
    return runner.Example(
        page=name,
        line=_first_line(page, node),
        language=node["language"],
        source=node.astext(),
        expected=shown.astext() if shown else None,
        kind=next((kind for kind in ("check", "real") if kind in classes), "virtual"),
        needs=_classed(classes, "needs-"),
        requests=sum(map(int, _classed(classes, "requests-"))),
        beside=files if is_check(node) or "beside" in classes else (),
        named=named if "real" in classes else (),
        run_by=_runner(node),
        shown=_first_line(page, shown) if shown else 0,
    )


def _runner(node: nodes.Element) -> str:
    if is_command(node):
        return "sh"
    if is_check(node):
        return str(node["libraries"])
    ways = "pytest", "uvicorn", "lifespan"
    return next((each for each in ways if each in node["classes"]), "python")


def _named_before(found: Sequence[nodes.Element]) -> Iterator[tuple[tuple[str, str], ...]]:
    """Yield for each block, by name and text, the files that blocks above it are."""
    named: dict[str, str] = {}
    for node in found:
        yield tuple(named.items())
        for stem in _classed(node["classes"], "file-"):
            language = str(node.get("language"))
            name = f"{stem}.{SUFFIXES.get(language, language)}"
            named[name] = node.get("untranslated", node.astext())


def _classed(classes: Sequence[str], prefix: str) -> tuple[str, ...]:
    return tuple(each.removeprefix(prefix) for each in classes if each.startswith(prefix))


def _stray_outputs(doctree: nodes.document) -> Iterator[nodes.Node]:
    for node in doctree.findall(_is_output):
        above = _beside(node, -1)
        if not (isinstance(above, nodes.literal_block) and above.get("language") in PRINTING):
            yield node


def _unmarked(doctree: nodes.document) -> Iterator[nodes.Element]:
    """Yield the blocks that are not run and do not say so, however they are spelled."""
    for node in doctree.findall(nodes.FixedTextElement):
        known = runs(node) or node.get("language") in NEVER_RUN
        code = isinstance(node, nodes.literal_block | nodes.doctest_block)
        if code and not known and not SAY_SO & set(node["classes"]):
            yield node


def collect(app: Sphinx, doctree: nodes.document) -> None:
    """Note the examples of a page that was just read, and run them."""
    env = app.env
    path = Path(env.doc2path(env.docname))
    name = path.relative_to(Path(app.srcdir).parent).as_posix()
    text = path.read_text(encoding="utf-8").split("\n")
    for node in _stray_outputs(doctree):
        logger.warning("This output has no program directly above it.", location=node)
    for node in _unmarked(doctree):
        told = "This block is not run: write python, pycon or perl, or {.not-run} above it."
        logger.warning("%s", told, location=node)
    literal = list(doctree.findall(nodes.literal_block))
    found = [node for node in literal if runs(node)]
    shown = (node for node in literal if "shown" in node["classes"])
    files = tuple(sorted({node["source"] for node in shown if "source" in node}))
    named = dict(zip(literal, _named_before(literal), strict=True))
    page = Examples([_block(name, text, node, files, named[node]) for node in found])
    pages(env)[env.docname] = page
    for file in (file for block in page.blocks if block.kind == "check" for file in block.beside):
        env.note_dependency(os.path.relpath(file, env.srcdir))
    if any(map(uses_more, page.blocks)):
        note_cases(env)
    if app.config.examples_run:
        folder = Path(app.config.examples_kept) if app.config.examples_kept else None
        began = time.monotonic()
        code = app.config.examples_library, app.config.examples_code
        results = Results(folder, *code).of(page.blocks)
        page.seconds = time.monotonic() - began
        _show(env, page, zip(found, results, strict=True))


def _show(
    env: BuildEnvironment, page: Examples, results: Iterable[tuple[nodes.Element, Result]]
) -> None:
    """Count the examples of a page, show what was said, and tell which failed.

    Of those that share their names the first alone is told: the others may fail because of it.
    """
    failed = False
    for block, (node, result) in zip(page.blocks, results, strict=False):
        done = result.done
        if isinstance(done, runner.ExampleFailed):
            told = str(done).removeprefix(f"{block.page}:{done.line}: ")
            if block.kind == "real" or not failed:
                logger.warning("%s", told, location=(env.docname, done.line))
            failed = failed or block.kind != "real"
            continue
        if done.missing:
            page.not_run.append(f"{block.page}:{block.line} ({', '.join(done.missing)})")
        else:
            page.run += 1
            page.reused += result.reused
        if block.kind != "check":
            _insert(node, _note(env, done))


def _insert(node: nodes.Element, html: str) -> None:
    if html:
        after = _output_of(node) or node
        place = after.parent.index(after) + 1
        after.parent.insert(place, nodes.raw("", html, format="html", classes=["no-search"]))


def _note(env: BuildEnvironment, run: runner.Run) -> str:
    """Return what is shown below an example: its event log, unless that shows nothing new."""
    translate = words(env)
    if run.missing:
        sentence = translate("Not run here, for want of %s. The output was recorded.")
        return f'<p class="not-run">{escape(sentence % ", ".join(run.missing))}</p>'
    return "" if is_usual(run.conversations) else event_log(run.conversations, translate)


def forget(_app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    """Drop a page that is read anew or gone."""
    pages(env).pop(docname, None)


def write_programs(app: Sphinx, exception: Exception | None) -> None:
    """Write each page's program into the site, and what is known of the examples to a file.

    That file, `examples.json` beside the doctrees, is read by the build and by the tests.
    """
    if exception:
        return
    found = pages(app.env)
    known = {docname: asdict(page) for docname, page in found.items()}
    Path(app.doctreedir, "examples.json").write_text(json.dumps(known), encoding="utf-8")
    for docname, page in found.items():
        if programs(page.blocks) and app.builder.format == "html":
            target = Path(app.outdir, "_programs", f"{docname}.py")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(download.joined(programs(page.blocks)), encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Register the directive, the switch `examples_run`, where results are kept, and the events.

    `examples_code` is a digest of what the results depend on beside their page.
    """
    app.add_config_value("examples_run", default=True, rebuild="env", types=[bool])
    app.add_config_value("examples_kept", default="", rebuild="", types=[str])
    app.add_config_value("examples_code", default="", rebuild="", types=[str])
    app.add_config_value("examples_library", default="", rebuild="", types=[str])
    app.add_directive("output", Output)
    app.add_directive("check", Check)
    # The rules look for examples in the same event: collect first.
    app.connect("doctree-read", collect, priority=400)
    app.connect("env-purge-doc", forget)
    app.connect("build-finished", write_programs)
