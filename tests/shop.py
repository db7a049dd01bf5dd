"""The shop, for tests: its document, and its design with every pattern mapped."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from prejoin.design.files import read_design
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import Design
from prejoin.workload.files import read_file
from prejoin.workload.model import Workload

DESIGN = Path(__file__).parent / "designs" / "shop.yaml"
"""Written by hand, so that it does not change with the designer."""
FOLDER = Path(__file__).parents[1] / "examples" / "shop"


@cache
def shop_workload() -> Workload:
    return read_file(FOLDER / "access-patterns.md").workload


@cache
def shop_design() -> Design:
    found, problems = read_design(DESIGN.read_text(encoding="utf-8"), shop_workload())
    assert found is not None, problems
    return map_patterns(found, shop_workload())
