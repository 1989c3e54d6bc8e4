"""`python -m lifespec` is the command `lifespec`."""

import sys

from lifespec.cli import main

__all__: list[str] = []

if __name__ == "__main__":
    sys.exit(main())
