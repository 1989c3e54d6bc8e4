"""What a page and its data say for the scripts that run its examples."""

from pathlib import Path
from typing import Any

from lifespec_docs.examples.runner import Example
from lifespec_docs.live import pages
from sample_site import SampleSite


def example(source: str, **more: Any) -> Example:
    return Example("page.md", 1, "python", source, None, **more)


def test_a_program_is_whole_with_those_that_it_needs() -> None:
    """The blocks that define its names, and what those need; not what it defines itself."""
    blocks = [
        example("import asyncio\nfrom os import path as where"),
        example("async def app(*_):\n    await asyncio.sleep(1)"),
        example("app = 1", kind="real"),
        example("class Mine:\n    pass\n\n\nfor each in range(3):\n    where.join(each)"),
        example("asyncio.run(app())"),
        example("def app(*_):\n    return [len(str(Mine)), each]"),
        example("print(app)", named=(("shop.py", ""),)),
        example("app()"),
        example("assert app", kind="check"),
    ]
    assert pages.programs(blocks) == {
        0: [0], 1: [0, 1], 3: [0, 3], 4: [0, 1, 4], 5: [0, 3, 5], 7: [0, 3, 5, 7],
    }  # fmt: skip


def test_without_a_runtime_a_page_is_as_it_was(tmp_path: Path) -> None:
    page = {"index": "# A page\n\n```python\nprint(1)\n```\n"}
    extensions = "examples.directive", "rules.domain", "live"
    with SampleSite(tmp_path, page, *extensions, examples_run=False, live_size=0) as sample:
        assert "data-live" not in str(sample.page())
        assert not Path(sample.app.outdir, "_live").exists()
