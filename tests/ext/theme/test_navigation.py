"""What surrounds a page."""

from pathlib import Path

import pytest
from sphinx.locale import init

from lifespec_docs.theme.navigation import translated_chrome
from sample_site import SampleSite

TEMPLATE = """\
{%- extends "!page.html" %}
{%- block body %}
{% for page in alternates %}
<a class="{{ page.tag }}" href="{{ page.far }}">{{ page.name }}</a>
{% endfor %}
{% for page in others %}<a class="other" href="{{ page.near }}">{{ word("rule") }}</a>{% endfor %}
<a class="root" href="{{ root_page }}"></a><a class="program" href="{{ program }}"></a>
<div class="toc">{{ toc }}</div>
{% filter translated_chrome %}<a aria-label="Search"></a>{% endfilter %}
{% endblock %}
"""
PAGES = {"index": "# Home\n", "deep/page": "# Deep\n\n```python\n1\n```\n"}


def sample(folder: Path, pages: dict[str, str] = PAGES, **configuration: object) -> SampleSite:
    """Return pages whose template shows what it is given."""
    templates = folder / "docs" / "templates"
    templates.mkdir(parents=True)
    (templates / "page.html").write_text(TEMPLATE)
    return SampleSite(
        folder,
        pages,
        "examples.directive",
        "theme.navigation",
        templates_path=["templates"],
        **configuration,
    )


def links(built: SampleSite, name: str, kind: str) -> list[str]:
    return [link["href"] for link in built.page(name).find_all("a", class_=kind)]


def test_a_page_leads_to_the_other_language_and_to_its_program(tmp_path: Path) -> None:
    """The way is relative, from any depth, so that the site works below any prefix."""
    with sample(tmp_path) as built:
        assert links(built, "index", "other") == ["../zh-cn/index.html"]
        assert links(built, "index", "program") == [""]
        assert links(built, "deep/page", "other") == ["../../zh-cn/deep/page.html"]
        assert links(built, "deep/page", "zh-CN") == ["../../zh-cn/deep/page.html"]
        assert links(built, "deep/page", "root") == ["../../index.html"]
        assert links(built, "deep/page", "program") == ["../_programs/deep/page.py"]
        assert Path(built.app.outdir, "_programs", "deep", "page.py").exists()
        assert "<wbr" not in str(built.page("deep/page").find("div", class_="toc"))


def test_a_long_name_can_break_in_the_list_of_sections(tmp_path: Path) -> None:
    """After a point or an underscore, and in no other word."""
    pages = {"index": "# Home\n\n## `lifespan.startup` and startup_timeout\n"}
    with sample(tmp_path, pages) as built:
        toc = str(built.page("index").find("div", class_="toc"))
        assert "lifespan.<wbr/>startup</span>" in toc
        assert "startup_timeout" in toc


@pytest.mark.parametrize("base", ["https://example.org/spec", "https://example.org/spec/"])
def test_alternates_are_absolute_where_the_site_has_an_address(tmp_path: Path, base: str) -> None:
    """Search engines ask for it."""
    with sample(tmp_path, site_base_url=base) as built:
        assert links(built, "index", "en") == ["https://example.org/spec/en/index.html"]
        assert links(built, "index", "root") == ["https://example.org/spec/"]


def test_the_themes_own_labels_are_translated() -> None:
    """Labels and titles of the theme pass through Sphinx's catalog; other text does not."""
    init([], "zh_CN")
    try:
        init([Path(__import__("sphinx").__file__).parent / "locale"], "zh_CN")
        html = '<a aria-label="Search"><title>Contents</title><p>Search</p><b title="Search">'
        assert translated_chrome(html) == (
            '<a aria-label="搜索"><title>目录</title><p>Search</p><b title="Search">'
        )
    finally:
        init([], "en")


def test_templates_have_the_filter_and_our_words(tmp_path: Path) -> None:
    """A Chinese page shows Chinese labels, and leads to the English one."""
    built = sample(tmp_path, language="zh_CN")
    built.translate("lifespec", {"rule": "规则"})
    with built:
        assert built.page().find("a", class_="other").string == "规则"
        assert links(built, "index", "other") == ["../en/index.html"]
        assert built.page().find("a", attrs={"aria-label": "搜索"})
