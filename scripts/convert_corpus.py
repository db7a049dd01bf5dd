#!/usr/bin/env python
"""Converts a folder of published designs in corpus form (YAML) into access-pattern documents.

    scripts/convert_corpus.py FOLDER OUT [--experts]

writes OUT/NAME/access-patterns.md for every FOLDER/*.yaml; with --experts OUT/NAME/expert.yaml, the expert's
solution as a design. Exits with 1 if a file cannot be converted completely; the message names the file and the field.
Remarks below a name are about the source.
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
