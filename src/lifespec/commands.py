"""What each command does.

Each command has a function that carries it out and returns the exit status.  What cannot be carried
out raises Unchecked: a sentence on standard error, in the reader's language, and status 2.
"""

import argparse
import contextlib
import json
import os
import shlex
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from lifespec import conformance, pages
from lifespec.arguments import COPIES
from lifespec.catalog import WIDTH, language, wrapped
from lifespec.conformance import cases, explain
from lifespec.conformance.export import as_json, as_junit
from lifespec.conformance.finding import (
    Finding,
    Row,
    Unchecked,
    Verdict,
    known_rule,
    unknown,
)
from lifespec.conformance.processes import FORKS
from lifespec.conformance.report import Report, render
from lifespec.conformance.rules import rules
from lifespec.diagnosis.exits import SIGNALLED
from lifespec.diagnosis.fact import Fact, fact
from lifespec.diagnosis.problem import PROBLEMS
from lifespec.words import Words, base, site

PROGRESS_EVERY = 10.0  # seconds between two lines about progress where there is no terminal
PREFIX = "lifespec: "  # of a line on standard error
DOCSTRING_END = '\n"""\n'  # of the docstring of a module


def run_command(parsed: argparse.Namespace) -> int:
    """Run a command and return its exit status."""
    words = Words(parsed.language or language(os.environ))
    parsed.words = words
    status = 2
    try:
        return _COMMANDS[parsed.run](parsed)
    except Unchecked as unchecked:
        why = unchecked.fact
    except OSError as error:
        reason = error.strerror or str(error)
        if error.filename:
            reason = f"{error.filename}: {reason}"
        why = fact("not-carried-out", error=reason)
    except KeyboardInterrupt as interrupt:
        why = fact("interrupted")
        # `_interruptible` says which signal it was; Python's own handler of Ctrl-C says nothing
        number = interrupt.args[0] if interrupt.args else signal.SIGINT
        status = SIGNALLED + number
    sys.stderr.write(f"lifespec: {words.say(why).rstrip('.。')}\n")
    return status


def _print(text: str) -> int:
    """Write to standard output, which may be a closed pipe; return the status 0."""
    encoding = sys.stdout.encoding
    try:
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush at exit
        if not isinstance(error, BrokenPipeError):
            raise
    return 0


def _print_lines(lines: Iterable[str]) -> int:
    return _print("".join(f"{line}\n" for line in lines))


def _write_lines(lines: Iterable[str]) -> None:
    """Write to standard error, in one go: a server may print there, too."""
    sys.stderr.write("".join(f"{line}\n" for line in lines))
    sys.stderr.flush()


def _indented(text: str) -> list[str]:
    return [f"    {line}" for line in wrapped(text, WIDTH - 4)]


def _width(stream: TextIO) -> int:
    """Return how many columns a line has there."""
    if not stream.isatty():
        return WIDTH
    return shutil.get_terminal_size((WIDTH, 0)).columns


def _lines(start: str, text: str) -> list[str]:
    """Return a text for standard error as lines; those after the first one are indented."""
    lines = []
    for line in wrapped(text, _width(sys.stderr) - len(PREFIX)):
        lines.append(f"{start}{line}")
        start = " " * len(PREFIX)
    return lines


# ---- check -------------------------------------------------------------------------------------


def _check(arguments: argparse.Namespace) -> int:
    """Check a subject, print the report, write its files, and return the exit status."""
    if not FORKS:
        raise Unchecked(fact("needs-posix"))
    words = arguments.words
    subject = arguments.of
    if arguments.subject == "app":
        if arguments.list:
            return _list(arguments)
        subject = _application(arguments)
    check: Callable[..., Report] = getattr(conformance, f"check_{arguments.subject}")
    progress = _Progress(words, _total(arguments))
    with _interruptible(), progress:
        values = vars(arguments) | progress.callbacks()
        report = check(subject, **{name: values[name] for name in arguments.options})
    text = render(
        report,
        words.language,
        verbose=arguments.verbose,
        width=_width(sys.stdout),
        colours=sys.stdout.isatty() and "NO_COLOR" not in os.environ,
    )
    _print(text)
    if arguments.json:
        _write(arguments.json, as_json(report), "w")
    if arguments.junit:
        _write(arguments.junit, as_junit(report), "w")
    return report.status


def _watch(arguments: argparse.Namespace) -> int:
    """Run a command, print what it waits for, and return its exit status."""
    from lifespec.watch.parent import attach, watch

    if not FORKS:
        raise Unchecked(fact("needs-posix"))
    _refuse_to_watch(arguments)
    if arguments.json:
        _write(arguments.json, "", "a")
    tell = _teller(arguments)
    if arguments.pid:
        try:
            attach(arguments.pid, arguments.after, tell)
        except (OSError, RuntimeError) as error:
            raise Unchecked(fact("not-attached", pid=arguments.pid, error=str(error))) from None
        return 0
    program = arguments.of[0]
    try:
        return watch(arguments.of, arguments.after, tell)
    except FileNotFoundError:
        raise Unchecked(fact("no-program", program=program)) from None
    except PermissionError as error:
        why = fact("not-executable", program=program, error=error.strerror)
        raise Unchecked(why) from None


def _refuse_to_watch(arguments: argparse.Namespace) -> None:
    """Raise Unchecked for what is no command and no process that can be watched."""
    if bool(arguments.of) == bool(arguments.pid):
        raise Unchecked(fact("no-command"))
    if arguments.pid and not hasattr(sys, "remote_exec"):
        raise Unchecked(fact("no-remote"))
    if arguments.unknown:
        line = shlex.join(arguments.of + arguments.unknown)
        raise Unchecked(fact("command-watched-without-dashes", command=line))
    if _is_name(arguments.of):
        raise Unchecked(fact("target-watched", target=arguments.of[0]))


def _teller(arguments: argparse.Namespace) -> Callable[..., None]:
    """Return what prints what a command waits for, and writes it to a file."""
    words, english = arguments.words, Words()

    def tell(what: Fact, rows: Sequence[Fact], advice: Fact | None, pid: int) -> None:
        if pid:
            what = fact("of-process", pid=pid, what=what)
        below = " " * len(PREFIX)
        explained = [words.say(page) for page in pages.explaining([what, *rows, advice])]
        lines = _lines(PREFIX, words.say(what))
        for row in rows:
            lines.append(f"{below}  {words.say(row)}")
        if advice:
            lines += _lines(below, words.say(advice))
        for command in explained:
            lines.append(f"{below}{command}")
        _write_lines(lines)
        if arguments.json:
            record = {
                "time": round(time.time(), 3),
                "says": english.say(what),
                **what.data(),
                "rows": [row.data() for row in rows],
                "advice": english.say(advice) if advice else None,
                "more": explained,
            }
            _write(arguments.json, f"{json.dumps(record, ensure_ascii=False)}\n", "a")

    return tell


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Let SIGTERM and SIGHUP interrupt a check as Ctrl-C does, unless they are ignored."""
    before = {}
    for number in (signal.SIGTERM, signal.SIGHUP):
        handler = signal.getsignal(number)
        if handler != signal.SIG_IGN:  # nohup ignores one of them, and means it
            before[number] = handler

    def interrupt(received: int, _: object) -> None:
        for number in before:
            signal.signal(number, signal.SIG_IGN)  # while the processes are ended
        raise KeyboardInterrupt(received)

    try:
        for number in before:
            signal.signal(number, interrupt)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _application(arguments: argparse.Namespace) -> str | list[str]:
    """Return the name of an application, or the words of the command that serves it."""
    words = arguments.of
    if not words:
        raise Unchecked(fact("no-target"))
    if not arguments.dashes:
        if len(words) > 1:
            line = shlex.join(words + arguments.unknown)
            raise Unchecked(fact("command-without-dashes", command=line))
        return str(words[0])
    if arguments.factory:
        raise Unchecked(fact("factory-of-command"))
    if _is_name(words):
        raise Unchecked(fact("target-after-dashes", target=words[0]))
    return list(words)


def _is_name(words: Sequence[str]) -> bool:
    """Tell whether the words of a command are the name of an application instead."""
    return len(words) == 1 and ":" in words[0] and not shutil.which(words[0])


def _list(arguments: argparse.Namespace) -> int:
    """Print what would be played, and run nothing."""
    from lifespec.conformance.app.plan import planned
    from lifespec.conformance.finding import known_spec

    spec, words = known_spec(arguments.spec), arguments.words
    plan = planned(
        "application", spec, arguments.only, quick=arguments.quick, limit=arguments.at_once
    )
    lines = []
    for life in plan.all_lives():
        for name in life.split("+"):
            lines.append(name)
            lines += _indented(words.translate(cases.named(name).says))
    lines += wrapped(words.say(plan.fact()), WIDTH)
    return _print_lines(lines)


def _total(arguments: argparse.Namespace) -> str:
    """Return how many cases a server is checked with; an application's depend on what it does."""
    if arguments.subject != "server":
        return ""
    from lifespec.conformance.server.check import chosen

    return f"/{len(chosen(arguments.only, slow=arguments.slow))}"


class _Progress:
    """Tells on standard error what a check does: on a terminal in one line, which is replaced."""

    def __init__(self, words: Words, total: str) -> None:
        self.words, self.total = words, total
        self.is_terminal = sys.stderr.isatty()
        self.began = self.last = time.monotonic()
        self.count = 0
        self.later: list[Fact] = []  # to be said with the first line about progress

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self._replace("")

    def callbacks(self) -> dict[str, Any]:
        """Return the callbacks of a check by the names of its arguments."""
        return {
            "on_plan": self.plan,
            "on_first": self.first,
            "on_case": self.case,
            "on_wait": self.wait,
        }

    def plan(self, what: Fact) -> None:
        """Say what will be run."""
        self.total = f"/{what.parts.get('count', 1)}"
        self._say(what)

    def first(self, rows: Sequence[Row]) -> None:
        """Say how the application starts and stops, once the first case is over.

        Where there is no terminal, nobody waits for it: then it is said if the check takes long.
        """
        self.count += 1
        for row in rows:
            says = self.words.say(row.fact)
            what = fact("first-row", label=self.words.translate(row.label), says=says)
            if self.is_terminal:
                self._say(what)
            else:
                self.later.append(what)

    def case(self, name: str, findings: Sequence[Finding]) -> None:
        """Say that a case is over."""
        self.count += 1
        verdict = Verdict.of(finding.verdict for finding in findings).upper()
        self._replace(f"{self.count}{self.total} {name}: {verdict}")

    def wait(self, name: str, seconds: float) -> None:
        """Say which case has been played for so many seconds."""
        self._replace(f"{name}: {seconds:.0f} s")
        now = time.monotonic()
        if not self.is_terminal and now - self.last >= PROGRESS_EVERY:
            self.last = now
            for what in self.later:
                self._say(what)
            self.later.clear()
            lasted = f"{now - self.began:.0f}"
            self._say(fact("progress-of-check", seconds=lasted, count=self.count, case=name))

    def _say(self, what: Fact) -> None:
        """Write a line that stays."""
        self._replace("")
        _write_lines(_lines(PREFIX, self.words.say(what)))

    def _replace(self, line: str) -> None:
        """Write a line in the place of the one before, on a terminal only."""
        if self.is_terminal:
            sys.stderr.write(f"\r\x1b[K{line}")
            sys.stderr.flush()


def _write(path: Path, text: str, mode: str) -> None:
    """Write a file; with the mode "x" it must be new."""
    try:
        with path.open(mode, encoding="utf-8", errors="backslashreplace", newline="") as file:
            file.write(text)
    except FileExistsError:
        raise Unchecked(fact("file-exists", path=str(path))) from None
    except OSError as error:
        raise Unchecked(fact("file-not-written", path=str(path), error=error.strerror)) from None


# ---- explain, cases and copy --------------------------------------------------------------------


def _explain(arguments: argparse.Namespace) -> int:
    """Print a rule or the page of a problem, or without a name the list of both."""
    name, language = arguments.name, arguments.words.language
    if not name:
        titles = {problem: pages.title(problem, language) for problem in PROBLEMS}
        shown = explain.index(titles, language)
    elif name in PROBLEMS:
        shown = pages.problem_lines(name, language)
    elif name in rules():
        shown = explain.rule_lines(rules()[name], language)
    else:
        raise unknown("explained", name, list(rules()) + list(PROBLEMS), "lifespec explain")
    return _print_lines(shown)


def _cases(arguments: argparse.Namespace) -> int:
    words = arguments.words
    if arguments.rule:
        known_rule(arguments.rule)
    lines = []
    for case in cases.load():
        names = tuple(dict.fromkeys(wanted.rule for wanted in case.expect))
        if arguments.role not in (None, case.role):
            continue
        if arguments.rule not in (None, *names):
            continue
        lines.append(f"{case.name} · {words.translate(case.role)}")
        lines += _indented(words.translate(case.says))
        lines += _indented(words.say(fact("checks", rules=names)))
    return _print_lines(lines)


def _copy(arguments: argparse.Namespace) -> int:
    to, files = arguments.to, arguments.files
    for name in files:
        if name not in COPIES:
            raise Unchecked(fact("unknown-file", name=name, known=tuple(COPIES)))
    if to and to.is_dir():
        for name in files:
            _write(to / f"{name}.py", content(name), "x")
        return 0
    if len(files) > 1:
        raise Unchecked(fact("several-files"))
    if not to:
        return _print(content(files[0]))
    _write(to, content(files[0]), "x")
    return 0


def content(name: str) -> str:
    """Return a file to copy; its docstring ends with version, licence and oldest Python."""
    from importlib import metadata, resources

    text = resources.files("lifespec").joinpath(f"{name}.py").read_text("utf-8")
    docstring, code = text.split(DOCSTRING_END, 1)
    lines = [docstring]
    with contextlib.suppress(metadata.PackageNotFoundError):
        about = metadata.metadata("lifespec")
        lines.append(f"From lifespec {about['Version']}, for Python {about['Requires-Python']}.")
    if base():
        lines.append(f"The rules: {site('en')}rules.html")
    lines.append(f"SPDX-License-Identifier: 0BSD{DOCSTRING_END}{code}")
    return "\n".join(lines)


_COMMANDS: Mapping[str, Callable[[argparse.Namespace], int]] = {
    "help": lambda parsed: _print(parsed.parser.format_help()),
    "check": _check,
    "watch": _watch,
    "explain": _explain,
    "cases": _cases,
    "copy": _copy,
}
