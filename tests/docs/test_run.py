"""Programs run in the reader's browser, in a site of `make live`; a stranger's cannot do harm."""

import json
import socket
import subprocess
import tomllib
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from pathlib import Path
from string import ascii_lowercase, digits
from typing import Any

import pytest
from browser import CONTROL, Browser
from bs4 import BeautifulSoup, Tag

from lifespec_docs.live import runnable

STARTED = 240.0  # seconds until a Python has started, on a busy machine
PATIENT = """{
    const wait = setTimeout;  // what a page gives a Python and a program is short where many run
    globalThis.setTimeout = (end, ms) => wait(end, ms < 20000 ? ms : 20 * ms);
}"""
# The 20 s of a program are over when the test says so, who knows of the first word that is printed.
HURRIED = """{
    const wait = setTimeout;
    globalThis.setTimeout = (end, ms) => ms === 20000 ? (globalThis.over = end) : wait(end, ms);
    globalThis.Worker = class extends Worker {
        constructor(...given) {
            super(...given);
            this.addEventListener("message", ({data}) => { globalThis.printed ||= !!data?.text; });
        }
    };
}"""
pytestmark = [pytest.mark.timeout(900), pytest.mark.needs("npm")]
BARS = "[...document.querySelectorAll('.live-bar')]"
STATE = """(() => {
    const bar = document.querySelectorAll(".live-bar")[NUMBER];
    const [run] = bar.querySelectorAll("button"), result = bar.nextElementSibling;
    return {run: run.textContent, status: bar.querySelector("[role=status]").textContent,
            printed: result.hidden ? "" : result.textContent};
})()"""
SAME = "✓ Same output as on this page"
QUIET = "✓ Ran without output, as on this page"
FRIENDLY = "print('friendly')"
LANGUAGES = ("zh-cn", "en")
DAMAGED = "The link to a program is damaged"
RAISE = {
    "if True\n    pass": ['  File "program 1", line 1', "SyntaxError: expected ':'"],
    "raise KeyboardInterrupt": ['  File "program 1", line 1', "KeyboardInterrupt"],
    "import sys\nsys.exit('done')": ["done", "done"],
    "x = 1\nawait x": ["    await x", "SyntaxError: 'await' outside function"],
}
MOST = 20_000  # characters that are shown
REASONS = {  # why a browser could not do what a program wanted
    "import fastapi": "A browser has no such module",
    "input('name? ')": "A browser has no input",
    "import sys\nsys.exit(3)": "The program ended with this status.",
}
HOSTILE = tomllib.loads(Path(__file__).with_name("hostile.toml").read_text("utf-8"))


@pytest.fixture
def elsewhere() -> Iterator[socket.socket]:
    """Return a server that belongs to somebody else."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.5)
        yield server


@pytest.fixture(autouse=True, scope="module")
def live(site: Path, browser: Browser) -> Iterator[None]:
    """Look at a site whose programs can be run, with pages that are patient."""
    if not (site / "live").is_dir():
        raise FileNotFoundError("The site has no Run buttons: run `make live` before these tests.")
    patient = browser.send("Page.addScriptToEvaluateOnNewDocument", source=PATIENT)
    browser.open("about:blank")
    yield
    browser.send("Page.removeScriptToEvaluateOnNewDocument", **patient)


@pytest.fixture
def playground(browser: Browser, address: str) -> str:
    """Open the playground."""
    where = f"{address}/en/playground.html"
    if not browser.run("location.href").startswith(where):
        browser.open(where)
    return where


def base36(number: int) -> str:
    """Return a number as JavaScript writes it in base 36."""
    rest, digit = divmod(number, 36)
    return (base36(rest) if rest else "") + (digits + ascii_lowercase)[digit]


def linked(program: str) -> str:
    """Return the part of a link that has a program, after a checksum."""
    number = 0
    for byte in program.encode():
        number = (number * 31 + byte) % 2**32
    letters = urlsafe_b64encode(program.encode()).decode().rstrip("=")
    return f"#code={base36(number)}.{letters}"


def state(browser: Browser, number: int = 0) -> dict[str, str]:
    found: dict[str, str] = browser.run(STATE.replace("NUMBER", str(number)))
    return found


def press(browser: Browser, number: int = 0) -> None:
    """Press a button Run."""
    browser.run(f"{BARS}[{number}].querySelector('button').click()")


def ended(browser: Browser, number: int = 0) -> dict[str, str]:
    """Return what the page says when a program has ended."""
    browser.until(f"{STATE}.run === 'Run'".replace("NUMBER", str(number)), STARTED)
    return state(browser, number)


def ran(browser: Browser, number: int = 0) -> dict[str, str]:
    """Press a button Run and return what the page says when the program has ended."""
    press(browser, number)
    return ended(browser, number)


def share(browser: Browser, program: str) -> None:
    """Open a link to a program."""
    browser.run(f"location.hash = {linked(program)!r}")
    browser.until(f"document.querySelector('textarea').value.trimEnd() === {json.dumps(program)}")


def ran_shared(browser: Browser, program: str) -> dict[str, str]:
    """Run a program from a link."""
    share(browser, program)
    return ran(browser)


def edit(browser: Browser, number: int, program: str) -> None:
    """Press Edit below a program, and write another one."""
    browser.run(f"{BARS}[{number}].querySelectorAll('button')[1].click()")
    write(browser, program)


IN_NODE = """
import {readFileSync} from "node:fs";
const {runtime, info, sources, pages} = JSON.parse(readFileSync(0, "utf-8"));
const {loadPyodide} = await import(`${runtime}/pyodide.mjs`);
const made = await loadPyodide({
    indexURL: `${runtime}/`, lockFileContents: JSON.stringify({info, packages: {}}),
    env: {HOME: "/", COLUMNS: "80", PYTHONUTF8: "1"}, stdin: () => null, stdout: () => {},
});
made.unpackArchive(new Uint8Array(readFileSync(sources)), "zip", {extractDir: "/site"});
made.runPython("import sys; sys.path.insert(0, '/site')");
const browser = made.pyimport("lifespec_pages.browser");
const answer = (programs) => JSON.parse(browser.run(JSON.stringify(programs), () => {}));
const answers = (page) => page.map((_, number) => answer(page.slice(0, number + 1)));
console.log(JSON.stringify(pages.map(answers)));
"""


def test_each_program_does_as_shown_in_the_python_of_browsers(site: Path) -> None:
    """Its buttons are pressed on some pages: here all run in one such Python."""
    (runtime,) = (site / "live").glob("pyodide-*")
    pages = {}
    for page in sorted((site / "en").rglob("*.html")):
        text = page.read_text("utf-8")
        if "runs-here" in text and page.stem != "playground":
            blocks = BeautifulSoup(text, "html.parser").find_all(class_="runs-here")
            pages[page.name] = [shown(block) for block in blocks]
    assert len(pages) > 15
    info = json.loads((site / "live" / "manifest.json").read_text("utf-8"))["info"]
    given = {"runtime": str(runtime), "sources": str(site / "live" / "sources.zip"), "info": info}
    found = subprocess.check_output(
        ["node", "--input-type=module", "--eval", IN_NODE],
        input=json.dumps(given | {"pages": [*pages.values()]}),
        text=True,
        timeout=600,
    )
    right = {"same": True, "error": "", "above": "", "why": ""}
    wrong = {
        (name, number): each
        for name, answers in zip(pages, json.loads(found), strict=True)
        for number, each in enumerate(answers)
        if each != right
    }
    assert wrong == {}


def shown(block: Tag) -> dict[str, Any]:
    """Return a program as the script of its page reads it."""
    below = block.find_next_sibling()
    output = below.pre if below and "output" in below.get("class", ()) else None  # type: ignore[union-attr]
    source = block.pre.get_text().rstrip()  # type: ignore[union-attr]
    return {
        "source": source,
        "output": output.get_text() if output else None,  # type: ignore[union-attr]
        "classes": block["class"],
    }


def test_a_program_does_as_shown_once_python_can_be_loaded(browser: Browser, address: str) -> None:
    browser.open(f"{address}/en/share-state.html")
    offline = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    browser.send("Network.emulateNetworkConditions", offline=True, **offline)
    found = ran(browser)
    browser.send("Network.emulateNetworkConditions", offline=False, **offline)
    assert found["status"] == "Python could not be loaded. Is this browser offline?"
    for number in range(browser.run(f"{BARS}.length")):
        found = ran(browser, number)
        assert found["status"] in {SAME, QUIET}
        assert found["printed"] == ""


def test_a_chinese_page_speaks_chinese(browser: Browser, address: str, site: Path) -> None:
    browser.open(f"{address}/zh-cn/timeouts.html")
    assert state(browser)["run"] == "运行"
    chinese, english = (
        json.loads(str(BeautifulSoup(text, "html.parser").select("[data-words]")[0]["data-words"]))
        for text in ((site / f"{each}/timeouts.html").read_text("utf-8") for each in LANGUAGES)
    )
    assert chinese.keys() == english.keys()
    assert not {*chinese.values()}.intersection(english.values())


def test_a_program_from_a_link_does_no_harm(
    browser: Browser, playground: str, elsewhere: socket.socket
) -> None:
    """The page stays, nobody else hears of it, and the next program runs as if nothing was."""
    there = "{}:{}".format(*elsewhere.getsockname())
    for name, each in HOSTILE.items():
        program = each["program"].replace("ELSEWHERE", there)
        found = ran_shared(browser, program)
        assert each["shows"] in found["printed"] + found["status"], name
        assert browser.run("location.href") == playground + linked(program), name
        drawn = "document.querySelectorAll('.live-result *, .live-bar :not(button, span)').length"
        assert browser.run(drawn) == 0, name
    assert ran_shared(browser, FRIENDLY)["printed"] == "friendly\n"
    with pytest.raises(TimeoutError):
        elsewhere.accept()


SPOILED = "#code=%E0%A4%A", "#code=", "#code=_", "#code=constructor", linked(FRIENDLY)[:-3]


@pytest.mark.parametrize(
    ("code", "program", "said"),
    [
        (linked(FRIENDLY), FRIENDLY, ""),
        pytest.param(f"{linked(FRIENDLY)}!)", FRIENDLY, "", id="and the end of a sentence"),
        *((code, "open the pool", DAMAGED) for code in SPOILED),
        pytest.param(linked("#" * 200_000), "open the pool", DAMAGED, id="too long"),
    ],
)
def test_a_link_shows_its_program_and_does_not_run_it(
    browser: Browser, address: str, code: str, program: str, said: str
) -> None:
    """If it is spoiled, it shows the program of the page."""
    browser.open("about:blank")
    browser.requests.clear()
    browser.open(f"{address}/en/playground.html{code}")
    assert program in browser.run("document.querySelector('textarea').value")
    assert not [each for each in browser.requests if "blob:" in each or "manifest" in each]
    found = state(browser)
    assert (found["status"][: len(DAMAGED)], found["printed"]) == (said, "")


def write(browser: Browser, program: str) -> None:
    """Type a program in place of the one in the editor."""
    browser.run(f"""
        document.querySelector("textarea").select();
        document.execCommand("insertText", false, {json.dumps(program)});
    """)


def test_a_program_stays_until_it_is_reset(browser: Browser, address: str) -> None:
    """After a reload, in the other language and in a copied link; a reset can be undone."""
    program = "print('汉字 — and £')"
    value = "document.querySelector('textarea')?.value.trimEnd()"
    browser.open("about:blank")
    browser.open(f"{address}/en/playground.html")
    page = browser.run(value)
    browser.run("document.querySelector('textarea').focus()")
    write(browser, program)
    browser.until(f"location.hash === {linked(program)!r}")
    browser.run("globalThis.old = true; location.reload()")
    browser.until(f"!globalThis.old && {value} === {program!r}")
    browser.run("document.querySelector('.languages a').click()")
    browser.until(f"location.pathname.includes('zh-cn') && {value} === {program!r}")
    browser.run(f"{BARS}[0].querySelectorAll('button')[1].click()")
    browser.until("document.querySelector('[role=status]').textContent")
    assert browser.run("location.href") == f"{address}/zh-cn/playground.html{linked(program)}"
    browser.run(f"{BARS}[0].querySelectorAll('button')[2].click()")
    browser.until(f"{value} !== {program!r} && !location.hash")
    assert page.splitlines()[0] == browser.run(value).splitlines()[0]
    browser.press("z", CONTROL)
    browser.until(f"{value} === {program!r}")


def test_a_program_is_edited_where_it_stands(browser: Browser, address: str) -> None:
    browser.open(f"{address}/en/mount-applications.html")
    edit(browser, 0, "def f():\n    return 1 / 0\n\n\nprint('before')\nf()")
    found = ran(browser)
    assert found["status"] == "The program raised an exception."
    lines = found["printed"].splitlines()
    assert lines[0] == "before"
    assert lines[-1] == "ZeroDivisionError: division by zero"
    assert [line for line in lines if "File" in line] == [
        '  File "program 1", line 6, in <module>',
        '  File "program 1", line 2, in f',
    ]
    below = ran(browser, 1)
    assert below["status"].startswith("A program above this one raised ZeroDivisionError")
    assert "Error" not in below["printed"]  # which would be its consequence
    browser.run("globalThis.old = true; location.reload()")
    browser.until("!globalThis.old && document.querySelector('textarea')?.value.includes('1 / 0')")
    browser.run(f"{BARS}[0].querySelectorAll('button')[1].click()")
    assert ran(browser)["status"] == SAME
    assert browser.run("!document.querySelector('textarea, .live-hidden')")
    browser.run("globalThis.old = true; location.reload()")
    browser.until("!globalThis.old && document.readyState === 'complete'")
    assert browser.run("!document.querySelector('textarea, .live-hidden')")


def test_what_takes_too_long_is_ended(browser: Browser, address: str) -> None:
    hurried = browser.send("Page.addScriptToEvaluateOnNewDocument", source=HURRIED)
    browser.open("about:blank")
    browser.open(f"{address}/en/playground.html")
    share(browser, "print('before')\nwhile True:\n    pass")
    press(browser)
    browser.until("globalThis.printed", STARTED)
    browser.run("over()")
    found = ended(browser)
    assert found["status"] == "This took too long here, so it was stopped after 20 s."
    assert found["printed"] == "before\n"
    browser.send("Page.removeScriptToEvaluateOnNewDocument", **hurried)
    browser.open("about:blank")


def test_an_exception_is_shown_as_python_shows_it_and_python_is_loaded_once(
    browser: Browser, playground: str
) -> None:
    """Without our own frames; each edited program gets a fresh Python."""
    for program, printed in RAISE.items():
        found = ran_shared(browser, program)
        lines = found["printed"].splitlines()
        assert found["status"] == "The program raised an exception."
        assert printed[0] in [line.removesuffix(", in <module>") for line in lines]
        assert lines[-1] == printed[1]
    loaded = "performance.getEntriesByType('resource').map((each) => each.name.split('/').at(-1))"
    parts = [each for each in browser.run(loaded) if each.endswith((".wasm", ".zip"))]
    assert sorted(parts) == ["pyodide.asm.wasm", "python_stdlib.zip", "sources.zip"]


def test_what_a_browser_cannot_do_is_explained(browser: Browser, playground: str) -> None:
    for program, reason in REASONS.items():
        found = ran_shared(browser, program)
        assert found["status"].startswith(reason), program
        assert found["printed"], program
    found = ran_shared(browser, "print('x' * 100_000)\nraise ValueError('end')")
    assert found["printed"].rstrip().endswith("ValueError: end")


@pytest.mark.parametrize("program", ["print('x' * 1000)", "print(end='')", "print()"])
def test_a_flood_is_cut_and_can_be_stopped(browser: Browser, playground: str, program: str) -> None:
    share(browser, f"while True:\n    {program}")
    press(browser)
    browser.until("document.querySelector('[role=status]').textContent === 'Running …'", STARTED)
    found = ran(browser)
    assert found["status"] == "Stopped."
    if "x" in program:
        rest = f"… the rest is not shown: a page shows {MOST} characters.\n"
        assert found["printed"][MOST:] == f"\n{rest}"


def test_the_keyboard_keeps_its_place(browser: Browser, address: str) -> None:
    browser.open(f"{address}/en/background-tasks.html")
    browser.run(f"{BARS}[0].querySelector('button').focus()")
    browser.press("Enter")
    others = f"{BARS}[1].querySelector('button')"
    assert browser.run(f"{others}.ariaDisabled === 'true' && !{others}.disabled")
    browser.run(f"{others}.click()")  # another program waits until this one has ended
    browser.until(f"{BARS}[0].querySelector('[role=status]').textContent === {SAME!r}", STARTED)
    assert state(browser, 1)["status"] == ""
    assert browser.run(f"document.activeElement === {BARS}[0].querySelector('button')")
    browser.press("Tab")
    browser.press("Enter")
    assert browser.run("document.activeElement.matches('textarea')")
    browser.press("Enter", CONTROL)
    browser.until(f"{BARS}[0].querySelector('[role=status]').textContent === 'Your program ran.'")


def test_a_program_needs_what_a_browser_has() -> None:
    programs = [
        "import asyncio\nx = 1",
        "import trio\ny = 1",
        "print(y)",
        "def y():\n    import starlette.routing",
        "print(y)",
        "from lifespec.conformance import check_app",
    ]
    assert [*runnable(programs)] == [True, False, False, True, True, False]
