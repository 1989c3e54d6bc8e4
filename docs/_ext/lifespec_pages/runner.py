"""Run a block and compare what it prints with its page.

A program, a session or a check runs in this process, on the clock of `lifespec.testing`; a
process in real time. The frames of a traceback are not compared, and its exception may stand
without the module.
"""

import ast
import asyncio
import inspect
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import ndiff
from functools import lru_cache
from itertools import zip_longest
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, cast

from lifespec import server
from lifespec.testing import VirtualLoop
from lifespec_pages.block import TRACEBACK, Block
from lifespec_pages.prelude import SERVERS, CheckFailed, prove, traced
from lifespec_pages.sandbox import Namespace, Process, Timeout, limited, run_process

Rewrite = Callable[[ast.Module, str], object]

LIMIT, PROCESS_LIMIT = 60.0, 120.0  # seconds that a block may take on a busy machine
ADDRESS = re.compile(r"(127[.]0[.]0[.]1):\d+")
SECONDS = re.compile(r"(?<=yes, in )\d+\.\d(?= s\b)|(?<=是，用时 )\d+\.\d(?= 秒)")  # of a report
SERVER_LINE = re.compile(r".*(?:server|parent) process \[.*\n")  # names a process
UNDER_UVICORN = """\
import os
import signal

import uvicorn

lines, output = os.pipe()
server = os.fork()
if not server:
    os.dup2(output, 1)
    os.dup2(output, 2)
    uvicorn.main(["shop:app", "--port", "0", "--no-use-colors"])
os.close(output)
for line in os.fdopen(lines):
    print(line, end="")
    if "Uvicorn running" in line:
        os.kill(server, signal.SIGTERM)
"""
# A uvicorn takes any free port: others may run now.
SHELL = "/bin/sh", "-c", "exec sh commands.sh 2>&1"
PYTEST = "pytest", "-q", "example.py"
REPORTS = Path(__file__).with_name("reports.py")


class BlockFailed(Exception):
    """A block does not do what its page says; `line` is where, `sentence` what happened."""

    def __init__(self, block: Block, line: int, sentence: str) -> None:
        super().__init__(f"{block.page}:{line}: {sentence}")
        self.line = line


@dataclass(frozen=True, slots=True)
class Difference:
    """The page shows `shown` from line `line` on, in `count` lines; the block printed `printed`."""

    line: int
    count: int
    shown: list[str]
    printed: list[str]

    def first(self) -> int:
        """Return the first line of the page that differs."""
        pairs = enumerate(zip_longest(self.shown, self.printed), self.line)
        return next(number for number, (shown, printed) in pairs if shown != printed)

    def __str__(self) -> str:
        compared = (line.rstrip() for line in ndiff(self.shown, self.printed))
        return "\n".join(["the output (+) is not the one on the page (-)", *compared])


class OutputDiffers(BlockFailed):
    """A block printed something else than its page shows, once or, in a session, several times."""

    def __init__(self, block: Block, differences: list[Difference]) -> None:
        first, *others = differences
        more = (f"{block.page}:{each.first()}: {each}" for each in others)
        super().__init__(block, first.first(), "\n".join([str(first), *more]))
        self.differences = differences


def run(block: Block, namespace: Namespace, rewrite: Rewrite | None = None) -> None:
    """Run a block after those that `namespace` has seen; raise BlockFailed.

    `rewrite` is given the syntax tree of a check, to let its assertions explain themselves.
    """
    try:
        if block.kind == "process":
            printed = _printed_by_process(block)
            differences = list(_compared(block.output_line, printed, block.output))
        else:
            with namespace.staged(), limited(LIMIT):
                differences = list(_differences(block, namespace, rewrite))
    except Timeout as error:
        raise _too_long(block, _line(block, error), LIMIT) from None
    if differences:
        raise OutputDiffers(block, differences)


def _differences(
    block: Block, namespace: Namespace, rewrite: Rewrite | None
) -> Iterator[Difference]:
    """Run the statements of a block; yield where they print something else than the page shows."""
    if block.kind == "check":
        _prove(block, namespace, rewrite)
        return
    for line, source, shown in _statements(block):
        code = _compiled(block, line, source)
        start = len(namespace.stdout.getvalue())
        error = _raised_by(block, code, namespace)
        printed = namespace.stdout.getvalue()[start:]
        if error is not None:
            if TRACEBACK not in (shown or ""):
                sentence = f"the block raised {type(error).__name__}: {error}"
                raise BlockFailed(block, _line(block, error), sentence) from error
            last = "".join(traceback.format_exception_only(error))
            printed += "\n" * (printed[-1:] not in ("", "\n")) + f"{TRACEBACK}\n  ...\n{last}"
        below = line + source.count("\n") + 1 if block.kind == "session" else block.output_line
        yield from _compared(below, printed, shown)


def _prove(block: Block, namespace: Namespace, rewrite: Rewrite | None) -> None:
    for library in block.libraries:
        if library not in SERVERS:
            sentence = f"a check runs on {' or '.join(SERVERS)}, not on {library!r}"
            raise BlockFailed(block, block.line - 1, sentence)
    asserts: dict[int, str] = {}

    def explained(tree: ast.Module, source: str) -> None:
        asserts.update(traced(tree))
        if rewrite:
            rewrite(tree, source)

    code = _compiled(block, block.line, block.source, explained)
    try:
        prove(code, namespace.names, block.libraries, asserts)
    except CheckFailed as error:
        sentence = f"what stands above this check is not true, {error}"
        raise BlockFailed(block, _line(block, error.__cause__ or error), sentence) from error


def _raised_by(block: Block, code: CodeType, namespace: Namespace) -> BaseException | None:
    try:
        if block.kind == "session":
            namespace.session().run(_statement(code, namespace.names))
        else:
            exec(code, namespace.names)  # noqa: S102  a program of the page
            if "lifespan" in block.classes:
                asyncio.run(_serve(namespace.names["app"]))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return error
    return None


async def _serve(app: Any) -> None:
    """Start an application, print its response to one request, and stop it."""
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    line = {"method": "GET", "path": "/", "raw_path": b"/", "query_string": b"", "root_path": ""}
    scope = {"type": "http", "http_version": "1.1", "scheme": "http", **line, "headers": []}
    async with server.Lifespan(app) as lifespan:
        await lifespan.app(scope, receive, send)
        start, *parts = sent
        body = b"".join(each["body"] for each in parts).decode()
        print(f"GET / → {start['status']} {body}")  # noqa: T201  the page shows it


async def _statement(code: CodeType, names: dict[str, Any]) -> None:
    """Run a statement of a session, and then what it started, until that waits."""
    try:
        value = FunctionType(code, names)()
        if inspect.iscoroutine(value):
            await value
    finally:
        await cast(VirtualLoop, asyncio.get_running_loop()).settle()


def _statements(block: Block) -> list[tuple[int, str, str | None]]:
    """Return line, source and output of each statement of a session; a program is one."""
    if block.kind == "program":
        return [(block.line, block.source, block.output)]
    statements: list[tuple[int, list[str], list[str]]] = []  # line, lines of source, of output
    for line, text in enumerate(block.source.split("\n"), block.line):
        prompt = text[:3] if text[3:4] in ("", " ") else ""
        if prompt == ">>>":
            statements.append((line, [text[4:]], []))
        elif not statements:
            raise BlockFailed(block, line, "a session begins with the prompt >>>")
        elif prompt == "..." and not statements[-1][2]:
            statements[-1][1].append(text[4:])
        else:
            statements[-1][2].append(text)
    return [(line, "\n".join(code), "\n".join(shown)) for line, code, shown in statements]


def _compiled(block: Block, line: int, source: str, change: Rewrite | None = None) -> CodeType:
    """Return the code of a source that begins in that line of the page."""
    mode, flags = "exec", 0
    if block.kind == "check":
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    elif block.kind == "session":
        mode, flags = "single", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    options: Any = {"dont_inherit": True, "optimize": 0}
    try:
        tree = compile(source + "\n", block.page, mode, flags | ast.PyCF_ONLY_AST, **options)
        ast.increment_lineno(tree, line - 1)
        if change:
            change(tree, source)
        code: CodeType = compile(tree, block.page, mode, flags, **options)
    except (SyntaxError, ValueError) as error:
        where = line - 1 + (getattr(error, "lineno", None) or 1)
        sentence = getattr(error, "msg", None) or error
        raise BlockFailed(block, where, f"the block does not parse: {sentence}") from None
    return code


def _compared(line: int, printed: str, shown: str | None) -> Iterator[Difference]:
    """Yield what was printed if the page, which shows an output from that line on, differs."""
    wanted = _lines(shown or "")
    lines = _lines(printed)
    for number, text in enumerate(lines):  # the name of an exception may stand without its module
        name, colon, rest = text.partition(":")
        short = name.rpartition(".")[2] + colon + rest
        if number and lines[number - 1] == "  ..." and short in wanted:
            lines[number] = short
    if lines != wanted:
        yield Difference(line, len((shown or "").splitlines()), wanted, lines)


def _lines(text: str) -> list[str]:
    """Return the lines of an output, of a traceback without its frames."""
    lines: list[str] = []
    for line in text.rstrip().splitlines():
        if lines and lines[-1] == "  ..." and line.startswith("  "):
            continue
        lines.append(line.rstrip())
        if lines[-1] == TRACEBACK:
            lines.append("  ...")
    return lines


def _line(block: Block, error: BaseException) -> int:
    """Return the last line of the page that an exception came through."""
    stack = traceback.walk_tb(error.__traceback__)
    lines = [line for frame, line in stack if frame.f_code.co_filename == block.page]
    return lines[-1] if lines else block.line


def _too_long(block: Block, line: int, seconds: float) -> BlockFailed:
    return BlockFailed(block, line, f"the block ran for more than {seconds:g} seconds")


def _printed_by_process(block: Block) -> str:
    """Return what a block prints in a process of its own."""
    if "report" in block.classes:
        english, chinese = _reports(block)
        return chinese if block.locale.startswith("zh") else english
    program = "\n" * (block.line - 1) + block.source  # so that tracebacks name the page's line
    files, variables = list(block.files), dict[str, str]()
    command: tuple[str, ...] = ("example.py",)
    if block.language == "sh":
        files.append(("commands.sh", block.source))
        command, variables = SHELL, {"PYTHON": sys.executable, "UVICORN_PORT": "0"}
        variables |= {"LC_ALL": "", "LC_CTYPE": "C.UTF-8", "LC_MESSAGES": block.locale}
    else:
        _compiled(block, block.line, block.source)
    if "uvicorn" in block.classes:
        files.append(("shop.py", program))
        program = UNDER_UVICORN
    if "pytest" in block.classes:
        command = PYTEST
    files.append(("example.py", program))
    status, printed, errors = run_process(command, PROCESS_LIMIT, files, **variables)
    sys.stderr.write(errors)
    if status is None:
        raise _too_long(block, block.line, PROCESS_LIMIT)
    if command == PYTEST and status in (0, 1):  # all passed, some failed
        return _summary(printed)
    if status or errors:
        _, header, rest = errors.rpartition(TRACEBACK)
        if not status or not header or TRACEBACK not in (block.output or ""):
            where = re.findall(r'example\.py", line (\d+)', rest)
            last = [f"and wrote {line!r}" for line in (errors or printed).splitlines()[-1:]]
            sentence = " ".join([f"the block ended with status {status}", *last])
            raise BlockFailed(block, int([block.line, *where][-1]), sentence)
        printed += "\n" * (printed[-1:] not in ("", "\n")) + TRACEBACK + rest
    return SECONDS.sub("0.0", ADDRESS.sub(r"\1:8000", SERVER_LINE.sub("", printed)))


def _reports(block: Block) -> list[str]:
    """Return what checks of applications print, in English and in Chinese."""
    status, printed, errors = _checked(block.source, block.files)
    if status is None:
        raise _too_long(block, block.line, PROCESS_LIMIT)
    if status:
        raise BlockFailed(block, block.line, f"the check failed: {errors.strip()[-500:]}")
    return SECONDS.sub("0.0", printed).split("\f")


@lru_cache(maxsize=8)  # the block with the other language follows
def _checked(source: str, given: tuple[tuple[str, str], ...]) -> Process:
    files = [(REPORTS.name, REPORTS.read_text("utf-8")), ("commands.sh", source), *given]
    return run_process((REPORTS.name,), PROCESS_LIMIT, files)


def _summary(printed: str) -> str:
    """Return what pytest says of errors, and its last line, without times."""
    errors = re.findall(r"^E(?: +(?:\d\.\d+ s)?(.*))?$", printed, re.MULTILINE)
    last = re.sub(r" in [\d.]+s.*", "", printed.splitlines()[-1])
    return "\n".join([*(error.strip() for error in errors), last, ""])
