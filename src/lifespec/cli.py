"""The command `lifespec`: its parser, and which function of `commands` carries it out.

An interpreter for the application is begun first, and each command imports what it uses.
"""

import argparse
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import pairwise
from typing import Any, NoReturn

from lifespec.catalog import FOLDERS, Translate, _, language, translator, wrapped
from lifespec.conformance.processes import FORKS, leaving_none

SUBJECTS = {
    "app": _("check an application"),
    "middleware": _("check middleware"),
    "server": _("check a server"),
}
COMMANDS = {
    "watch": _("start a server's command, and say what its startup or shutdown waits for"),
    "explain": _("explain a rule or a problem, or list them"),
    "cases": _("list the cases of the conformance suite"),
    "copy": _("print a self-contained file for your own project"),
}
USAGE = {
    "app": "(TARGET | -- COMMAND)",
    "middleware": "TARGET",
    "server": "-- COMMAND",
    "watch": "(-- COMMAND | --pid PID)",
    "explain": "[NAME]",
    "cases": "",
    "copy": "FILE [FILE ...]",
}
INTERRUPTED = "128+n", _("signal n interrupted the check")
STATUSES = {
    "app": (
        ("0", _("every MUST was kept, and the application stops or has no lifespan")),
        (
            "1",
            _(
                "a MUST was broken, or the application is served without its startup, or it does"
                " not stop; with --strict, also if a SHOULD was missed, if there is a problem"
                " beside the rules, or if there is no lifespan"
            ),
        ),
        ("2", _("the application does not start, or nothing could be checked")),
        INTERRUPTED,
    ),
    "server": (
        ("0", _("every MUST was kept")),
        ("1", _("a MUST was broken; with --strict, also if a SHOULD was missed")),
        ("2", _("nothing could be checked, or a MUST could not be judged")),
        INTERRUPTED,
    ),
}
STATUSES["middleware"] = STATUSES["app"]
ARGPARSE = (  # what it says itself, on any Python from 3.11 on, for the catalogs
    _("usage: "),
    _("%(heading)s:"),
    _("positional arguments"),
    _("options"),
    _("show this help message and exit"),
    _("argument %(argument_name)s: %(message)s"),
    _("the following arguments are required: %s"),
    _("unrecognized arguments: %s"),
    _("expected one argument"),
    _("expected at least one argument"),
    _("ignored explicit argument %r"),
    _("ambiguous option: %(option)s could match %(matches)s"),
    _("invalid choice: %(value)r (choose from %(choices)s)"),
    _("invalid choice: %(value)r, maybe you meant %(closest)r? (choose from %(choices)s)"),
)
_CELL = re.compile(r"  \S+ +")  # the first column of a table
_HEADING = re.compile(r"(?m)(?<=[\u4e00-\u9fff]):$")  # Python 3.11 translates all but the colon


class _Formatter(argparse.HelpFormatter):
    """It cuts lines by their columns, of which a Chinese character takes two."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return list(wrapped(text, width))

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        lines: list[str] = []
        for paragraph in text.split("\n"):
            cell = _CELL.match(paragraph)
            below = indent
            if cell:
                below = " " * len(cell[0])
            lines += wrapped(paragraph, width, below)
        return "\n".join(lines)

    def format_help(self) -> str:
        return _HEADING.sub("：", super().format_help())


class _Parser(argparse.ArgumentParser):
    """A parser in the reader's language that gets its arguments once it is used."""

    fill: Callable[[argparse.ArgumentParser], object] = staticmethod(lambda _: None)
    say: Translate = staticmethod(lambda english: english)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Add the arguments, and parse."""
        self.fill(self)
        return super().parse_known_args(args, namespace)

    def add_argument(self, *names: Any, **options: Any) -> argparse.Action:
        """Add an argument, with its help in the reader's language."""
        options["help"] = self.say(options["help"])
        return super().add_argument(*names, **options)

    def error(self, message: str) -> NoReturn:
        """Say in one line what is wrong and where to look, as all other refusals are said."""
        says = self.say(_("{message}; see `{command} --help`"))
        self.exit(2, f"lifespec: {says.format(message=message, command=self.prog)}\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Say what to type where an application is named in the place of a command."""
        if action.nargs == argparse.PARSER and ":" in value:  # no command has one
            says = self.say(_("{target} is no command: lifespec check app {target}"))
            self.exit(2, f"lifespec: {says.format(target=value)}\n")
        super()._check_value(action, value)

    def _print_message(self, message: str, file: Any = None) -> None:
        encoding = getattr(file, "encoding", None) or "utf-8"
        printable = message.encode(encoding, "backslashreplace").decode(encoding)
        super()._print_message(printable, file)


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        """Print the version."""
        from lifespec.conformance.export import version  # noqa: PLC0415  it reads all metadata

        sys.stdout.write(f"lifespec {version() or '(not installed)'}\n")
        parser.exit()


def _parser(say: Translate) -> argparse.ArgumentParser:
    parser = _Parser(
        prog="lifespec",
        usage="%(prog)s [--version] COMMAND ...",
        description=say(_("Check, explain and implement the ASGI lifespan protocol.")),
        formatter_class=_Formatter,
    )
    parser.say = say
    parser.add_argument("--version", action=_Version, nargs=0, help=_("show the version"))
    parser.set_defaults(run="help", parser=parser, language=None)
    commands = parser.add_subparsers(prog="lifespec", metavar="COMMAND", title=say(_("commands")))
    says = say(_("check an application, middleware or a server"))
    check = commands.add_parser(
        "check", help=says, description=_sentence(says, say), formatter_class=_Formatter
    )
    check.say = say
    check.usage = "%(prog)s SUBJECT ..."
    subjects = check.add_subparsers(
        prog="lifespec check", metavar="SUBJECT", title=say(_("subjects")), required=True
    )
    for name, says in SUBJECTS.items():
        _add(subjects, say, name, says, run="check", subject=name)
    for name, says in COMMANDS.items():
        _add(commands, say, name, says, run=name)
    return parser


def _add(group: Any, say: Translate, name: str, says: str, **defaults: str) -> None:
    """Add a command to a group; `arguments` has its arguments."""

    def fill(parser: argparse.ArgumentParser) -> None:
        from lifespec.arguments import ARGUMENTS  # noqa: PLC0415  --help needs none of it

        ARGUMENTS[name](parser, say)

    options = say(_("[options]"))
    command = group.add_parser(
        name,
        help=say(says),
        usage=f"%(prog)s {options} {USAGE[name]}".rstrip(),
        description=_sentence(say(says), say),
        epilog=_statuses(name, say),
        formatter_class=_Formatter,
    )
    command.set_defaults(**defaults)
    command.fill, command.say = fill, say


def _sentence(says: str, say: Translate) -> str:
    """Return what a command does as a sentence."""
    end = say(_("."))
    return f"{says[:1].upper()}{says[1:]}{end}"


def _statuses(name: str, say: Translate) -> str | None:
    """Return the table of exit statuses of a check."""
    if name not in STATUSES:
        return None
    lines = [say(_("exit status:"))]
    for status, says in STATUSES[name]:
        lines.append(f"  {status:5}  {say(says)}")
    return "\n".join(lines)


@contextmanager
def _speaking(say: Translate) -> Iterator[None]:
    """Let argparse say what it says itself in the reader's language.

    Python has no catalog of it, and argparse no other place for one.
    """
    own = argparse._  # type: ignore[attr-defined]
    argparse._ = say  # type: ignore[attr-defined]
    try:
        yield
    finally:
        argparse._ = own  # type: ignore[attr-defined]


def _language(words: Sequence[str]) -> str:
    """Return the language that is asked for, which the help and refusals have, too."""
    for option, following in pairwise([*words, ""]):
        if option == "--":  # what follows is another command's
            break
        name, equals, value = option.partition("=")
        if name != "--language":
            continue
        if not equals:
            value = following
        if value in FOLDERS:
            return value
    return language(os.environ)


def _processes(words: Sequence[str]) -> AbstractContextManager[None]:
    """Return what begins an interpreter for a check if it needs one, and ends what is left."""
    if words[:1] != ["check"] or not FORKS:
        return nullcontext()
    begin = words[1:2] in (["app"], ["middleware"])
    if not {"--", "--list"}.isdisjoint(words):  # the command begins its own, and a list needs none
        begin = False
    return leaving_none(begin=begin)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status."""
    if argv is None:
        argv = sys.argv[1:]
    words = list(argv)
    say = translator(_language(words))
    with _processes(words), _speaking(say):
        parser = _parser(say)
        parsed, unknown = parser.parse_known_args(words)
        parsed.dashes, parsed.unknown = "--" in words, unknown
        if unknown and not _is_command(parsed):
            parser.error(say("unrecognized arguments: %s") % " ".join(unknown))
        from lifespec.commands import run_command  # noqa: PLC0415  once the interpreter has begun

        return run_command(parsed)


def _is_command(parsed: argparse.Namespace) -> bool:
    """Tell whether the options that are not known are those of a command without its `--`."""
    if getattr(parsed, "subject", "") == "app":
        return len(parsed.of) > 1
    return parsed.run == "watch" and bool(parsed.of) and not parsed.dashes
