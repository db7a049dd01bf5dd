#!/usr/bin/env python
"""Converts a folder of published designs in corpus form (YAML) into access-pattern documents.

    scripts/convert_corpus.py FOLDER OUT

writes OUT/NAME/access-patterns.md for every FOLDER/*.yaml. Exits with 1 where a file cannot be carried over whole; the
message names the file and the field. Remarks below a name are about what the source itself leaves open.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

from corpus.convert import convert_folder


def main(arguments: list[str]) -> int:
    if len(arguments) != 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    folder, out = map(Path, arguments)
    return 0 if convert_folder(folder, out, lambda line: print(line, file=sys.stderr)) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
