"""The playground, as a reader uses it: real clicks and keys in a browser."""

import base64
import json
import re
import zlib
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from browser import CONTROL, SHIFT, Browser
from published import published

from lifespec_docs.live.pages import programs
from lifespec_docs.live.play import Conduct, ran

pytestmark = [
    pytest.mark.needs("chromium"),
    pytest.mark.usefixtures("live"),
    pytest.mark.timeout(300),
]

RUN, COPY = ".play-run", ".play-bar .play-quiet"
MARKDOWN = f"{COPY} + .play-quiet"
READY = "!!document.querySelector('.cm-content') && !document.querySelector('.play-run').disabled"
REPORT = "document.querySelector('.play-report').innerText"
STATUS = "document.querySelector('.play-status').textContent"
EDITOR = "[...document.querySelectorAll('.cm-line')].map((each) => each.textContent).join('\\n')"
MARKED = "[...document.querySelectorAll('.play-wrong')].map((each) => each.textContent).join()"
PATIENCE = 90.0  # seconds for the first run, on a busy machine
ENDLESS = (
    "import time\nasync def app(scope, receive, send):\n    await receive()\n"
    "    while True:\n        time.sleep(0.1)\n"
)
FAILS = """\
async def app(scope, receive, send):
    await receive()
    try:
        await send({"type": "lifespan.startup.failed", "message": "db-1 is away"})
    except Exception as error:
        print(repr(error))
"""
WRONG = "x = 1\nasync def app(scope, receive, send:\n    pass\n"


def until(browser: Browser, script: str) -> None:
    """Wait for what may take longer than a click."""
    browser.until(script, PATIENCE)


def visit(browser: Browser, address: str) -> None:
    """Open a page anew, also where only the fragment of its address differs."""
    browser.open("about:blank")
    browser.open(address)
    until(browser, READY)


def click(browser: Browser, selector: str) -> None:
    """Press the mouse in the middle of an element."""
    place = browser.run(
        f"(() => {{ const found = document.querySelector({json.dumps(selector)});"
        " found.scrollIntoView({block: 'center', behavior: 'instant'});"
        " const {x, y, width, height} = found.getBoundingClientRect();"
        " return [x + width / 2, y + height / 2]; })()"
    )
    for kind in ("mousePressed", "mouseReleased"):
        browser.send(
            "Input.dispatchMouseEvent",
            type=kind,
            x=place[0],
            y=place[1],
            button="left",
            clickCount=1,
        )


def write(browser: Browser, program: str) -> None:
    click(browser, ".cm-content")
    browser.press("a", CONTROL)
    browser.send("Input.insertText", text=program)


def run(browser: Browser) -> str:
    click(browser, RUN)
    until(browser, READY)
    return str(browser.run(REPORT))


def linked(program: str, **server: object) -> str:
    """Return the fragment that holds a program."""
    text = json.dumps({"program": program, "server": server}).encode()
    packer = zlib.compressobj(wbits=-15)
    packed = packer.compress(text) + packer.flush()
    return f"#code={base64.urlsafe_b64encode(packed).decode().rstrip('=')}"


@pytest.fixture(name="page")
def the_page(browser: Browser, address: str) -> Iterator[str]:
    """Open the English playground, and see afterwards that nothing was asked of another host."""
    browser.requests.clear()
    browser.failures.clear()
    page = f"{address}/en/playground.html"
    browser.width(1280)
    visit(browser, page)
    yield page
    asked = [
        each for each in browser.requests if urlsplit(each).scheme not in ("data", "about", "blob")
    ]
    assert [each for each in asked if not each.startswith(f"{address}/")] == []
    assert browser.failures == []


@pytest.mark.parametrize(
    ("folder", "outcome", "sequence", "fine"),
    [
        ("en", "Outcome: complete", "The application sends lifespan.startup.complete.", "nothing"),
        ("zh-cn", "结果：complete", "应用程序发送 lifespan.startup.complete", "没有发现问题"),
    ],
)
def test_a_program_runs_and_is_reported(
    browser: Browser, address: str, page: str, folder: str, outcome: str, sequence: str, fine: str
) -> None:
    """Outcome, message sequence, validator, output; in the language of the page."""
    visit(browser, page.replace("/en/", f"/{folder}/"))
    assert browser.run("document.querySelector('h1').checkVisibility()")
    assert "async def app" in browser.run(EDITOR)
    report = run(browser)
    for text in (outcome, sequence, fine, "open the pool\nclose the pool"):
        assert text in report
    assert browser.run("document.querySelector('.play-report svg').checkVisibility()")


def test_what_the_validator_says_leads_to_the_rule(browser: Browser, page: str) -> None:
    """One line for each, in the language of the page."""
    visit(browser, f"{page}#start=mistakes")
    report = run(browser)
    assert "The application put the key 404 into the state while starting." in report
    links = browser.run("[...document.querySelectorAll('.play-found a')].map((a) => a.href)")
    names = [urlsplit(link).fragment for link in links]
    assert names == ["state-keys-text", "events-known", "shutdown-answered"]
    browser.open(links[0])
    assert browser.run("document.querySelector(':target').classList.contains('rule')")
    visit(browser, f"{page.replace('/en/', '/zh-cn/')}#start=mistakes")
    assert "在启动期间，应用程序在状态中放入了键 404。" in run(browser)


def test_the_second_tab_sets_the_server(browser: Browser, page: str) -> None:
    """A specification, no state, a timeout, a cancellation, a request."""
    write(browser, "async def app(scope, receive, send):\n    print(scope)\n    await receive()\n"
          "    await __import__('asyncio').sleep(3600)\n")  # fmt: skip
    click(browser, "#play-tab-server")
    browser.run("document.querySelector('#play-spec').focus()")
    browser.run(
        "(() => { const spec = document.querySelector('#play-spec'); spec.value = 'pagi 0.3';"
        " spec.dispatchEvent(new Event('input', {bubbles: true})); })()"
    )
    click(browser, "#play-state")
    click(browser, "#play-startup_timeout")
    browser.send("Input.insertText", text="60")
    report = run(browser)
    assert "{'type': 'lifespan', 'pagi': {'version': '0.3'" in report
    assert "'state'" not in report
    assert "timed_out" in report
    assert "raises StartupTimeout" in report
    assert "At 60 s: The application ends, because it was cancelled." in report
    assert browser.run("document.querySelector('#play-tab-server').matches('.play-special')")
    click(browser, "#play-cancel")
    browser.send("Input.insertText", text="30")
    assert "raises CancelledError" in run(browser)
    click(browser, ".play-form .play-quiet")
    assert browser.run("document.querySelector('#play-state').checked")
    visit(browser, f"{page}#start=context-manager")
    click(browser, "#play-tab-server")
    assert browser.run("document.querySelector('#play-requests').value") == "1"
    assert "GET / → 200, 3 connections" in run(browser)
    browser.run("document.querySelector('#play-requests').value = ''")
    click(browser, "#play-request")
    browser.press("a", CONTROL)
    browser.send("Input.insertText", text="PUT /pool x")
    assert browser.run("document.querySelector('#play-requests').value") == "1"
    assert "PUT /pool → " in run(browser)


@pytest.mark.parametrize(
    ("folder", "sentence", "log"),
    [
        ("en", "The process ended with status 3.", "Log of uvicorn"),
        ("zh-cn", "进程以退出码 3 退出", "uvicorn 0"),
    ],
)
def test_a_server_behaves_as_a_recorded_one(
    browser: Browser, page: str, folder: str, sentence: str, log: str
) -> None:
    """The choice is in the link; the result says what was seen, logged and exited with."""
    fragment = linked(FAILS, **{"as": "uvicorn"}, startup_timeout=3, requests=1)
    visit(browser, page.replace("/en/", f"/{folder}/") + fragment)
    assert browser.run("document.querySelector('#play-as').value") == "uvicorn"
    report = run(browser)
    for text in (sentence, log, "ERROR:    db-1 is away\nERROR:    Application startup failed."):
        assert text in report
    names = browser.run("[...document.querySelectorAll('.play-found a')].map((a) => a.hash)")
    assert "#startup-failed-exits" in names
    disabled = "[...document.querySelectorAll('.play-form :disabled')].map((each) => each.id)"
    assert {"play-spec", "play-grace", "play-strict"} < {*browser.run(disabled)}
    assert browser.run("document.querySelector('#play-requests').disabled") is False
    assert browser.run("document.querySelector('#play-startup_timeout').value") == "3"


def test_another_server_is_one_choice_away(browser: Browser, page: str) -> None:
    """What `send` raises under hypercorn is caught, and the application is served."""
    visit(browser, page + linked(FAILS))
    assert "not served" in run(browser)
    browser.run("document.querySelector('#play-as').value = 'hypercorn-asyncio'")
    browser.run("document.querySelector('#play-as').dispatchEvent(new Event('input'))")
    assert browser.run("!!document.querySelector('.play-stale')")
    report = run(browser)
    assert "LifespanFailureError(" in report
    assert "not served" not in report
    until(browser, f"location.hash !== {json.dumps(linked(FAILS))}")
    visit(browser, browser.run("location.href"))
    assert browser.run("document.querySelector('#play-as').value") == "hypercorn-asyncio"


def test_an_edge_case_opens_with_its_program(browser: Browser, page: str) -> None:
    """The link stands in its row; its server has the timeout that the page has."""
    browser.open(page.replace("playground", "edge-cases"))
    click(browser, "td a.try-it[href$='=shutdown-lasts']")
    until(browser, READY)
    assert browser.run("location.hash") == "#start=shutdown-lasts"
    assert "raises ShutdownTimeout" in run(browser)
    chosen = "document.querySelector('#play-starts').selectedOptions[0].textContent"
    assert "shutdown_timeout" in browser.run(chosen)


def test_a_program_of_the_list_can_be_chosen(browser: Browser, page: str) -> None:
    browser.run(
        "(() => { const list = document.querySelector('#play-starts'); list.value = 'starlette';"
        " list.dispatchEvent(new Event('change')); })()"
    )
    until(browser, f"({EDITOR}).includes('Starlette')")
    assert "GET / → 200, 3 connections" in run(browser)
    assert browser.run("location.href") == f"{page}#start=starlette"


def test_fastapi_runs(browser: Browser, page: str) -> None:
    """With pydantic's native part; the result names their versions, also in a Python resumed."""
    for _ in range(2):
        visit(browser, f"{page}#start=fastapi")
        report = run(browser)
        assert 'GET / → 200, {"pool":"3 connections"}' in report
        assert re.search(r"fastapi \d[\d.]+, .*lifespec \d.*, pydantic \d.*, starlette \d", report)


def test_a_link_leads_another_reader_to_the_same_program(browser: Browser, page: str) -> None:
    """Whatever letters it has; nothing runs before the reader wants it."""
    program = (
        "async def app(scope, receive, send):\n    print('héllo 你好 <b>')\n    await receive()"
    )
    write(browser, program)
    click(browser, "#play-tab-server")
    click(browser, "#play-grace")
    browser.send("Input.insertText", text="0")
    browser.send(
        "Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"]
    )
    click(browser, COPY)
    browser.until(f"({STATUS}).startsWith('The link was copied')")
    link = browser.run("navigator.clipboard.readText()")
    assert link == browser.run("location.href")
    assert "print" not in link
    visit(browser, link)
    assert browser.run(EDITOR) == program
    assert browser.run("document.querySelector('#play-grace').value") == "50"
    assert "Press Run" in browser.run(REPORT)
    assert "héllo 你好 <b>" in run(browser)
    other = link.replace("/en/", "/zh-cn/")
    click(browser, ".languages a[hreflang='zh-CN']")
    until(browser, f"location.href === {json.dumps(other)}")
    until(browser, READY)
    assert browser.run(EDITOR) == program


def test_the_link_to_a_run_runs(browser: Browser, page: str) -> None:
    browser.send(
        "Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"]
    )
    visit(browser, page + linked(FAILS))
    run(browser)
    click(browser, COPY)
    browser.until(f"({STATUS}).startsWith('The link was copied')")
    link = str(browser.run("navigator.clipboard.readText()"))
    assert link.endswith("&run")
    browser.open("about:blank")
    visit(browser, link)
    assert "not served" in browser.run(REPORT)


def test_a_result_is_copied_as_markdown(browser: Browser, page: str) -> None:
    """Link, program, server, events, what came of it, versions; for the program that ran."""
    browser.send(
        "Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"]
    )
    disabled = f"document.querySelector('{MARKDOWN}').disabled"
    visit(browser, page + linked(FAILS + "# ```\n", **{"as": "uvicorn"}))
    assert browser.run(disabled)
    run(browser)
    asked = browser.run("location.href")
    click(browser, ".cm-content")
    browser.send("Input.insertText", text="edited")
    click(browser, MARKDOWN)
    browser.until(f"({STATUS}).includes('its result were copied')")
    text = str(browser.run("navigator.clipboard.readText()"))
    link, program, *_ = text.split("\n\n", 2)
    assert link.startswith(f"[Open in the playground]({page}#code=")
    assert text.split("\n\n")[1:][0].startswith("````python\nasync def app")
    for part in (
        '\n\nServer: `{"as":"uvicorn"}`\n\nuvicorn 0',
        "· not served · exit status 3\n\n",
        "- PASS startup-failed-exits The process ended with status 3.\n",
        "\n\n```text\nERROR:    db-1 is away\nERROR:    Application startup failed. Exiting.\n",
        "\n\n**Message sequence**\n\n1. The server calls the application with the scope",
        "\n\n**Validator**\n\nThe validator found nothing to report.\n\n",
    ):
        assert part in text
    assert "edited" not in text
    assert text.splitlines()[-1].startswith("Python 3.")
    assert "lifespec " in text.splitlines()[-1]
    visit(browser, link.partition("(")[2].rstrip(")"))
    assert browser.run(EDITOR).strip() == program.removeprefix("````python\n").removesuffix(
        "\n````"
    )
    visit(browser, asked)
    assert browser.run(disabled)


@pytest.mark.parametrize(("folder", "label"), [("en", "Open in"), ("zh-cn", "在演练场中打开")])
def test_an_example_of_a_page_opens_with_what_it_needs(
    browser: Browser, address: str, page: str, folder: str, label: str
) -> None:
    """Those above it whose names it uses come with it."""
    browser.open(f"{address}/{folder}/startup.html")
    opener = (
        "[...document.querySelectorAll('.live-bar button')]"
        f".filter((each) => each.textContent.startsWith({json.dumps(label)}))[1]"
    )
    assert browser.run(f"({opener}).checkVisibility()")
    browser.run(f"({opener}).click()")
    until(browser, f"location.pathname.endsWith('/playground.html') && {READY}")
    report = run(browser)
    assert "Traceback" not in report


@pytest.mark.timeout(300)
def test_each_program_of_the_pages_runs_alone_in_the_playground(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, pages = 0, published()["en"]
    monkeypatch.chdir(tmp_path)  # where a program may write its files
    for docname, blocks in pages.items():
        for number, numbers in programs(blocks).items():
            program = "\n\n\n".join(blocks[each].source for each in numbers)
            result = ran(program, Conduct())
            assert result.failure == "", f"{docname}: program {number}"
            opened += 1
    assert opened > 100


def test_a_link_can_be_made_by_others(browser: Browser, page: str) -> None:
    """It is raw deflate in base64url; what cannot be read or is not known is not used."""
    visit(browser, page + linked("print('made')\n", requests=2, cancel="x", unknown=1))
    assert "made" in run(browser)
    assert browser.run("document.querySelector('#play-requests').value") == "2"
    assert browser.run("document.querySelector('#play-cancel').value") == ""
    huge = linked("#" * 2_000_000)
    for wrong in ("#code=AAAA", "#code=%%", "#start=%E0%A4%A", "#start=nothing", huge, linked(1)):  # type: ignore[arg-type]
        visit(browser, page + wrong)
        assert "holds no program" in browser.run(STATUS), wrong
        assert "async def app" in browser.run(EDITOR)


@pytest.mark.parametrize(
    ("folder", "head"),
    [("en", "checked against lifespan 2.0 (ASGI)"), ("zh-cn", "检查依据：生命周期 2.0（ASGI）")],
)
def test_an_application_is_checked(browser: Browser, page: str, folder: str, head: str) -> None:
    visit(browser, page.replace("/en/", f"/{folder}/"))
    click(browser, ".play-second")
    until(browser, READY)
    report = browser.run(REPORT)
    for text in (head, f"rich {version('rich')}"):
        assert text in report
    visit(browser, f"{page}{linked('x = 1 / 0')}")
    click(browser, ".play-second")
    until(browser, READY)
    assert "ZeroDivisionError" in browser.run(REPORT)


def test_a_program_that_does_not_parse_is_shown_with_its_line(browser: Browser, page: str) -> None:
    """The line is marked, until it changes, and one click away."""
    write(browser, WRONG)
    report = run(browser)
    assert "SyntaxError" in report
    assert "app.py:2" in report
    assert browser.run(MARKED).startswith("async def app")
    click(browser, ".play-bad .play-quiet")
    assert browser.run("document.activeElement.matches('.cm-content')")
    active = "document.querySelector('.cm-activeLine').textContent"
    assert browser.run(active).startswith("async def app")
    write(browser, "x = 1")
    assert browser.run(MARKED) == ""


def test_an_endless_program_is_ended(browser: Browser, page: str) -> None:
    write(browser, ENDLESS)
    run(browser)
    assert browser.run(STATUS) == "The program was ended after 5 s."
    assert "blocks the event loop" in browser.run(REPORT)
    assert "receive() → lifespan.startup" in browser.run(REPORT)
    write(browser, "print('again')")
    assert "again" in run(browser)


def test_an_answer_that_is_missing_is_told(browser: Browser, page: str) -> None:
    """The validator has nothing to report while it is not over; that is no good news."""
    write(
        browser, "async def app(scope, receive, send):\n    await receive()\n    await receive()\n"
    )
    report = run(browser)
    assert "startup-answered: not answered yet" in report
    assert "found nothing" not in report


def test_a_result_of_another_program_is_marked(browser: Browser, page: str) -> None:
    """Until the program is as it was."""
    stale = "!!document.querySelector('.play-stale')"
    run(browser)
    click(browser, ".cm-content")
    browser.send("Input.insertText", text="#")
    assert browser.run(stale)
    browser.press("z", CONTROL)
    assert not browser.run(stale)


def test_the_keyboard_is_enough(browser: Browser, page: str) -> None:
    """Tab indents in the editor, Escape and Tab leave it; Control and Enter run the program."""
    focused = "document.activeElement.id || document.activeElement.className"
    browser.run("document.querySelector('#play-starts').focus()")
    stops = []
    for _ in range(6):
        browser.press("Tab")
        stops.append(browser.run(focused))
    assert stops[:3] == ["play-as", "play-run", "play-second"]
    assert stops[3:5] == ["play-quiet", "play-tab-application"]
    assert "cm-content" in stops[5]
    browser.press("a", CONTROL)
    browser.send("Input.insertText", text="if True:")
    browser.press("Enter")
    browser.send("Input.insertText", text="if True:")
    browser.press("Enter")
    browser.press("Tab", SHIFT)
    browser.press("Tab")
    browser.send("Input.insertText", text="print('by keyboard')")
    assert "cm-content" in browser.run(focused)
    assert browser.run(EDITOR) == "if True:\n    if True:\n        print('by keyboard')"
    browser.press("Enter", CONTROL)
    until(browser, f"({READY}) && ({REPORT}).includes('by keyboard')")
    browser.press("Escape")
    browser.press("Tab")
    assert "cm-content" not in browser.run(focused)
    browser.run("document.querySelector('#play-tab-application').focus()")
    browser.press("ArrowRight")
    assert browser.run(focused) == "play-tab-server"
    browser.press("Tab")
    assert browser.run(focused) == "play-spec"


@pytest.mark.parametrize("width", [390, 900, 1280])
def test_it_fits_the_window(browser: Browser, page: str, width: int) -> None:
    """Nothing is cut off; the result stands at right, or below."""
    run(browser)
    browser.width(width)
    try:
        assert browser.run("document.documentElement.scrollWidth") <= width
        left, right = browser.run(
            "['.play-left', '.play-right'].map((each) => {"
            " const box = document.querySelector(each).getBoundingClientRect();"
            " return [box.x, box.y]; })"
        )
        assert (left[1] == right[1]) == (width > 900)
    finally:
        browser.width(1280)


def test_the_editor_shows_80_columns_and_no_phone_zooms(browser: Browser, page: str) -> None:
    """At 1280 pixels a line of 80 characters is not cut; at 390 a field has 16 pixels."""
    write(browser, "#" * 80)
    scroller = "document.querySelector('.cm-scroller')"
    assert browser.run(f"{scroller}.scrollWidth <= {scroller}.clientWidth")
    browser.width(390)
    try:
        sizes = browser.run(
            "[...document.querySelectorAll('#play select, #play input, .cm-content')]"
            ".map((each) => getComputedStyle(each).fontSize)"
        )
        assert {*sizes} == {"16px"}
    finally:
        browser.width(1280)
