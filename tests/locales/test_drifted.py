"""Short pages that have drifted from the English one, each by one fault, and what is said."""

# ruff: noqa: RUF001 - Chinese marks are what is tested

from difflib import SequenceMatcher
from pathlib import Path

import pytest

import drift

__all__: list[str] = []

HERE = Path(__file__).parent
ENGLISH, FAITHFUL = ((HERE / f"{name}.md").read_text() for name in ("english", "faithful"))
FAULTS = {
    "indentation": "7: the code does not compile: expected an indented block after function "
    "definition on line 1.",
    "quote": '3: the Chinese lacks the literal `"lifespan.startup"` of the English.\n'
    'quote.md:3: the Chinese has the literal `lifespan.startup"`, which the English has not.',
    "doubled": "3: the word 谢绝 stands twice: keep one (in “出异常，即为谢绝谢绝。”).",
    "half-width": "3: the half-width . stands in Chinese: write 。 (in “并必须等待答复.应用程序抛出”).",
    "duty": "3: the English says “must” once, the Chinese 必须 not once: a translation keeps every "
    "duty.\nduty.md:3: the English says “should” not once, the Chinese 应 once: a translation keeps "
    "every duty.",
    "program": "6: the Chinese page's code has '    await send({\"type\": "
    "\"lifespan.startup.complete\"})' where the English has '    await receive()  #'.",
}


def told(name: str) -> str:
    """Give what the check says of a page."""
    return "\n".join(map(str, drift.faults(ENGLISH, (HERE / name).read_text(), name)))


def test_a_faithful_page_has_no_fault() -> None:
    """Another language is no drift."""
    assert told("faithful.md") == ""


@pytest.mark.parametrize("name", FAULTS)
def test_a_drifted_page_is_told(name: str) -> None:
    """One fault, its line, and nothing else."""
    assert told(f"{name}.md") == f"{name}.md:{FAULTS[name]}"


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
