"""Make lifespec.pyz of a wheel: `python .ci/pyz.py WHEEL FILE`.

Python runs the file as it is: it is the wheel with a `__main__`, so the metadata is there, too.
Each file has the date that it has in the wheel, so two builds are equal.
"""

import sys
import zipfile
from pathlib import Path

MAIN = """\
import sys

if sys.version_info < (3, 11):
    version = "%d.%d" % sys.version_info[:2]
    sys.exit("lifespec: this is Python %s, and lifespec.pyz needs 3.11 or newer" % version)
from lifespec.cli import main

if __name__ == "__main__":
    sys.exit(main())
"""


def make(wheel: Path, file: Path) -> None:
    """Write the file."""
    with file.open("wb") as out:
        out.write(b"#!/usr/bin/env python3\n")
        with (
            zipfile.ZipFile(wheel) as source,
            zipfile.ZipFile(out, "a", zipfile.ZIP_DEFLATED) as archive,
        ):
            for entry in source.infolist():
                archive.writestr(entry, source.read(entry))
            archive.writestr(zipfile.ZipInfo("__main__.py", source.infolist()[0].date_time), MAIN)
    file.chmod(0o755)


if __name__ == "__main__":
    make(Path(sys.argv[1]), Path(sys.argv[2]))
