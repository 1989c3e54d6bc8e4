"""The files of the site that belong to no language."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from published import ROOT

from lifespec_docs.site_root import NAMES, address, files
from lifespec_docs.theme.metadata import PAGES

TEMPLATES = ROOT / "docs" / "_templates" / "root"


@pytest.fixture
def doctrees(tmp_path: Path) -> dict[str, Path]:
    """Write what the builds of both languages tell."""
    found = {}
    for language, title in (("en", "Home"), ("zh_CN", "首页")):
        found[language] = tmp_path / language
        found[language].mkdir()
        page = {"name": "index", "title": title, "description": "What it is."}
        more = {"name": "state", "title": "State", "description": "It is a dict."}
        sections = [{"caption": "", "pages": [page]}, {"caption": "Reference", "pages": [more]}]
        told = {"specification": "All of it", "sections": sections}
        (found[language] / PAGES).write_text(json.dumps(told))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_an_address_stands_in_one_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """That of a fork's own site comes from the environment; there is none that nobody gave."""
    monkeypatch.delenv(NAMES[name], raising=False)
    project = tmp_path / "pyproject.toml"
    project.write_text('[project]\nname = "lifespec"\n')
    assert address(name, tmp_path) == ""
    project.write_text(f'[project.urls]\n{name} = "https://a.org/x/"\n')
    assert address(name, tmp_path) == "https://a.org/x/"
    monkeypatch.setenv(NAMES[name], "https://fork.org/")
    assert address(name, tmp_path) == "https://fork.org/"


@pytest.mark.parametrize(
    ("base", "link"),
    [
        ("", 'hreflang="zh-CN" href="zh-cn/index.html"'),
        ("https://a.org/spec", 'hreflang="zh-CN" href="https://a.org/spec/zh-cn/index.html"'),
    ],
)
def test_the_first_page_links_to_both_languages(
    doctrees: dict[str, Path], base: str, link: str
) -> None:
    """Alternates are absolute where the site has an address; the reader's links never are."""
    page = files(base, TEMPLATES, doctrees)["index.html"]
    assert link in page
    assert '<a href="en/index.html"' in page


@pytest.mark.parametrize(("base", "path"), [("", "/"), ("https://a.org/spec/", "/spec/")])
def test_a_page_that_is_not_found_leads_back_from_any_depth(
    doctrees: dict[str, Path], base: str, path: str
) -> None:
    """Its links begin at the host: it is shown at every address that is wrong."""
    page = files(base, TEMPLATES, doctrees)["404.html"]
    assert f'<a href="{path}en/index.html"' in page
    assert f'<a href="{path}zh-cn/search.html"' in page
    assert f'href="{path}root.css"' in page


def test_a_sitemap_names_each_page_in_each_language(doctrees: dict[str, Path]) -> None:
    """Only where the site has an address: a sitemap has no relative one."""
    assert "sitemap.xml" not in files("", TEMPLATES, doctrees)
    text = files("https://a.org/x", TEMPLATES, doctrees)["sitemap.xml"]
    urls = ET.fromstring(text)
    assert [url[0].text for url in urls] == [
        f"https://a.org/x/{folder}/{name}.html"
        for folder in ("en", "zh-cn")
        for name in ("index", "state")
    ]
    assert [(each.get("hreflang"), each.get("href")) for each in urls[1][1:]] == [
        ("en", "https://a.org/x/en/state.html"),
        ("zh-CN", "https://a.org/x/zh-cn/state.html"),
    ]
