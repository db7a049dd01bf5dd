"""A claim of ours about a design that does not hold stops nothing: it is not printed, and a warning asks for a report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

import prejoin.pipeline.design.design_table as design_table
from prejoin.design.model import Design, KeyAttribute, Slot, Units
from prejoin.design.solver.solve import Solution
from tests.cli.conftest import Prejoin
from tests.design.test_false_claims import TASKS

CLAIM = "candidate keys serves as much with less complexity"
PRICE = "a month at the rates of the document"


def say_other_units(design: Design) -> Design:
    first, *others = design.operations
    return replace(design, operations=(replace(first, units=Units(17.0, 0.0)), *others))


def add_an_index(design: Design) -> Design:
    return replace(design, slots=(*design.slots, Slot("gsi9", (KeyAttribute("a"),), (KeyAttribute("b"),))))


PLANTED: list[tuple[Callable[[Design], Design], str]] = [
    (say_other_units, "AP-001 has other units than"),
    (add_an_index, "nothing reads gsi9"),
]


@pytest.fixture
def tasks(here: Path) -> Path:
    path = here / "access-patterns.md"
    path.write_text(TASKS)
    return path


def plant(monkeypatch: pytest.MonkeyPatch, change: Callable[[Design], Design]) -> None:
    real = vars(design_table)["solve"]

    def solve(*arguments: object) -> Solution:
        solution: Solution = real(*arguments)
        return replace(solution, design=change(solution.design))

    monkeypatch.setattr(design_table, "solve", solve)


def test_true_claims_are_printed(prejoin: Prejoin, tasks: Path) -> None:
    ran = prejoin("design", "--yes")
    assert CLAIM in ran.out
    assert PRICE in ran.out
    assert CLAIM in (tasks.parent / "table-design.md").read_text()
    assert "PJ038" not in ran.err


@pytest.mark.parametrize(("change", "claim"), PLANTED)
def test_a_false_claim_stops_nothing_and_is_not_printed(
    prejoin: Prejoin, tasks: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Design], Design], claim: str
) -> None:
    plant(monkeypatch, change)
    ran = prejoin("design")
    assert ran.status == 0
    assert "warning PJ038: prejoin made a wrong claim" in ran.err
    assert claim in ran.err
    assert "please report it, with the document" in ran.err
    assert CLAIM not in ran.out
    assert PRICE not in ran.out
    assert prejoin("design", "--format", "json").json["result"]["exact"] is False
    ran = prejoin("build", "--yes")
    assert ran.status == 0
    assert f"PJ038: prejoin made a wrong claim about this design, and does not print it: {claim}" in ran.err
    design = (tasks.parent / "table-design.md").read_text()
    assert CLAIM not in design
    assert claim in design
    assert (tasks.parent / "tasks" / "repository.py").exists()
