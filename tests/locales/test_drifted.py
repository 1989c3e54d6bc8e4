"""Short pages that have drifted from the English one, each by one fault, and what is said."""

from difflib import SequenceMatcher
from pathlib import Path

import pytest

from lifespec_docs.i18n import compare_pages

__all__: list[str] = []

HERE = Path(__file__).parent
ENGLISH, FAITHFUL = ((HERE / f"{name}.md").read_text() for name in ("english", "faithful"))
NEXT, LINE = (
    """'    await send({"type": "lifespan.startup.complete"})'""",
    "'    await receive()  #'",
)
UNINDENTED = "expected an indented block after function definition on line 1"
FAULTS = {
    "indentation": [f"7: the code does not compile: {UNINDENTED}."],
    "quote": [
        '3: the Chinese lacks the literal `"lifespan.startup"` of the English.',
        '3: the Chinese has the literal `lifespan.startup"`, which the English has not.',
    ],
    "doubled": ["3: the word 谢绝 stands twice: keep one (in “出异常，即为谢绝谢绝。”)."],
    "half-width": [
        "3: the half-width . stands in Chinese: write 。 (in “必须等待答复.应用程序抛出”)."
    ],
    "program": [f"6: the Chinese page's code has {NEXT} where the English has {LINE}."],
}


def told(name: str) -> list[str]:
    """Give what the check says of a page."""
    found = compare_pages.faults(ENGLISH, (HERE / f"{name}.md").read_text(), "")
    return [str(fault).removeprefix(":") for fault in found]


def test_a_faithful_page_has_no_fault() -> None:
    """Another language is no drift."""
    assert told("faithful") == []


@pytest.mark.parametrize("name", FAULTS)
def test_a_drifted_page_is_told(name: str) -> None:
    """One fault, its line, and nothing else."""
    assert told(name) == FAULTS[name]


@pytest.mark.parametrize("name", FAULTS)
def test_a_drifted_page_has_one_fault_only(name: str) -> None:
    """Else the test above could pass for another reason."""
    text = (HERE / f"{name}.md").read_text()
    steps = SequenceMatcher(None, FAITHFUL, text, autojunk=False).get_opcodes()
    changes = [step for step in steps if step[0] != "equal"]
    assert len(changes) == {"indentation": 2}.get(name, 1)  # in two lines


def test_each_drifted_page_has_a_test() -> None:
    """A page that nobody looks at proves nothing."""
    assert {path.stem for path in HERE.glob("*.md")} == {"english", "faithful", *FAULTS}
