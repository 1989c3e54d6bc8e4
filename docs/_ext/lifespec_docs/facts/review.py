"""Shows a change to those who read it: each sentence with what it belongs to.

    python docs/review.py [REVISION]                what has changed since a revision of git
    python docs/review.py --rule RULE [RULE ...]    rules, with their sources, cases and examples
    python docs/review.py --approve [RULE ...]      the same of each, and ask whether it is approved
    python docs/review.py --approve --page PAGE     the statements of a page with their evidence
    python docs/review.py --unproved                the statements that have no evidence

Without a rule or a page, --approve takes all that wait: rules, statements, and words of catalogs.
Without a terminal nobody can be asked: --yes says that all of it was read.

With --sources FOLDER, which has the specifications, the sentences that became a rule are shown too.
Where no revision is given it is `main`, or HEAD if that is the same.

A sentence is marked with `!` if it changed while the example, table or rule beside it did not.
Exit status: 0 it was shown; 1 something waits for approval; 2 there is no such revision or rule, or
nobody to ask.
"""

import argparse
import subprocess
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from difflib import unified_diff
from functools import cache
from pathlib import Path

import polib

from lifespec.conformance.explain import wrapped
from lifespec_docs.facts import approval, proofs
from lifespec_docs.facts.blocks import Block, blocks, sentences, shows
from lifespec_docs.facts.known import ROOT, nearest
from lifespec_docs.facts.proofs import Proof, Waiting
from lifespec_docs.facts.turned import Texts, turned

__all__ = ["changed", "main"]

WIDTH = 80
PAGES = "docs/*.md", "README.md"
CHINESE = "locales/zh_CN/LC_MESSAGES/*.po"
LINES = 6  # of what a sentence belongs to
NEAR = 2  # lines that stay, around one that has changed
LONGEST = 100  # columns of code; a rule has more in one line


class NoRevisionError(LookupError):
    """Git does not know a revision; the text is a sentence."""


def _git(root: Path, *arguments: str) -> str:
    command = ["git", "-C", str(root), *arguments]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    if found.returncode:
        raise NoRevisionError(f"git {' '.join(arguments)}: {found.stderr.strip()}")
    return found.stdout


def _revision(root: Path, given: str) -> str:
    if given:
        return _git(root, "rev-parse", "--verify", f"{given}^{{commit}}").strip()
    head = _git(root, "rev-parse", "HEAD").strip()
    try:
        return _git(root, "merge-base", "main", "HEAD").strip() or head
    except NoRevisionError:
        return head


def changed(root: Path, revision: str) -> Iterator[str]:
    """Yield the lines that show what has changed since a revision."""
    rows = _git(root, "diff", "--name-status", "-M", revision, "--", *PAGES, CHINESE)
    for kind, *names in (row.split("\t") for row in rows.splitlines()):
        name = names[-1]
        new = "" if kind == "D" else (root / name).read_text(encoding="utf-8")
        old = "" if kind == "A" else _git(root, "show", f"{revision}:{names[0]}")
        told = list(_page(old, new, name) if name.endswith(".md") else _catalog(old, new))
        if told:
            yield f"=== {name} ".ljust(WIDTH, "=")
            yield from told


def _page(old: str, new: str, name: str) -> Iterator[str]:
    before, after = blocks(old), blocks(new)
    said = {sentence for block in before for sentence in _prose(block)}
    kept = {(block.kind, block.text) for block in before}
    now = {sentence for block in after for sentence in _prose(block)}
    for place, block in enumerate(after):
        fresh = [sentence for sentence in _prose(block) if sentence not in said]
        if fresh:
            beside = shows(after, place)
            same = beside is not None and (beside.kind, beside.text) in kept
            yield from _shown(fresh, beside, f"{name}:{block.line}", "!" if same else " ")
    gone = [each for block in before for each in _prose(block) if each not in now]
    for sentence in dict.fromkeys(gone):
        yield from _wrapped(sentence, "  - ")


def _prose(block: Block) -> list[str]:
    """Return the sentences of a block; a table and a rule are read whole, by their lines."""
    if block.kind in {"text", "title"}:
        return list(sentences(block.text))
    return block.text.splitlines() if block.kind in {"rule", "table"} else []


def _shown(fresh: list[str], beside: Block | None, place: str, mark: str) -> Iterator[str]:
    yield f"{mark} {place}"
    for sentence in fresh:
        yield from _wrapped(sentence, "  + ")
    if beside is None:
        yield "      (no example, check, table or rule in this section)"
        return
    state = "unchanged" if mark == "!" else "changed"
    yield f"      {state} {beside.kind} {beside.about}, line {beside.line}:".replace(" ,", ",")
    lines = [line for line in beside.text.splitlines() if line.strip()]
    yield from (f"      | {line}"[:WIDTH] for line in lines[:LINES])
    if len(lines) > LINES:
        yield f"      | … {len(lines) - LINES} lines more"


def _wrapped(sentence: str, sign: str) -> Iterator[str]:
    rest = " " * len(sign)
    yield from textwrap.wrap(
        sentence, WIDTH, initial_indent=sign, subsequent_indent=rest, break_on_hyphens=False
    )


def _catalog(old: str, new: str) -> Iterator[str]:
    """Yield the entries whose Chinese has changed, where the English has not."""
    before = {entry.msgid: entry.msgstr for entry in polib.pofile(old)} if old else {}
    for entry in polib.pofile(new) if new else ():
        if before.get(entry.msgid, entry.msgstr) != entry.msgstr:
            yield f"  line {entry.linenum}"
            for sign, text in (("  = ", entry.msgid), ("  - ", before[entry.msgid])):
                yield from approval.indented(text, sign)
            yield from approval.indented(entry.msgstr, "  + ")


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Show a change, or rules; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("revision", nargs="?", default="", help="of git")
    parser.add_argument("--rule", nargs="+", default=[], help="show these rules")
    parser.add_argument("--approve", nargs="*", help="show these rules, or all that wait, and ask")
    parser.add_argument("--unproved", action="store_true", help="list statements without evidence")
    parser.add_argument("--page", help="approve the statements of this page")
    parser.add_argument("--yes", action="store_true", help="approve without a question")
    parser.add_argument("--sources", type=Path, help="a folder with the specifications")
    given = parser.parse_args(arguments)
    wrong = approval.unreadable()
    if wrong or given.unproved:
        _say(*(wrong or _unproved(root)))
        return int(bool(wrong))
    known = approval.rules(root)
    rules = [*given.rule, *(given.approve or ())]
    for rule in (rule for rule in rules if rule not in known):
        like = " or ".join(nearest(rule, known))
        sys.stderr.write(f"There is no rule {rule!r}{like and f': did you mean {like}?'}\n")
        return 2
    if given.rule:
        _show_rules(root, given.rule, given.sources)
        return 0
    if given.approve is None:
        try:
            _say(*changed(root, _revision(root, given.revision)))
        except NoRevisionError as error:
            sys.stderr.write(f"{error}\n")
            return 2
    every = given.approve == [] and not given.page
    named = approval.waiting(root) if every else given.approve or ()
    for rule in named:
        _say(*approval.told(root, rule, given.sources))
        if given.yes or _agreed(f"Do all of these say the same, and is {rule!r} right?"):
            approval.approve(root, [rule])
    if every or given.page:
        _approve_statements(root, given.page, yes=given.yes)
    if not (given.approve is None or given.yes or sys.stdin.isatty()):
        sys.stderr.write("Nothing was approved, for want of a terminal: YES=1 approves all this.\n")
        return 2
    waiting = [*_waiting(root, given.approve)]
    _say(*waiting)
    return int(bool(waiting))


def _waiting(root: Path, rules: Sequence[str] | None) -> Iterator[str]:
    """Yield a line for all that waits, or for these rules alone, if there are any."""
    for each in approval.faults(root):
        if not rules or any(repr(rule) in each for rule in rules):
            yield each
    if not rules:
        yield from proofs.faults(root)


def _approve_statements(root: Path, page: str | None, *, yes: bool) -> None:
    """Show each statement that waits, and ask; write down what was agreed on so far, always."""
    seen: list[Waiting] = []
    try:
        for each in proofs.waiting(root):
            if page in {None, proofs.page_of(each.file)} and proofs.can_be_seen(each):
                _say(*_proof(root, each))
                if yes or _agreed("Do both languages say what stands below them?"):
                    seen.append(each)
    finally:
        if seen:
            proofs.approve(root, seen)


def _unproved(root: Path) -> Iterator[str]:
    """List the statements that reading alone holds, by page, with counts."""
    found: dict[str, list[Proof]] = {}
    for each in proofs.bare(root):
        found.setdefault(each.file, []).append(each)
    for file, bare in found.items():
        yield f"=== {file}: {len(bare)} ".ljust(WIDTH, "=")
        yield from (f"{file}:{each.line}: {each.label}" for each in bare)


def _show_rules(root: Path, rules: Iterable[str], sources: Path | None) -> None:
    for rule in rules:
        _say(*approval.told(root, rule, sources))
        if rule in approval.waiting(root):
            _say(f"--- not approved as it stands: `make approve RULE={rule}` asks")


def _proof(root: Path, waiting: Waiting) -> Iterator[str]:
    """Show a statement, its Chinese and its evidence, as they were approved and as they are."""
    file, approved, now = waiting
    yield f"=== {file}{f':{now.line}' if now else ''} ".ljust(WIDTH, "=")
    old = _before(root, waiting)
    if now and now.hash == approved:
        yield "--- it stands elsewhere now"
    for name in ("statement", "chinese", "evidence"):
        before, after = (getattr(proof, name).splitlines() if proof else [] for proof in (old, now))
        for sign, line in _differing(before, after):
            code = name == "evidence" and len(line) < LONGEST
            lines = [line] if code else wrapped(line, WIDTH - len(sign))
            yield from (f"{sign}{each}" for each in lines if each)
    if now and now.waits:
        yield "--- it has no Chinese yet: the Chinese page shows the English"
    if old and now:
        for what in turned(_texts(old), _texts(now)):
            yield f"!!! {what}"
    if now and not now.held:
        yield "--- it has no evidence: your reading alone holds it"


def _differing(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the lines with what became of them; where some changed, only those near them."""
    if before == after or not before:
        yield from (("    " if before else "  + ", line) for line in after)
        return
    for line in [*unified_diff(before, after, n=NEAR, lineterm="")][2:]:
        if line[:2] != "@@":
            yield f"  {line[0]} ", line[1:]
        elif not line.startswith(("@@ -1,", "@@ -1 ")):
            yield "    ", "…"


def _texts(proof: Proof) -> Texts:
    return Texts(proof.statement, proof.chinese)


def _before(root: Path, waiting: Waiting) -> Proof | None:
    """Return a proof as HEAD has it: the one that was approved, or else the most alike."""
    found, (_, old, now) = _of_head(root, waiting.file), waiting
    for key in ("hash", "statement", "evidence"):
        wanted = old if key == "hash" else now and getattr(now, key)
        for each in found:
            if wanted and getattr(each, key) == wanted and (not now or each.kind == now.kind):
                return each
    return None


@cache
def _of_head(root: Path, file: str) -> Sequence[Proof]:
    """Return the statements of a page, or the words of a catalog, as HEAD has them."""
    texts = []
    for name in (file, proofs.catalog_of(file)):
        try:
            texts.append(_git(root, "show", f"HEAD:{name}"))
        except NoRevisionError:
            texts.append("")
    if file.endswith(".po"):
        return proofs.words(file, texts[0])
    found = proofs.read(file, texts[0], texts[1], approval.rules(root), root)
    return [each for each in found if each.file == file]


def _agreed(question: str) -> bool:
    """Ask, and return whether the answer is yes; without a terminal it is no."""
    if not sys.stdin.isatty():
        return False
    sys.stdout.write(f"--- {question} [y/N] ")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def _say(*lines: str) -> None:
    sys.stdout.writelines(f"{line}\n" for line in lines)
