"""The command that builds the site: what it says, and what it leaves alone."""

import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import rmtree

import pytest
from published import ROOT

from lifespec_docs import build as building
from lifespec_docs.build import counted, main
from lifespec_docs.facts import proofs
from lifespec_docs.publish import swap
from lifespec_docs.sphinx_run import Build, faults
from sample_runtime import install

Command = subprocess.CompletedProcess[str]
Run = Callable[..., Command]
INDEX = "# A page\n\n```python\nprint(1)\n```\n```{output}\n1\n```\n"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a copy of the project with one page and no rules."""
    root = tmp_path_factory.mktemp("whole")
    for folder in ("docs", "src"):
        shutil.copytree(
            ROOT / folder,
            root / folder,
            ignore=shutil.ignore_patterns(
                "*.md", "api.rst", "examples.json", "proofs.json", "drawn.json"
            ),
        )
    for name in ("pyproject.toml", "README.md", "LICENSE", "Makefile"):
        shutil.copy(ROOT / name, root)
    (root / "docs" / "index.md").write_text(INDEX)
    rules = root / "src" / "lifespec" / "conformance" / "data" / "rules.toml"
    rules.write_text("")
    rules.with_name("cases.toml").write_text("")
    catalogs = root / "locales" / "zh_CN" / "LC_MESSAGES"
    catalogs.mkdir(parents=True)
    for name in ("lifespec", "sphinx"):
        shutil.copy(ROOT / "locales" / "zh_CN" / "LC_MESSAGES" / f"{name}.po", catalogs)
    commanded(root, "catalogs.py")
    index = catalogs / "index.po"
    filled = index.read_text().replace('"A page"\nmsgstr ""', '"A page"\nmsgstr "一页"')
    index.write_text(filled.replace("#, waiting\n", ""))
    proofs.approve(root, proofs.waiting(root))
    return root


@pytest.fixture
def project(whole: Path, tmp_path: Path) -> Path:
    """Copy that project, to build or to break it."""
    return shutil.copytree(whole, tmp_path / "project")


@pytest.fixture
def build(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Run]:
    """Return what builds a project in this process: the same as its command does."""
    at_first = {name: value for name, value in vars(building).items() if isinstance(value, Path)}

    def run(project: Path, *options: str) -> Command:
        for name, value in at_first.items():
            monkeypatch.setattr(building, name, project / value.relative_to(ROOT))
        monkeypatch.chdir(project)
        capsys.readouterr()
        status = main(options)
        said = capsys.readouterr()
        return Command(["build.py", *options], status, said.out, said.err)

    before = signal.getsignal(signal.SIGINT)
    yield run
    signal.signal(signal.SIGINT, before)


def commanded(project: Path, program: str = "build.py", *options: str) -> Command:
    """Run a command of the project's documents, on a machine that wants warnings and colours."""
    command = [sys.executable, project / "docs" / program, *options]
    loud = os.environ | {"PYTHONWARNINGS": "error", "FORCE_COLOR": "1", "COLUMNS": "30"}
    return subprocess.run(
        command, check=False, capture_output=True, encoding="utf-8", cwd=project, env=loud
    )


@pytest.fixture(scope="module")
def built(whole: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Command]:
    """Build the project, whose page shows what the package says; all of it is kept."""
    root = shutil.copytree(whole, tmp_path_factory.mktemp("good") / "project")
    asks = (
        "import os\nfrom lifespec import server\n"
        'print(server.PLANTED, *{"FORCE_COLOR", "PYTHONWARNINGS"} & {*os.environ})'
    )
    server = root / "src" / "lifespec" / "server.py"
    server.write_text(f"{server.read_text()}PLANTED = 1\n")
    (root / ".ci").mkdir()
    (root / ".ci" / "requirements.lock").write_text("one==1\n")
    (root / "docs" / "index.md").write_text(INDEX.replace("print(1)", asks))
    done = commanded(root)
    assert (done.returncode, done.stderr) == (0, "")
    return shutil.copytree(root, root.with_name("first")), done


def test_a_build_says_what_it_did(built: tuple[Path, Command]) -> None:
    """It says pages, examples in each language, messages, and what to open.

    Examples see nothing of the machine's wishes for warnings and colours.
    """
    root, done = built
    said = done.stdout.splitlines()
    ran = re.findall(r"  (English|Chinese):  1 page, 1 read; 1 example, (\d) run\n", done.stdout)
    assert sorted(count for _, count in ran) == ["0", "1"]  # for both, by who came first
    assert all(re.fullmatch(r" +[\d.]+ s to read, .*", said[line]) for line in (2, 4))
    assert said[-3:-1] == [f"  changed:  docs/{name}.json" for name in ("examples", "drawn")]
    assert said[-4].endswith(" in all, 0 waiting for a translation")
    assert "  live:     without buttons to run the examples, which `make live` brings" in said
    assert said[-1].endswith("Open site/index.html")
    assert "data-live" not in (root / "site" / "zh-cn" / "index.html").read_text()


@pytest.fixture
def good(built: tuple[Path, Command]) -> Path:
    """Return the project as it was built, in its place: what was built holds paths of it."""
    first, _ = built
    root = first.with_name("project")
    rmtree(root)
    return shutil.copytree(first, root)


def test_what_has_not_changed_is_not_done_again(good: Path, build: Run) -> None:
    """The site is left alone, or put back where it is gone or has been changed."""
    before = (good / "site").stat().st_ino
    assert build(good).stdout.splitlines()[0] == "Nothing has changed since the last build."
    assert (good / "site").stat().st_ino == before
    page = good / "site" / "en" / "index.html"
    text = page.read_text()
    for spoil in (lambda: page.write_text("spoiled"), page.unlink, lambda: rmtree(good / "site")):
        spoil()
        assert build(good).returncode == 0
        assert page.read_text() == text


def test_a_second_build_waits_for_the_first(
    good: Path, build: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What both would write is written by one after the other."""
    told: list[str] = []
    with (good / "build" / "docs" / "lock").open() as first:
        fcntl.flock(first, fcntl.LOCK_EX)

        def end(said: str) -> None:
            told.append(said)
            fcntl.flock(first, fcntl.LOCK_UN)

        monkeypatch.setattr(building, "_say", end)
        assert build(good).returncode == 0
    waits, done, *_ = told
    assert waits == "Another build runs here: waiting for its end."
    assert done == "Nothing has changed since the last build."


def aged(file: Path, old: str, new: str) -> None:
    """Change a file, and let it look older than all that was built."""
    text = file.read_text()
    assert text.count(old) == 1, text
    file.write_text(text.replace(old, new))
    os.utime(file, (1, 1))


EXT = "docs/_ext/lifespec_docs"
CHANGES = {
    "the package": ("src/lifespec/server.py", "PLANTED = 1", "PLANTED = 2", "docs/index.md:9: "),
    "a page": ("docs/index.md", "PLANTED,", "PLANTED + 1,", "docs/index.md:9: "),
    "an output": ("docs/index.md", "\n1\n", "\n2\n", "docs/index.md:9: "),
    "a catalog": ("locales/zh_CN/LC_MESSAGES/index.po", "一页", "一页,", "locales/zh_CN/"),
    "an extension": (f"{EXT}/examples/runner.py", "has == wants or", "False or", "docs/index.md:"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("file", "old", "new", "told"), CHANGES.values(), ids=CHANGES)
def test_what_has_changed_is_noticed_whatever_its_time(
    good: Path, build: Run, file: str, old: str, new: str, told: str
) -> None:
    """A fault is told, and told again; when it is gone the site is built."""
    aged(good / file, old, new)
    for _ in range(2):
        done = build(good)
        assert done.returncode == 1, done.stdout
        assert done.stderr.startswith(told)
    aged(good / file, new, old)
    assert build(good).returncode == 0


def test_an_example_that_is_gone_is_noticed(good: Path, build: Run) -> None:
    counts = good / "docs" / "examples.json"
    assert json.loads(counts.read_text()) == {"index": 1}
    counts.write_text('{\n "index": 2\n}\n')
    done = build(good)
    assert done.returncode == 1
    assert done.stderr.startswith(
        "docs/examples.json:2: the page 'index' had 2 examples and has 1: change this line"
    )
    counts.unlink()
    assert build(good).returncode == 0
    assert json.loads(counts.read_text()) == {"index": 1}


@pytest.mark.slow
def test_another_lock_runs_the_examples_again(good: Path, build: Run) -> None:
    aged(good / ".ci" / "requirements.lock", "one==1", "one==2")
    assert "1 example, 1 run" in build(good).stdout


def test_a_changed_translation_is_shown(good: Path, build: Run) -> None:
    """One page is read again; its examples are not run again."""
    aged(good / "locales" / "zh_CN" / "LC_MESSAGES" / "index.po", "一页", "某页")
    proofs.approve(good, proofs.waiting(good))
    said = build(good).stdout.splitlines()
    files = "docs/proofs.json, locales/zh_CN/LC_MESSAGES/index.po"
    assert said[0] == f"Changed since the last build: {files}. Reading on."
    assert "0 read; 1 example, 0 run" in said[1]
    assert "1 read; 1 example, 0 run" in said[3]
    assert "某页" in (good / "site" / "zh-cn" / "index.html").read_text()


def test_a_fresh_build_reuses_nothing_and_keeps_nothing(good: Path, build: Run) -> None:
    """Each language runs its examples for itself."""
    before = (good / "build" / "docs" / "inputs.json").stat().st_mtime_ns
    said = build(good, "--fresh", "--into", "elsewhere").stdout
    assert said.count("1 read; 1 example, 1 run") == 2
    assert (good / "elsewhere" / "index.html").exists()
    assert (good / "build" / "docs" / "inputs.json").stat().st_mtime_ns == before


def test_the_examples_run_in_the_browser_if_there_is_a_runtime(good: Path, build: Run) -> None:
    """`make live` has installed it: it is published with the pages, and they say so."""
    page, manifest = good / "site" / "en" / "index.html", good / "site" / "live" / "manifest.json"
    assert not manifest.exists()
    install(good)
    assert "  live:     with buttons to run the examples" in build(good).stdout
    assert "data-live" in page.read_text()
    inode = manifest.stat().st_ino
    assert build(good).stdout.splitlines()[0] == "Nothing has changed since the last build."
    assert manifest.stat().st_ino == inode


def test_a_fault_is_told_with_file_and_line_and_changes_nothing(project: Path, build: Run) -> None:
    """The site that stood there still stands; nothing else is left."""
    (project / "site").mkdir()
    (project / "site" / "old").write_text("")
    (project / "docs" / "index.md").write_text(INDEX.replace("print(1)", "print(2)"))
    before = sorted(project.iterdir())
    done = build(project)
    assert done.returncode == 1
    assert done.stderr.startswith("docs/index.md:7: ")
    assert done.stderr.endswith("The site was not built: 1 fault.\n")
    assert [path.name for path in (project / "site").iterdir()] == ["old"]
    assert sorted(project.iterdir()) == sorted({*before, project / "build"})
    assert not (project / "build" / "docs" / "inputs.json").exists()


@pytest.mark.parametrize("options", [(), ("--fresh",)])
def test_what_ends_sphinx_is_told_once(project: Path, build: Run, options: tuple[str, ...]) -> None:
    with (project / "docs" / "conf.py").open("a") as configuration:
        configuration.write("\nextensions.append('lifespec_docs.absent')\n")
    done = build(project, *options)
    assert done.returncode == 1
    assert "Could not import extension lifespec_docs.absent" in done.stderr
    assert done.stderr.endswith("The site was not built: 1 fault.\n")


@pytest.mark.parametrize("command", ["build.py", "catalogs.py", "review.py --rule a"])
def test_each_fault_of_the_rules_and_cases_is_told_and_no_traceback(
    project: Path, command: str
) -> None:
    data = project / "src" / "lifespec" / "conformance" / "data"
    (data / "cases.toml").write_text("[a]\nsays = 'A.'\n\n[b]\nsays = 'B.'\n")
    program, *options = command.split()
    done = subprocess.run(
        [sys.executable, project / "docs" / program, *options],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert re.findall("^.*cases.toml:.*missing.$", done.stdout + done.stderr, re.MULTILINE) == [
        f"src/lifespec/conformance/data/cases.toml:{line}: {name}: the key {key!r} is missing."
        for line, name in ((1, "a"), (4, "b"))
        for key in ("role", "script", "expect")
    ]
    assert "Traceback" not in done.stderr


def test_a_terminal_is_told_how_far_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(building, "HERE", tmp_path)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    (tmp_path / "index.md").write_text("")
    english = Build("en", tmp_path, tmp_path)
    english.doctrees.mkdir(parents=True)
    (english.doctrees / "index.doctree").write_bytes(b"")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        english.process = process
        monkeypatch.setattr(time, "sleep", patient(process))
        building._wait([english])
    assert capsys.readouterr().out == "\r  pages read, of 1: English 1 \n"


def patient(process: subprocess.Popen[bytes]) -> Callable[[float], None]:
    """Return a sleep after whose second time the process is over."""
    times: list[float] = []

    def sleep(seconds: float) -> None:
        times.append(seconds)
        if len(times) > 1:
            process.communicate(b"\n")

    return sleep


def test_a_wrong_command_is_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--unknown"])
    assert ended.value.code == 2
    assert "usage: docs/build.py" in capsys.readouterr().err


def test_warnings_become_faults_with_file_and_line() -> None:
    text = (
        f"{ROOT}/docs/startup.md:41: WARNING: No such thing. [a.b]\n"
        f"{ROOT}/docs/state.md: WARNING: Not true: a == 1\n    2\n    1\n"
        "WARNING: No file at all.\n"
        "something else\n"
    )
    assert list(faults(text, ROOT)) == [
        "docs/startup.md:41: No such thing.",
        "docs/state.md: Not true: a == 1\n    2\n    1",
        "No file at all.",
    ]


def test_a_new_site_takes_the_place_of_the_old(tmp_path: Path) -> None:
    (tmp_path / "work" / "site").mkdir(parents=True)
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "old").write_text("")
    swap(tmp_path / "work" / "site", tmp_path / "site")
    assert not (tmp_path / "site" / "old").exists()
    assert (tmp_path / "work" / "old" / "old").exists()


@pytest.mark.parametrize("stood", [True, False])
def test_where_the_new_site_cannot_be_moved_the_old_one_stays(tmp_path: Path, stood: bool) -> None:
    (tmp_path / "work").mkdir()
    if stood:
        (tmp_path / "site").mkdir()
    with pytest.raises(OSError, match="No such file"):
        swap(tmp_path / "work" / "site", tmp_path / "site")
    assert (tmp_path / "site").exists() == stood


def test_an_english_fix_is_built_without_chinese(project: Path, build: Run) -> None:
    """The Chinese page has the English sentence with a note; a release refuses it."""
    page = project / "docs" / "index.md"
    page.write_text(f"{page.read_text()}\nA `new` sentence.\n")
    done = build(project)
    assert done.returncode == 1
    assert done.stderr.startswith("docs/index.md:10: 'A `new` sentence.' is missing in locales/")
    commanded(project, "catalogs.py")
    proofs.approve(project, proofs.waiting(project))
    done = build(project)
    assert (done.returncode, done.stderr) == (0, "")
    assert " in all, 1 waiting for a translation\n" in done.stdout
    english, chinese = (
        (project / "site" / language / "index.html").read_text() for language in ("en", "zh-cn")
    )
    assert "waiting" not in english
    assert 'sentence.<span class="waiting"> [待翻译]</span></p>' in chinese
    done = build(project, "--release", "--fresh")
    assert done.returncode == 1
    assert done.stderr == (
        "locales/zh_CN/LC_MESSAGES/index.po:12: 'A `new` sentence.' is waiting for a "
        "translation.\nThe site was not built: 1 fault.\n"
    )


def test_what_catalogs_have_and_lack_is_counted(tmp_path: Path) -> None:
    (tmp_path / "a.po").write_text('msgid "a"\nmsgstr "x"\n\n#, waiting\nmsgid "b"\nmsgstr ""\n')
    assert counted(tmp_path) == {"in all": 2, "waiting for a translation": 1}
