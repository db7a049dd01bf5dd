"""`python -m tests.golden` prints which golden files differ; with `--write` it renews them."""

from __future__ import annotations

import argparse
import os
import sys
from tempfile import TemporaryDirectory

from tests.conftest import SHARED
from tests.golden import (
    DIGESTS,
    DOCUMENTS,
    STORED,
    differences,
    digests_of,
    read_digests,
    rendered_files,
    write_digests,
    write_stored,
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    parser.add_argument("--write", action="store_true", help="renew the golden files")
    write = parser.parse_args().write
    digests: dict[str, str] = {}
    with TemporaryDirectory(prefix="prejoin-solutions-") as folder:
        os.environ[SHARED] = folder
        for document in DOCUMENTS:
            files = rendered_files(document)
            digests |= digests_of(document, files)
            if write and document in STORED:
                write_stored(document, files)
    changed = differences(read_digests() if DIGESTS.exists() else {}, digests)
    print("\n".join(changed) or "no golden file changed")
    if write:
        write_digests(digests)
        return 0
    return 1 if changed else 0


sys.exit(main())
