#!/usr/bin/env python
"""Converts a folder of published designs in corpus form (YAML) into access-pattern documents.

    scripts/convert_corpus.py FOLDER OUT [--experts]

writes OUT/NAME/access-patterns.md for every FOLDER/*.yaml; with --experts instead OUT/NAME/expert.yaml: the solution
that the file tells, as a design, for whoever checks or compares designs. Exits with 1 where a file cannot be carried
over whole; the message names the file and the field. Remarks below a name are about what the source itself leaves open.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

from corpus.convert import convert_folder
from corpus.expert import write_experts


def main(arguments: list[str]) -> int:
    make = write_experts if "--experts" in arguments else convert_folder
    folders = [argument for argument in arguments if argument != "--experts"]
    if len(folders) != 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    folder, out = map(Path, folders)
    return 0 if make(folder, out, lambda line: print(line, file=sys.stderr)) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
