"""Carry out commands `lifespec check app` of a page: each check runs once, for both languages.

A page's shell would start two interpreters for each command and language.  This program is forked
from a process that has imported the frameworks, see `sandbox`; it finds the commands in
commands.sh, and prints what they print, in English and, below a form feed, in Chinese.
"""

import shlex
import sys
from contextlib import redirect_stdout
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from lifespec import cli
from lifespec.conformance import Report, check_app
from lifespec.conformance.report import render
from lifespec.diagnosis import given

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
    return replace(check_app(subject, **options), subject=name)


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
        for language, texts in printed.items():
            texts.append(render(report, language, verbose=False))
    sys.stdout.write("\f".join("".join(texts) for texts in printed.values()))


if __name__ == "__main__":
    sys.path.insert(0, "")
    main()
