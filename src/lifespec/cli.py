"""The command `lifespec`: its parser, and which function of `commands` carries it out.

An interpreter for the application is begun first, and each command imports what it uses.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from lifespec.conformance.processes import FORKS, leaving_none

SUBJECTS = {
    "app": "check an application",
    "middleware": "check middleware",
    "server": "check a server",
}
COMMANDS = {
    "watch": "start a server's command, and say what its startup or shutdown waits for",
    "explain": "show a rule, its sources and the usual cause if it is broken",
    "cases": "list the cases of the conformance suite",
    "copy": "print a self-contained file for your own project",
}
STATUS = (
    "exit status: 0 every MUST was kept (with --strict, every SHOULD, and an application has no"
    " problem beside the rules), and an application stops"
    " or has no lifespan (1 with --strict); 1 a MUST was broken, or an application is served"
    " without its startup or does not stop; 2 an application does not start, or nothing could be"
    " checked; 128 plus the number of a signal that interrupted the check"
)


class _Parser(argparse.ArgumentParser):
    """A parser that gets its arguments once it is used."""

    fill: Callable[[argparse.ArgumentParser], object] = staticmethod(lambda _: None)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Add the arguments, and parse."""
        self.fill(self)
        return super().parse_known_args(args, namespace)


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        """Print the version."""
        from lifespec.conformance.export import version  # noqa: PLC0415  it reads all metadata

        sys.stdout.write(f"lifespec {version() or '(not installed)'}\n")
        parser.exit()


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="lifespec", description="Check, explain and implement the ASGI lifespan protocol."
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version")
    parser.set_defaults(run="help", parser=parser, language=None)
    commands = parser.add_subparsers(metavar="COMMAND", title="commands")
    says = "check an application, middleware or a server"
    check = commands.add_parser("check", help=says, description=says.capitalize(), epilog=STATUS)
    subjects = check.add_subparsers(metavar="SUBJECT", title="subjects", required=True)
    for name, says in SUBJECTS.items():
        _add(subjects, name, says, STATUS, run="check", subject=name)
    for name, says in COMMANDS.items():
        _add(commands, name, says, run=name)
    return parser


def _add(group: Any, name: str, says: str, epilog: str | None = None, **defaults: str) -> None:
    """Add a command to a group; `arguments` has its arguments."""

    def fill(parser: argparse.ArgumentParser) -> None:
        from lifespec.arguments import ARGUMENTS  # noqa: PLC0415  --help needs none of it

        ARGUMENTS[name](parser)

    command = group.add_parser(name, help=says, description=f"{says.capitalize()}.", epilog=epilog)
    command.set_defaults(**defaults)
    command.fill = fill


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status."""
    words = [*(sys.argv[1:] if argv is None else argv)]
    checks = words[:1] == ["check"] and FORKS
    begin = words[1:2] in (["app"], ["middleware"]) and not {"--", "--list"} & {*words}
    with leaving_none(begin=begin) if checks else nullcontext():
        parser = _parser()
        parsed, unknown = parser.parse_known_args(words)
        parsed.dashes, parsed.unknown = "--" in words, unknown
        if unknown and not _is_command(parsed):
            parser.error(f"unrecognized arguments: {' '.join(unknown)}")
        from lifespec.commands import run  # noqa: PLC0415  once the interpreter has begun

        return run(parsed)


def _is_command(parsed: argparse.Namespace) -> bool:
    """Tell whether the options that are not known are those of a command without its `--`."""
    return getattr(parsed, "subject", "") == "app" and len(parsed.of) > 1
