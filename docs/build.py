"""Builds the site; see `_ext/lifespec_docs/build.py`."""

import gc
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "src"), str(HERE / "_ext")]

from lifespec_docs.build import main

if __name__ == "__main__":
    gc.disable()  # doctrees are no garbage, and this process ends soon
    sys.exit(main())
