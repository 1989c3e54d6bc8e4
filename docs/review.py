"""Shows a change to those who read it, or rules; see `_ext/lifespec_docs/facts/review.py`."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(ROOT / "src"), str(HERE / "_ext"), str(ROOT / "tests" / "sentences")]

from lifespec_docs.facts.review import main

if __name__ == "__main__":
    sys.exit(main())
