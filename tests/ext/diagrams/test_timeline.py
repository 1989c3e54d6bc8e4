"""The picture of how a server ends."""

import re
from itertools import pairwise
from pathlib import Path

from lifespec_docs.diagrams import timeline
from lifespec_docs.i18n.messages import marked
from sample_site import SampleSite

__all__: list[str] = []

WORDS = marked("diagrams/timeline.py")


def ends(svg: str) -> list[list[int]]:
    """Return where the parts of each bar begin and end, by their height."""
    found: dict[str, list[int]] = {}
    for start, y, end in re.findall(r'd="M(\d+) (\d+)H(\d+)v', svg):
        found.setdefault(y, []).extend([int(start), int(end)])
    return list(found.values())


def test_what_ends_first_stands_above() -> None:
    """Each lane ends no sooner than the one above it, and its last part begins where that ended."""
    lanes = ends(timeline.drawn(str))
    assert len(lanes) == len(timeline.LANES)
    assert lanes == sorted(lanes, key=max)
    for above, lane in pairwise(lanes):
        assert len(lane) == 2 or lane[2] == max(above)


def test_the_order_is_that_of_the_protocol() -> None:
    """Shutdown is offered when the last request is over; the process ends after the answer."""
    svg = timeline.drawn(str)
    answered, offered, signal = (int(x) for x in re.findall(r'd="M(\d+) \d+V', svg))
    assert [max(lane) for lane in ends(svg)][:4] == [signal, signal, offered, answered]
    assert max(max(lane) for lane in ends(svg)) > answered


def test_a_mark_crosses_the_bars_and_no_text() -> None:
    """Its line begins beside its own label, and has gaps where the lanes say what they are."""
    svg = timeline.drawn(str)
    baselines = {int(y) for y in re.findall(r'x="0" y="(\d+)"', svg)}
    bars = {int(y) for y in re.findall(r'd="M0 (\d+)H', svg)}
    assert len(baselines) == len(bars) == len(timeline.LANES)
    for way in re.findall(r'd="M(\d+ \d+V[^"]*)" stroke-dash', svg):
        _, *crossings = re.findall(r"(\d+)v(\d+)", f"0v0 {way}")
        pieces = [(int(y), int(y) + int(length)) for y, length in crossings]
        assert all(any(y < bar < end for y, end in pieces) for bar in bars)
        assert not any(y < line < end for line in baselines for y, end in pieces)


def test_nothing_leaves_the_picture() -> None:
    """Neither a bar nor a text: a letter of the page's font is at most this wide."""
    assert max(lane[1] for lane in timeline.LANES) < timeline.WIDTH
    assert max(len(text) for text in WORDS) * 6.8 < timeline.WIDTH
    assert all(len(text) * 7.3 < x for x, text, _ in timeline.MARKS)


def test_every_word_can_be_translated(tmp_path: Path) -> None:
    """The picture speaks the page's language; names of events stay."""
    sample = SampleSite(
        tmp_path, {"index": "# A\n\n```{timeline}\n```\n"}, "diagrams.timeline", language="zh_CN"
    )
    sample.translate("lifespec", {text: f"译{text}" for text in WORDS})
    with sample:
        shown = [text.get_text() for text in sample.page().select("figure svg text")]
        assert [text for text in shown if not text.startswith("译")] == [
            "lifespan.shutdown.complete",
            "lifespan.shutdown",
        ]
        (svg,) = sample.page().select("svg")
        assert svg["aria-label"] == f"译{timeline.TITLE}"
        assert svg.find("desc").get_text().count("译") == len(timeline.LANES)
        assert not sample.warnings
