"""The colours of code."""

import pytest
from pygments.style import Style

from lifespec_docs.theme.highlighting import Dark, Light


def luminance(colour: str) -> float:
    """Return how bright a colour is, as WCAG 2 defines it."""
    parts = [int(colour[start : start + 2], 16) / 255 for start in (0, 2, 4)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("style", [Light, Dark])
def test_every_colour_can_be_read(style: type[Style]) -> None:
    """Its contrast with the page is at least 4.5 to 1, the AA of WCAG 2."""
    paper = luminance(style.background_color.removeprefix("#"))
    for kind, about in style:
        bright, dark = sorted((luminance(about["color"]), paper), reverse=True)
        assert (bright + 0.05) / (dark + 0.05) >= 4.5, kind
