"""What notices a change of the documents: the project's own checks, the cheapest first.

Each guard is one that `make docs` or `make test` has.  A change is seen by them where it is read,
and never written into the working tree.  What they say is of four kinds:

    run     an example does something else: the code itself objects
    held    a table, a test or another place of the documents says otherwise
    other   the edition in the other language says otherwise
    copy    the words are no longer those of a copy: the catalog's message, the package's text
"""

import builtins
import dataclasses
import gc
import io
import itertools
import json
import logging
import os
import re
import sys
import tempfile
import tomllib
import warnings
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

import polib
from changes import CASES, CATALOGS, RULES, Change, changed
from journal import ROOT, Row

__all__ = ["KINDS", "Editions", "overlaid"]

KINDS = ("run", "held", "other", "copy")
PAGES_OF_TESTS = {
    "decisions": ["tests/docs/test_decided.py"],
    "conversations": ["tests/docs/test_decided.py"],
    "silences": ["tests/docs/test_silences.py"],
    "history": ["tests/docs/test_history.py"],
    "mutation": ["tests/mutation/test_mutation.py -k page"],
    "exhaustive": ["tests/every/test_every.py -k page"],
    "workers": ["tests/docs/test_counted.py"],
} | {name: ["tests/docs/test_counted.py"] for name in ("index", "asgi-2", "pagi")}
NO_AUTOLOAD = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # it takes time
RULES_TESTS = [
    "tests/sentences/test_sentences.py",
    "tests/docs/test_silences.py",
    "tests/docs/test_decided.py::test_who_decided_is_what_the_rules_say",
    "tests/mutants/test_mutants.py",
    "tests/test_validate.py::test_rules_have_sources",
    "tests/test_validate.py::test_the_judge_goes_by_the_levels_of_the_texts",
    "tests/test_vocabulary.py::test_a_rule_is_observable_where_its_phrases_look",
    "tests/test_explain.py::test_every_rule_is_explained",
]
CASES_TESTS = [
    "tests/test_cases.py::test_a_script_for_applications_is_a_lifespan",
    "tests/test_cases.py::test_a_script_breaks_what_its_case_is_for",
    "tests/docs/test_counted.py -k record",
]
PYTEST = ["-x", "-q", "--tb=line", "--assert=plain", "-W", "ignore", "-p", "pytest_asyncio.plugin"]
for _each in ("cacheprovider", "unraisableexception", "threadexception", "faulthandler"):
    PYTEST += ["-p", f"no:{_each}"]
PYTEST += ["-p", "pytest_timeout"]
LIMITS = {"virtual": 5.0, "real": 10.0}  # seconds of an example: none needs a tenth of that
QUICK = 3  # of them come first
Found = tuple[str, str, str]  # the kind, the guard, what it says


def overlaid(path: Path, text: str, folder: Path) -> None:
    """Let this process read a text where it asks for a file; the file itself stays as it is."""
    other = folder / path.name
    other.write_text(text, "utf-8")
    wanted, opened = str(path.resolve()), io.open

    def open_(file: Any, *arguments: Any, **options: Any) -> Any:
        named = isinstance(file, (str, os.PathLike))
        if named and Path(file).name == path.name and os.path.realpath(file) == wanted:
            file = other
        return opened(file, *arguments, **options)

    io.open = builtins.open = open_  # type: ignore[assignment]


class Editions:
    """The English pages as they are read, and the catalogs: warm, so that a change is quick."""

    def __init__(self, folder: Path, language: str = "en") -> None:
        self.folder, self.language = folder, language
        for name in ("src", "docs", "docs/_ext", "tests/docs", "tests/drift"):
            if str(ROOT / name) not in sys.path:
                sys.path.insert(0, str(ROOT / name))
        self.warnings = io.StringIO()
        sphinx = import_module("sphinx.application")
        warnings.simplefilter("ignore")
        self.app = sphinx.Sphinx(
            ROOT / "docs",
            ROOT / "docs",
            folder / f"out-{language}",
            folder / f"doctrees-{language}",
            "dummy",
            confoverrides={"examples_run": False, "language": language},
            status=None,
            warning=self.warnings,
            freshenv=True,
        )
        self.app.builder.read()
        self.env = self.app.env
        self.doctrees: dict[str, Any] = {}
        self.printed: dict[str, list[tuple[Any, str]]] = {}
        self.blocks = import_module("executed").blocks(self.env)
        self.templates = import_module("templates")
        self.before = self.templates.collected(self.env) if language == "en" else None
        self.said = self.warnings.getvalue()

    @cached_property
    def kinds(self) -> dict[str, dict[str, str]]:
        """Return what kind each message is, by catalog."""
        found = self.before.by_catalog.items()
        return {name: {each.text: each.kind for each in one.messages} for name, one in found}

    @cached_property
    def slugs(self) -> list[str]:
        """Return the names of the rules."""
        return list(tomllib.loads((ROOT / RULES).read_text("utf-8")))

    def explained(self) -> dict[str, Any]:
        """Return the package's copy of the rules."""
        tag = "en" if self.language == "en" else "zh"
        path = ROOT / "src/lifespec/conformance" / f"explain.{tag}.json"
        found: dict[str, Any] = json.loads(path.read_text("utf-8"))
        return found

    def warm(self, found: Sequence[Change]) -> None:
        """Run what notices these changes once, so that what it imports is there."""
        names = dict.fromkeys(Path(change.file).stem for change in found)
        tests = [test for name in names for test in PAGES_OF_TESTS.get(name, [])]
        tests += RULES_TESTS if "rules" in names else []
        tests += CASES_TESTS if "cases" in names else []
        if told := list(self._tests([*dict.fromkeys(tests)])):
            raise RuntimeError(f"A test fails where nothing is changed: {told}")
        gc.collect()
        gc.freeze()

    def at_once(self, change: Change) -> dict[str, list[str]] | None:
        """Return what notices a change for which no page has to be read anew.

        None: it is for `noticed` to say.
        """
        if change.place == "output":
            told = self._printed_otherwise(change)
            return {"run": ["examples", told]} if told else None
        if change.file.endswith(".json"):
            return {"held": ["explain files", OTHER_WORDS]}
        if change.file.endswith(".po"):
            return self._of_translation(change)
        if change.language == "en" and change.place in PROSE:
            found = self._other_than_chinese(change)
            return {"other": found} if found else {"copy": COPIED}
        return None

    def _of_translation(self, change: Change) -> dict[str, list[str]]:
        rows = change.new.split("\n")
        for offset in {0, len(rows) - 1}:
            for guard, sentence in self._translated(change, change.line + offset, rows[offset]):
                return {"other": [guard, sentence[:300]]}
        if len(rows) > 1 and self._belong(change.file, change.line, change.line + len(rows) - 1):
            return {"other": [COMPARED, "These translations have changed places."]}
        if change.place == "rule" and (told := self._owed(change)):
            return {"held": ["build", told]}
        if change.place == "rule" and change.token != "rows exchanged":  # noqa: S105
            return {"copy": ["explain files", OTHER_WORDS]}
        return {}

    def _belong(self, file: str, *lines: int) -> bool:
        """Whether two translations clearly belong where they are: then an exchange is told.

        What is told goes by the counts without both, which an exchange does not change.
        """
        name, pairing = Path(file).stem, import_module("pairing")
        both = [polib.unescape(self.catalogs[name][line - 2][7:-1]) for line in lines]
        one, other = (pairing.words(self._pair(name, text)) for text in both)
        return bool(self.corpus.margin(one, other) > pairing.LIMIT)

    def _pair(self, name: str, text: str) -> Any:
        return self.parity.Pair(name, 1, text, self.entries[name][text].msgstr)

    @cached_property
    def corpus(self) -> Any:
        """All catalogs: which words go together."""
        pairs = (self._pair(name, text) for name in self.kinds for text in self.entries[name])
        return import_module("pairing").Corpus(pair for pair in pairs if pair.english)

    def _owed(self, change: Change) -> str:
        """Hold a rule, its translation changed, against rules.toml, as the Chinese build does."""
        name, new = Path(change.file).stem, polib.unescape(change.new[8:-1])
        changed_ = polib.unescape(self.catalogs[name][change.line - 2][7:-1])
        kind = self.kinds[name][changed_]
        texts = {
            text: self.entries[name][text].msgstr
            for text, of in self.kinds[name].items()
            if of == kind
        }
        parse = import_module("markup").parse
        texts[changed_] = new
        parts = [parse(text, kind, ".md", self.before.extensions) for text in texts.values()]
        rule = self.env.domains["lifespec"].book[kind.removeprefix("rule ")]
        prose = " ".join(part.prose for part in parts)
        told = import_module("duties").owed(prose, rule.levels[0], rule.party, chinese=True)
        return next(told, "")

    def _printed_otherwise(self, change: Change) -> str:
        """Compare what an example prints with what its page shows now: the program is the same."""
        examples = import_module("lifespec.examples")
        for block, printed in self._output(Path(change.file).stem):
            first = block.line + len(block.source.rstrip("\n").split("\n")) + 2
            lines = (block.expected or "").split("\n")
            if first <= change.line < first + len(lines):
                text = changed("\n" * (first - 1) + block.expected, change)
                try:
                    examples._compare(block, block.line, printed, text[first - 1 :])
                except examples.ExampleFailed as failure:
                    return str(failure)
        return ""

    def _output(self, name: str) -> list[tuple[Any, str]]:
        """Run the examples of an English page once: what each prints."""
        if name not in self.printed:
            examples = import_module("lifespec.examples")
            self.printed[name] = []
            with examples.Session(self.blocks[name]) as session, redirect_stderr(io.StringIO()):
                for block in self.blocks[name]:
                    output = examples.run(block, session.namespace).output
                    if block.language != "pycon":
                        self.printed[name].append((block, output))
        return self.printed[name]

    def _other_than_chinese(self, change: Change) -> list[str]:
        """Hold a changed message against its Chinese."""
        name = change.file.partition("/")[2]
        template = self.before.by_catalog[name]
        suffix = template.file[template.file.rfind(".") :]
        entry, kind = self.entries[name][change.old], self.kinds[name][change.old]
        chinese, note = entry.msgstr, entry.tcomment
        pair = self.parity.Pair(name, 1, change.new, chinese, kind, suffix, note)
        found = self.parity.sentences(pair, self.before.extensions)
        return [part for each in itertools.islice(found, 1) for part in (COMPARED, each[:300])]

    def _translated(self, change: Change, line: int, new: str) -> Iterator[tuple[str, str]]:
        """Check a translation as `docs/catalogs.py --check` does."""
        name = Path(change.file).stem
        if not import_module("catalogue").LINE.fullmatch(new):
            yield "catalogs, form", "This line is not of a catalog."
            return
        text = polib.unescape(new[8:-1])
        if not text.strip():
            yield "catalogs, messages", "The message is not translated."
            return
        message = polib.unescape(self.catalogs[name][line - 2][7:-1])
        template = self.before.by_catalog[name]
        suffix = template.file[template.file.rfind(".") :]
        kind = self.kinds[name].get(message, "text")
        note = self.entries[name][message].tcomment
        pair = self.parity.Pair(change.file, line, message, text, kind, suffix, note)
        for sentence in self.parity.sentences(pair, self.before.extensions):
            yield COMPARED, sentence

    @cached_property
    def parity(self) -> Any:
        """The guard of translations."""
        return import_module("parity")

    @cached_property
    def entries(self) -> dict[str, dict[str, Any]]:
        """Return the entry of each message, by catalog."""
        return {
            path.stem: {entry.msgid: entry for entry in polib.pofile(str(path))}
            for path in (ROOT / CATALOGS).glob("*.po")
        }

    @cached_property
    def catalogs(self) -> dict[str, list[str]]:
        """Return the lines of each catalog."""
        paths = (ROOT / CATALOGS).glob("*.po")
        return {path.stem: path.read_text("utf-8").split("\n") for path in paths}

    # What follows runs in a process that is forked for one change.

    def noticed(self, change: Change) -> Row:
        """Return who notices a change: the first guard by meaning, and the copies."""
        path = ROOT / change.file
        text = changed(path.read_text("utf-8"), change)
        sys.dont_write_bytecode = True
        self._few_loggers()
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            if path.suffix == ".py":
                overlaid(path, text, Path(folder))
                module = import_module(path.stem)
                exec(compile(text, str(path), "exec"), vars(module))  # noqa: S102  ours, changed
            else:
                overlaid(path, text, Path(folder))
            found: dict[str, list[str]] = {}
            for kind, guard, sentence in self._of(change):
                found.setdefault(kind, [guard, sentence.strip()[:300]])
                if kind != "copy":
                    break
            return {**change._asdict(), "noticed": found}

    @staticmethod
    def _few_loggers() -> None:
        """Forget loggers that no example knows: each block would set them all."""
        loggers = logging.root.manager.loggerDict
        for name in [name for name in loggers if not name.startswith(("sphinx", "asyncio"))]:
            if not name.startswith("lifespec"):
                del loggers[name]

    def _of(self, change: Change) -> Iterator[Found]:
        if change.file == RULES:
            return self._of_rules()
        if change.file == CASES:
            return self._of_cases()
        if change.file.endswith(".py"):
            return self._tests([f"tests/ext/test_{Path(change.file).stem}.py"])
        page = self._of_page(Path(change.file).stem)
        return itertools.chain(self._of_block(change), page) if change.place in RUNS else page

    def _of_block(self, change: Change) -> Iterator[Found]:
        """Run the page with the one block that has changed, if the change is within one."""
        name, new = Path(change.file).stem, []
        for block in self.blocks.get(name, []):
            lines = block.source.split("\n")
            if change.place == "example":
                at = change.line - block.line
                if 0 <= at < len(lines) and lines[at : at + 1] == change.old.split("\n"):
                    lines[at] = change.new
                    block = dataclasses.replace(block, source="\n".join(lines))  # noqa: PLW2901
            elif block.expected is not None:
                first = block.line + len(block.source.rstrip("\n").split("\n")) + 2
                text = changed("\n" * (first - 1) + block.expected, change, strict=False)
                block = dataclasses.replace(block, expected=text[first - 1 :])  # noqa: PLW2901
            new.append(block)
        yield from self._examples(self.blocks.get(name, []), new)

    def _of_page(self, name: str) -> Iterator[Found]:
        """Read the page anew, run what it shows now, and hold it against the rest."""
        old = self.blocks.get(name, [])
        try:
            page = self._read(name)
        except Exception as error:  # noqa: BLE001  a build would end with it
            yield "held", "build", f"{type(error).__name__}: {error}"
            return
        yield from self._complaints()
        yield from self._examples(old, import_module("executed").blocks(self.env)[name])
        yield from self._parity(name)
        yield from self._resolved(name)
        yield from self._tests(PAGES_OF_TESTS.get(name, []))
        yield from self._copies(name, page)

    def _read(self, name: str) -> Any:
        """Read a page without a trace of it on the disk."""
        self.warnings.truncate(0)
        self.warnings.seek(0)
        self.app.builder.write_doctree = lambda each, tree, **_: self._keep(each, tree)
        stored = self.env.get_doctree
        self.env.get_doctree = lambda each: (
            self.doctrees[each].deepcopy() if each in self.doctrees else stored(each)
        )
        self.app.events.emit("env-purge-doc", self.env, name)
        self.env.clear_doc(name)
        self.app.builder.read_doc(name)
        return self.doctrees[name]

    def _keep(self, name: str, tree: Any) -> None:
        self.doctrees[name] = tree

    def _complaints(self) -> Iterator[Found]:
        """Yield what Sphinx and our extensions said meanwhile."""
        for line in self.warnings.getvalue().splitlines():
            if "WARNING" in line or "ERROR" in line or "CRITICAL" in line:
                yield "held", "build", re.sub(r"\x1b\[[\d;]*m", "", line)

    def _resolved(self, name: str) -> Iterator[Found]:
        """Follow the links, and draw what is drawn from other pages."""
        try:
            tree = self.doctrees.get(name) or self.env.get_doctree(name)
            tree = tree.deepcopy()
            tree.settings = self.env.settings and tree.settings
            self.app.env.apply_post_transforms(self._whole(name, tree), name)
            self.env.check_consistency()
        except Exception as error:  # noqa: BLE001  a build would end with it
            yield "held", "build", f"{type(error).__name__}: {error}"
        yield from self._complaints()

    def _whole(self, name: str, tree: Any) -> Any:
        """Give a doctree what a builder gives it."""
        from sphinx.util.docutils import LoggingReporter  # noqa: PLC0415  Sphinx is heavy

        tree.settings = tree.settings.copy()
        tree.settings.env = self.env
        tree.reporter = LoggingReporter(str(self.env.doc2path(name)))
        return tree

    def _examples(self, old: list[Any], new: list[Any]) -> Iterator[Found]:
        """Run the page up to the first example that fails; what is real only where it changed."""
        if [dataclasses.replace(each, line=0) for each in old] == [
            dataclasses.replace(each, line=0) for each in new
        ]:
            return
        examples = import_module("lifespec.examples")
        examples.LIMITS.update(LIMITS)
        before = {dataclasses.replace(each, line=0) for each in old}
        with examples.Session(new) as session, redirect_stdout(io.StringIO()):
            for block in new:
                if block.kind == "real" and dataclasses.replace(block, line=0) in before:
                    continue
                try:
                    examples.run(block, session.namespace)
                except examples.ExampleFailed as failure:
                    yield "run", "examples", str(failure)
                except BaseException as error:  # noqa: BLE001  a build would end with it
                    yield "run", "examples", f"{type(error).__name__}: {error}"

    def _parity(self, name: str) -> Iterator[Found]:
        """Hold each new message against the Chinese of the one that stood in its place."""
        old = self.before.by_catalog[name].messages
        new = self.templates._template(self.env, name).messages
        self.stale = [each.text for each in old] != [each.text for each in new]
        if len(old) != len(new):
            return
        catalogue, parity = import_module("catalogue"), import_module("parity")
        path = ROOT / CATALOGS / f"{name}.po"
        entries = {entry.msgid: entry for entry in catalogue.read(path, path.name)}
        for one, two in zip(old, new, strict=True):
            if one.text != two.text:
                suffix = self.before.by_catalog[name].file[-3:]
                entry = entries[one.text]
                pair = parity.Pair(
                    path.name, 1, two.text, entry.msgstr, two.kind, suffix, entry.tcomment
                )
                for sentence in parity.sentences(pair, self.before.extensions):
                    yield "other", COMPARED, sentence

    def _copies(self, name: str, page: Any) -> Iterator[Found]:
        """Say what has a copy of the words: the catalog and the package."""
        if getattr(self, "stale", False):
            yield "copy", "catalogs, messages", f"The catalog {name}.po is not up to date."
        yield from self._explained([(name, page)])

    def _explained(self, pages: list[tuple[str, Any]]) -> Iterator[Found]:
        explained, rule_node = import_module("explained"), import_module("rules").rule_node
        known = self.explained()
        for _, page in pages:
            for rule in page.findall(rule_node):
                party, level = rule["head"]
                paragraphs = rule.findall(import_module("docutils.nodes").paragraph)
                told = "\n".join(explained._text(node) for node in paragraphs)
                row = known.get(rule["slug"], {})
                has = [row.get(key) for key in ("party", "level", "text", "texts")]
                if has != [party, level, told, [list(each) for each in rule["texts"]]]:
                    yield "copy", "explain files", f"{rule['slug']} is explained in other words."

    def _of_rules(self) -> Iterator[Found]:
        """Read every page of a rule that changed, and what is drawn from the rules."""
        import_module("lifespec.conformance.cases").rules.cache_clear()
        domain = self.env.domains["lifespec"]
        old, homes = domain.book, dict(domain.rules)
        rulebook = import_module("rulebook")
        try:
            book = rulebook.read(ROOT / RULES)
        except Exception as error:  # noqa: BLE001  a build would end with it
            yield "held", "build", f"{type(error).__name__}: {error}"
            return
        bare = [
            {s: dataclasses.replace(r, line=0) for s, r in each.items()} for each in (old, book)
        ]
        domain._book = book
        yield from self._tests(RULES_TESTS[:QUICK])
        pages = {homes[s] for s in {*old, *book} if s in homes and bare[0].get(s) != bare[1].get(s)}
        read = [(name, self._read(name)) for name in sorted(pages)]
        yield from self._complaints()
        for name in ["reading", "asgi-1", "asgi-2", "amgi", "pagi", "dialects"]:
            yield from self._resolved(name)
        yield from self._tests(RULES_TESTS[QUICK:])
        yield from self._explained(read)
        if list(old) != list(book):
            yield "copy", "explain files", "The rules stand in another order."

    def _of_cases(self) -> Iterator[Found]:
        """Read the cases, play those that changed to what is right, and to what is wrong."""
        cases = import_module("lifespec.conformance.cases")
        old = {case.name: case for case in cases.load()}
        cases.load.cache_clear()
        try:
            new = {case.name: case for case in cases.load()}
        except Exception as error:  # noqa: BLE001  the suite would end with it
            yield "held", "cases, as they are read", str(error)
            return
        if gone := [name for name in old if name not in new]:
            yield "held", "cases, as they are read", f"There is no case {gone}."
        changed_ = [case for name, case in new.items() if old.get(name) != case]
        yield from self._tests(CASES_TESTS)
        for case in changed_:
            yield from self._played(case, old.get(case.name))
        vocabulary = import_module("lifespec.conformance.vocabulary")
        if {each.phrase for case in new.values() for each in case.expect} != set(
            vocabulary.PHRASES
        ):
            yield "held", "tests/test_vocabulary.py", "A phrase is expected nowhere."

    def _played(self, case: Any, before: Any) -> Iterator[Found]:
        """Try the tests of the suite itself, with this one case where one will do."""
        now, once = (set(one.expect) if one else set() for one in (case, before))
        other = now if before and before.script != case.script else now ^ once
        slugs = {each.slug for each in other}
        play = import_module("playing_cases")
        kind, told = play.noticed(case, slugs)
        if told:
            yield kind, "the suite on trial", told

    def _tests(self, tests: list[str]) -> Iterator[Found]:
        """Run tests of the project in this process, each as if it were the only one."""
        if tests:
            published = import_module("published")
            blocks = import_module("executed").blocks(self.env)
            published.published = lambda: {"en": dict(blocks), "zh": dict(blocks)}
        for test in tests:
            _forget_tests()
            said = io.StringIO()
            with redirect_stdout(said), mock.patch.dict(os.environ, NO_AUTOLOAD):
                status = import_module("pytest").main([*PYTEST, *test.split()])
            if status:
                failed = re.findall(r"^(?:FAILED|ERROR) (.*)$", said.getvalue(), re.MULTILINE)
                told = failed[0].partition(" - ")[0] if failed else test
                yield "held", told, " ".join(failed) or said.getvalue()[-300:]


def _forget_tests() -> None:
    """Let the next test import what it needs: files of several folders have one name."""
    os.chdir(ROOT)
    for name, module in list(sys.modules.items()):
        path = Path(getattr(module, "__file__", None) or "/")
        ours = path.is_relative_to(ROOT / "tests") and path.parent.name not in {"drift", "docs"}
        if ours or name.startswith("test_") or name == "conftest":
            del sys.modules[name]


COMPARED = "catalogs, what both say"
COPIED = ["catalogs, messages", "No catalog has this message."]
OTHER_WORDS = "The file is not what the pages say."
PROSE = {"text", "title", "comment"}
RUNS = {"example", "output"}
