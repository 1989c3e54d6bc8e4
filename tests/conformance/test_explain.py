"""The rules as a terminal shows them."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from lifespec import catalog, pages, words
from lifespec.cli import main
from lifespec.conformance import explain
from lifespec.conformance.rules import rules

PAGE = """\
---
myst: words
---

(busy)=
# Title of {term}`it <it>`

{.file-shop .not-run}
```python
pass
```
```{output}
kept
```
```{output} zh
遵守
```

```{check}
assert
```

- [a](https://a.b)
- [b](b.md), {doc}`/hang`, {doc}`/problems/busy`, {func}`it`
- [](../hang.md#it)
"""
CATALOG = """\
msgid "Title of {term}`it <it>`"
msgstr "标题"

msgid "[a](https://a.b)"
msgstr "[甲](https://a.b)"

msgid "[b](b.md), {doc}`/hang`, {doc}`/problems/busy`, {func}`it`"
msgstr "见《{doc}`/hang`》、《{doc}`/problems/busy`》、{func}`it`"

msgid "[](../hang.md#it)"
msgstr "见“[](../hang.md#it)”甲"
"""
HANG = "https://spec.example/{}/hang.html"
LANGUAGES = sorted(words.FOLDERS)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("rule_id", rules())
def test_rules_fit_a_terminal(rule_id: str, language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No line has more than 80 columns, or ends with a space; Chinese characters take two."""
    monkeypatch.setenv("LIFESPEC_BASE_URL", "https://a.invalid")
    *shown, address = explain.rule_lines(rules()[rule_id], language)
    assert address.endswith(f".html#{rule_id}")
    for line in shown:
        assert catalog.columns(line) <= 80
        assert line == line.rstrip()
        assert not line.lstrip().startswith(tuple("、。，；：）”"))
        assert not line.endswith(tuple("（“"))


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", [""]),
        ("four", ["four"]),
        ("one two four", ["one two", "four"]),
        ("one twothree", ["one", "twothree"]),  # it fits without the space
        ("unbreakable", ["unbreakable"]),
        ("服务器必须等待", ["服务器必", "须等待"]),
        ("服务器必。须", ["服务器", "必。须"]),
        ("服务器（必）须", ["服务器", "（必）须"]),
        ("务器 send 必", ["务器", "send 必"]),
        ("务器send必须", ["务器send", "必须"]),
    ],
)
def test_lines_end_where_they_may(text: str, lines: list[str]) -> None:
    """At a space, or beside a Chinese character, but before no mark that ends something."""
    assert list(catalog.wrapped(text, 8)) == lines
    assert list(catalog.wrapped("one two four", 8, "  ")) == ["one two", "  four"]


def test_the_address_of_the_site(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the package's metadata, if the environment does not say it."""
    monkeypatch.delenv("LIFESPEC_BASE_URL", raising=False)
    about = {"Project-URL": ["Issues, https://a.invalid", "Documentation, https://b.invalid/x"]}
    installed = [SimpleNamespace(metadata=SimpleNamespace(get_all=about.get))]
    monkeypatch.setattr("importlib.metadata.distributions", lambda **_: installed)
    assert words.site("zh") == "https://b.invalid/x/zh-cn/"
    monkeypatch.setattr("importlib.metadata.distributions", lambda **_: [])
    assert words.base() == ""


@pytest.mark.parametrize(
    ("language", "title", "kept", "items"),
    [
        (
            "en",
            "Title of it",
            "kept",
            [
                "- a (https://a.b)",
                f"- b, {HANG.format('en')}, `lifespec explain busy`, it",
                f"- {HANG.format('en')}#it",
            ],
        ),
        (
            "zh",
            "标题",
            "遵守",
            [
                "- 甲（https://a.b）",
                f"- 见 {HANG.format('zh-cn')}、`lifespec explain busy`、it",
                f"- 见 {HANG.format('zh-cn')}#it 甲",
            ],
        ),
    ],
)
def test_a_page_comes_from_the_package_where_it_is_installed(
    language: str,
    title: str,
    kept: str,
    items: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    code = ["shop.py:", "    pass", "", kept]
    folder = tmp_path / "problems"
    folder.mkdir()
    (folder / "busy.md").write_text(PAGE)
    (folder / "problems.zh.po").write_text(CATALOG)
    monkeypatch.setattr("importlib.resources.files", lambda _package: tmp_path)
    monkeypatch.setenv("LIFESPEC_BASE_URL", "https://spec.example")
    pages.problem_catalog.cache_clear()
    try:
        *lines, _, address = pages.problem_lines("busy", language)
        assert lines == [title, "", *code, "", *items]
        assert address == f"https://spec.example/{words.FOLDERS[language]}/problems/busy.html"
        assert pages.title("busy", language) == title
    finally:
        pages.problem_catalog.cache_clear()


def test_without_a_name_rules_and_problems_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--language", "en"]) == 0
    listed = capsys.readouterr().out
    assert "Problems\n  thread-stays\n      The process stays" in listed
    assert "\nRules\n  scope-type\n" in listed
    assert main(["explain", "never-ran", "--language", "zh"]) == 0
    assert capsys.readouterr().out.startswith("挂载的应用程序的 lifespan 没有运行\n")
    assert main(["explain", "never-rn", "--language", "en"]) == 2
    assert "Did you mean never-ran?" in capsys.readouterr().err
