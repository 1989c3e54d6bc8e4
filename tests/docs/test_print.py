"""The protocol fits on four sheets of paper."""

import base64
import re
from pathlib import Path

import pytest
from browser import Browser

pytestmark = [pytest.mark.timeout(300), pytest.mark.needs("chromium")]

A4 = {"paperWidth": 8.27, "paperHeight": 11.69}


@pytest.mark.parametrize("language", ["en", "zh-cn"])
def test_four_sheets(language: str, browser: Browser, site: Path) -> None:
    browser.open((site / language / "protocol.html").as_uri())
    printed = browser.send("Page.printToPDF", printBackground=True, **A4)
    sheets = re.findall(rb"/Type /Page$", base64.b64decode(printed["data"]), re.MULTILINE)
    assert 0 < len(sheets) <= 4
