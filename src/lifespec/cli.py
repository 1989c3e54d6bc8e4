"""The command `lifespec`: check, explain, cases and copy.

Each command has a function that carries it out and returns the exit status.  What cannot be carried
out raises Unchecked: a sentence on standard error, in the reader's language, and status 2.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import shutil
import signal
import sys
import threading
from importlib import import_module, metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from lifespec import copies
from lifespec.conformance import cases, explain
from lifespec.conformance.report import Verdict, as_json, as_junit, fact
from lifespec.conformance.rules import NEWEST, rules
from lifespec.conformance.text import WIDTH, Words, render
from lifespec.conformance.unchecked import Unchecked, known_rule, known_spec
from lifespec.validate import SPECS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lifespec.conformance.report import Finding, Report

    Options = dict[str, dict[str, Any]]

__all__ = ["COPIES", "main"]

SIGNALLED = 128  # and the number of a signal is the exit status, as shells have it
COPIES = {
    "server": "Lifespan, for servers and test clients",
    "server_trio": "Lifespan for servers on trio, with server.py beside it",
    "application": "with_lifespan, for applications",
    "validate": "the validator and the rules of all specifications",
    "messages": "types of scopes and events",
}
STATUS = (
    "exit status: 0 every MUST was kept (with --strict, every SHOULD), and an application starts"
    " and stops; 1 not so; 2 it could not be checked; 128 plus the number of a signal that"
    " interrupted the check"
)


def _seconds(text: str) -> float:
    with contextlib.suppress(ValueError):
        if 0 < (seconds := float(text)) < threading.TIMEOUT_MAX:
            return seconds
    raise Unchecked(fact("bad-timeout", value=text))


def _copied(name: str) -> str:
    if name not in COPIES:
        raise Unchecked(fact("unknown-file", name=name, known=(*COPIES,)))
    return name


def _option(says: str, metavar: str | None = None, **more: Any) -> dict[str, Any]:
    """Return the settings of an argument that has a value."""
    return {"help": says, **({"metavar": metavar} if metavar else {}), **more}


def _flag(says: str) -> dict[str, Any]:
    return {"help": says, "action": "store_true"}


REPEATED: dict[str, Any] = {"action": "append", "default": []}
LANGUAGE: Options = {
    "--language": _option("default: that of the locale", choices=sorted(explain.FOLDERS))
}
CHECK: Options = {
    "--spec": _option(
        f"{', '.join(SPECS)}; or {', '.join(NEWEST)} for the newest (default: %(default)s)",
        type=known_spec,
        default="asgi 2.0",
    ),
    "--strict": _flag("also fail if a SHOULD is missed"),
    "--ignore": _option("leave this rule out; repeatable", "RULE", type=known_rule, **REPEATED),
    "--only": _option("run only this case; repeatable", "CASE", **REPEATED),
    "--timeout": _option(
        "for an answer, or for what a server does next (default: %(default)g)",
        "SECONDS",
        type=_seconds,
    ),
    "--json": _option("also write the report to FILE as JSON", "FILE", type=Path),
    "--junit": _option("the same as JUnit XML", "FILE", type=Path),
    "--verbose": _flag("show every finding in full"),
    **LANGUAGE,
}
APP: Options = {
    "target": _option("module:attribute, such as shop.main:app", "TARGET"),
    "--factory": _flag("TARGET is a function that makes the application"),
    **CHECK,
}
MIDDLEWARE: Options = {
    "target": _option("module:attribute of a function that takes an application", "TARGET"),
    **CHECK,
}
SERVER: Options = {
    "command": _option(
        "after --, the command that starts it, with {app} for the application, {port} for the port"
        " of 127.0.0.1, {workers} for the number of workers",
        "COMMAND",
        nargs="+",
    ),
    "--slow": _flag("also run the cases of 30 to 60 s"),
    "--workers": _option(
        "added to COMMAND for two workers, if it has no {workers}: --workers='-w 2'",
        "ARGUMENTS",
        default="",
    ),
    **CHECK,
}
EXPLAIN: Options = {"rule": _option("such as startup-sent", "RULE", type=known_rule), **LANGUAGE}
CASES: Options = {
    "--role": _option("only those for that role", choices=cases.ROLES),
    "--rule": _option("only those that check that rule", "RULE", type=known_rule),
    **LANGUAGE,
}
COPY: Options = {
    "files": _option(
        "; ".join(f"{name}: {says}" for name, says in COPIES.items()),
        "FILE",
        type=_copied,
        nargs="+",
    ),
    "--to": _option("write it to a new file, or into a folder", "PATH", type=Path),
}


class Parser(argparse.ArgumentParser):
    """Raises Unchecked for wrong usage."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse; what is left over is an error of this command, and not of the one above."""
        found, more = super().parse_known_args(args, namespace)
        if more:
            self.error(_argparse()._("unrecognized arguments: %s") % " ".join(more))
        return found, more

    def error(self, message: str) -> NoReturn:
        """Raise Unchecked with the message of argparse and a pointer to --help."""
        raise Unchecked(fact("usage", message=message, command=self.prog))


def _argparse() -> Any:
    return argparse  # whose `_` translates its messages


def _parser() -> Parser:
    parser = Parser(
        prog="lifespec", description="Check, explain and implement the ASGI lifespan protocol."
    )
    parser.add_argument("--version", **_flag("show the version"))
    parser.set_defaults(run=_about)
    commands = parser.add_subparsers(metavar="COMMAND", title="commands")
    says = "check an application, middleware or a server"
    check = commands.add_parser("check", help=says, description=says.capitalize(), epilog=STATUS)
    subjects = check.add_subparsers(metavar="SUBJECT", title="subjects", required=True)
    subjects_ = {
        "app": ("check an application", APP, _check_app, 30.0),
        "middleware": ("check middleware", MIDDLEWARE, _check_app, 30.0),
        "server": ("check a server", SERVER, _check_server, 10.0),
    }
    for name, (says, options, run, timeout) in subjects_.items():
        command = _added(subjects, name, says, options, run, epilog=STATUS)
        command.set_defaults(subject=name, timeout=timeout)
    says = "show a rule, its sources and the usual cause if it is broken"
    _added(commands, "explain", says, EXPLAIN, _explain)
    _added(commands, "cases", "list the cases of the conformance suite", CASES, _cases)
    _added(commands, "copy", "print a self-contained file for your own project", COPY, _copy)
    return parser


def _added(group: Any, name: str, says: str, options: Options, run: Any, **more: Any) -> Any:
    """Add a command to others."""
    command = group.add_parser(name, help=says, description=f"{says.capitalize()}.", **more)
    for option, settings in options.items():
        command.add_argument(option, **settings)
    command.set_defaults(run=run)
    return command


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status."""
    arguments = sys.argv[1:] if argv is None else [*argv]
    words = Words(_asked_language(arguments))
    _argparse()._ = words.translate
    try:
        if sys.stdout is None:
            raise Unchecked(fact("output-closed"))  # noqa: TRY301  said as all others
        parsed = _parser().parse_args(arguments)
        parsed.words = words
        return int(parsed.run(parsed))
    except Unchecked as unchecked:
        why, status = unchecked.fact, 2
    except OSError as error:
        named = f"{error.filename}: " if error.filename else ""
        why, status = fact("failed", error=f"{named}{error.strerror or error}"), 2
    except KeyboardInterrupt as interrupt:
        number = interrupt.args[0] if interrupt.args else signal.SIGINT
        why, status = fact("interrupted"), SIGNALLED + number
    with contextlib.suppress(OSError, AttributeError):  # standard error may be closed
        sys.stderr.write(f"lifespec: {words.say(why).rstrip('.。')}\n")
    return status


def _asked_language(arguments: Sequence[str]) -> str:
    """Return the language that the arguments ask for, else that of the locale."""
    given = [after for one, after in itertools.pairwise(arguments) if one == "--language"]
    given += [each.partition("=")[2] for each in arguments if each.startswith("--language=")]
    return given[-1] if given and given[-1] in explain.FOLDERS else explain.language(os.environ)


def _about(arguments: argparse.Namespace) -> int:
    if not arguments.version:
        return _print(_parser().format_help())
    try:
        version = metadata.version("lifespec")
    except metadata.PackageNotFoundError:
        version = "(not installed)"
    return _print(f"lifespec {version}\n")


def _print(text: str | bytes) -> int:
    """Write to standard output, whose reader may have read enough; return the status 0."""
    encoding = sys.stdout.encoding or "ascii"
    content = text if isinstance(text, bytes) else text.encode(encoding, "backslashreplace")
    try:
        sys.stdout.buffer.write(content)
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # not again at the end
        if not isinstance(error, BrokenPipeError):
            raise
    return 0


# ---- check -------------------------------------------------------------------------------------


def _check_app(arguments: argparse.Namespace) -> int:
    suite = import_module("lifespec.conformance.app.check")
    with _playing() as progress:
        if arguments.subject == "middleware":
            report = suite.check_middleware(arguments.target, **_common(arguments), **progress)
        else:
            more = _common(arguments) | progress | {"factory": arguments.factory}
            report = suite.check_app(arguments.target, **more)
    return _report(report, arguments)


def _check_server(arguments: argparse.Namespace) -> int:
    suite = import_module("lifespec.conformance.server.check")
    with _playing() as progress:
        more = _common(arguments) | {"slow": arguments.slow, "workers": arguments.workers}
        report = suite.check_server(arguments.command, **more, tell=progress["tell"])
    return _report(report, arguments)


@contextlib.contextmanager
def _playing() -> Iterator[dict[str, Any]]:
    """Yield what a check calls meanwhile; end all that it started, also after a signal."""
    process = import_module("lifespec.conformance.server.process")
    with _interruptible(), process.adopt_orphans(), _progress() as progress:
        yield progress


def _common(arguments: argparse.Namespace) -> dict[str, Any]:
    names = ("spec", "strict", "only", "ignore", "timeout")
    return {name: getattr(arguments, name) for name in names}


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Let SIGTERM and SIGHUP interrupt a check as Ctrl-C does, unless they are ignored."""
    names = ("SIGTERM", "SIGHUP") if threading.current_thread() is threading.main_thread() else ()
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    before = {each: signal.getsignal(each) for each in numbers}
    heard = {each: handler for each, handler in before.items() if handler != signal.SIG_IGN}

    def interrupt(number: int, _: object) -> None:
        for each in heard:
            signal.signal(each, signal.SIG_IGN)  # while what was started is ended
        raise KeyboardInterrupt(number)

    try:
        for each in heard:
            signal.signal(each, interrupt)
        yield
    finally:
        for each, handler in heard.items():
            signal.signal(each, handler)


@contextlib.contextmanager
def _progress() -> Iterator[dict[str, Any]]:
    """Yield what is called after each case and while one waits; a terminal shows it."""
    shown = sys.stderr is not None and sys.stderr.isatty()
    count = itertools.count(1)

    def show(line: str) -> None:
        if shown:
            sys.stderr.write(f"\r\x1b[K{line}")
            sys.stderr.flush()

    def tell(case: str, found: Sequence[Finding]) -> bool:
        show(f"{next(count)} {case}: {Verdict.of(each.verdict for each in found).upper()}")
        return False

    try:
        yield {"tell": tell, "tick": lambda case, seconds: show(f"{case}: {seconds:.0f} s")}
    finally:
        show("")


def _report(report: Report, arguments: argparse.Namespace) -> int:
    """Print a report, write its files, and return the exit status."""
    terminal = sys.stdout.isatty()
    width = shutil.get_terminal_size((WIDTH, 0)).columns if terminal else WIDTH
    colours = terminal and "NO_COLOR" not in os.environ
    language, verbose = arguments.words.language, arguments.verbose
    _print(render(report, language, verbose=verbose, width=width, colours=colours))
    say = Words("en", report.spec).say
    for path, write in ((arguments.json, as_json), (arguments.junit, as_junit)):
        if path:
            _write({path: write(report, say).encode("utf-8", "backslashreplace")}, "wb")
    return report.status


def _write(contents: dict[Path, bytes], mode: str) -> None:
    """Write files; with the mode "xb" they must be new, and none is left if one fails."""
    path = Path()
    try:
        with contextlib.ExitStack() as undone:
            for path, content in contents.items():
                with path.open(mode) as file:
                    undone.callback(path.unlink)
                    file.write(content)
            undone.pop_all()
    except FileExistsError:
        raise Unchecked(fact("file-exists", path=str(path))) from None
    except OSError as error:
        raise Unchecked(fact("file-not-written", path=str(path), error=error.strerror)) from None


# ---- explain, cases and copy --------------------------------------------------------------------


def _explain(arguments: argparse.Namespace) -> int:
    lines = explain.lines(rules()[arguments.rule], arguments.words.language)
    return _print("".join(f"{line}\n" for line in lines))


def _cases(arguments: argparse.Namespace) -> int:
    words, lines = arguments.words, []
    for case in cases.load():
        names = tuple(dict.fromkeys(each.rule for each in case.expect))
        if arguments.role in (None, case.role) and arguments.rule in (None, *names):
            lines.append(f"{case.name} · {words.translate(case.role)}")
            says = words.translate(case.says), words.say(fact("checks", rules=names))
            lines += (f"    {line}" for text in says for line in explain.wrapped(text, WIDTH - 4))
    return _print("".join(f"{line}\n" for line in lines))


def _copy(arguments: argparse.Namespace) -> int:
    to = arguments.to
    contents = {f"{name}.py": copies.content(name).encode() for name in arguments.files}
    if to and to.is_dir():
        _write({to / name: content for name, content in contents.items()}, "xb")
    elif len(contents) > 1:
        raise Unchecked(fact("several-files"))
    elif to:
        _write({to: next(iter(contents.values()))}, "xb")
    else:
        _print(next(iter(contents.values())))
    return 0
