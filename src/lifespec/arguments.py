"""The arguments of each command."""

import argparse
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from lifespec.catalog import FOLDERS
from lifespec.conformance import cases
from lifespec.conformance.rules import NEWEST
from lifespec.validate import SPECS

COPIES = {
    "server": "Lifespan, for servers and test clients",
    "server_trio": "Lifespan for servers on trio, with server.py beside it",
    "application": "with_lifespan, for applications",
    "validate": "the validator and the rules of all specifications",
    "messages": "types of scopes and events",
}
OPTIONS = ("spec", "strict", "only", "ignore", "timeout", "on_case", "on_wait")  # of every check


def seconds(text: str) -> float:
    """Return a timeout; argparse names this function if it is none."""
    if 0 < (found := float(text)) < threading.TIMEOUT_MAX:
        return found
    raise ValueError


def count(text: str) -> int:
    """Return a number of cases; argparse names this function if it is none."""
    if (number := int(text)) > 0:
        return number
    raise ValueError


def _app(parser: argparse.ArgumentParser) -> None:
    parser.usage = "%(prog)s [options] (TARGET | -- COMMAND)"
    says = (
        "module:attribute, such as shop.main:app; or, after --, the command that serves the"
        " application, such as uvicorn shop.main:app: it runs until it would serve, and what it"
        " would serve is checked"
    )
    parser.add_argument("of", metavar="TARGET", nargs="*", help=says)
    says = "TARGET is a function that makes the application"
    parser.add_argument("--factory", action="store_true", help=says)
    says = "play one case only: the application starts, handles a request, and stops"
    parser.add_argument("--quick", action="store_true", help=says)
    says = "print what would be played, and run nothing"
    parser.add_argument("--list", action="store_true", help=says)
    says = "play at most N cases at the same time (default: by what the first one takes)"
    parser.add_argument("--at-once", metavar="N", type=count, help=says)
    _of_application(parser, "factory", "quick", "at_once", "on_plan", "on_first")


def _middleware(parser: argparse.ArgumentParser) -> None:
    says = "module:attribute of a function that takes an application"
    parser.add_argument("of", metavar="TARGET", help=says)
    _of_application(parser)


def _of_application(parser: argparse.ArgumentParser, *own: str) -> None:
    from lifespec.conformance.app.check import LIMIT

    _add_options(
        parser,
        LIMIT,
        *own,
        strict="also fail if a SHOULD is missed, if lifespec does otherwise, or for a problem",
        ignore="leave this rule or problem out; repeatable",
    )


def _server(parser: argparse.ArgumentParser) -> None:
    from lifespec.conformance.server.play import TIMEOUT

    says = (
        "after --, the command that starts it, with {app} for the application, {port} for the"
        " port of 127.0.0.1, {workers} for the number of workers, and {folder} for a folder of each"
        " case: they run side by side"
    )
    parser.add_argument("of", metavar="COMMAND", nargs="+", help=says)
    says = "also run the cases of 30 to 60 s"
    parser.add_argument("--slow", action="store_true", help=says)
    says = "added to COMMAND for two workers, if it has no {workers}: --workers='-w 2'"
    parser.add_argument("--workers", metavar="ARGUMENTS", default="", help=says)
    says = "added to COMMAND in the case in which its own limit for open requests expires"
    parser.add_argument("--limit", metavar="ARGUMENTS", default="", help=says)
    _add_options(parser, TIMEOUT, "slow", "workers", "limit")


def _watched(parser: argparse.ArgumentParser) -> None:
    from lifespec.watch.parent import AFTER

    parser.add_argument("of", metavar="COMMAND", nargs="*", help="after --, any command")
    says = "instead of COMMAND: a process that runs already (Python 3.14)"
    parser.add_argument("--pid", metavar="PID", type=int, help=says)
    says = (
        "seconds that startup or shutdown may last before anything is said (default: %(default)g)"
    )
    parser.add_argument("--after", metavar="SECONDS", type=seconds, default=AFTER, help=says)
    says = "also append what is said to FILE, a line of JSON each"
    parser.add_argument("--json", metavar="FILE", type=Path, help=says)
    _add_language(parser)


def _explained(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("rule", metavar="RULE", help="such as startup-sent")
    _add_language(parser)


def _listed(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--role", choices=cases.ROLES, help="only those for that role")
    parser.add_argument("--rule", metavar="RULE", help="only those that check that rule")
    _add_language(parser)


def _copied(parser: argparse.ArgumentParser) -> None:
    says = "; ".join(f"{name}: {says}" for name, says in COPIES.items())
    parser.add_argument("files", metavar="FILE", nargs="+", help=says)
    says = "write it to a new file, or into a folder"
    parser.add_argument("--to", metavar="PATH", type=Path, help=says)


def _add_language(command: argparse.ArgumentParser) -> None:
    says = "default: that of the locale"
    command.add_argument("--language", choices=sorted(FOLDERS), help=says)


def _add_options(
    command: argparse.ArgumentParser,
    timeout: float,
    *own: str,
    strict: str = "also fail if a SHOULD is missed, or if lifespec does otherwise",
    ignore: str = "leave this rule out; repeatable",
) -> None:
    """Add the options of every check; `own` are names of arguments that only this one has."""
    add = command.add_argument
    specs = f"{', '.join(SPECS)}; or {', '.join(NEWEST)} for the newest (default: %(default)s)"
    add("--spec", default="asgi 2.0", help=specs)
    add("--strict", action="store_true", help=strict)
    many: Any = {"action": "append", "default": []}
    add("--ignore", metavar="NAME", help=ignore, **many)
    add("--only", metavar="CASE", help="run only this case; repeatable", **many)
    says = "for an answer, or for what a server does next (default: %(default)g)"
    add("--timeout", metavar="SECONDS", type=seconds, default=timeout, help=says)
    add("--json", metavar="FILE", type=Path, help="also write the report to FILE as JSON")
    add("--junit", metavar="FILE", type=Path, help="the same as JUnit XML")
    add("--verbose", action="store_true", help="show every finding in full")
    _add_language(command)
    command.set_defaults(options=(*OPTIONS, *own))


ARGUMENTS: Mapping[str, Callable[[argparse.ArgumentParser], None]] = {
    "app": _app,
    "middleware": _middleware,
    "server": _server,
    "watch": _watched,
    "explain": _explained,
    "cases": _listed,
    "copy": _copied,
}
