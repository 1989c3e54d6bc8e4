"""The Run buttons of the built site, clicked in a browser."""

import json
import time
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest
from browser import Browser
from hosting import hosted
from published import published

pytestmark = [
    pytest.mark.timeout(300),  # the first test builds the site
    pytest.mark.needs("chromium"),
    pytest.mark.usefixtures("live"),
]
SAYS = {
    "en": ("Run", "The output is the same as on this page.", "Your program ran.", "Event log: "),
    "zh-cn": ("运行", "输出与本页所示相同。", "你的程序已运行完毕。", "事件记录"),
}
both = pytest.mark.parametrize("language", SAYS)
LOADING = 120.0  # seconds: a first run on a busy machine
KEPT_MEMORY = """
    caches.open("lifespec-live").then((kept) => kept.keys())
        .then((names) => names.some(({url}) => url.endsWith(".memory")))
"""
# What belongs to one example: its block, its buttons, what came of it.
EXAMPLE = """
    (() => {
        const block = document.querySelector(".example-%d");
        let bar = block;
        while (!bar.classList.contains("live-bar")) bar = bar.nextElementSibling;
        const [run, edit, reset] = bar.querySelectorAll("button");
        const editor = block.parentElement.querySelector("textarea");
        let result = bar;
        while (!result.classList.contains("live-result")) result = result.nextElementSibling;
        const status = bar.querySelector("[role=status]").textContent;
        const output = result.querySelector("pre")?.textContent;
        const ready = run.getAttribute("aria-disabled") !== "true" && status;
        return %s;
    })()
"""


def of(number: int, script: str) -> str:
    """Return a script about one example."""
    return EXAMPLE % (number, script)


def ran(browser: Browser, number: int = 0) -> tuple[str, str]:
    """Click Run; return what the status says in the end, and the output."""
    browser.run(of(number, "run.click()"))
    browser.until(of(number, "ready"), LOADING)
    status, output = browser.run(of(number, "[status, output ?? '']"))
    return status, output


def edit(browser: Browser, number: int, program: str) -> None:
    """Click Edit if that is to be done, and type a program."""
    if not browser.run(of(number, "edit.hidden")):
        browser.run(of(number, "edit.click()"))
    there = f"document.querySelector('.example-{number} + textarea')"
    browser.until(f"!!{there}")
    browser.run(f"{there}.value = {json.dumps(program)}")


def lifespan_page() -> tuple[str, int]:
    """Return page and number of a first example whose lifespan is recorded."""
    for page, blocks in published()["en"].items():
        if blocks and blocks[0].kind == "virtual" and "async with Lifespan" in blocks[0].source:
            return page, 0
    raise LookupError


@both
def test_an_example_runs(browser: Browser, address: str, language: str) -> None:
    """Output and event log stand below it, and whether they are those of the page."""
    run, same, _, log = SAYS[language]
    page, number = lifespan_page()
    browser.open(f"{address}/{language}/{page}.html")
    assert browser.run(of(number, "run.textContent")) == run
    status, output = ran(browser, number)
    assert same in status
    shown = browser.run(of(number, "block.nextElementSibling.textContent"))
    assert output.strip() == shown.strip()
    summary = "result.querySelector('details.said > summary').textContent"
    assert browser.run(of(number, summary)).startswith(log)
    assert browser.run(of(number, "!!result.querySelector('details.said svg')"))


@both
def test_a_program_is_edited_and_brought_back(
    browser: Browser, address: str, language: str
) -> None:
    """What the page shows of the example is hidden meanwhile."""
    _, same, edited, _ = SAYS[language]
    browser.open(f"{address}/{language}/index.html")
    shown = "[block, block.parentElement.querySelector('.output')]"
    seen = f"{shown}.filter((each) => each.checkVisibility()).length"
    assert browser.run(of(0, seen)) == 2
    edit(browser, 0, "print('edited')")
    assert browser.run(of(0, seen)) == 0
    assert browser.run(of(0, "document.activeElement === editor"))
    status, output = ran(browser)
    assert edited in status
    assert output == "edited\n"
    edit(browser, 0, "print('again')\n1 / 0")
    _, output = ran(browser)
    assert output.startswith("again\nTraceback (most recent call last):\n")
    assert output.endswith(
        "line 2, in <module>\n    1 / 0\n    ~~^~~\nZeroDivisionError: division by zero\n"
    )
    browser.run(of(0, "reset.click()"))
    left = browser.run(of(0, "[editor, status, result.childElementCount]"))
    assert left == [None, "", 0]
    assert browser.run(of(0, seen)) == 2
    assert browser.run(of(0, "document.activeElement === run"))
    assert same in ran(browser)[0]


def test_an_example_builds_on_those_before_it(browser: Browser, address: str) -> None:
    """As they are edited; they are run before it without a click on them."""
    browser.open(f"{address}/en/share-state.html")
    edit(browser, 0, "shared = 41")
    edit(browser, 1, "print(shared + 1)")
    assert ran(browser, 1)[1] == "42\n"
    edit(browser, 0, "shared = 1")
    assert ran(browser, 1)[1] == "2\n"


def test_a_run_that_had_not_begun_is_not_ended(browser: Browser, address: str) -> None:
    """It begins anew behind the one that was ended; the late error of an ended worker ends none."""
    browser.open(f"{address}/en/share-state.html")
    edit(browser, 0, "shared = 41")
    ran(browser, 0)
    edit(browser, 1, "import time\nwhile True: time.sleep(0.1)")
    browser.run(of(1, "run.click()"))
    assert ran(browser, 0)[0] == "Your program ran."
    browser.until(of(1, "ready"), LOADING)
    assert browser.run(of(1, "status")) == "The program was ended after 10 s."
    advice = browser.run(of(1, "result.querySelector('a').href"))
    assert advice.endswith("/en/timeouts.html#code-that-blocks-the-event-loop")
    for _ in range(3):
        assert ran(browser, 0)[0] == "Your program ran."


def test_what_a_program_writes_is_shown_and_cut(browser: Browser, address: str) -> None:
    """Standard error, too; a long output does not make a long page."""
    browser.open(f"{address}/en/index.html")
    edit(browser, 0, "import sys\nprint('oh', file=sys.stderr)")
    ran(browser)
    assert browser.run(of(0, "result.querySelector('.live-errors').textContent")) == "oh\n"
    edit(browser, 0, "for i in range(200000): print(i)")
    assert len(ran(browser)[1]) < 21_000
    assert browser.run(of(0, "result.querySelector('pre').offsetHeight")) < 500


def test_an_example_above_that_failed_is_named(browser: Browser, address: str) -> None:
    """A program that depends on it is not to blame."""
    browser.open(f"{address}/en/share-state.html")
    edit(browser, 0, "1 / 0")
    edit(browser, 1, "print(shared)")
    _, output = ran(browser, 1)
    first, *_, last = output.splitlines()
    assert first == "Traceback (most recent call last):"
    assert output.count("File ") == 1
    assert last == "NameError: name 'shared' is not defined"
    named = browser.run(of(1, "result.querySelector('.live-obstacle').textContent"))
    assert named == "An example above raised ZeroDivisionError: 1 / 0"


STRANGER = """
import js
for door in ("caches", "indexedDB", "fetch", "XMLHttpRequest", "WebSocket", "Worker"):
    print(door, hasattr(js, door))
try:
    from pyodide.code import run_js
    print(run_js("1 + 1"))
except Exception as error:
    print(type(error).__name__)
"""


def test_a_program_reaches_neither_a_host_nor_what_is_kept(browser: Browser, address: str) -> None:
    """A link could bring it from a stranger; the site is served without any header."""
    browser.open(f"{address}/en/index.html")
    edit(browser, 0, STRANGER)
    lines = ran(browser)[1].splitlines()
    assert lines[:-1] == [
        f"{door} False"
        for door in ("caches", "indexedDB", "fetch", "XMLHttpRequest", "WebSocket", "Worker")
    ]
    assert lines[-1] in ("JsException", "EvalError")


def test_a_file_that_is_spoiled_is_loaded_anew(browser: Browser, address: str) -> None:
    """What is kept is compared with the digests of the manifest."""
    browser.open(f"{address}/en/index.html")
    ran(browser)
    browser.until(KEPT_MEMORY)
    spoil = """
        caches.open("lifespec-live").then(async (kept) => {
            for (const request of await kept.keys()) {
                if (!/[.](memory|zip)$/.test(request.url)) continue;
                await kept.put(request, new Response("spoiled"));
            }
        })
    """
    browser.run(spoil)
    browser.open(f"{address}/en/index.html")
    assert ran(browser)[0] == "The output is the same as on this page."


@pytest.mark.parametrize("language", ["en", "zh-cn"])
def test_a_program_that_needs_a_process_is_offered(
    browser: Browser, address: str, language: str
) -> None:
    """The page says why it has no button; the file is the program."""
    blocks = published()["en"]
    page, number = next(
        (page, number)
        for page, found in blocks.items()
        for number, block in enumerate(found)
        if (block.language, block.kind) == ("python", "real")
    )
    browser.open(f"{address}/{language}/{page}.html")
    lines = browser.run("[...document.querySelectorAll('.live-obstacle')].map((p) => p.innerText)")
    assert len(lines) == sum(block.kind == "real" for block in blocks[page])
    assert ("process" if language == "en" else "进程") in lines[0]
    program = "document.querySelector('.live-obstacle a[download]').href"
    text = browser.run(f"fetch({program}).then((answer) => answer.text())")
    tag = "en" if language == "en" else "zh"
    assert text == f"{published()[tag][page][number].source.rstrip()}\n"


@pytest.mark.parametrize("lacking", ["WebAssembly", "Worker"])
def test_a_browser_without_what_is_needed_shows_the_page_as_it_was(
    browser: Browser, address: str, lacking: str
) -> None:
    """It has neither buttons nor sentences about them."""
    script = browser.send(
        "Page.addScriptToEvaluateOnNewDocument", source=f"delete globalThis.{lacking};"
    )
    try:
        browser.open(f"{address}/en/startup.html")
        assert browser.run(f"typeof {lacking}") == "undefined"
        assert browser.run("document.querySelectorAll('[class^=live]').length") == 0
    finally:
        browser.send("Page.removeScriptToEvaluateOnNewDocument", **script)
    browser.open(f"{address}/en/startup.html")
    assert browser.run("document.querySelectorAll('[class^=live]').length") > 0


def test_what_was_loaded_is_kept_for_the_next_page(browser: Browser, address: str) -> None:
    """A first visit loads each file once, from this host alone; a later page none of them."""
    browser.open(f"{address}/en/index.html")
    browser.run("caches.delete('lifespec-live')")
    manifest = urljoin(f"{address}/", "live/manifest.json")
    listed = "({needed}) => needed.map(({name}) => name)"
    needed = browser.run(f"fetch({json.dumps(manifest)}).then((a) => a.json()).then({listed})")
    browser.open("about:blank")
    browser.requests.clear()
    for page, times in (("index", 1), ("startup", 0)):
        browser.open(f"{address}/en/{page}.html")
        assert ran(browser)[0] == "The output is the same as on this page."
        loaded = [each.removeprefix(f"{address}/live/") for each in browser.requests]
        assert {name: loaded.count(name) for name in needed} == dict.fromkeys(needed, times)
        asked = (urlsplit(each) for each in browser.requests)
        hosts = {each.netloc for each in asked if each.scheme not in {"data", "about", "blob"}}
        assert hosts == {urlsplit(address).netloc}
        # what was loaded is written while the page goes on
        keys = "caches.open('lifespec-live').then((kept) => kept.keys())"
        kept = f"{json.dumps(needed)}.every((name) => found.some(({{url}}) => url.endsWith(name)))"
        browser.until(f"{keys}.then((found) => {kept})")
        browser.requests.clear()


def test_python_starts_when_somebody_points_at_the_button(browser: Browser, address: str) -> None:
    """Where an earlier page has loaded it: a first visit loads nothing unasked."""
    manifest = urljoin(f"{address}/", "live/manifest.json")
    browser.open(f"{address}/en/index.html")
    browser.run("caches.delete('lifespec-live')")
    for kept in (False, True):
        browser.open(f"{address}/en/startup.html")
        browser.requests.clear()
        browser.run(of(0, "run.dispatchEvent(new Event('pointerenter'))"))
        assert browser.run("caches.has('lifespec-live')") is kept
        end = time.monotonic() + LOADING
        while kept and manifest not in browser.requests and time.monotonic() < end:
            browser.run("new Promise((done) => setTimeout(done, 50))")
        assert (manifest in browser.requests) is kept
        assert ran(browser)[0] == "The output is the same as on this page."


def test_python_begins_anew_if_its_memory_is_spoiled(browser: Browser, site: Path) -> None:
    """The build has made it, but no run depends on that."""
    (memory,) = (site / "live").glob("*.memory")
    content = memory.read_bytes()
    memory.write_bytes(b"spoiled")
    try:
        with hosted(site) as address:
            browser.open(f"{address}/en/startup.html")
            assert ran(browser)[0] == "The output is the same as on this page."
    finally:
        memory.write_bytes(content)


def test_the_keyboard_is_enough(browser: Browser, address: str) -> None:
    """The focus is seen, stays where it is during a run, and leaves the editor with Tab."""
    browser.open(f"{address}/en/index.html")
    for _ in range(200):
        browser.press("Tab")
        if browser.run(of(0, "document.activeElement === run")):
            break
    outline = "(({outlineStyle}) => outlineStyle)(getComputedStyle(document.activeElement))"
    assert browser.run(outline) != "none"
    browser.press("Enter")
    browser.until(of(0, "ready"), LOADING)
    assert browser.run(of(0, "document.activeElement === run"))
    browser.press("Tab")
    browser.press("Enter")
    browser.until(of(0, "!!editor && document.activeElement === editor"))
    browser.press("Tab")
    assert browser.run(of(0, "document.activeElement !== editor"))
