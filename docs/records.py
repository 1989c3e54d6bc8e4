"""Names the records of `docs/matrix` that are older than what they speak of.

python docs/records.py [--release [--except NAME...] | --commands [--all]]
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "src"), str(HERE / "_ext")]

from lifespec_docs.facts.recorded import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
