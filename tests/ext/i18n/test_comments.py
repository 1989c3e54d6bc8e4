"""Comments of code blocks are translated; the code cannot change, whatever a catalog says."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import polib
import pytest

from lifespec_docs.i18n import comments
from sample_site import SampleSite

PROGRAMS = {
    "strings": "a = '# no' \"# no\"  # yes\nb = '''\n# no\n'''  # and yes\n",
    "bytes and raw": "a = b'#' rb'\\#'  # yes\n",
    "f-strings": "n = 1\na = f'{n}#{n!r:>{n}}'  # yes\nb = f'''\n# no {n}\n'''  # and yes\n",
    "expressions": "a = [  # first\n    1,  # second\n    # third\n]  # fourth\n",
    "continuation": "a = 1 + \\\n    2  # yes\nb = 'x\\\n# no'  # and yes\n",
    "blocks": "# first\nif True:  # second\n    # third\n    pass\n# fourth\n",
    "wide characters": "名 = '中文 # 不是'  # yes\n",
    "line separators in a string": "a = '\u2028 # no \x0c'  # yes\nb = 1  # and yes",
    "form feed": "a = 1\x0c# yes\n",
    "Windows line ends": "a = '''\r\n# no\r\n'''  # yes\r\nb = 1  # and yes\r\n",
    "tabs": "if 1:\n\t# yes\n\ta = 1\t# and yes\n",
    "no end of line": "a = 1  # yes",
    "nothing": "",
}
if sys.version_info >= (3, 12):
    PROGRAMS["comment in an f-string"] = "n = 1\na = f'''{\nn  # no\n=}'''  # yes\n"
TEXTS = {
    "plain": "# 译文",
    "longer": "# " + "很长的译文" * 50,
    "quotes": "# ''' \"\"\" \\",
    "two lines": "# 一\nimport os",
    "carriage return": "# 一\rimport os",
    "form feed": "# 一\x0cimport os",
    "line separator": "# 一\u2028import os",
    "null": "# 一\0",
    "no comment": "import os",
    "a string": "'''",
    "empty": "",
    "only a space": " ",
    "a directive": "# noqa",
    "an encoding": "# coding: ascii",
    "right to left": "# \u202e一",
    "no word": "# ---",
    "spaces behind": "# 一  ",
}


def texts(source: str, language: str = "python") -> list[str]:
    return [comment.text for comment in comments.comments(source, language)]


def block(source: str, language: str = "python") -> comments.literal_block:
    node = comments.literal_block(source, source, language=language)
    node.preserve_original_messages()
    return node


@pytest.mark.parametrize("source", PROGRAMS.values(), ids=PROGRAMS)
def test_the_comments_of_a_program_are_found_and_nothing_else(source: str) -> None:
    """What stands in a string is no comment, also where it looks like one."""
    for start, text in comments.comments(source, "python"):
        assert source[start:].startswith(text)
    assert not [text for text in texts(source) if "no" in text]
    assert len(texts(source)) == sum(
        map(source.count, ["yes", "first", "second", "third", "fourth"])
    )


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("source", PROGRAMS.values(), ids=PROGRAMS)
def test_no_translation_changes_a_program(source: str, text: str) -> None:
    """The syntax tree is the same, and so is all that is not a comment."""
    node = block(source)
    for comment in node.extract_original_messages():
        node.apply_translated_message(comment, text)
    assert ast.dump(ast.parse(node.astext())) == ast.dump(ast.parse(source))
    assert comments.bare(node.astext(), "python") == comments.bare(source, "python")
    assert node.rawsource == node.astext(), "else it would not be highlighted"


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_no_translation_changes_a_session(text: str) -> None:
    """The prompts, the statements and what they print stay as they are."""
    source = ">>> if 1:  # yes\n...     # and yes\n...     print('# no')\n# no\n>>> # yes again"
    node = block(source, "pycon")
    for comment in node.extract_original_messages():
        node.apply_translated_message(comment, text)
    assert comments.bare(node.astext(), "pycon") == comments.bare(source, "pycon")
    assert [line[:4] for line in node.astext().split("\n")] == [
        line[:4] for line in source.split("\n")
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("# 一\n# 二", "one line"),
        ("一", "begin with '# '"),
        ("## 一", "begin with '# '"),
        ("#一", "begin with '# '"),
        ("# 一  # type: ignore", "reads as an order"),
    ],
)
def test_a_refusal_says_why(text: str, why: str) -> None:
    """The sentence names the fault."""
    assert why in (comments.objection("# one", text) or "")


@pytest.mark.parametrize(
    "text",
    [
        "# noqa",
        "# noqa: E501",
        "#type:ignore",
        "# type: ignore[attr-defined]",
        "# doctest: +ELLIPSIS",
        "# pragma: no cover",
        "# -*- mode: python -*-",
        "# vim: ts=4",
        "# fmt: off",
        "#!/usr/bin/env python",
        "# vim: set fileencoding=ascii",
        "# the coding: ascii",
        "# ----",
        "#",
        "# 1.",
        "# [state-shallow-copy] [startup-sent]",
        "# lifespan.startup, lifespan.startup.complete",
    ],
)
def test_what_is_written_for_tools_is_no_message(text: str) -> None:
    """Directives are not translated, and neither is what has no word but names."""
    assert texts(f"a = 1  {text}\n") == []


def test_a_directive_behind_a_comment_stays() -> None:
    """Only what is written for readers is the message."""
    source = "a = 1  # closed later  # noqa: SIM115\n"
    assert texts(source) == ["# closed later"]
    spliced = comments.spliced(source, "python", {"# closed later": "# 之后关闭"})
    assert spliced == "a = 1  # 之后关闭  # noqa: SIM115\n"


@pytest.mark.parametrize(
    ("source", "language", "expected"),
    [
        (">>> 1  # yes\n1  # no\n>>> # and yes\n", "pycon", ["# yes", "# and yes"]),
        ("  >>> '''\n  ... # no\n  ... '''  # yes\n  '# no'\n", "pycon", ["# yes"]),
        ("# no\n... # no\n>>>\n>>> f(\n...     1)  # yes", "pycon", ["# yes"]),
        ('#!/bin/sh\necho "# no" $# ${x#y} a#b  # yes\n# and yes', "sh", ["# yes", "# and yes"]),
        ("cat <<E\n# no\nE\nmake docs  # yes", "bash", ["# yes"]),
        ("$ make docs  # yes\nprinted # no\n", "console", ["# yes"]),
        ('a = "# no"  # yes\n# and yes\n', "toml", ["# yes", "# and yes"]),
        ("my $n = $#a;  # yes\ns#no#no#;\n=pod\n\n# no\n\n=cut\n", "perl", ["# yes"]),
    ],
)
def test_sessions_and_other_languages_have_comments_too(
    source: str, language: str, expected: list[str]
) -> None:
    """A `#` in a string, in output or within a word begins none."""
    assert texts(source, language) == expected
    wanted = source
    for text in expected:
        wanted = wanted.replace(text, "# 译")
    assert comments.spliced(source, language, dict.fromkeys(expected, "# 译")) == wanted


@pytest.mark.parametrize("source", ["f(", "if 1:\n    a\n  b\n", "a  # x\rb\n"])
def test_what_does_not_parse_has_no_comments(source: str) -> None:
    """The sentence says so."""
    with pytest.raises(ValueError, match="it is no Python"):
        comments.comments(source, "python")


PAGE = """# A page

```python
a = 1  # same
b = '# no'  # one
c = 3  # same  # noqa
d = 4  # GET /
```

```python
no = "comment"
```

```{code-block} sh
:name: built
make docs  # two
```

- item

  ```pycon
  >>> 1  # three
  1
  ```

```text
a # no
```
"""


@pytest.fixture(scope="module")
def chinese(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SampleSite]:
    pages = {"index": PAGE, "broken": "# B\n\n```python\nf(  # x\n```\n"}
    with_comments = SampleSite(
        tmp_path_factory.mktemp("zh"),
        pages,
        "i18n.comments",
        language="zh_CN",
        gettext_compact=False,
    )
    translated = {"# same": "# 同", "# one": "# 一", "# two": "make site", "# three": "# noqa"}
    with_comments.translate("index", {"A page": "一页", **translated, "# GET /": "# GET /"})
    with with_comments as sample:
        yield sample


def test_a_refused_translation_is_a_warning_at_its_place_in_the_catalog(
    chinese: SampleSite,
) -> None:
    """It names file and line, what was there, and why it cannot be."""
    catalog = "locales/zh_CN/LC_MESSAGES/index.po"
    two = "it must begin with '# ', as the comment does"
    three = "'# noqa' reads as an order to a tool"
    assert f"{catalog}:13: WARNING: 'make site' cannot translate the comment '# two': {two}" in (
        chinese.warnings
    )
    assert f"{catalog}:16: WARNING: '# noqa' cannot translate the comment '# three': {three}" in (
        chinese.warnings
    )


def test_a_block_that_does_not_parse_is_a_warning(chinese: SampleSite) -> None:
    """It names page and line."""
    begin = "docs/broken.md:3: WARNING: the comments of this block cannot be read: it is no Python"
    assert [line for line in chinese.warnings if line.startswith(begin)]


def test_a_refusal_without_a_catalog_names_the_page(tmp_path: Path) -> None:
    """Where only the compiled catalog is there, the page is the place."""
    sample = SampleSite(
        tmp_path, {"index": "```python\n1  # x\n```\n"}, "i18n.comments", language="zh_CN",
        gettext_compact=False, builder="dummy",
    )  # fmt: skip
    sample.translate("index", {"# x": "x"})
    catalog = tmp_path / "locales" / "zh_CN" / "LC_MESSAGES" / "index.po"
    polib.pofile(str(catalog)).save_as_mofile(str(catalog.with_suffix(".mo")))
    catalog.unlink()
    with sample:
        assert [
            line for line in sample.warnings if line.startswith("docs/index.md:1: WARNING: 'x'")
        ]
