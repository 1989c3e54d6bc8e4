"""The search's script in node: what it finds in an index."""

import json
import subprocess
from pathlib import Path
from typing import Any

__all__ = ["SCRIPT", "found", "marked"]

SCRIPT = Path(__file__).parents[2] / "docs" / "_static" / "search.js"
RUN = """
const Search = require(process.argv[1]);
let index;
globalThis.setSearchIndex = (data) => { index = Search.read(data); };
const { script, queries, marked } = JSON.parse(require("fs").readFileSync(0, "utf-8"));
(0, eval)(script);
const found = queries.map((query) => Search.search(query, index));
console.log(JSON.stringify([found, marked.map((each) => Search.marked(...each))]));
"""


def _run(script: str, queries: list[str], *marked: tuple[str, list[str]]) -> Any:
    given = json.dumps({"script": script, "queries": queries, "marked": marked})
    command = ["node", "-e", RUN, str(SCRIPT)]
    done = subprocess.run(
        command, check=False, input=given, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def found(script: str, *queries: str) -> list[dict[str, Any]]:
    """Return what is found for each query; `script` is the index as it is published."""
    return _run(script, [*queries])[0]  # type: ignore[no-any-return]


def marked(text: str, *words: str) -> list[list[Any]]:
    """Return the parts of a text, each with whether it is of the query."""
    return _run("setSearchIndex({synonyms: [], pages: {}})", [], (text, [*words]))[1][0]  # type: ignore[no-any-return]
