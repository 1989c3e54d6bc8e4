"""The command `lifespec`.

Each command is a function of two: one adds its parser to the others, one does what was asked and
returns the exit status. What cannot be done is a Refused: a sentence on standard error, status 2.
An OSError that a command lets through is one of standard output.
"""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import ExitStack, suppress
from importlib import metadata, resources
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from lifespec.conformance import checking, explain
from lifespec.conformance.cases import Unchecked

if TYPE_CHECKING:
    from collections.abc import Sequence


__all__ = ["COPY_ME", "Refused", "main"]

INTERRUPTED = 130  # as shells have it
COPY_ME = {
    "server": "the server's half of the protocol",
    "application": "the application's half",
    "validate": "the protocol as tables",
    "messages": "scopes and messages as types",
}


class Refused(Exception):
    """A command could not be carried out; `str()` says what was given, and what to give."""


class Parser(argparse.ArgumentParser):
    """Refuses bad usage in one line."""

    def error(self, message: str) -> NoReturn:
        """Say what to do beside what argparse found."""
        raise Refused(f"{message}; `{self.prog} --help` says what can be given")


def main(argv: Sequence[str] | None = None) -> int:
    """Carry out a command; return 0 where it is done, 2 where it could not be."""
    try:
        return _run(argv)
    except (Refused, Unchecked) as refused:
        _say(str(refused))
        return 2
    except KeyboardInterrupt:
        _say("interrupted")
        return INTERRUPTED


def _say(sentence: str) -> None:
    """Write to standard error; where it is closed or full, the status has to say it alone."""
    with suppress(OSError):
        if sys.stderr is not None:
            sys.stderr.write(f"lifespec: {sentence}\n")


def _run(argv: Sequence[str] | None) -> int:
    if sys.stdout is None:
        raise Refused("standard output is closed: send it to a file or to a terminal")
    status = 0
    try:
        try:
            arguments = _parser().parse_args(argv)
            status = arguments.run(arguments)
        finally:
            sys.stdout.flush()  # not when Python ends: that would be a traceback
    except BrokenPipeError:  # who reads has read enough
        _drop_output()
    except OSError as error:
        _drop_output()
        raise Refused(f"the output cannot be written: {error.strerror}") from None
    return status


def _drop_output() -> None:
    """Let what is still to be written go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> Parser:
    parser = Parser(prog="lifespec", description="The reference of the lifespan protocol.")
    parser.add_argument("--version", action="version", version=f"lifespec {_version()}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, title="commands")
    _add_copy(commands)
    _add_explain(commands)
    checking.add_check(commands)
    checking.add_cases(commands)
    return parser


def _version() -> str:
    try:
        return metadata.version("lifespec")
    except metadata.PackageNotFoundError:
        return "(not installed)"


def _add_copy(commands: argparse._SubParsersAction[Parser]) -> None:
    files = "\n".join(f"  {name:13}{what}" for name, what in COPY_ME.items())
    parser = commands.add_parser(
        "copy",
        help="print a file to take into your own project",
        description="Print a file that needs the standard library and nothing else.\n"
        "Its licence, 0BSD, asks for no notice.",
        epilog=f"files:\n{files}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", metavar="FILE", type=_copy_me, help="one of the files below")
    parser.add_argument("--to", metavar="PATH", type=Path, help="write it there; PATH is new")
    parser.set_defaults(run=_copy)


def _copy_me(name: str) -> str:
    if name not in COPY_ME:
        *others, last = COPY_ME
        raise Refused(f"there is no {name!r}: name {', '.join(others)} or {last}")
    return name


def _copy(arguments: argparse.Namespace) -> int:
    source = resources.files("lifespec").joinpath(f"{arguments.file}.py")
    try:
        content = source.read_bytes()
    except OSError:
        raise Refused(f"this installation has no {source}: install lifespec again") from None
    if arguments.to:
        _write(arguments.to, content)
    else:
        sys.stdout.buffer.write(content)
    return 0


def _write(path: Path, content: bytes) -> None:
    """Write a new file, or none."""
    try:
        with ExitStack() as undone:
            with path.open("xb") as file:
                undone.callback(path.unlink)
                file.write(content)
            undone.pop_all()
    except FileExistsError:
        raise Refused(f"{path} is there already: name another path, or remove it first") from None
    except OSError as error:
        raise Refused(f"{path} cannot be written: {error.strerror}; name another path") from None


def _add_explain(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = commands.add_parser(
        "explain",
        help="show a rule: whose it is, what it says, and which text says so",
        description="Show a rule, in the language of the locale where that is Chinese.",
    )
    parser.add_argument("slug", metavar="SLUG", help="its name, such as startup-sent")
    languages = sorted(explain.FOLDERS)
    parser.add_argument("--language", choices=languages, help="English or Chinese instead")
    parser.set_defaults(run=_explain)


def _explain(arguments: argparse.Namespace) -> int:
    language = arguments.language or explain.language(os.environ)
    try:
        rules = explain.read(language)
    except OSError as error:
        raise Refused(
            f"this installation has no {error.filename}: install lifespec again"
        ) from None
    rule = rules.get(arguments.slug)
    if rule is None:
        raise Refused(_no_rule(arguments.slug, explain.near(arguments.slug, rules)))
    text = "".join(f"{line}\n" for line in explain.lines(rule))
    sys.stdout.buffer.write(text.encode(sys.stdout.encoding, "replace"))
    return 0


def _no_rule(slug: str, near: Sequence[str]) -> str:
    if not near:
        return f"there is no rule {slug!r}, nor one of a similar name"
    *others, last = near
    meant = f"{', '.join(others)} or {last}" if others else last
    return f"there is no rule {slug!r}: did you mean {meant}?"
