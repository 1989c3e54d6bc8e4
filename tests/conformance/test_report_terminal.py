"""The report: verdicts by the level of the text, and how they are told."""

import contextlib
import io
import os
import sys
from typing import Any

import pytest

from lifespec.conformance import i18n
from lifespec.conformance.i18n import Wording
from lifespec.conformance.report import terminal
from lifespec.conformance.report.model import Course, Finding, Report, Verdict

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
    verdict: str, rule_id: str = "startup-answered", case: str = "one", **said: str
) -> Finding:
    """Make a finding."""
    text = {"requirement": "It answers.", "expected": "it answers", "actual": "It left.", **said}
    return Finding(case, rule_id, Verdict.named(verdict), **text)


class Hinted(Wording):
    """English, with a short hint for every rule."""

    def hint(self, rule_id: str, role: str) -> str:
        """Return it."""
        del rule_id, role
        return "Send it."

    def address(self, rule_id: str) -> str:
        """Return one."""
        return f"en/page.html#{rule_id}"


def shown(
    found: Report,
    stream: io.StringIO | None = None,
    *,
    every: bool = False,
    wording: Wording | None = None,
) -> str:
    """Return what is written of a report."""
    stream = stream or io.StringIO()
    terminal.show(found, stream, every=every, wording=wording or Hinted())
    return stream.getvalue()


def test_a_reader_that_has_read_enough() -> None:
    """A pipe that nobody reads any more is its caller's affair, and no exit."""
    reading, writing = os.pipe()
    os.close(reading)
    found = Report("shop:app", "asgi 2.0", (finding("pass"),))
    closing = contextlib.suppress(BrokenPipeError), os.fdopen(writing, "w")
    with closing[0], closing[1] as stream, pytest.raises(BrokenPipeError) as caught:
        terminal.show(found, stream)
    assert caught.type is BrokenPipeError


def test_an_application_that_does_not_start_is_not_checked() -> None:
    """The first sentence says so, instead of a verdict on what was never played."""
    course = Course(startup="failed", shutdown="", received=True, detail="no database")
    found = Report("shop:app", "asgi 2.0", (finding("skip"),), course=course)
    assert "checked in part: its startup has to succeed first" in shown(found)


def test_what_is_shown() -> None:
    """A sentence and the counts, what was found and what to do, then all rules."""
    findings = (
        finding("pass"),
        finding("fail", case="two", conversation="a\nb"),
        finding("fail", case="three", conversation="c"),
        finding("fail", case="four", actual="It hung."),
        finding("pass", "events-known"),
        finding("pass", "events-known"),
        finding("fail", case="two", conversation="a\nb"),
    )
    text = shown(Report("shop:app", "asgi 2.0", findings))
    lines = text.splitlines()
    assert not any(line.endswith(" ") for line in lines)
    assert lines[0] == "shop:app, checked against lifespan 2.0 (ASGI)"
    assert lines[1] == "Broken MUST rules of lifespan 2.0 (ASGI): 1."
    assert lines[2] == "FAIL 1, PASS 1"
    assert lines[4].startswith("FAIL: startup-answered ")
    assert [line.split(maxsplit=1) for line in lines[5:11]] == [
        ["case", "two, three"],
        ["requirement", "It answers."],
        ["expected", "it answers"],
        ["actual", "It left."],
        ["hint", "Send it."],
        ["more", "lifespec explain startup-answered"],
    ]
    assert lines[11:15] == ["", "a", "b", ""]
    assert lines[-4].split() == ["verdict", "rule", "cases"]
    assert lines[-3].split(maxsplit=2) == ["FAIL", "startup-answered", "two and 2 more"]
    assert lines[-2].split() == ["PASS", "events-known", "one"]
    assert text.count("requirement") == 2
    assert max(map(len, lines)) <= terminal.WIDTH
    assert "\x1b" not in text


@pytest.mark.parametrize(
    ("verdicts", "facts", "sentence"),
    [
        (
            ["pass", "info"],
            {},
            "It keeps every MUST and SHOULD of lifespan 2.0 (ASGI).",
        ),
        (
            ["warn", "pass"],
            {},
            "It keeps every MUST of lifespan 2.0 (ASGI). Missed SHOULD rules: 1.",
        ),
        (["pass"], {"supported": False}, "The application does not support lifespan."),
        (["pass"], {"obstacle": "It failed."}, "It could not be checked: It failed."),
        (["skip"], {}, "It could not be checked: It left."),
    ],
)
def test_the_first_sentence(verdicts: list[str], facts: dict[str, Any], sentence: str) -> None:
    """It says what the exit status says."""
    found = tuple(
        finding(verdict, rule_id) for verdict, rule_id in zip(verdicts, "ab", strict=False)
    )
    assert shown(Report("it", "asgi 2.0", found, **facts)).splitlines()[1] == sentence


def test_the_worst_comes_first() -> None:
    """What a must says before what a should says, and that before what is not specified."""
    findings = (finding("info", "a"), finding("warn", "b"), finding("fail", "c"))
    text = shown(Report("it", "asgi 2.0", findings))
    assert text.index("FAIL: c") < text.index("WARN: b") < text.index("INFO: a")


def test_the_page_of_a_rule_is_named_if_the_site_has_an_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    report = Report("it", "asgi 2.0", (finding("fail"),))
    monkeypatch.setattr(terminal, "base", lambda: "https://docs.example/")
    assert "page.html#startup-answered" in shown(report)


def test_a_report_without_faults_is_short() -> None:
    """What a framework does is not the author's, and rules that were kept are counted."""
    course = Course("complete", "complete", received=True, detail="")
    theirs = finding(
        "warn", whose="This comes from Starlette (starlette.routing), not from your code."
    )
    report = Report("it", "asgi 2.0", (theirs, finding("pass")), course=course)
    assert "verdict" not in shown(report)
    assert len(shown(report).splitlines()) < 15
    assert "verdict" in shown(report, every=True)


def test_whose_doing_it_is() -> None:
    """Where that is known; then the author is told of no fix."""
    text = shown(Report("it", "asgi 2.0", (finding("warn", whose="From Starlette."),)))
    assert "\norigin       From Starlette." in text
    assert "\nhint" not in text


@pytest.mark.parametrize(
    ("verdict", "rule_id", "role", "words"),
    [
        ("fail", "startup-answered", "application", "Set a timeout on every wait"),
        ("warn", "startup-answered", "middleware", "The middleware replaces `send`"),
        ("fail", "startup-failed-never-serves", "server", "Record the failure"),
        ("fail", "middleware-passes-on", "middleware", "The middleware catches"),
        ("info", "startup-answered", "application", ""),
        ("warn", "state-keys-named-well", "application", ""),
    ],
)
def test_what_to_do(verdict: str, rule_id: str, role: Any, words: str) -> None:
    """The hint of a rule that was broken, for the author of what was checked."""
    found = Report("it", "asgi 2.0", (finding(verdict, rule_id),), role=role)
    text = shown(found, wording=i18n.ENGLISH)
    assert ("\nhint  " in text) == bool(words)
    assert words in text


def test_why_something_was_skipped() -> None:
    """Once for each reason, with its cases and rules; not where another case has shown the rule."""
    why = {"verdict": "skip", "actual": "The command has no {workers}."}
    findings = (
        finding(**why, case="two-workers"),
        finding(**why, case="two-workers", rule_id="same-loop"),
        finding("skip", actual="The application has not come so far."),
        finding(**why, rule_id="startup-sent"),
        finding("pass", rule_id="startup-sent"),
    )
    text = shown(Report("it", "asgi 2.0", findings))
    lines = text.splitlines()
    assert lines[2] == "PASS 1, SKIP 2"
    assert lines[-2:] == [
        "SKIP startup-answered, same-loop: The command has no {workers}.",
        "SKIP startup-answered: The application has not come so far.",
    ]
    everything = shown(Report("it", "asgi 2.0", findings), every=True)
    assert everything.count("requirement") == 5


def test_a_long_sentence_is_wrapped() -> None:
    """Beside its head, and in lines of its own where it has some."""
    text = shown(Report("it", "asgi 2.0", (finding("fail", actual="It left. " * 20 + "\nEnd"),)))
    lines = text.splitlines()
    first = next(line for line in lines if line.startswith("actual"))
    after = lines[lines.index(first) + 1 :]
    assert len(first) > 70
    assert after[0].startswith(f"{'':13}left. It left.")
    assert f"{'':13}End" in after
    assert max(map(len, lines)) <= terminal.WIDTH


def test_another_language() -> None:
    """Verdicts, heads, rules and what is expected are worded in it; names stay."""
    findings = (finding("fail", case="a"), finding("fail", case="b"), finding("skip", "same-loop"))
    stream = Unicode()
    found = Report("it", "asgi 2.0", findings)
    terminal.show(found, stream, wording=i18n.wording("zh"))
    lines = stream.getvalue().splitlines()
    assert lines[0] == "it，检查依据：生命周期 2.0（ASGI）"
    assert lines[1] == "生命周期 2.0（ASGI）：违反了 1 条 MUST 规则。"
    assert lines[2] == "FAIL 1、SKIP 1"
    assert lines[4].startswith("FAIL：startup-answered ──")
    assert lines[5] == "用例  a、b"
    assert lines[-1] == "SKIP same-loop：It left."
    assert lines[-5].split() == ["判定", "规则", "用例"]
    assert lines[-4].split(maxsplit=2) == ["FAIL", "startup-answered", "a，另有 1 个"]


@pytest.mark.parametrize(
    ("way", "wanted"), [("fork", "forked for each"), ("spawn", "imported for each"), ("", "")]
)
def test_how_processes_were_made(way: str, wanted: str) -> None:
    """It is told where all is."""
    found = Report("it", "asgi 2.0", (finding("pass"),), isolation=way)
    assert wanted in shown(found, every=True)
    assert ("imported" in shown(found, every=True)) == bool(way)
    assert "imported" not in shown(found)


def test_all_can_be_shown() -> None:
    """What passed is shown where it is asked for."""
    found = Report("it", "asgi 2.0", (finding("pass"),))
    assert "requirement" not in shown(found)
    assert "requirement" in shown(found, every=True)


def test_a_note() -> None:
    """A note stands below the counts."""
    found = Report("it", "asgi 2.0", (finding("pass"),), "It declined.")
    assert shown(found).splitlines()[3] == "It declined."


def test_slow_cases_that_were_left_out() -> None:
    """How many, which, and how to run them."""
    found = Report("it", "asgi 2.0", (finding("pass"),), role="server", left_out=("a", "b"))
    told = "Slow cases that were left out: 2 (a, b). Run them with --slow."
    assert shown(found).splitlines()[3] == told


def test_nothing_to_show() -> None:
    """A report without findings says so."""
    text = shown(Report("it", "asgi 2.0", ()))
    assert text.rstrip().endswith("It could not be checked: There is no case for it.")


def test_a_terminal_has_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal has colours, unless NO_COLOR is set; the words are the same."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("NO_COLOR", raising=False)
    found = Report("it", "asgi 2.0", (finding("fail"),))
    coloured = shown(found, Terminal())
    assert "\x1b[1;31mFAIL" in coloured
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[1;31m" not in shown(found, Terminal())


def test_a_stream_of_few_characters() -> None:
    """What the stream's encoding lacks, and what is not to be printed, is written as escapes."""
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    terminal.show(Report("it", "asgi 2.0", (finding("fail", actual=ODD),)), stream)
    stream.flush()
    text = raw.getvalue().decode("ascii")
    assert "no \\u6570\\u636e\\u5e93 \\x1b[31m\\udc80" in text
    assert "FAIL: startup-answered ---" in text


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "gbk", "utf-8"])
def test_chinese_on_a_stream_of_few_characters(encoding: str) -> None:
    """Nothing is raised, however long a word becomes."""
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding)
    course = Course("complete", "failed", received=True, detail="Z" * 200)
    report = Report("it", "asgi 2.0", (finding("fail"), finding("skip")), course=course)
    terminal.show(report, stream, wording=i18n.wording("zh"))
    stream.flush()
    text = raw.getvalue().decode(encoding)
    assert text.replace("\n", "").replace(" ", "").count("Z") == 200


def test_a_long_command_stays_one_line() -> None:
    """It can be copied, and what follows stands in the second line."""
    command = "/a/path/" + "x" * 100 + "/python shop.py"
    lines = shown(Report(command, "asgi 2.0", (finding("pass"),), "It did.")).splitlines()
    assert [lines[0], lines[3]] == [f"{command}, checked against lifespan 2.0 (ASGI)", "It did."]


@pytest.mark.parametrize("colours", ["", "1"])
def test_progress(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], colours: str
) -> None:
    """Where standard error is no terminal, no bar is shown, though colours may be wanted there."""
    monkeypatch.setenv("FORCE_COLOR", colours)
    with terminal.progress("shop:app", 2) as tell:
        tell()
        tell()
    assert capfd.readouterr() == ("", "")


def test_progress_in_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """In a terminal the bar is on standard error, and goes when all is done."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with terminal.progress("shop:app", 1) as tell:
        tell()
    out, err = capfd.readouterr()
    assert out == ""
    assert "shop:app" in err
