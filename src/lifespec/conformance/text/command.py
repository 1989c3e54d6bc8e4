"""The sentences of the command: why it could not be carried out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lifespec.conformance.words import mark as _

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ARGPARSE", "SENTENCES"]

SENTENCES: Mapping[str, str] = {
    "usage": _("{message}; `{command} --help` lists the options"),
    "unknown-rule": _("there is no rule {name}; `{lists}` lists all"),
    "unknown-rule-near": _("there is no rule {name}. Did you mean {near}? `{lists}` lists all"),
    "unknown-case": _("there is no case {name}; `{lists}` lists all"),
    "unknown-case-near": _("there is no case {name}. Did you mean {near}? `{lists}` lists all"),
    "unknown-spec": _("there is no specification {name}: name one of {known}"),
    "unknown-file": _("there is no file {name} to copy: name one of {known}"),
    "bad-timeout": _("a timeout is a number of seconds, such as 30, and not {value}"),
    "bad-arguments": _("{text} is not a valid list of arguments: {error}"),
    "no-amgi-server": _(
        "servers of {title} take messages from a broker, and the command plays servers that listen"
        " on a port"
    ),
    "no-pagi-server": _(
        "servers of {title} run applications in Perl, and the suite plays one in Python"
    ),
    "file-exists": _("{path} already exists: give another path, or remove it first"),
    "file-not-written": _("{path} cannot be written: {error}"),
    "several-files": _("several files need a folder that exists: give it with --to"),
    "output-closed": _("standard output is closed: send it to a file or to a terminal"),
    "failed": _("the command failed: {error}"),
    "interrupted": _("interrupted"),
}
ARGPARSE = (  # messages of argparse
    _("the following arguments are required: %s"),
    _("unrecognized arguments: %s"),
    _("invalid choice: %(value)r (choose from %(choices)s)"),
    _("argument %(argument_name)s: %(message)s"),
    _("expected one argument"),
    _("expected at least one argument"),
)
