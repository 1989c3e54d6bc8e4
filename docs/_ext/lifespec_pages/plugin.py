"""A pytest plugin: a page is a file of tests, and each of its blocks that runs is a test.

pytest docs/timeouts.md::53 runs the block that begins in line 53, after those that it needs;
pytest docs --update writes new outputs into the pages and leaves the checks as they are.
"""

import ast
import gc
import os
import signal
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from _pytest.assertion.rewrite import rewrite_asserts

from lifespec_pages.block import Block
from lifespec_pages.page import PageError, blocks
from lifespec_pages.prelude import CheckFailed
from lifespec_pages.runner import BlockFailed, Difference, OutputDiffers, run
from lifespec_pages.sandbox import Namespace, lacking

MOST_SECONDS = 600  # of a block, on a busy machine
NEW_OUTPUT = "new output"  # of a report: the page, and lines that replace others
Edit = tuple[int, int, list[str]]  # the first line, how many are replaced, and by which


class Page(pytest.File):
    """A page; its blocks run in order and share their names."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield the blocks that run."""
        name = self.path.relative_to(self.config.rootpath).as_posix()
        try:
            self.blocks = blocks(self.path, name)
        except PageError as error:
            raise self.CollectError(str(error)) from None
        for number, block in enumerate(self.blocks):
            again = "[zh]" if block.locale.startswith("zh") else ""
            yield BlockItem.from_parent(self, name=f"{block.line}{again}", number=number)

    def setup(self) -> None:
        """Begin with no names; what others made is not searched for what the blocks leave."""
        gc.freeze()
        self.namespace = Namespace()
        self.done: dict[int, BlockFailed | None] = {}

    def teardown(self) -> None:
        """End what the blocks left running, here rather than in the middle of another test."""
        self.namespace.close()
        with self.namespace.staged():
            gc.collect()
        gc.unfreeze()

    def run(self, number: int) -> None:
        """Run a block after those above it that have not run yet, so that one can run alone."""
        if self.blocks[number].kind == "process":
            run(self.blocks[number], self.namespace)
            return
        above = (at for at in range(number) if self.blocks[at].kind in {"program", "session"})
        for at in (*above, number):
            if at in self.done:
                continue
            self.done[at] = None
            try:
                run(self.blocks[at], self.namespace, self._explain)
            except BlockFailed as failure:
                self.done[at] = failure
        if failed := self.done[number]:
            raise failed

    def _explain(self, tree: ast.Module, source: str) -> None:
        """Rewrite the assertions of a check, so that failures show what was compared."""
        rewrite_asserts(tree, source.encode(), str(self.path), self.config)

    def raised_above(self, number: int) -> int | None:
        """Return the line in which a block above raised first, if one did."""
        failures = (self.done.get(before) for before in range(number))
        raised = (each for each in failures if each and not isinstance(each, OutputDiffers))
        return next((each.line for each in raised), None)


class BlockItem(pytest.Item):
    """A block of a page."""

    parent: Page

    def __init__(self, *, number: int, **options: Any) -> None:
        super().__init__(**options)
        self.number = number
        self.block: Block = self.parent.blocks[number]
        self.add_marker(pytest.mark.timeout(MOST_SECONDS))

    def runtest(self) -> None:
        """Run the block; one whose programs are not installed is skipped."""
        for program in self.block.classed("needs-"):
            if lacks := lacking(program):
                sentence = f"{lacks} is not installed"
                if os.environ.get("LIFESPEC_ALLOW_NO_SKIP"):
                    pytest.fail(f"{sentence}, and LIFESPEC_ALLOW_NO_SKIP is set", pytrace=False)
                pytest.skip(sentence)
        try:
            self.parent.run(self.number)
        except OutputDiffers as failure:
            if not self.config.getoption("update"):
                raise
            edits = [_edit(self.block, each) for each in failure.differences]
            self.user_properties.append((NEW_OUTPUT, (str(self.path), edits)))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return what is wrong, with the page's part of the traceback."""
        failure = excinfo.value
        if not isinstance(failure, BlockFailed):
            return super().repr_failure(excinfo, style)
        lines, cause = [str(failure)], failure.__cause__
        if isinstance(failure, OutputDiffers):
            lines.append(f"To write this into the page: pytest {self.block.page} --update")
        if isinstance(cause, CheckFailed):
            cause = cause.__cause__
        above = self.parent.raised_above(self.number)
        if above is not None and isinstance(cause, NameError):
            lines.append(f"That follows from line {above}, where a block above raised.")
        if cause and self.block.kind != "check":
            lines.append("".join(_from_page(cause, self.block.page)))
        return "\n".join(lines)

    def reportinfo(self) -> tuple[os.PathLike[str], int, str]:
        """Return the place of the block."""
        return self.path, self.block.line - 1, f"{self.block.page}:{self.block.line}"


def _from_page(error: BaseException, page: str) -> list[str]:
    """Return a traceback from the first frame of the page on."""
    frames = error.__traceback__
    while frames and frames.tb_frame.f_code.co_filename != page:
        frames = frames.tb_next
    return traceback.format_exception(type(error), error, frames, chain=False)


def _edit(block: Block, difference: Difference) -> Edit:
    """Return how the page is to be changed so that it shows what a block printed."""
    lines = difference.printed
    if block.output is None and block.kind != "session":
        lines = ["```{output}", *lines, "```"]
    return difference.line, difference.count, [(block.indent + line).rstrip() for line in lines]


class Updates:
    """Write new outputs into the pages when all blocks have run."""

    def __init__(self) -> None:
        self.pages: dict[str, list[Edit]] = {}
        self.failed: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the edits of a block, whichever process ran it, and the blocks that fail."""
        if report.failed:
            self.failed.append(report.nodeid.replace("::", ":"))
        if report.when == "call":
            for name, value in report.user_properties:
                if name == NEW_OUTPUT:
                    page, edits = cast("tuple[str, list[Edit]]", value)
                    self.pages.setdefault(page, []).extend(edits)

    def pytest_sessionfinish(self) -> None:
        """Change the pages, each from its end to its beginning."""
        for page, edits in self.pages.items():
            lines = Path(page).read_text(encoding="utf-8").split("\n")
            for line, count, new in sorted(edits, reverse=True):
                lines[line - 1 : line - 1 + count] = new
            Path(page).write_text("\n".join(lines), encoding="utf-8")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Name the pages that were changed, and what is left to their author."""
        for page, edits in self.pages.items():
            name = os.path.relpath(page)
            terminalreporter.write_line(f"{name}: new outputs written: {len(edits)}")
        if self.failed:
            terminalreporter.write_line("Left to you, the statement or the check below it:")
        for place in sorted(self.failed, key=lambda at: (at.partition(":")[0], len(at), at)):
            terminalreporter.write_line(place)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that writes new outputs."""
    parser.addoption("--update", action="store_true", help="write new outputs into the pages")


def pytest_configure(config: pytest.Config) -> None:
    """Let Ctrl-C interrupt programs, and register `Updates` in the process that has all reports."""
    # what a shell starts in the background ignores Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.getoption("update") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Updates())


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> Page | None:
    """Take the pages."""
    here = parent.config.rootpath / "docs" in file_path.parents
    if here and file_path.suffix in {".md", ".rst"}:
        page: Page = Page.from_parent(parent, path=file_path)
        return page
    return None
