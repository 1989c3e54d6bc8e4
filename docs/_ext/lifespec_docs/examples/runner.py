"""Runs the examples of a page: one function, `run`, for the documents' build and for pytest.

A *virtual* block runs here, on the clock of `lifespec.testing`; a *real* one in a process of its
own, in real time. An application in Perl is served. What a block prints is compared with what
its page shows, line by line; of a traceback only the last lines count: the exception's class and
text. Lifespans are recorded.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import zip_longest
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, Self, cast

from lifespec.conformance.app.pipe import PipeError
from lifespec.conformance.unchecked import Unchecked
from lifespec.limits import LimitPassed, limited
from lifespec_docs.examples.perl_apps import lacking, served
from lifespec_docs.examples.prelude import CheckFailed, explained, prove
from lifespec_docs.examples.sandbox import Namespace, beside, patience
from lifespec_docs.examples.serving import serve

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lifespec.testing import clock, trace

__all__ = [
    "LIMITS",
    "TRACEBACK",
    "Example",
    "ExampleFailed",
    "Namespace",
    "Run",
    "Session",
    "compiled",
    "lengths",
    "results",
    "run",
    "serve_app",
    "spoken_since",
]

LIMITS = {
    "virtual": 20.0,
    "check": 20.0,
    "real": 60.0,
}  # seconds, where the machine has time for us
SIDE_BY_SIDE = 4  # real blocks: they wait more than they compute
TRACEBACK = "Traceback (most recent call last):"
UNDER_UVICORN = """\
import re
import subprocess
import sys

command = [sys.executable, "-m", "uvicorn", "shop:app", "--port", "0", "--no-use-colors"]
server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
for line in server.stdout:
    if " server process [" not in line:
        print(re.sub(r"(127[.]0[.]0[.]1):\\d+", r"\\1:8000", line), end="")
    if "Uvicorn running" in line:
        server.terminate()
"""


# What a shell is given and writes is UTF-8, and its messages are English. A uvicorn takes any free
# port, since others may run beside it, and shows the one of the page.
COMMANDS = """\
import os
import re
import subprocess
import sys
from pathlib import Path

commands = 'lifespec() { "$PYTHON" -m lifespec "$@"; }\\n' + Path("commands.sh").read_text("utf-8")
path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
set_ = {"PYTHON": sys.executable, "LC_ALL": "C.UTF-8", "PATH": path, "UVICORN_PORT": "0"}
shell, both = ["sh", "-c", commands], {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
run = subprocess.run(shell, env=os.environ | set_, encoding="utf-8", **both)
said = re.sub(r".*(?:server|parent) process \\[.*\\n", "", run.stdout)
print(re.sub(r"(127[.]0[.]0[.]1):\\d+", r"\\1:8000", said), end="")
sys.exit(run.returncode)
"""


@dataclass(frozen=True, slots=True)
class Example:
    """One example: `source` begins in line `line` of the file `page`.

    `expected` is what the page shows as output, or None, from line `shown` on; a pycon block holds
    its own. `needs` names the programs without which a block is not run, `requests` how many an
    application in Perl is given, `beside` the files a real one finds, `named` further ones by name
    and text.
    A real block is `run_by` python, pytest, uvicorn or sh; a check by "asyncio", "trio" or both.
    The `app` of a virtual one by "lifespan" is served after it.
    """

    page: str
    line: int
    language: str
    source: str
    expected: str | None
    kind: str = "virtual"
    needs: tuple[str, ...] = ()
    requests: int = 0
    beside: tuple[str, ...] = ()
    named: tuple[tuple[str, str], ...] = ()
    run_by: str = "python"
    shown: int = 0


@dataclass(frozen=True, slots=True)
class Run:
    """What came of a block: output, lifespans, and the needs that kept it from running."""

    output: str
    conversations: list[list[trace.Entry]]
    missing: tuple[str, ...] = ()


class ExampleFailed(Exception):
    """An example did not do what its page shows; `output` is what it printed."""

    def __init__(self, block: Example, line: int, sentence: str, output: str = "") -> None:
        super().__init__(f"{block.page}:{line}: {sentence}")
        self.block = block
        self.line = line
        self.output = output


class Session:
    """The blocks of one page in one language."""

    def __init__(self, blocks: Sequence[Example]) -> None:
        self.blocks = tuple(blocks)
        self.namespace = Namespace()
        self._done: list[Run | ExampleFailed] = []

    def run(self, number: int) -> Run:
        """Run the blocks up to this one that have not run yet; return or raise what came of it."""
        for block in self.blocks[len(self._done) : number + 1]:
            try:
                self._done.append(run(block, self.namespace))
            except ExampleFailed as failure:
                self._done.append(failure)
        done = self._done[number]
        if isinstance(done, ExampleFailed):
            raise done.with_traceback(None)
        return done

    def close(self) -> None:
        """End what the page's blocks left running."""
        self.namespace.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def results(blocks: Sequence[Example], wanted: Iterable[int]) -> list[Run | ExampleFailed]:
    """Run these blocks of a page: the real ones side by side, and meanwhile the others in order."""
    numbers = list(wanted)
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool, Namespace() as namespace:
        apart = {
            number: pool.submit(_result, blocks[number], Namespace())
            for number in numbers
            if _is_apart(blocks[number])
        }
        here = {n: _result(blocks[n], namespace) for n in numbers if n not in apart}
        return [apart[n].result() if n in apart else here[n] for n in numbers]


def _is_apart(block: Example) -> bool:
    return block.language in ("python", "sh") and block.kind == "real"


def _result(block: Example, namespace: Namespace) -> Run | ExampleFailed:
    try:
        return run(block, namespace)
    except ExampleFailed as failure:
        return failure


def run(block: Example, namespace: Namespace) -> Run:
    """Run one block after those that `namespace` has seen; raise ExampleFailed."""
    missing = tuple(filter(None, map(lacking, block.needs)))
    if missing:
        return Run(block.expected or "", [], missing)
    if _is_apart(block):
        return Run(_run_beside(block), [])
    if (block.language, block.kind) == ("perl", "real"):
        return _run_perl(block)
    if block.language not in ("python", "pycon") or block.kind not in ("virtual", "check"):
        what = f"a block of language {block.language!r} and kind {block.kind!r}"
        raise ExampleFailed(block, block.line, f"Nothing is known of {what}.")
    before = lengths(namespace)
    try:
        with namespace.staged(), limited(LIMITS[block.kind] * patience()):
            output = "".join(_run_here(block, namespace))
    except LimitPassed as error:
        raise _too_long(block, _line(block, error)) from None
    return Run(output, spoken_since(before, namespace))


def lengths(namespace: Namespace) -> dict[int, int]:
    """Return how long each recorded lifespan is by now, by its id."""
    return {id(spoken): len(spoken.entries) for spoken in namespace.conversations}


def spoken_since(before: dict[int, int], namespace: Namespace) -> list[list[trace.Entry]]:
    """Return the lifespans that have grown since `lengths` was asked."""
    grown = (s for s in namespace.conversations if len(s.entries) > before.get(id(s), 0))
    return [list(spoken.entries) for spoken in grown]


def _run_here(block: Example, namespace: Namespace) -> Iterator[str]:
    """Yield what each statement prints, if it is what the page shows."""
    for line, source, expected in _statements(block):
        code = compiled(block, line, source)
        start = len(namespace.stdout.getvalue())
        raised = _raised_by(block, code, namespace)
        printed = namespace.stdout.getvalue()[start:]
        if isinstance(raised, CheckFailed):
            where = _line(block, raised.__cause__ or raised)
            told = f"What stands above is not so, {raised}"
            raise ExampleFailed(block, where, told, printed) from raised
        if raised is not None:
            if TRACEBACK not in expected:
                told = f"{type(raised).__name__}: {raised}"
                where = _line(block, raised)
                raise ExampleFailed(block, where, f"The example raised {told}", printed) from raised
            told = "".join(traceback.format_exception_only(raised))
            printed = _with_traceback(printed, f"\n  ...\n{told}")
        if block.kind != "check":  # which shows no output, such as what `Lifespan` logs
            below = line + source.count("\n") + 1 if block.language == "pycon" else block.shown
            _compare(block, below, printed, expected)
            yield printed


def _raised_by(block: Example, code: CodeType, namespace: Namespace) -> BaseException | None:
    try:
        if block.kind == "check":
            prove(code, namespace.names, block.run_by)
        elif block.language == "pycon":
            namespace.session().run(_statement(code, namespace.names))
        else:
            exec(code, namespace.names)  # noqa: S102  a page's own program
            serve_app(block, namespace)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return error
    return None


def serve_app(block: Example, namespace: Namespace) -> None:
    """Serve the application of a block that asks for it, unless a reader has edited it away."""
    if block.run_by == "lifespan" and "app" in namespace.names:
        asyncio.run(serve(namespace.names["app"]))


async def _statement(code: CodeType, names: dict[str, Any]) -> None:
    """Run a statement of a session; what it started runs on until it waits."""
    __tracebackhide__ = True
    try:
        value = FunctionType(code, names)()
        if inspect.iscoroutine(value):
            await value
    finally:
        await cast("clock.VirtualLoop", asyncio.get_running_loop()).settle()


def _statements(block: Example) -> list[tuple[int, str, str]]:
    """Return line, source and expected output of each statement; a program is one."""
    if block.language == "python":
        return [(block.line, block.source, block.expected or "")]
    found: list[tuple[int, list[str], list[str]]] = []
    for line, text in enumerate(block.source.split("\n"), block.line):
        prompt = text[:3] if text[3:4] in ("", " ") else ""
        if prompt == ">>>":
            found.append((line, [text[4:]], []))
        elif not found:
            raise ExampleFailed(block, line, "A session begins with the prompt >>>.")
        elif prompt == "..." and not found[-1][2]:
            found[-1][1].append(text[4:])
        else:
            found[-1][2].append(text)
    return [(line, "\n".join(code), "\n".join(shown)) for line, code, shown in found]


def compiled(block: Example, line: int, source: str) -> CodeType:
    """Compile what begins in that line of the page, so that tracebacks name page and line."""
    mode, flags = "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT * (block.kind == "check")
    if block.language == "pycon":
        mode, flags = "single", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        source = source if _is_code(source) else "pass"
    above = line - 1
    try:
        only = flags | ast.PyCF_ONLY_AST
        tree = compile(source + "\n", block.page, mode, only, dont_inherit=True)
        ast.increment_lineno(tree, above)
        if block.kind == "check":
            tree = explained(cast("ast.Module", tree))
        above = 0
        code: CodeType = compile(tree, block.page, mode, flags, dont_inherit=True, optimize=0)
    except (SyntaxError, ValueError) as error:
        where = above + (getattr(error, "lineno", None) or 1)
        told = getattr(error, "msg", None) or error
        raise ExampleFailed(block, where, f"The example does not parse: {told}") from None
    return code


def _is_code(source: str) -> bool:
    return any(line.strip() and not line.lstrip().startswith("#") for line in source.split("\n"))


def _compare(block: Example, line: int, printed: str, shown: str) -> None:
    """Compare what was printed with what the page shows from that line on."""
    before, at, end = None, line, (0, None)
    pairs = zip_longest(_lines(printed), _lines(shown, line), fillvalue=end)
    for (_, has), (number, wants) in pairs:
        at = number or at
        same = has == wants or (before == TRACEBACK and _unqualified(has) == wants)
        if not same:
            nothing = "nothing" if before is None else "nothing more"
            has_, wants_ = (nothing if text is None else repr(text) for text in (has, wants))
            told = f"The example printed {has_}, the page shows {wants_}."
            raise ExampleFailed(block, max(at, block.line), told, printed)
        before = has


def _lines(text: str, first: int = 0) -> Iterator[tuple[int, str | None]]:
    """Yield the lines that count, with their numbers: of a traceback not the stack."""
    stack = False
    for number, line in enumerate(text.rstrip().splitlines(), first):
        if not (stack and line.startswith("  ")):
            yield number, line.rstrip()
            stack = line.rstrip() == TRACEBACK


def _unqualified(line: str | None) -> str:
    name, colon, text = (line or "").partition(":")
    return name.rpartition(".")[2] + colon + text


def _with_traceback(printed: str, rest: str) -> str:
    return printed + "\n" * (printed[-1:] not in ("", "\n")) + TRACEBACK + rest


def _line(block: Example, error: BaseException) -> int:
    """Return the last line of the page's own that the exception came through."""
    stack = traceback.walk_tb(error.__traceback__)
    lines = [line for frame, line in stack if frame.f_code.co_filename == block.page]
    return lines[-1] if lines else block.line


def _too_long(block: Example, line: int) -> ExampleFailed:
    told = f"The example ran for more than {LIMITS[block.kind]:g} seconds."
    return ExampleFailed(block, line, told)


def _run_beside(block: Example) -> str:
    """Return what a block prints in a process of its own, if the page shows that."""
    files: list[str | tuple[str, str]] = [*block.beside, *block.named]
    if block.run_by != "sh":
        compiled(block, block.line, block.source)
    program = "\n" * (block.line - 1) + block.source  # so that tracebacks name the page's line
    if block.run_by == "sh":
        files.append(("commands.sh", block.source))
        program = COMMANDS
    elif block.run_by == "uvicorn":
        files.append(("shop.py", program))
        program = UNDER_UVICORN
    by_pytest = block.run_by == "pytest"
    status, printed, complaint = beside(program, LIMITS["real"], files, pytest=by_pytest)
    sys.stderr.write(complaint)
    if status is None:
        raise _too_long(block, block.line)
    if by_pytest and status in (0, 1):  # all passed, some failed
        printed = _summary(printed)
    elif status or complaint:
        _, header, rest = complaint.rpartition(TRACEBACK)
        if not status or not header or TRACEBACK not in (block.expected or ""):
            where = re.findall(r'example\.py", line (\d+)', rest)
            told = " ".join([f"The example ended with status {status}", *_last(complaint)])
            raise ExampleFailed(block, int([block.line, *where][-1]), told, printed)
        printed = _with_traceback(printed, rest)
    _compare(block, block.shown, printed, block.expected or "")
    return printed


def _summary(printed: str) -> str:
    """Return what pytest says of errors, and its last line, without times."""
    errors = re.findall(r"^E(?: +(?:\d\.\d+ s)?(.*))?$", printed, re.MULTILINE)
    last = re.sub(r" in [\d.]+s.*", "", printed.splitlines()[-1])
    return "\n".join([*(error.strip() for error in errors), last, ""])


def _run_perl(block: Example) -> Run:
    """Return what an application in Perl prints, and what was said, if the page shows that."""
    try:
        printed, said = served(block.source, block.requests, LIMITS["real"] * patience())
    except LimitPassed:
        raise _too_long(block, block.line) from None
    except (PipeError, Unchecked) as error:
        where = re.findall(r"app\.pl line (\d+)", str(error))
        line = block.line - 1 + int([1, *where][-1])
        raise ExampleFailed(block, line, f"The example cannot be served: {error}") from None
    _compare(block, block.shown, printed, block.expected or "")
    return Run(printed, said)


def _last(complaint: str) -> list[str]:
    return [f"and wrote {line!r}" for line in complaint.splitlines()[-1:]]
