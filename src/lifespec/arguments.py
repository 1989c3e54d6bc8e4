"""The arguments of each command."""

import argparse
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from lifespec.catalog import FOLDERS, Translate, _
from lifespec.conformance import cases
from lifespec.conformance.rules import NEWEST
from lifespec.validate import SPECS

COPIES = {
    "server": _("Lifespan, for servers and test clients"),
    "server_trio": _("Lifespan for servers on trio, with server.py beside it"),
    "application": _("with_lifespan, for applications"),
    "validate": _("the validator and the rules of all specifications"),
    "messages": _("types of scopes and events"),
}
DEFAULT_SPEC = "asgi 2.0"
OPTIONS = ("spec", "strict", "only", "ignore", "timeout", "on_case", "on_wait")  # of every check


def seconds(say: Translate) -> Callable[[str], float]:
    """Return what reads a timeout."""

    def read(text: str) -> float:
        with suppress(ValueError):
            number = float(text)
            if 0 < number < threading.TIMEOUT_MAX:
                return number
        wrong = say(_("{text} is no number of seconds: give one above 0, such as 10"))
        raise argparse.ArgumentTypeError(wrong.format(text=repr(text)))

    return read


def count(say: Translate) -> Callable[[str], int]:
    """Return what reads a whole number."""

    def read(text: str) -> int:
        with suppress(ValueError):
            number = int(text)
            if number > 0:
                return number
        wrong = say(_("{text} is no whole number above 0"))
        raise argparse.ArgumentTypeError(wrong.format(text=repr(text)))

    return read


def _app(parser: argparse.ArgumentParser, say: Translate) -> None:
    says = _(
        "module:attribute, such as shop.main:app; or, after --, the command that serves the"
        " application, such as uvicorn shop.main:app: it runs until it would serve, and what it"
        " would serve is checked"
    )
    parser.add_argument("of", metavar="TARGET", nargs="*", help=says)
    says = _("TARGET is a function that makes the application")
    parser.add_argument("--factory", action="store_true", help=says)
    says = _("play one case only: the application starts, handles a request, and stops")
    parser.add_argument("--quick", action="store_true", help=says)
    says = _("print what would be played, and run nothing")
    parser.add_argument("--list", action="store_true", help=says)
    says = _("play at most N cases at the same time (default: by what the first one takes)")
    parser.add_argument("--at-once", metavar="N", type=count(say), help=says)
    _of_application(parser, say, "factory", "quick", "at_once", "on_plan", "on_first")


def _middleware(parser: argparse.ArgumentParser, say: Translate) -> None:
    says = _("module:attribute of a function that takes an application")
    parser.add_argument("of", metavar="TARGET", help=says)
    _of_application(parser, say)


def _of_application(parser: argparse.ArgumentParser, say: Translate, *own: str) -> None:
    from lifespec.conformance.app.check import LIMIT

    _add_options(
        parser,
        say,
        LIMIT,
        *own,
        strict=_("also fail if a SHOULD is missed, if lifespec does otherwise, or for a problem"),
        ignore=_("leave this rule or problem out; repeatable"),
    )


def _server(parser: argparse.ArgumentParser, say: Translate) -> None:
    from lifespec.conformance.server.play import SERVER_TIMEOUT

    says = _(
        "after --, the command that starts it, with {app} for the application, {port} for the"
        " port of 127.0.0.1, {workers} for the number of workers, and {folder} for a folder of each"
        " case: they run side by side"
    )
    parser.add_argument("of", metavar="COMMAND", nargs="+", help=says)
    says = _("also run the cases of 30 to 60 s")
    parser.add_argument("--slow", action="store_true", help=says)
    says = _("added to COMMAND for two workers, if it has no {workers}, such as `-w 2`")
    parser.add_argument("--workers", metavar="ARGUMENTS", default="", help=says)
    says = _("added to COMMAND in the case in which its own limit for open requests expires")
    parser.add_argument("--limit", metavar="ARGUMENTS", default="", help=says)
    _add_options(parser, say, SERVER_TIMEOUT, "slow", "workers", "limit")


def _watched(parser: argparse.ArgumentParser, say: Translate) -> None:
    from lifespec.watch.parent import AFTER

    parser.add_argument("of", metavar="COMMAND", nargs="*", help=_("after --, any command"))
    says = _("instead of COMMAND: a process that runs already (Python 3.14)")
    parser.add_argument("--pid", metavar="PID", type=count(say), help=says)
    says = _(
        "seconds that startup or shutdown may last before anything is said (default: {seconds})"
    )
    parser.add_argument(
        "--after",
        metavar="SECONDS",
        type=seconds(say),
        default=AFTER,
        help=say(says).format(seconds=f"{AFTER:g}"),
    )
    says = _("also append what is said to FILE, a line of JSON each")
    parser.add_argument("--json", metavar="FILE", type=Path, help=says)
    _add_language(parser)


def _explained(parser: argparse.ArgumentParser, _say: Translate) -> None:
    says = _("of a rule or a problem, such as startup-sent or never-ran (default: list them)")
    parser.add_argument("name", metavar="NAME", nargs="?", help=says)
    _add_language(parser)


def _listed(parser: argparse.ArgumentParser, _say: Translate) -> None:
    parser.add_argument("--role", choices=cases.ROLES, help=_("only those for that role"))
    parser.add_argument("--rule", metavar="RULE", help=_("only those that check that rule"))
    _add_language(parser)


def _copied(parser: argparse.ArgumentParser, say: Translate) -> None:
    item = say(_("%s: %s"))
    says = say(_("; ")).join(item % (name, say(says)) for name, says in COPIES.items())
    parser.add_argument("files", metavar="FILE", nargs="+", help=says)
    says = _("write it to a new file, or into a folder")
    parser.add_argument("--to", metavar="PATH", type=Path, help=says)


def _add_language(command: argparse.ArgumentParser) -> None:
    says = _("default: that of the locale")
    command.add_argument("--language", choices=sorted(FOLDERS), help=says)


def _add_options(
    command: argparse.ArgumentParser,
    say: Translate,
    timeout: float,
    *own: str,
    strict: str = _("also fail if a SHOULD is missed, or if lifespec does otherwise"),
    ignore: str = _("leave this rule out; repeatable"),
) -> None:
    """Add the options of every check; `own` are names of arguments that only this one has."""
    add = command.add_argument
    comma = say(_(", "))
    specs = say(_("{specs}; or {families} for the newest (default: {default})"))
    specs = specs.format(specs=comma.join(SPECS), families=comma.join(NEWEST), default=DEFAULT_SPEC)
    add("--spec", default=DEFAULT_SPEC, help=specs)
    add("--strict", action="store_true", help=strict)
    many: Any = {"action": "append", "default": []}
    add("--ignore", metavar="NAME", help=ignore, **many)
    add("--only", metavar="CASE", help=_("run only this case; repeatable"), **many)
    says = _("for an answer, or for what a server does next (default: {seconds})")
    says = say(says).format(seconds=f"{timeout:g}")
    add("--timeout", metavar="SECONDS", type=seconds(say), default=timeout, help=says)
    add("--json", metavar="FILE", type=Path, help=_("also write the report to FILE as JSON"))
    add("--junit", metavar="FILE", type=Path, help=_("the same as JUnit XML"))
    add("--verbose", action="store_true", help=_("show every finding in full"))
    _add_language(command)
    command.set_defaults(options=(*OPTIONS, *own))


ARGUMENTS: Mapping[str, Callable[[argparse.ArgumentParser, Translate], None]] = {
    "app": _app,
    "middleware": _middleware,
    "server": _server,
    "watch": _watched,
    "explain": _explained,
    "cases": _listed,
    "copy": _copied,
}
