"""The pictures that are drawn for a page."""

import re
from pathlib import Path

import pytest

from lifespec_docs.diagrams.figures import PICTURES
from lifespec_docs.i18n.messages import marked
from sample_site import SampleSite

TEXT = re.compile(r"<text [^>]*>([^<]*)</text>")


@pytest.mark.parametrize("name", PICTURES)
def test_every_word_of_a_picture_is_translated(name: str) -> None:
    """What is not code goes through the catalog, and the catalog has a place for it."""
    asked: list[str] = []

    def translate(message: str) -> str:
        asked.append(message)
        return message

    shown = TEXT.findall(PICTURES[name](translate))
    assert {*asked} <= {*marked("diagrams/figures.py")}
    ours = {message.replace("%s", str(number)) for message in asked for number in (1, 2)}
    assert {text for text in shown if not text.startswith("lifespan.")} <= ours


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_fits_its_frame_and_a_phone(name: str) -> None:
    """Every text begins and ends within it, and it is shown in full at 400 px."""
    svg = PICTURES[name](str)
    found = re.search(r'viewBox="0 0 (\d+) (\d+)"', svg)
    assert found
    width, height = map(int, found.groups())
    assert width <= 376
    for x, y, text in re.findall(r'<text x="([\d.]+)" y="([\d.]+)"[^>]*>([^<]*)<', svg):
        assert float(x) - 3.7 * len(text) >= 0, text
        assert float(x) + 3.7 * len(text) <= width, text
        assert float(y) < height


def test_a_picture_that_there_is_not_is_told(tmp_path: Path) -> None:
    page = {"index": "# Page\n\n```{picture} elephant\n```\n"}
    with SampleSite(tmp_path, page, "diagrams.figures") as sample:
        (warning,) = sample.warnings
    assert "There is no picture 'elephant': there are protocol and workers." in warning
