"""What a page tells machines of itself."""

import json
from pathlib import Path

import pytest

from lifespec_docs.theme.metadata import LONGEST, PAGES, POLICY
from sample_site import SampleSite

TEMPLATE = """\
{%- extends "!page.html" %}
{%- block body %}
<script type="application/json">
{{ {"policy": policy, "description": description, "canonical": canonical, "card": card,
"locale": locale, "license": license, "repository": repository, "edit": edit,
"issues": issues, "metatags": metatags}|tojson }}
</script>
{% endblock %}
"""
PAGES_OF_SAMPLE = {
    "index": "# Home\n\nFirst sentence. Second one.\n\n```{toctree}\n:caption: More\n\none\n```\n",
    "one": "# One\n\n- a list\n\nText.\n",
}


def sample(folder: Path, **configuration: object) -> SampleSite:
    """Return pages whose template shows what it is given."""
    templates = folder / "docs" / "templates"
    templates.mkdir(parents=True)
    (templates / "page.html").write_text(TEMPLATE)
    more = {"templates_path": ["templates"], "html_theme": "furo", **configuration}
    return SampleSite(
        folder, PAGES_OF_SAMPLE, "examples.directive", "theme.navigation", "theme.metadata", **more
    )


def shown(built: SampleSite, name: str = "index") -> dict[str, str]:
    script = built.page(name).find("script", type="application/json")
    assert script is not None
    found: dict[str, str] = json.loads(script.get_text())
    return found


def test_a_site_without_addresses_claims_none(tmp_path: Path) -> None:
    with sample(tmp_path, site_license="0BSD") as built:
        found = shown(built)
        assert {found[name] for name in ("canonical", "card", "repository", "edit", "issues")} == {
            ""
        }
        assert found["description"] == "First sentence. Second one."
        assert (found["locale"], found["license"]) == ("en_GB", "0BSD")
        assert found["policy"] == POLICY
        assert "viewport" not in found["metatags"]


@pytest.mark.parametrize(
    ("language", "folder", "locale", "file"),
    [
        ("en", "en", "en_GB", "docs/one.md"),
        ("zh_CN", "zh-cn", "zh_CN", "locales/zh_CN/LC_MESSAGES/one.po"),
    ],
)
def test_addresses_lead_to_the_page_and_to_its_source(
    tmp_path: Path, language: str, folder: str, locale: str, file: str
) -> None:
    """That of a Chinese page is its catalog."""
    addresses = {
        "site_base_url": "https://a.org/x/",
        "site_repository": "https://b.org/o/n/",
        "site_issues": "https://b.org/o/n/issues",
    }
    with sample(tmp_path, language=language, **addresses) as built:
        found = shown(built, "one")
        assert found["canonical"] == f"https://a.org/x/{folder}/one.html"
        assert found["card"] == f"https://a.org/x/{folder}/_static/card.png"
        assert (found["locale"], found["repository"]) == (locale, "https://b.org/o/n")
        assert found["issues"] == "https://b.org/o/n/issues"
        assert found["edit"] == f"https://b.org/o/n/edit/main/{file}"
        found = shown(built, "search")
        assert (found["canonical"], found["edit"], found["description"]) == ("", "", "")


@pytest.mark.parametrize(
    ("text", "description"),
    [
        ("One. Two.\n\nThree.\n\n- four\n\nFive.", "One. Two. Three."),
        ("- a list\n\nText.", "Text."),
        ("一。二。", "一。二。"),
        (f"One. {'Long' * LONGEST}.", "One."),
        ("Long" * LONGEST, "Long" * LONGEST),
        ("", ""),
    ],
)
def test_a_description_is_the_first_sentences(tmp_path: Path, text: str, description: str) -> None:
    """Of the paragraphs at the top, as many as fit; a first one is never cut."""
    with SampleSite(
        tmp_path, {"index": f"# Home\n\n{text}\n"}, "examples.directive", "theme.navigation",
        "theme.metadata",
    ) as built:  # fmt: skip
        told = json.loads(Path(built.app.doctreedir, PAGES).read_text(encoding="utf-8"))
        assert told["sections"][0]["pages"][0]["description"] == description
