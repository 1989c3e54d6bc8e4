"""What `make release` refuses; `make check` makes a dry run of the rest."""

import shutil
import subprocess
from pathlib import Path

__all__: list[str] = []

ROOT = Path(__file__).parents[1]


def refused(folder: Path, *arguments: str) -> str:
    """Run it where it must refuse; return its sentence."""
    command = ["sh", ".ci/release", *arguments]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, cwd=folder, timeout=60
    )
    assert done.returncode == 1, done.stdout
    return done.stderr.strip()


def test_a_release_has_the_version_of_its_tag() -> None:
    said = refused(ROOT, "v0.0.0")
    assert said.startswith("release: the tag is v0.0.0, and pyproject.toml has version ")
    assert said.endswith(", or change pyproject.toml.")


def test_a_release_has_its_section_and_is_committed(tmp_path: Path) -> None:
    for name in ("pyproject.toml", ".ci/release", "docs/changelog.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    changelog = tmp_path / "docs" / "changelog.md"
    text = changelog.read_text(encoding="utf-8")
    changelog.write_text(text.replace("## 0.", "## 9."), encoding="utf-8")
    assert refused(tmp_path).startswith("release: docs/changelog.md has no section 0.")
    changelog.write_text(text, encoding="utf-8")
    subprocess.run(["git", "init", "--quiet"], check=True, cwd=tmp_path, timeout=60)
    assert refused(tmp_path).startswith("release: these changes are not committed: ?? .ci/")


def test_the_first_page_of_all_versions_leads_to_the_stable_one(tmp_path: Path) -> None:
    for folder, first in ("latest", "latest"), ("stable", "stable"):
        (tmp_path / folder).mkdir()
        command = ["sh", ".ci/release", "first-page", str(tmp_path)]
        subprocess.run(command, check=True, cwd=ROOT, timeout=60)
        page = (tmp_path / "index.html").read_text("utf-8")
        assert f'content="0; url={first}/index.html"' in page
        assert f'<li><a href="{folder}/index.html">{folder}</a></li>' in page
    assert page.count("<li>") == len(["latest", "stable"])
