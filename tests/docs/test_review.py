"""`make review`: what changed while what it belongs to did not, from git and built catalogs."""

import re
import subprocess
from pathlib import Path

import pytest

from lifespec_pages import review, sentences

CONF = """\
import sys
sys.path.insert(0, "src")
extensions = ["myst_parser", "sphinx.ext.autodoc"]
myst_enable_extensions = ["colon_fence"]
suppress_warnings = ["myst", "toc"]
"""
CHECK = "\n```{check}\nassert 1\n```\n"
API = "API\n===\n\n.. autofunction:: shop.open\n\n   .. check::\n\n      assert 1\n"
CELLS = "\n| a | b |\n|---|---|\n| starts | startup |\n| stops | shutdown |\n"
RULE = '[startup-sent]\nsays = "It must be sent."\n'
ENTRY = 'msgid "It starts."\nmsgstr "它启动。"\n'
DOCSTRING = r" \(src/shop.py, docstring of shop.open\)"
DIFFERS = r"{name}:\d+{of}: this changed, and what is below it did not: .*{marked}"
BELOW = r"{name}:\d+: what is below it changed \(line \d+\), and this did not: {text}"
CHINESE = r"{name}:1: the Chinese changed, and the English did not: It starts\."
# a file of the project, what stands in it, and what takes its place; what is printed of it
FILES: dict[str, tuple[str, str, str]] = {
    "docs/sentence.md": (f"# A\n\nIt prints one.\n{CHECK}", "one.", "two."),
    "docs/hosts/check.md": (f"# A\n\nIt prints one.\n{CHECK}", "assert 1", "assert 2"),
    "docs/cells.md": (f"# A\n{CELLS}{CHECK}", "| startup |", "| start |"),
    "docs/inside.md": (f"# A\n\n:::{{note}}\nInside of it.\n{CHECK}:::\n", "assert 1", "assert 2"),
    "docs/file.md": ("# A\n\nIt shows a file.\n\n```{shown} programs/a.py\n```\n", "", ""),
    "docs/programs/a.py": ("a = 1\n", "1", "2"),
    "docs/rule.md": ("# A\n\nIt is sent, see {rule}`startup-sent`.\n", "", ""),
    sentences.RULES: (RULE, "must", "should"),
    "docs/nothing.md": (f"# A\n\nNothing.\n\n## B\n\nIt prints one.\n{CHECK}", "Nothing", "Any"),
    "docs/both.md": (f"# A\n\nIt is 1.\n{CHECK}", "1.\n\n```{check}\n", "2.\n\n```{check}\n2\n"),
    "docs/api.rst": (API, "", ""),
    "src/shop.py": ('def open():\n    """Return at once."""\n', "at once", "never"),
    "locales/zh_CN/LC_MESSAGES/a.po": (ENTRY, "它启动", "它停止"),
    "docs/index.md": ("# A\n", "", ""),
    "docs/conf.py": (CONF, "", ""),
}  # fmt: skip
PRINTED = [
    DIFFERS.format(name="docs/api.rst", of=DOCSTRING, marked=r"\[-at once-\]\{\+never\+\}"),
    DIFFERS.format(name="docs/cells.md", of="", marked=r"\[-startup-\]\{\+start\+\}"),
    BELOW.format(name="docs/file.md", text="It shows a file."),
    "    -a = 1", r"    \+a = 2",
    BELOW.format(name="docs/hosts/check.md", text="It prints one."),
    "    -assert 1", r"    \+assert 2",
    BELOW.format(name="docs/inside.md", text="Inside of it."),
    "    -assert 1", r"    \+assert 2",
    BELOW.format(name="docs/rule.md", text="It is sent, .*"),
    "    -.*must.*", r"    \+.*should.*",
    DIFFERS.format(name="docs/sentence.md", of="", marked=r"\[-one-\]\{\+two\+\}\."),
    CHINESE.format(name="locales/zh_CN/LC_MESSAGES/a.po"),
    "    -它启动。", r"    \+它停止。",
]  # fmt: skip


def test_what_changed_alone_is_printed_with_the_words_that_differ(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, (text, _, _) in FILES.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text, "utf-8")
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in ["init", "-q", "-b", "main"], ["add", "."], [*who, "commit", "-q", "-m", "a"]:
        subprocess.run(["git", *words], check=True, timeout=60)
    for name, (text, old, new) in FILES.items():
        if old:
            assert text.count(old) == 1
            Path(name).write_text(text.replace(old, new), "utf-8")
    review.main()
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == len(PRINTED), printed
    assert all(map(re.match, PRINTED, printed)), printed
    with pytest.raises(SystemExit, match="'nosuch' is no revision"):
        review.main("nosuch")


@pytest.mark.parametrize(
    ("old", "new", "marked"),
    [
        ("It is so.", "It was so.", "It [-is-]{+was+} so."),
        ("It is so.", "It is not so.", "It is {+not +}so."),
        (f"{'a ' * 40}b", f"{'a ' * 40}c", f"… {'a ' * 8}[-b-]{{+c+}}"),
        (f"b {'a ' * 40}", f"c {'a ' * 40}", f"[-b-]{{+c+}}{' a' * 8} …"),
        ("第三次信号", "第二次信号", "第[-三-]{+二+}次信号"),
    ],
)
def test_the_words_that_differ_are_marked_and_those_far_away_left_out(
    old: str, new: str, marked: str
) -> None:
    assert review.difference(old, new) == marked
