"""Carry out commands `lifespec check app` of a page: each check runs once, for both languages.

A page's shell would start two interpreters for each command and language.  This program is forked
from a process that has imported the frameworks, see `sandbox`; it finds the commands in
commands.sh, and prints what they print, in English and, below a form feed, in Chinese.
"""

import os
import re
import shlex
import sys
from contextlib import redirect_stdout
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import patch

from lifespec import cli
from lifespec.conformance import Report, check_app
from lifespec.conformance.report import render
from lifespec.diagnosis import given
from lifespec.diagnosis.fact import Fact
from lifespec.words import Words

TRIES = 3  # on a machine that gives a process no time, which the report says
PORT, PID = re.compile(r"(?<=\('127\.0\.0\.1', )\d+(?=\))"), re.compile(r"(?<= \()\d{2,}(?=\)$)")
STATUS = 'echo "exit status $?"'


def checked(words: list[str]) -> Report:
    """Return the report of a command, which names an application of a module."""
    parsed = vars(cli._parser(str).parse_args(words))  # noqa: SLF001  the options are the command's
    name = parsed["of"][0]
    module, _, attribute = name.partition(":")
    subject: Any = name
    given.noted.clear()
    try:
        with given.noting_calls(), redirect_stdout(sys.stderr):
            subject = getattr(import_module(module), attribute)
    except Exception:  # noqa: S110  an import that fails is for a process of its own
        pass
    options = {key: parsed[key] for key in parsed["options"] if key in parsed}
    starved = Words().say(Fact("doing-starved"))
    for _ in range(TRIES):
        report = replace(check_app(subject, **options), subject=name)
        if starved not in " ".join(str(report).split()):
            break
    return report


def alike(part: Any) -> Any:
    """Return a part of a sentence without what each run has anew: processes, ports, percents."""
    if isinstance(part, Fact):
        return Fact(part.kind, {name: alike(each) for name, each in part.parts.items()})
    if isinstance(part, str):
        return PORT.sub("8000", PID.sub("4711", part))
    return part


def say(words: Words, what: Fact) -> str:
    """Say a fact as `Words` does, the same in each run."""
    if what.kind == "busy":
        what = Fact(what.kind, {**what.parts, "percent": 100})
    return SAY(words, alike(what))


SAY = Words.say


def main() -> None:
    """Print the reports."""
    printed: dict[str, list[str]] = {"en": [], "zh": []}
    status = 0
    for line in Path("commands.sh").read_text("utf-8").splitlines():
        if line == STATUS:
            for texts in printed.values():
                texts.append(f"exit status {status}\n")
            continue
        report = checked(shlex.split(line)[1:])
        status = report.status
        with patch.object(Words, "say", say):
            for language, texts in printed.items():
                texts.append(render(report, language))
    sys.stdout.write("\f".join("".join(texts) for texts in printed.values()))
    sys.stdout.flush()
    os._exit(0)  # an interpreter that ends touches, and so copies, all that it was forked with


if __name__ == "__main__":
    sys.path.insert(0, "")
    main()
