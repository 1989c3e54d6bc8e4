"""The command `lifespec`.

Each command is a function of two: one adds its parser to the others, one does what was asked and
returns the exit status. What cannot be done raises UsageError: a sentence on standard error, and
status 2.
What a command needs is imported when it is carried out: the others do not wait for it.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from contextlib import ExitStack, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from lifespec import copies
from lifespec.conformance.output import OutputFailed, writing
from lifespec.conformance.texts import plain
from lifespec.conformance.unchecked import Unchecked

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


__all__ = ["COPY_ME", "UsageError", "main"]

SIGNALLED = 128  # and the signal's number, as shells have it
COPY_ME = {
    "server": "Lifespan, for servers and test clients",
    "server_trio": "Lifespan for servers on trio; needs server.py beside it",
    "application": "with_lifespan and combine_lifespans, for applications",
    "validate": "the validator and the rules of all specifications",
    "messages": "types of scopes and events",
}


class UsageError(Exception):
    """A command could not be run; `str()` says what was given, and what is expected."""


class Parser(argparse.ArgumentParser):
    """Reports wrong usage in one line; adds its arguments when it is first used."""

    fill: Callable[[Parser], object] | None = None

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Add the arguments, and parse; what is left over is an error of this command."""
        while fill := self.fill:  # which may leave another for the end
            self.fill = None
            fill(self)
        found, more = super().parse_known_args(args, namespace)
        if more:
            self.error(f"unrecognized arguments: {' '.join(more)}")
        return found, more

    def error(self, message: str) -> NoReturn:
        """Raise UsageError with the message of argparse and a pointer to --help."""
        raise UsageError(f"{message}; `{self.prog} --help` lists the options")


class _Version(argparse.Action):
    """Shows the version, which takes time to find."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        """Print it and exit."""
        sys.stdout.write(f"lifespec {_version()}\n")
        parser.exit()


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status; 2 if it could not be run."""
    try:
        return _run(argv)
    except (UsageError, Unchecked) as refused:
        _say(str(refused))
        return 2
    except OSError as error:
        named = f"{error.filename}: " if error.filename else ""
        _say(f"the command failed: {named}{error.strerror or error}")
        return 2
    except KeyboardInterrupt as interrupt:
        _say("interrupted")
        return SIGNALLED + (interrupt.args[0] if interrupt.args else signal.SIGINT)


def _say(sentence: str) -> None:
    """Write one line to standard error, if that is possible."""
    with suppress(OSError):
        if sys.stderr is not None:
            sys.stderr.write(f"lifespec: {plain(sentence)}\n")


def _run(argv: Sequence[str] | None) -> int:
    if sys.stdout is None:
        raise UsageError("standard output is closed: send it to a file or to a terminal")
    status = 0
    try:
        try:
            arguments = _parser().parse_args(argv)
            status = arguments.run(arguments)
        finally:
            with writing():
                sys.stdout.flush()  # not when Python ends: that would be a traceback
    except BrokenPipeError:  # who reads has read enough
        _drop_output()
    except OutputFailed as failed:
        _drop_output()
        raise UsageError(f"the output cannot be written: {failed}") from None
    return status


def _drop_output() -> None:
    """Discard the rest of the output."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> Parser:
    parser = Parser(
        prog="lifespec", description="Check, explain and implement the ASGI lifespan protocol."
    )
    parser.add_argument(
        "--version", action=_Version, nargs=0, help="show program's version number and exit"
    )
    parser.set_defaults(run=lambda _: _help(parser))
    commands = parser.add_subparsers(metavar="COMMAND", title="commands")
    for name, (help_, fill) in _COMMANDS.items():
        commands.add_parser(name, help=help_).fill = fill
    return parser


def _help(parser: Parser) -> int:
    parser.print_help()
    return 0


def _version() -> str:
    from importlib import metadata  # noqa: PLC0415  it takes a tenth of a check

    try:
        return metadata.version("lifespec")
    except metadata.PackageNotFoundError:
        return "(not installed)"


def _add_copy(parser: Parser) -> None:
    files = "\n".join(f"  {name:13}{what}" for name, what in COPY_ME.items())
    parser.description = (
        "Print a file for your own project. It needs only the standard library;\n"
        "server_trio also needs trio. The licence, 0BSD, does not require a notice."
    )
    parser.epilog = f"files:\n{files}"
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "files", metavar="FILE", type=_copy_me, nargs="+", help="one of the files below"
    )
    parser.add_argument(
        "--to",
        metavar="PATH",
        type=_new_file,
        help="write it to a new file, or into an existing folder",
    )
    parser.set_defaults(run=_copy)


def _copy_me(name: str) -> str:
    if name not in COPY_ME:
        *others, last = COPY_ME
        raise UsageError(f"there is no file {name!r}: choose {', '.join(others)} or {last}")
    return name


def _new_file(path: str) -> Path:
    if not path:
        raise UsageError("the path after --to is empty: give that of a new file")
    return Path(path)


def _copy(arguments: argparse.Namespace) -> int:
    contents = {f"{name}.py": _content(name) for name in arguments.files}
    to: Path | None = arguments.to
    if to and to.is_dir():
        _write({to / name: content for name, content in contents.items()})
        return 0
    if len(contents) > 1:
        raise UsageError("several files need a folder that exists: give it with --to")
    (content,) = contents.values()
    if to:
        _write({to: content})
    else:
        with writing():
            sys.stdout.buffer.write(content)
    return 0


def _content(name: str) -> bytes:
    try:
        return copies.content(name).encode()
    except OSError as error:
        missing = error.filename
    raise UsageError(f"this installation has no {missing}: install lifespec again")


def _write(contents: dict[Path, bytes]) -> None:
    """Write new files; remove them if writing one fails."""
    path = Path()
    try:
        with ExitStack() as undone:
            for path, content in contents.items():
                with path.open("xb") as file:
                    undone.callback(path.unlink)
                    file.write(content)
            undone.pop_all()
    except FileExistsError:
        raise UsageError(f"{path} already exists: give another path, or remove it first") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}; give another path") from None


def _add_explain(parser: Parser) -> None:
    explain = import_module("lifespec.conformance.explain")
    parser.description = "Show a rule, in Chinese if the locale is Chinese."
    parser.add_argument("rule", metavar="RULE", help="its rule ID, such as startup-sent")
    languages = sorted(explain.FOLDERS)
    parser.add_argument(
        "--language", choices=languages, help="language of the output (default: from the locale)"
    )
    parser.set_defaults(run=_explain)


def _explain(arguments: argparse.Namespace) -> int:
    explain = import_module("lifespec.conformance.explain")
    language = arguments.language or explain.language(os.environ)
    rules = import_module("lifespec.conformance.rules")
    rule = rules.rules()[rules.known_rule(arguments.rule)]
    text = "".join(f"{line}\n" for line in explain.lines(rule, language))
    with writing():
        sys.stdout.buffer.write(text.encode(sys.stdout.encoding, "replace"))
    return 0


def _add_check(parser: Parser) -> None:
    import_module("lifespec.conformance.cli").add_subjects(parser)


def _add_cases(parser: Parser) -> None:
    import_module("lifespec.conformance.cli").add_filters(parser)


_COMMANDS: dict[str, tuple[str, Callable[[Parser], None]]] = {
    "copy": ("print a self-contained file for your own project", _add_copy),
    "explain": ("show a rule, its sources, and how to fix what breaks it", _add_explain),
    "check": ("check an application, middleware, server or test client", _add_check),
    "cases": ("list the cases of the conformance suite", _add_cases),
}
