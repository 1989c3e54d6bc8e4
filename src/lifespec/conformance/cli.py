"""The commands `lifespec check` and `lifespec cases`: options and output.

What only some subjects or options need is imported where they are given, as it takes its time.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import os
import shlex
import signal
import sys
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lifespec.conformance import cases, explain, i18n, processes, settings
from lifespec.conformance.app import check as app_check
from lifespec.conformance.app import run as app_run
from lifespec.conformance.app.isolation import ISOLATIONS
from lifespec.conformance.app.pipe import in_perl
from lifespec.conformance.language import ROLES
from lifespec.conformance.output import Target, refuse_the_same, writing
from lifespec.conformance.report import Verdict
from lifespec.conformance.rules import NEWEST, known_rule, known_spec
from lifespec.conformance.unchecked import Unchecked
from lifespec.validate import SPECS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from lifespec.conformance.findings import Tell
    from lifespec.conformance.report import Finding, Report
    from lifespec.conformance.server.check import ServerCheck

    Parser = Any  # lifespec.cli.Parser, which is above this

__all__ = ["add_filters", "add_subjects"]

FORMS = "json", "junit", "sarif", "markdown"  # in which a report can be written to a file
SIGNALS = [each for each in signal.Signals if each.name in ("SIGINT", "SIGTERM", "SIGHUP")]


def add_subjects(parser: Any) -> None:
    """Add to the parser of `check` the subjects that it can check."""
    parser.description = "Run the conformance tests against a subject."
    parser.epilog = (
        "exit status: 0 every MUST was kept, 1 one was broken, 2 the subject could not be checked,"
        " 128 plus the number of the signal that interrupted the check"
    )
    subjects = parser.add_subparsers(metavar="SUBJECT", required=True, title="subjects")
    for name, (help_, fill) in _SUBJECTS.items():
        subjects.add_parser(name, help=help_).fill = fill


def _add_app(parser: Parser) -> None:
    parser.description = "Check an application: call it as a server does, once for each case."
    parser.add_argument(
        "target",
        metavar="TARGET",
        nargs="?",
        help="module:attribute, such as shop.main:app, or a Perl file, such as shop.pl"
        " (default: app of [tool.lifespec])",
    )
    parser.add_argument(
        "--factory",
        action="store_true",
        help="TARGET is a function that returns the application",
    )
    _add_isolation(parser)
    _add_only(parser)
    _add_outputs(parser)
    parser.add_argument(
        "--pipe",
        metavar="COMMAND",
        nargs=argparse.REMAINDER,
        default=[],
        help="instead of TARGET, as the last option: a program in any language that contains the"
        " application",
    )
    parser.set_defaults(run=_check, role="application", app=[])


def _add_isolation(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--isolation",
        choices=ISOLATIONS,
        default="auto",
        help="import TARGET once and fork a process for each case, or spawn an interpreter for"
        " each (default: fork if the import leaves no thread and no open file)",
    )


def _add_middleware(parser: Parser) -> None:
    parser.description = "Check middleware, between an application and a server of the suite."
    parser.add_argument(
        "target", metavar="TARGET", help="module:attribute, a function that takes an application"
    )
    _add_isolation(parser)
    _add_only(parser)
    _add_outputs(parser)
    parser.set_defaults(run=_check, role="middleware", pipe=[])


def _add_server(parser: Parser) -> None:
    from lifespec.conformance.server import brokers, observation, process  # noqa: PLC0415

    places = (f"  {{{place}}}{'':{9 - len(place)}}{what}" for place, what in process.PLACES.items())
    parser.description = (
        "Check a server: start it for each case with another application, send\n"
        "requests, and stop it."
    )
    parser.epilog = (
        "placeholders in COMMAND:\n"
        + "\n".join(places)
        + "\n\nexample:\n  lifespec check server -- uvicorn {app} --port {port}"
        "\n\nfor a server that takes messages from a broker, {port} is the broker's port:\n"
        "  lifespec check server --spec amgi --broker redis -- \\\n"
        "    python consume.py {app} {topic} redis://127.0.0.1:{port}"
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "command",
        metavar="COMMAND",
        nargs="+",
        help="the command that starts it, after --, with placeholders",
    )
    _add_only(parser)
    _add_slow(parser)
    parser.add_argument(
        "--workers",
        metavar="ARGUMENTS",
        type=_words,
        default="",
        help="added to COMMAND for two workers if it has no {workers}: --workers='-w 2'",
    )
    parser.add_argument(
        "--broker",
        choices=[*brokers.BROKERS],
        help="start this broker for each case; the server takes its messages from it",
    )
    _add_outputs(parser, observation.PATIENCE, "to wait for the next action of the server")
    parser.set_defaults(run=_server)


def _server(arguments: argparse.Namespace) -> int:
    from lifespec.conformance.api import server_job  # noqa: PLC0415

    words, spec, timeout = arguments.command, arguments.spec, arguments.timeout
    job = server_job(words, spec, arguments.workers, arguments.broker or "", timeout)
    return _check_server(job, arguments)


def _add_servers(parser: Parser) -> None:
    from lifespec.conformance.server import observation, servers  # noqa: PLC0415

    parser.description = (
        "Check the servers that are installed in the environment of lifespec, all at the same"
        " time. The report has the command of each, the counts, and the rules that it does not"
        " follow."
    )
    parser.epilog = "To have a rule explained, give one of the commands to `lifespec check server`."
    parser.add_argument(
        "names",
        metavar="NAME",
        nargs="*",
        help=f"only these: {', '.join(servers.NAMES)} (default: all that are installed)",
    )
    _add_only(parser)
    _add_slow(parser)
    _add_options(parser, observation.PATIENCE, "to wait for the next action of a server")
    parser.set_defaults(run=_servers)


def _servers(arguments: argparse.Namespace) -> int:
    from lifespec.conformance.server import check as server_check  # noqa: PLC0415
    from lifespec.conformance.server import servers  # noqa: PLC0415

    jobs = servers.jobs(arguments.names, arguments.spec, arguments.timeout)
    only = server_check.chosen(arguments.only, slow=arguments.slow)
    words, ignored = _readers(arguments)
    with _playing(arguments, ignored, "servers", len(only) * len(jobs)) as tell:
        found = servers.check(jobs, only, lambda job: functools.partial(tell, job.command[2]))
    reports = [each.without(ignored) for each in found]
    from lifespec.conformance.report import terminal  # noqa: PLC0415  rich, which takes its time

    with suppress(BrokenPipeError), writing():
        for each in reports:
            if arguments.verbose:
                terminal.show(each, sys.stdout, every=True, wording=words)
            else:
                terminal.brief(each, sys.stdout, wording=words)
    return max((each.status(strict=arguments.strict) for each in reports), key=(0, 2, 1).index)


def _add_only(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--only", metavar="CASE", action="append", default=[], help="run only this case; repeatable"
    )
    parser.add_argument(
        "--fail-fast", action="store_true", help="stop after the first case that fails"
    )


def _add_slow(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--slow", action="store_true", help="also run the cases that take half a minute or longer"
    )


def _add_driver(parser: Parser) -> None:
    from lifespec.conformance.server import clients, observation  # noqa: PLC0415

    parser.description = (
        "Check a test client or an adapter: start it for each case with another"
        " application, in a separate process, send requests, and stop it."
    )
    parser.epilog = f"drivers: {', '.join(clients.DRIVERS)}"
    parser.add_argument(
        "name", metavar="NAME", help="one of the drivers below; it must be installed"
    )
    _add_only(parser)
    _add_slow(parser)
    timeout = observation.PATIENCE
    _add_outputs(parser, timeout, "to wait for the next action of the driver", None)
    parser.set_defaults(run=_driver)


def _driver(arguments: argparse.Namespace) -> int:
    from lifespec.conformance.server import clients  # noqa: PLC0415

    name, timeout = arguments.name, arguments.timeout
    return _check_server(clients.job(name, arguments.spec or "", limit=timeout), arguments)


def _check_server(job: ServerCheck, arguments: argparse.Namespace) -> int:
    from lifespec.conformance.server import check as server_check  # noqa: PLC0415

    only = server_check.chosen(arguments.only, slow=arguments.slow)
    return _publish(
        arguments, job.subject, len(only), lambda tell: server_check.check(job, only, tell)
    )


_SUBJECTS: dict[str, tuple[str, Callable[[Parser], None]]] = {
    "app": ("an application", _add_app),
    "middleware": ("middleware", _add_middleware),
    "server": ("a server", _add_server),
    "servers": ("the servers that are installed", _add_servers),
    "driver": (
        "a test client or an adapter, which starts applications without a server",
        _add_driver,
    ),
}


def _words(text: str) -> str:
    """Raise Unchecked if a shell could not split the text into words."""
    try:
        shlex.split(text)
    except ValueError as error:
        raise Unchecked(f"--workers {text!r} is not a valid list of arguments: {error}") from None
    return text


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let SIGTERM and SIGHUP interrupt a check as Ctrl-C does; ignore all three during clean-up.

    A signal that is already ignored, for example by `nohup`, stays ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {each: signal.getsignal(each) for each in SIGNALS}
    heard = [each for each in SIGNALS if before[each] != signal.SIG_IGN]

    def end(number: int, _: object) -> None:
        for each in heard:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt(number)

    for each in heard:
        signal.signal(each, end)
    try:
        yield
    finally:
        for each in heard:
            signal.signal(each, before[each])


def _add_options(
    parser: Any,
    timeout: float = app_run.LIMIT,
    what: str = "an import or an answer may take",
    default: str | None = "asgi 2.0",
) -> None:
    """Add the options that every subject has; `what` completes the help of --timeout.

    [tool.lifespec] changes the defaults when the options are parsed.
    """
    parser.fill = functools.partial(_take_table, has_spec=default is not None)
    parser.add_argument(
        "--spec",
        metavar="SPEC",
        type=known_spec,
        default=default,
        help=f"the specification: {', '.join(SPECS)}; or {', '.join(NEWEST)} for the newest version"
        f" (default: {default or 'the newest that it supports'})",
    )
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=settings.seconds,
        default=timeout,
        help=f"how long {what} (default: %(default)g)",
    )
    parser.add_argument("--strict", action="store_true", help="also fail if a SHOULD is missed")
    parser.add_argument(
        "--ignore",
        metavar="RULE",
        type=known_rule,
        action="append",
        help="ignore this rule; repeatable",
    )
    parser.add_argument("--verbose", action="store_true", help="also show in full what passed")
    languages = sorted(explain.FOLDERS)
    parser.add_argument(
        "--language", choices=languages, help="language of the report (default: from the locale)"
    )


def _add_outputs(parser: Any, *options: Any) -> None:
    """Add the options that every subject has, and those that write the report to files."""
    _add_options(parser, *options)
    parser.add_argument(
        "--json", metavar="FILE", type=_path, help="write the report to FILE as JSON"
    )
    parser.add_argument(
        "--junit", metavar="FILE", type=_path, help="write the report to FILE as JUnit XML"
    )
    parser.add_argument(
        "--sarif", metavar="FILE", type=_path, help="write the report to FILE as SARIF 2.1.0"
    )
    parser.add_argument(
        "--markdown", metavar="FILE", type=_path, help="write the report to FILE as Markdown"
    )


def _take_table(parser: argparse.ArgumentParser, *, has_spec: bool) -> None:
    """Take the defaults of options from [tool.lifespec]."""
    table = settings.find(Path.cwd())
    if not has_spec:
        table.pop("spec", None)
    parser.set_defaults(usual_ignore=table.pop("ignore", []), **table)


def _path(text: str) -> Path:
    if not text:
        raise Unchecked("the name of the file is empty: give one")
    return Path(text)


def _named(apps: list[str]) -> str:
    """Return the application that the table names."""
    if len(apps) > 1:
        raise Unchecked(f"[tool.lifespec] names {' and '.join(apps)}: give the TARGET to check")
    return "".join(apps)


def _check(arguments: argparse.Namespace) -> int:
    target, pipe = arguments.target, tuple(arguments.pipe)
    if arguments.role == "application" and not (target or pipe):
        target = _named(arguments.app)
    if bool(target) == bool(pipe):
        raise Unchecked("give a TARGET, as in shop.main:app, or --pipe and a COMMAND")
    if target and target.endswith(".pl"):  # PAGI's language
        pipe = in_perl(target)
    job = app_check.AppCheck(
        arguments.role,
        target or shlex.join(pipe),
        arguments.spec,
        arguments.role == "application" and arguments.factory and not pipe,
        arguments.timeout,
        pipe,
        arguments.isolation,
        tuple(arguments.only),
    )
    count = len(job.chosen())
    return _publish(arguments, job.target, count, lambda tell: app_check.check(job, tell, _say))


def _say(sentence: str) -> None:
    if sys.stderr:
        print(f"lifespec: {sentence}", file=sys.stderr, flush=True)  # noqa: T201


def _publish(
    arguments: argparse.Namespace,
    title: str,
    count: int,
    check: Callable[[Tell], Report],
) -> int:
    """Check a subject, print the report, write its files, and return the exit status."""
    words, ignored = _readers(arguments)
    paths = {form: path for form in FORMS if (path := getattr(arguments, form))}
    refuse_the_same(paths.values())
    with ExitStack() as stack:
        targets = {form: stack.enter_context(Target(path)) for form, path in paths.items()}
        began, clock = datetime.now(UTC), time.monotonic()
        with _playing(arguments, ignored, title, count) as tell:
            found = check(functools.partial(tell, "")).without(ignored)
        from lifespec.conformance.report import terminal  # noqa: PLC0415  rich, which takes its time

        with suppress(BrokenPipeError), writing():  # who reads has read enough
            terminal.show(found, sys.stdout, every=arguments.verbose, wording=words)
        if targets:
            seconds = time.monotonic() - clock
            _write(targets, found, strict=arguments.strict, began=began, seconds=seconds)
    return found.status(strict=arguments.strict)


def _readers(arguments: argparse.Namespace) -> tuple[i18n.Wording, list[str]]:
    """Return the words of the reader's language, and the rules to leave out."""
    words = i18n.wording(arguments.language or explain.language(os.environ))
    return words, arguments.usual_ignore if arguments.ignore is None else arguments.ignore


@contextmanager
def _playing(
    arguments: argparse.Namespace, ignored: Sequence[str], title: str, count: int
) -> Iterator[Callable[[str, str, Sequence[Finding]], bool]]:
    """Yield what is told of each case: whose it is, its name, its findings; whether to stop."""
    processes.remove_abandoned()
    with _interruptible(), processes.adopting(), _progress(title, count) as advance:

        def tell(whose: str, case: str, findings: Sequence[Finding]) -> bool:
            found = [each for each in findings if each.rule not in ignored]
            advance(f"{whose} {case}".lstrip(), Verdict.of(each.verdict for each in found))
            fails = any(each.fails(strict=arguments.strict) for each in found)
            return fails and arguments.fail_fast

        yield tell


def _write(
    targets: Mapping[str, Target], found: Report, *, strict: bool, began: datetime, seconds: float
) -> None:
    from lifespec.conformance.report import formats  # noqa: PLC0415
    from lifespec.conformance.report.markdown import as_markdown  # noqa: PLC0415

    forms: Mapping[str, Callable[[formats.Checked], str]] = {
        "json": formats.as_json,
        "junit": formats.as_junit,
        "sarif": functools.partial(formats.as_sarif, folder=Path.cwd()),
        "markdown": as_markdown,
    }
    for form, target in targets.items():
        target.write(forms[form](formats.Checked(found, strict, began, seconds)))


@contextmanager
def _progress(title: str, count: int) -> Iterator[Callable[[str, Verdict], object]]:
    """Show how far the check is: by a bar in a terminal, by a line for each case in a CI log."""
    if sys.stderr and sys.stderr.isatty():
        from lifespec.conformance.report import terminal  # noqa: PLC0415  the same

        with terminal.progress(title, count) as tell:
            yield lambda *_: tell()
    elif sys.stderr and os.environ.get("CI", "false").lower() not in ("", "0", "false"):
        numbers = itertools.count(1)  # cases end in several threads
        yield lambda case, verdict: print(  # noqa: T201
            f"lifespec: case {next(numbers)} of {count}: {case} {verdict.word}",
            file=sys.stderr,
            flush=True,
        )
    else:
        yield lambda *_: None


def add_filters(parser: Any) -> None:
    """Add the options of `lifespec cases`."""
    parser.description = (
        "List the cases: who is checked, what happens, and which rules are checked."
    )
    parser.add_argument("--role", choices=ROLES, help="only those that check that role")
    parser.add_argument(
        "--rule", metavar="RULE", type=known_rule, help="only those that check that rule"
    )
    parser.add_argument(
        "--language",
        choices=sorted(explain.FOLDERS),
        help="language of the output (default: from the locale)",
    )
    parser.set_defaults(run=_cases)


def _cases(arguments: argparse.Namespace) -> int:
    word = i18n.wording(arguments.language or explain.language(os.environ)).word
    lines = []
    for case in cases.load():
        rule_ids = list(dict.fromkeys(each.rule for each in case.expect))
        if arguments.role in (None, case.role) and arguments.rule in (None, *rule_ids):
            lines.append(f"{case.name}  ({word(case.role)})")
            for text in (word(case.says), word("checks %s", word(", ").join(rule_ids))):
                lines += (f"    {line}" for line in explain.wrapped(text, 76))
    text = "".join(f"{line}\n" for line in lines)
    with writing():
        sys.stdout.buffer.write(text.encode(sys.stdout.encoding, "replace"))
    return 0
