"""Where the site is that tests look at: `make docs` has built it."""

import shutil
from pathlib import Path

__all__ = ["PREFIX", "ROOT", "site"]

ROOT = Path(__file__).resolve().parents[2]
PREFIX = "some/prefix"  # a site may stand anywhere


def site(into: Path) -> Path:
    """Copy the site of `make docs` below a prefix."""
    built = ROOT / "site"
    if not (built / "zh-cn" / "index.html").exists():
        raise FileNotFoundError("There is no site: run `make docs` before these tests.")
    return Path(shutil.copytree(built, into / PREFIX))
