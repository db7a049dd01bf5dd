"""Conditions of a write that can never be true together: `status = OPEN; status = DONE`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import combinations, islice, pairwise, product
from typing import Any, assert_never
from uuid import UUID

from prejoin.types import Kind
from prejoin.workload import codes
from prejoin.workload.checks.reporter import Reporter
from prejoin.workload.conditions import leaves, values_of, ways_to_hold
from prejoin.workload.constants import constant
from prejoin.workload.grammar.writes import write_checks
from prejoin.workload.model import Absence, Attribute, Comparison, Entity, Leaf, Op, Presence, Test, Write
from prejoin.workload.program.input_types import attribute_of_input
from prejoin.workload.program.resolved_write import resolve_write

_MOST_WAYS = 64
"""The most ways to be true that are tried of a condition."""


def check_contradictions(r: Reporter) -> None:
    for path, pattern in r.patterns():
        if not isinstance(pattern, Write):
            continue
        inputs = pattern.input_names
        pairs = {
            (write_checks((first,), inputs), write_checks((second,), inputs)): attribute.name
            for first, second, attribute in _contradictions(r, pattern)
        }
        for (first_text, second_text), name in pairs.items():
            message = f"`{first_text}` and `{second_text}` are never true together"
            fix = f"leave one of them out; or write `{first_text} or {second_text}`"
            r.say(codes.CONTRADICTION, (*path, "checks"), message, fix, name)


def _contradictions(r: Reporter, write: Write) -> Iterator[tuple[Test, Test, Attribute]]:
    """The pairs of conditions that exclude each other, with the attribute that they are about."""
    resolved_write = resolve_write(r.workload, write)
    # Only conditions on the same item can exclude each other.
    groups: list[tuple[Sequence[Test], Entity | None]] = [(resolved_write.input_conditions, None)]
    groups += [(step.conditions, step.entity) for step in resolved_write.steps]
    groups += [(item.conditions, item.entity) for item in resolved_write.checked]
    for tests, entity in groups:
        for first, second in combinations(tests, 2):
            names = {leaf.attribute for test in (first, second) for leaf in leaves(test)}
            name = names.pop() if len(names) == 1 else ""
            if entity is None:
                attribute = attribute_of_input(r.workload, write, name) if name else None
            else:
                attribute = entity.attribute(name)
            if attribute is not None and _exclude_each_other(first, second, attribute):
                yield first, second, attribute


def _exclude_each_other(first: Test, second: Test, attribute: Attribute) -> bool:
    """Whether no value of an attribute satisfies both conditions. Only comparisons with constants are decided."""
    # It is enough to try the constants, the values just beside them, and one without any: between two neighbouring
    # constants all values answer every comparison alike. `n > 3` and `n < 4` exclude each other for integers only.
    constants: dict[Leaf, list[Any]] = {}
    for leaf in (*leaves(first), *leaves(second)):
        values = values_of(leaf)
        if any(value.const is None for value in values):
            return False
        try:
            constants[leaf] = [constant(value.const or "", attribute.type) for value in values]
        except (ValueError, ArithmeticError):
            return False  # it is reported
    compared_values = [value for values in constants.values() for value in values]
    candidates = _candidates(attribute, compared_values)
    if not candidates:
        return False

    def is_true(test: Test, value: Any) -> bool:
        # The number of ways is the product of those of the parts, so that only the first ones are tried.
        ways = islice(ways_to_hold(test), _MOST_WAYS)
        return any(all(_holds(leaf, value, constants[leaf]) is truth for leaf, truth in way) for way in ways)

    return not any(is_true(first, value) and is_true(second, value) for value in candidates)


def _candidates(attribute: Attribute, compared_values: Sequence[Any]) -> list[Any]:
    """Values of which some satisfies two conditions, if any does: the constants, those beside them, and none.

    The list is empty for a type whose conditions are not decided.
    """
    # One piece, because it is a table: a line or two for each type, and no type may be missing.
    kind = attribute.type.kind
    match kind:
        case Kind.ENUM:
            values: Iterable[Any] = attribute.type.values
        case Kind.BOOLEAN:
            values = (False, True)
        case Kind.INTEGER:
            values = [number + step for number in compared_values for step in range(-2, 3)] or [0]
        case Kind.NUMBER | Kind.DECIMAL:
            numbers = sorted(map(Decimal, compared_values))
            midpoints = [(low + high) / 2 for low, high in pairwise(numbers)]
            values = [*numbers, *midpoints, *(number + step for number in numbers for step in (-2, -1, 1, 2))] or [0]
        case Kind.STRING | Kind.ULID:
            # A text that begins with or contains another, and the next one in the order.
            concatenations = [
                f"{first}{gap}{second}"
                for first, second in product(compared_values, compared_values)
                for gap in ("", "\0")
            ]
            successors = [f"{text}{gap}" for text in compared_values for gap in ("", "\0", "\0\0")]
            values = ["", "\0", *successors, *concatenations, *(f"\0{text}" for text in compared_values)]
        case Kind.DATE:
            values = [day + timedelta(days=step) for day in compared_values for step in range(-2, 3)] or [
                date(2026, 1, 1)
            ]
        case Kind.DATETIME:
            neighbours = [moment + timedelta(microseconds=step) for moment in compared_values for step in range(-2, 3)]
            values = neighbours or [datetime(2026, 1, 1)]
        case Kind.UUID:
            near_numbers = {value.int + step for value in compared_values for step in range(-2, 3)} or {0}
            values = [UUID(int=number) for number in near_numbers if 0 <= number < 2**128]
        case Kind.BINARY | Kind.LIST | Kind.SET | Kind.MAP | Kind.CONTENT:
            return []
        case _:
            assert_never(kind)
    return [*values, None]


def _holds(leaf: Leaf, value: Any, constants: Sequence[Any]) -> bool:
    """Whether a part of a condition is true of a value; of none, only `not exists` and `<>` are."""
    match leaf:
        case Presence():
            return value is not None
        case Absence():
            return value is None
        case Comparison():
            return leaf.op is Op.NE if value is None else _compares(leaf.op, value, constants)
        case _:
            assert_never(leaf)


def _compares(op: Op, value: Any, constants: Sequence[Any]) -> bool:
    first = constants[0] if constants else None
    match op:
        case Op.EQ:
            return bool(value == first)
        case Op.NE:
            return bool(value != first)
        case Op.LT:
            return bool(value < first)
        case Op.LE:
            return bool(value <= first)
        case Op.GT:
            return bool(value > first)
        case Op.GE:
            return bool(value >= first)
        case Op.BETWEEN:
            return bool(first <= value <= constants[1])
        case Op.IN:
            return value in constants
        case Op.BEGINS_WITH:
            return str(value).startswith(str(first))
        case Op.CONTAINS:
            return str(first) in str(value)
        case Op.EXISTS | Op.NOT_EXISTS:
            raise AssertionError(f"{op} is no comparison")
        case _:
            assert_never(op)
