"""The candidates of a search: constants that values are compared with, values beside them, and some that are drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from itertools import combinations
from typing import Any, assert_never

from prejoin.cases.constraints import Constraint, Unknown, Variable
from prejoin.cases.neighbours import ladder, neighbours
from prejoin.types import Kind
from prejoin.workload.lookup import member_of
from prejoin.workload.model import Attribute

Bounds = Callable[[Attribute], tuple[int | None, int | None]]
"""The bounds of an attribute."""
_NUMBERS = (1, 2, 3, 0, 5, -1, 100)
_MIN_VALUES = 4
"""The least number of values that are drawn for an unknown without constants."""


class Candidates:
    """The values to try for the variables of some constraints."""

    def __init__(
        self,
        constraints: Sequence[Constraint],
        unknowns: Mapping[Variable, Unknown],
        draw: Callable[[Attribute], Any],
        bounds: Bounds,
        from_last: bool,
    ) -> None:
        self._draw = draw
        self._bounds = bounds
        self._constants: list[Any] = []
        variables: dict[Variable, None] = {}
        for constraint in constraints:
            variables |= dict.fromkeys(constraint.variables)
            self._constants += constraint.constants
        self._unknowns = {variable: unknowns[variable] for variable in variables}
        for unknown in self._unknowns.values():
            self._constants += unknown.usual
        if from_last:
            self._constants.reverse()
        self._limits = self._all_limits()
        self._is_ordered = any(not constraint.is_preferred for constraint in constraints)
        self._steps = max(len(variables), min(len(constraints), 4)) + 1
        """How many values are tried around each constant."""
        self._drawn_by_kind: dict[Kind, list[Any]] = {}
        """The members of a set are compared with values that are no sets: both have the same candidates."""

    def _all_limits(self) -> list[int]:
        limits: list[int] = []
        for unknown in self._unknowns.values():
            for attribute in unknown.attributes:
                limits += [limit for limit in self._bounds(attribute) if limit is not None]
        return limits

    def domains(self) -> dict[Variable, list[Any]]:
        """The candidates of each variable, in the order in which they are tried."""
        return {variable: self._domain(unknown) for variable, unknown in self._unknowns.items()}

    def _domain(self, unknown: Unknown) -> list[Any]:
        candidates = self._candidates(unknown)
        if unknown.is_list:
            # Lists of one element first, because a test of these is easier to read.
            candidates = [[candidate] for candidate in candidates] + [candidates[:2]]
        else:
            candidates = _distinct([*unknown.usual, *candidates])
        if unknown.only_values is None:
            candidates = [candidate for candidate in candidates if self._is_within(unknown, candidate)]
        return [*candidates, None] if unknown.is_optional else candidates

    def _is_within(self, unknown: Unknown, value: Any) -> bool:
        """Whether a value is within the bounds of all attributes that have it."""
        if not isinstance(value, int | Decimal) or isinstance(value, bool):
            return True
        for attribute in unknown.attributes:
            lowest, highest = self._bounds(attribute)
            if (lowest is not None and value < lowest) or (highest is not None and value > highest):
                return False
            if attribute.type.kind is Kind.INTEGER and value != int(value):
                return False
        return True

    def _candidates(self, unknown: Unknown) -> list[Any]:
        """The values to try, so many around each constant as there are steps."""
        if unknown.only_values is not None:
            return list(unknown.only_values)
        # The most particular attribute decides: an id needs a value that no other item has.
        attribute = next((a for a in unknown.attributes if a.id or a.unique), unknown.attributes[0])
        kind = attribute.type.kind
        match kind:
            case Kind.ENUM:
                compared_values = [value for value in self._constants if value in attribute.type.values]
                return list(dict.fromkeys((*compared_values, *attribute.type.values)))
            case Kind.BOOLEAN:
                compared_values = [value for value in self._constants if isinstance(value, bool)]
                return list(dict.fromkeys((*compared_values, False, True)))
            case Kind.SET | Kind.LIST:
                return self._collections(attribute)
            case Kind.INTEGER | Kind.NUMBER | Kind.DECIMAL if self._is_ordered:
                return self._numbers(kind)
            case (
                Kind.STRING
                | Kind.NUMBER
                | Kind.INTEGER
                | Kind.DECIMAL
                | Kind.BINARY
                | Kind.DATE
                | Kind.DATETIME
                | Kind.UUID
                | Kind.ULID
                | Kind.MAP
                | Kind.CONTENT
            ):
                return self._compared_and_drawn(attribute)
            case _:
                assert_never(kind)

    def _compared_and_drawn(self, attribute: Attribute) -> list[Any]:
        """The constants that an attribute is compared with, their neighbours, and values that are drawn."""
        kind = attribute.type.kind
        compared_values = self._constants_of(kind)
        # A date that is compared with another one needs values before and after it, and k unknowns need k of them.
        near: list[Any] = []
        for value in compared_values:
            near += neighbours(value, kind, self._steps)
        own = self._draw_values(attribute, max(_MIN_VALUES, self._steps) if kind is Kind.ULID else _MIN_VALUES)
        if kind not in self._drawn_by_kind:
            self._drawn_by_kind[kind] = _distinct(ladder(own, kind, self._steps + 1))
        shared_values = self._drawn_by_kind[kind] if self._is_ordered else []
        if attribute.id or attribute.unique:  # two items have different ones
            return _distinct([*compared_values, *near, *own, *shared_values])
        if attribute.ttl:  # an engine deletes by its own clock what has expired
            return _distinct([*own, *compared_values, *near, *shared_values])
        if kind in (Kind.UUID, Kind.ULID):  # few compare their order
            return _distinct([*compared_values, *shared_values, *own, *near])
        return _distinct([*compared_values, *near, *shared_values, *own])

    def _collections(self, attribute: Attribute) -> list[Any]:
        """Sets or lists with and without each member that is looked for."""
        member = member_of(attribute)
        kind = member.type.kind
        if kind not in self._drawn_by_kind:
            self._drawn_by_kind[kind] = self._draw_values(member, max(_MIN_VALUES, min(self._steps, 5)))
        members = _distinct([*self._constants_of(kind), *self._drawn_by_kind[kind]])
        groups = [[member] for member in members] + [list(pair) for pair in combinations(members, 2)] + [members]
        whole_collections = [value for value in self._constants if isinstance(value, set | list)]
        if attribute.type.kind is Kind.LIST:
            return [*whole_collections, *groups]
        return [*whole_collections, *map(set, groups)]

    def _numbers(self, kind: Kind) -> list[Any]:
        """Numbers around the compared ones, and around the bounds of the attributes: one less, the same, one more."""
        constants = [value for value in self._constants if isinstance(value, int | Decimal)]
        compared_values = [*constants, *self._limits]
        numbers = [*constants, *self._numbers_beside(compared_values), *self._limits, *_NUMBERS]
        if not compared_values:
            numbers += range(6, 6 + self._steps - len(_NUMBERS))
        elif kind is not Kind.INTEGER:
            numbers += self._fractions_above(compared_values)
        numbers = _distinct(numbers)
        if kind is Kind.DECIMAL:
            return [Decimal(value) for value in numbers]
        return [int(value) if value == int(value) else value for value in numbers]

    def _numbers_beside(self, values: Sequence[int | Decimal]) -> Iterator[int | Decimal]:
        for step in range(1, self._steps + 1):
            for value in values:
                yield value + step
                yield value - step

    def _fractions_above(self, values: Sequence[int | Decimal]) -> Iterator[Decimal]:
        """Numbers between each of some and the next whole one: between 3 and 4."""
        for value in values:
            for step in range(1, self._steps + 1):
                yield Decimal(value) + Decimal(step) / (self._steps + 1)

    def _constants_of(self, kind: Kind) -> list[Any]:
        return [value for value in self._constants if _is_like(value, kind)]

    def _draw_values(self, attribute: Attribute, count: int) -> list[Any]:
        return [self._draw(attribute) for _ in range(count)]


def _is_like(value: Any, kind: Kind) -> bool:
    """Whether a constant may be a value of a type: the constants are those of all variables."""
    match kind:
        case Kind.DATETIME:
            return isinstance(value, datetime)
        case Kind.DATE:
            return isinstance(value, date) and not isinstance(value, datetime)
        case Kind.INTEGER | Kind.NUMBER | Kind.DECIMAL:
            return isinstance(value, int | Decimal) and not isinstance(value, bool)
        case Kind.STRING | Kind.ULID | Kind.ENUM:
            return isinstance(value, str)
        case Kind.BINARY:
            return isinstance(value, bytes)
        case Kind.BOOLEAN | Kind.UUID | Kind.LIST | Kind.MAP | Kind.SET | Kind.CONTENT:
            return not isinstance(value, str | int | bool | Decimal)
        case _:
            assert_never(kind)


def _distinct(values: Iterable[Any]) -> list[Any]:
    distinct: list[Any] = []
    for value in values:
        if value not in distinct:
            distinct.append(value)
    return distinct
