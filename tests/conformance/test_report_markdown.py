"""The report in Markdown, read by a parser that is not ours."""

from datetime import UTC, datetime
from typing import Any

import pytest
from markdown_it import MarkdownIt

from lifespec.conformance import cases
from lifespec.conformance.oldreport.formats import Checked
from lifespec.conformance.oldreport.markdown import as_markdown
from lifespec.conformance.oldreport.model import Course, Finding, Report, Verdict

__all__: list[str] = []

ODD = "no 数据库 \x1b[31m"
GOOD = Course("complete", "complete", received=True, detail="")
MARKUP = "<b> | *a* [x](y) `c|d`"


def found(
    verdict: str, case: str = "start-and-stop", actual: str = "It left.", whose: str = ""
) -> Finding:
    """Make a finding of a case that there is."""
    said = "It answers `yes`.", "it answers", actual, "a\n```\nb", whose
    return Finding(case, "startup-answered", Verdict.named(verdict), *said)


def checked(*findings: Finding, **facts: Any) -> Checked:
    """Make what was checked."""
    report = {"subject": "shop.main:app", "spec": "asgi 2.0", "findings": findings} | facts
    return Checked(
        Report(**report), strict=False, began=datetime(2026, 2, 3, tzinfo=UTC), seconds=1
    )


def texts(markdown: str) -> list[str]:
    """Return the texts of headings, paragraphs and cells, without markup."""
    tokens = MarkdownIt("commonmark").enable("table").parse(markdown)
    return [
        "".join(child.content for child in token.children or ())
        for token in tokens
        if token.type == "inline"
    ]


def test_a_finding_has_all_that_an_issue_needs() -> None:
    """The rule with its section, what was observed, the messages, and a command that repeats it."""
    findings = found("warn", "without-state"), found("fail"), found("fail", "without-state")
    markdown = as_markdown(checked(*findings, course=GOOD))
    assert markdown.count("#### FAIL: `startup-answered`") == 1
    assert "WARN: " not in markdown
    told = texts(markdown)
    assert told[0] == "shop.main:app, checked against lifespan 2.0 (ASGI)"
    assert "It answers yes. “Startup Complete”, “Startup Failed”" in told
    for line in (
        "Case: The application starts and stops.",
        "Observed: It left.",
        "Again: lifespec check app shop.main:app --only start-and-stop",
        "Also in without-state",
    ):
        assert line in told
    assert "```text\na\n'''\nb\n```\n" in markdown
    assert "[“Startup Complete”](https://github.com/django/asgiref/blob/" in markdown
    assert "```python\nimport asyncio\n\nfrom shop.main import app\n" in markdown
    assert markdown.count("```sh\npython program.py\n```") == 1
    assert told[-1].startswith("lifespec ")


def test_what_was_observed_is_no_markup() -> None:
    told = texts(as_markdown(checked(found("warn", actual=f"{MARKUP}\n{ODD}"), course=GOOD)))
    (line,) = (each for each in told if each.startswith("Observed: "))
    assert line.startswith("Observed: <b> | *a* [x](y) c")
    assert "\\x1b" in line


@pytest.mark.parametrize(
    ("role", "subject", "command"),
    [
        ("application", "shop:app --factory", "app shop:app --factory --only {}"),
        ("middleware", "shop:wrap", "middleware shop:wrap --only {}"),
        (
            "server",
            "uvicorn {app} --port {port}",
            "server --only {} -- uvicorn {app} --port {port}",
        ),
        ("server", "asgi-lifespan", "driver asgi-lifespan --only {}"),
    ],
)
def test_the_command_is_that_of_the_role(role: str, subject: str, command: str) -> None:
    """And so is the program."""
    case = next(each.name for each in cases.load() if each.role == role and "send" in str(each))
    name, factory = subject.removesuffix(" --factory"), "--factory" in subject
    report = checked(found("fail", case), role=role, subject=name, factory=factory)
    markdown = as_markdown(report)
    assert f"Again: lifespec check {command.replace('{}', case)}" in texts(markdown)
    assert "This program shows it without lifespec" in markdown


def test_what_a_framework_does_is_a_line() -> None:
    report = checked(found("warn", whose="This comes from Flask."), course=GOOD)
    assert "####" not in as_markdown(report)
    assert "This comes from Flask." in texts(
        as_markdown(checked(found("warn", whose="This comes from Flask.")))
    )


def test_without_a_message_sequence_there_is_no_diagram() -> None:
    bare = Finding("one", "startup-answered", Verdict.FAIL, "It answers.", "it answers", "It left.")
    assert "```" not in as_markdown(checked(bare))


def test_a_name_with_a_backquote_is_code() -> None:
    assert as_markdown(checked(found("fail"), subject="a`b")).startswith("### ``a`b``, checked")
