"""The report: verdicts by the level of the text, and how they are told."""

# ruff: noqa: RUF001 - Chinese has marks of its own

import contextlib
import io
import os

import pytest

from lifespec.conformance import report, wording
from lifespec.conformance.findings import Finding, Report, Verdict

__all__: list[str] = []

ODD = "no 数据库 \x1b[31m\udc80"


class Unicode(io.StringIO):
    """A stream for all characters."""

    encoding = "utf-8"  # type: ignore[assignment]


class Terminal(Unicode):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        """Say so."""
        return True


def finding(
    verdict: Verdict, slug: str = "startup-answered", case: str = "one", **said: str
) -> Finding:
    """Make a finding."""
    text = {"requirement": "It answers.", "expected": "it answers", "actual": "It left.", **said}
    return Finding(case, slug, verdict, **text)


def shown(found: Report, stream: io.StringIO | None = None, *, every: bool = False) -> str:
    """Return what is written of a report."""
    stream = stream or io.StringIO()
    report.show(found, stream, every=every)
    return stream.getvalue()


def test_a_reader_that_has_read_enough() -> None:
    """A pipe that nobody reads any more is its caller's affair, and no exit."""
    reading, writing = os.pipe()
    os.close(reading)
    found = Report("shop:app", "asgi 2.0", (finding("conforms"),))
    closing = contextlib.suppress(BrokenPipeError), os.fdopen(writing, "w")
    with closing[0], closing[1] as stream, pytest.raises(BrokenPipeError) as caught:
        report.show(found, stream)
    assert caught.type is BrokenPipeError


def test_what_is_shown() -> None:
    """First all rules with their worst verdict, then the faults, then numbers."""
    findings = (
        finding("conforms"),
        finding("violates", case="two", conversation="a\nb"),
        finding("violates", case="three", conversation="c"),
        finding("violates", case="four", actual="It hung."),
        finding("conforms", "events-known"),
    )
    text = shown(Report("shop:app", "asgi 2.0", findings))
    lines = [line.rstrip() for line in text.splitlines()]
    assert lines[0] == "shop:app, by lifespan 2.0 (ASGI)"
    assert lines[2].split() == ["verdict", "rule", "cases"]
    assert lines[3].split(maxsplit=2) == ["violates", "startup-answered", "two and 2 more"]
    assert lines[4].split() == ["conforms", "events-known", "one"]
    assert lines[6].startswith("violates: startup-answered ")
    assert [line.split(maxsplit=1) for line in lines[7:11]] == [
        ["case", "two, three"],
        ["requirement", "It answers."],
        ["expected", "it answers"],
        ["actual", "It left."],
    ]
    assert lines[11:15] == ["", "a", "b", ""]
    assert lines[-1] == "Rules: conforms 1, violates 1."
    assert text.count("requirement") == 2
    assert max(map(len, lines)) <= report.WIDTH
    assert "\x1b" not in text


def test_why_something_was_not_run() -> None:
    """Once for each reason, with its cases and rules."""
    why = {"verdict": "not run", "actual": "Not run: the command has no {workers}."}
    findings = (
        finding(**why, case="two-workers"),
        finding(**why, case="two-workers", slug="same-loop"),
        finding("not run", actual="The application has not come so far."),
    )
    text = shown(Report("it", "asgi 2.0", findings))
    lines = [line.rstrip() for line in text.splitlines()]
    assert lines[6].startswith("not run ────")
    assert [line.split(maxsplit=1) for line in lines[7:10]] == [
        ["case", "two-workers"],
        ["rule", "startup-answered, same-loop"],
        ["actual", "Not run: the command has no {workers}."],
    ]
    assert lines[10] == ""
    assert lines[11].startswith("not run ────")
    assert lines[-1] == "Rules: not run 2."
    everything = shown(Report("it", "asgi 2.0", findings), every=True)
    assert everything.count("requirement") == 3


def test_a_long_sentence_is_wrapped() -> None:
    """Beside its head, and in lines of its own where it has some."""
    text = shown(
        Report("it", "asgi 2.0", (finding("violates", actual="It left. " * 20 + "\nEnd"),))
    )
    lines = [line.rstrip() for line in text.splitlines()]
    first = next(line for line in lines if line.startswith("actual"))
    after = lines[lines.index(first) + 1 :]
    assert len(first) > 70
    assert after[0].startswith(f"{'':13}left. It left.")
    assert f"{'':13}End" in after
    assert max(map(len, lines)) <= report.WIDTH


def test_another_language() -> None:
    """Verdicts, heads, rules and what is expected are worded in it; names stay."""
    findings = (finding("violates", case="a"), finding("violates", case="b"), finding("not run"))
    stream = Unicode()
    found = Report("it", "asgi 2.0", findings)
    report.show(found, stream, wording=wording.wording("zh"))
    lines = [line.rstrip() for line in stream.getvalue().splitlines()]
    assert lines[0] == "it，判定依据：生命周期 2.0（ASGI）"
    assert lines[2].split() == ["判定", "规则", "用例"]
    assert lines[3].split(maxsplit=2) == ["违反", "startup-answered", "a，另有 1 个"]
    assert lines[5].startswith("违反：startup-answered ──")
    assert lines[6] == "用例  a、b"
    assert lines[-1] == "规则：违反 1。"
    assert any(line.startswith("未运行 ──") for line in lines)


def test_all_can_be_shown() -> None:
    """What conforms is shown where it is asked for."""
    found = Report("it", "asgi 2.0", (finding("conforms"),))
    assert "requirement" not in shown(found)
    assert "requirement" in shown(found, every=True)


def test_a_note() -> None:
    """A note stands below the title."""
    found = Report("it", "asgi 2.0", (finding("conforms"),), "It declined.")
    assert shown(found).splitlines()[1].rstrip() == "It declined."


def test_nothing_to_show() -> None:
    """A report without findings says so."""
    assert shown(Report("it", "asgi 2.0", ())).rstrip().endswith("Rules: none.")


def test_a_terminal_has_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal has colours, unless NO_COLOR is set; the words are the same."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("NO_COLOR", raising=False)
    found = Report("it", "asgi 2.0", (finding("violates"),))
    coloured = shown(found, Terminal())
    assert "\x1b[1;31mviolates" in coloured
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[1;31m" not in shown(found, Terminal())


def test_a_stream_of_few_characters() -> None:
    """What the stream's encoding lacks, and what is not to be printed, is written as escapes."""
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    report.show(Report("it", "asgi 2.0", (finding("violates", actual=ODD),)), stream)
    stream.flush()
    text = raw.getvalue().decode("ascii")
    assert "no \\u6570\\u636e\\u5e93 \\x1b[31m\\udc80" in text
    assert "violates: startup-answered ---" in text


def test_progress(capfd: pytest.CaptureFixture[str]) -> None:
    """Where standard error is no terminal, no bar is shown."""
    with report.progress("shop:app", 2) as tell:
        tell()
        tell()
    assert capfd.readouterr() == ("", "")


def test_progress_in_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """In a terminal the bar is on standard error, and goes when all is done."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    with report.progress("shop:app", 1) as tell:
        tell()
    out, err = capfd.readouterr()
    assert out == ""
    assert "shop:app" in err
