"""README.md has the results of the servers as they were recorded."""

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RESULT = re.compile(r"- .+ [\d.]+: (?:\d+ PASS|never calls)")


def line(subject: dict[str, Any]) -> str:
    found = {name: subject["counts"][name] for name in ("pass", "warn", "fail", "info")}
    counts = ", ".join(f"{count} {name.upper()}" for name, count in found.items() if count)
    version = next(iter(subject["versions"].values()))
    none = "never calls the application with a lifespan scope"
    return f"- {subject['name']} {version}: {counts or none}"


def test_readme_has_a_line_for_each_server() -> None:
    record = json.loads((ROOT / "docs/matrix/servers.json").read_text("utf-8"))
    lines = (ROOT / "README.md").read_text("utf-8").splitlines()
    wanted = [*map(line, record["subjects"])]
    says = "README.md: write these lines, as docs/matrix/servers.json has them now:"
    assert [text for text in lines if RESULT.match(text)] == wanted, "\n".join([says, *wanted])
