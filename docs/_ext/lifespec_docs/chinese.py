"""How Chinese is set: columns in the output of programs, and descriptions for search engines."""

import re
from typing import Any

from sphinx.application import Sphinx

PROGRAM = re.compile(r"<pre>.*?</pre>", re.DOTALL)
WIDE = re.compile("[\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\uff01-\uff60]+")
# Items of a list become sentences with a comma between them, and a long text ends in three dots.
DESCRIBED = (
    (re.compile(r'\.\.\.(?=")'), "……"),
    (re.compile("(?<=[，。：；！？]) ?[,.]+ ?"), ""),
    (re.compile("(?<=[^\\x00-\\x7f]) ?,+ ?"), "，"),
)


def _spaced(program: re.Match[str]) -> str:
    """Mark the wide characters of a program: two columns each, as in a terminal."""
    return WIDE.sub(lambda run: f'<span class="wide">{run[0]}</span>', program[0])


def set_text(
    app: Sphinx, _page: str, _template: str, context: dict[str, Any], _doctree: object
) -> None:
    """Set the programs and the description of a Chinese page."""
    if app.config.language != "zh_CN":
        return
    context["body"] = PROGRAM.sub(_spaced, context.get("body", ""))
    tags = context.get("metatags", "")  # the search has none
    for pattern, mark in DESCRIBED:
        tags = pattern.sub(mark, tags)
    context["metatags"] = tags


def setup(app: Sphinx) -> None:
    """Follow the pages, after their description was made."""
    app.connect("html-page-context", set_text, priority=950)
