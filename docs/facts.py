"""Lists the facts that a page can draw; see `_ext/lifespec_docs/facts/known.py`.

python docs/facts.py [WORD ...]
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "src"), str(HERE / "_ext")]

from lifespec_docs.facts.known import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
