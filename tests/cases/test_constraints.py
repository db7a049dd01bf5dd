"""Values for conditions: the search finds some for every operator and type, unless the conditions contradict."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import pairwise, product
from typing import Any
from uuid import UUID

import pytest

from prejoin.cases.brute_force import compare
from prejoin.cases.constraints import ContradictionError, Unknown, comparison
from prejoin.cases.data import DataGenerator
from prejoin.cases.search import solve
from prejoin.types import Kind, Type
from prejoin.workload.model import Attribute, Op, Workload

NOW = datetime(2028, 2, 29, 23, 59, 59, 999_999, tzinfo=UTC)
CONSTANTS: dict[Kind, tuple[Any, Any]] = {
    Kind.INTEGER: (2, 5),
    Kind.DECIMAL: (Decimal("0.5"), Decimal(9)),
    Kind.STRING: ("b", "d"),
    Kind.DATETIME: (NOW, NOW.replace(year=2029, day=1)),
    Kind.DATE: (date(2028, 2, 28), date(2028, 2, 29)),
    Kind.UUID: (UUID(int=2), UUID(int=5)),
    Kind.ULID: ("01ARZ3NDEKTSV4RRFFQ69G5FA0", "01ARZ3NDEKTSV4RRFFQ69G5FAZ"),
}
ORDERED = (Op.EQ, Op.NE, Op.LT, Op.LE, Op.GT, Op.GE)
ITEM, INPUT = ("item",), ("input",)


def values(kind: Kind, *constraints: Any, unknowns: Sequence[Any] = (ITEM, INPUT)) -> dict[Any, Any]:
    attribute = Attribute("a", Type(kind))
    generator = DataGenerator(Workload(), NOW, edge_values=True)
    return solve(constraints, {one: Unknown([attribute]) for one in unknowns}, generator.value, generator.bounds)


@pytest.mark.parametrize("kind", CONSTANTS)
@pytest.mark.parametrize("is_violated", [False, True])
def test_every_comparison_with_constants_can_be_true_and_false(kind: Kind, is_violated: bool) -> None:
    low, high = CONSTANTS[kind]
    cases: Sequence[tuple[Op, list[Any]]] = [
        *((op, [low]) for op in ORDERED),
        (Op.BETWEEN, [low, high]),
        (Op.IN, [low, high]),
    ]
    for op, constants in cases:
        found = values(kind, comparison(f"a {op}", op, [ITEM], constants, is_violated))[ITEM]
        assert compare(op, found, constants) is not is_violated


@pytest.mark.parametrize("kind", CONSTANTS)
def test_two_comparisons_hold_together_or_contradict(kind: Kind) -> None:
    """Of an item with an input and of the input with a constant: some value is always left."""
    constant = CONSTANTS[kind][0]
    for first, second in product(ORDERED, ORDERED):
        one = comparison(f"item {first} input", first, [ITEM, INPUT], [])
        other = comparison(f"input {second} constant", second, [INPUT], [constant])
        found = values(kind, one, other)
        assert compare(first, found[ITEM], [found[INPUT]])
        assert compare(second, found[INPUT], [constant])


@pytest.mark.parametrize("kind", CONSTANTS)
def test_a_contradiction_names_both_conditions(kind: Kind) -> None:
    low, high = CONSTANTS[kind]
    with pytest.raises(ContradictionError, match=r"`a < low` and `a > high` contradict each other"):
        values(
            kind,
            comparison("a < low", Op.LT, [ITEM], [low]),
            comparison("a <> low", Op.NE, [ITEM], [low]),
            comparison("a > high", Op.GT, [ITEM], [high]),
        )


@pytest.mark.parametrize("kind", CONSTANTS)
@pytest.mark.parametrize("length", [2, 5, 12])
def test_a_chain_of_comparisons_has_values(kind: Kind, length: int) -> None:
    """`a0 < a1`, `a1 < a2` and so on need as many different values as there are unknowns."""
    chain = [("a", number) for number in range(length)]
    below = [comparison(f"{one} < {other}", Op.LT, [one, other], []) for one, other in pairwise(chain)]
    found = values(kind, *reversed(below), unknowns=chain)
    assert all(found[one] < found[other] for one, other in pairwise(chain))


@pytest.mark.parametrize("kind", [Kind.DECIMAL, Kind.STRING, Kind.DATETIME])
def test_several_values_lie_between_two_constants(kind: Kind) -> None:
    low, high = {**CONSTANTS, Kind.DECIMAL: (Decimal(3), Decimal(4))}[kind]
    chain = [("a", number) for number in range(4)]
    constraints = [comparison("below", Op.LT, [one, other], []) for one, other in pairwise(chain)]
    constraints += [comparison("low", Op.GT, [chain[0]], [low]), comparison("high", Op.LT, [chain[-1]], [high])]
    found = values(kind, *constraints, unknowns=chain)
    assert low < found[chain[0]] < found[chain[1]] < found[chain[2]] < found[chain[3]] < high


@pytest.mark.parametrize("broken", range(8))
def test_one_of_many_comparisons_with_the_same_inputs_can_be_broken(broken: int) -> None:
    low, high = ("low",), ("high",)
    items = [("a", number) for number in range(8)]
    constraints = [comparison(f"{one} >= low", Op.GE, [one, low], []) for one in items]
    constraints += [comparison(f"{one} <= high", Op.LE, [one, high], [], one == items[broken]) for one in items]
    found = values(Kind.INTEGER, *constraints, unknowns=[low, high, *items])
    assert [one for one in items if found[one] > found[high]] == [items[broken]]
