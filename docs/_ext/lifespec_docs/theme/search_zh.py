"""Chinese search without a dictionary: Chinese text is cut into pairs of neighbouring characters.

The index also holds single characters; a query asks for the pairs, or for its one character.
Between two words of a query stands a pair that few pages have: `bigrams.js`, which cuts the query
in the reader's browser, leaves it out.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from sphinx.search import SearchLanguage

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.util.typing import ExtensionMetadata

__all__ = ["Bigrams", "setup"]

# Python and JavaScript read these two alike.
HAN = r"[\u3400-\u9fff]+"
RUN = HAN + r"|[0-9A-Za-z_]+"
SPLITTER = Path(__file__).with_suffix(".js")


class Bigrams(SearchLanguage):
    """Pairs for Chinese, whole words for the rest, on the index's side and on the query's."""

    lang = "zh_CN"
    language_name = "Chinese"
    js_splitter_code = SPLITTER.read_text(encoding="utf-8").replace("RUN", RUN).replace("HAN", HAN)

    def split(self, text: str) -> list[str]:
        """Return what the index holds of a text."""
        found: list[str] = []
        for run in re.findall(RUN, text):
            found += [*_pairs(run), *run] if re.fullmatch(HAN, run) else [run]
        return found


def _pairs(run: str) -> list[str]:
    return [run[start : start + 2] for start in range(len(run) - 1)]


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the search language for `zh_CN`."""
    app.add_search_language(Bigrams)
    return {"version": "1", "parallel_read_safe": True}
