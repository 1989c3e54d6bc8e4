"""The report: verdicts by the level of the text, and how they are told."""

import io
import sys

import pytest

from lifespec.conformance import i18n
from lifespec.conformance.i18n import Wording
from lifespec.conformance.oldreport import terminal
from lifespec.conformance.oldreport.model import Course, Finding, Report, Verdict

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


@pytest.mark.parametrize(
    ("way", "wanted"), [("fork", "forked for each"), ("spawn", "imported for each"), ("", "")]
)
def test_how_processes_were_made(way: str, wanted: str) -> None:
    """It is told where all is."""
    found = Report("it", "asgi 2.0", (finding("pass"),), isolation=way)
    assert wanted in shown(found, every=True)
    assert ("imported" in shown(found, every=True)) == bool(way)
    assert "imported" not in shown(found)


def test_whose_doing_it_is() -> None:
    """Where that is known; then the author is told of no fix."""
    text = shown(Report("it", "asgi 2.0", (finding("warn", whose="From Starlette."),)))
    assert "\norigin       From Starlette." in text
    assert "\nhint" not in text


def test_the_page_of_a_rule_is_named_if_the_site_has_an_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    report = Report("it", "asgi 2.0", (finding("fail"),))
    monkeypatch.setattr(terminal, "base", lambda: "https://docs.example/")
    assert "page.html#startup-answered" in shown(report)


def test_what_passed_is_not_listed() -> None:
    """Where the case shows what the application did, and unless all is asked for."""
    course = Course("complete", "complete", received=True)
    found = Report("it", "asgi 2.0", (finding("pass"),), course=course)
    assert ("It answers." in shown(found), "It answers." in shown(found, every=True)) == (
        False,
        True,
    )


def test_nothing_to_show() -> None:
    """A report without findings says so."""
    text = shown(Report("it", "asgi 2.0", ()))
    assert text.rstrip().endswith("It could not be checked: There is no case for it.")
