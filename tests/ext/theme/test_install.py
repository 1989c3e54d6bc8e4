"""The command that installs this copy of the site's package."""

from pathlib import Path

import pytest

from sample_site import SampleSite

PAGES = {
    "index": "# Home\n\n```{install}\n```\n",
    "deep/page": "# Deep\n\n```{install} server.py\n```\n",
    "job": "# Job\n\n```{install} requirement\n```\n",
}
WHEEL = "lifespec-1.2-py3-none-any.whl"


def sample(folder: Path, base: str) -> SampleSite:
    extensions = ("theme.install", "theme.navigation")
    return SampleSite(folder, PAGES, *extensions, release="1.2", site_base_url=base)


@pytest.mark.parametrize("base", ["https://a.org/spec", "https://a.org/spec/"])
def test_a_site_that_knows_its_address_says_one_line(tmp_path: Path, base: str) -> None:
    with sample(tmp_path, base) as built:
        (command,) = built.page("index").select("article pre, .body pre")
        assert command.get_text().strip() == f"pip install https://a.org/spec/{WHEEL}"
        (command,) = built.page("deep/page").select("article pre, .body pre")
        assert command.get_text().strip() == "curl -O https://a.org/spec/server.py"
        (line,) = built.page("job").select("article pre, .body pre")
        assert line.get_text().strip() == f"lifespec @ https://a.org/spec/{WHEEL}"


def test_a_site_without_an_address_links_to_the_files(tmp_path: Path) -> None:
    """They stand above the folder of the language."""
    with sample(tmp_path, "") as built:
        page = built.page("index")
        assert [link["href"] for link in page.select("a[download]")] == [f"../{WHEEL}"]
        (command,) = page.select("article pre, .body pre")
        assert command.get_text().strip() == f"pip install ./{WHEEL}"
        (line,) = built.page("job").select("article pre, .body pre")
        assert line.get_text().strip() == f"./{WHEEL}"
        page = built.page("deep/page")
        assert [link["href"] for link in page.select("a[download]")] == ["../../server.py"]
        assert not page.select("article pre, .body pre")
