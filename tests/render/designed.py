"""The documents of the repository with their designs, made once for all tests of what is written from them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tests.solutions import solve

from prejoin.design.model import Design
from prejoin.workload.files import read_file
from prejoin.workload.model import Workload

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("tests/corpus/*/access-patterns.md"), *ROOT.glob("examples/*/access-patterns.md")])
NAMES = [path.parent.name for path in DOCUMENTS]


@cache
def designed(name: str) -> tuple[Workload, Design]:
    workload = read_file(DOCUMENTS[NAMES.index(name)]).workload
    return workload, solve(workload).design
