"""Whether a condition of the document is true: the oracle of the proof, apart from what renders conditions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, assert_never

from prejoin.types import Kind
from prejoin.workload.constants import constant
from prejoin.workload.model import (
    Absence,
    AllOf,
    AnyOf,
    Attribute,
    Comparison,
    Leaf,
    Negation,
    Op,
    Presence,
    Test,
    Value,
)


def is_true(test: Test, is_leaf_true: Callable[[Leaf], bool]) -> bool:
    """Whether a condition is true, by the truth of its leaves."""
    match test:
        case Presence() | Absence() | Comparison():
            return is_leaf_true(test)
        case AnyOf():
            return any(is_true(part, is_leaf_true) for part in test.parts)
        case AllOf():
            return all(is_true(part, is_leaf_true) for part in test.parts)
        case Negation():
            return not is_true(test.part, is_leaf_true)
        case _:
            assert_never(test)


def is_leaf_true(leaf: Leaf, value: Any, operands: list[Any]) -> bool:
    """Whether a leaf is true of an attribute's value, None for an absent one, and of the values it is compared with.

    DynamoDB finds an absent attribute unlike everything, and every other comparison with it false.
    """
    if not isinstance(leaf, Comparison):
        return (value is None) is isinstance(leaf, Absence)
    operands = elements_of(leaf.op, operands)
    if value is None or any(operand is None for operand in operands):
        return leaf.op is Op.NE
    try:
        return compare(leaf.op, value, operands)
    except TypeError:
        return False


def elements_of(op: Op, operands: list[Any]) -> list[Any]:
    """What a value is compared with: of `status in statuses`, where the only operand is a list, its elements.

    >>> elements_of(Op.IN, [["OPEN", "DONE"]]), elements_of(Op.EQ, [["OPEN"]])
    (['OPEN', 'DONE'], [['OPEN']])
    """
    if op is Op.IN and len(operands) == 1 and isinstance(operands[0], list):
        return operands[0]
    return operands


def is_true_of_nothing(test: Test) -> bool:
    """Whether a condition is true of an item that does not exist."""
    return is_true(test, lambda leaf: is_leaf_true(leaf, None, []))


def is_decisive(test: Test, leaf: Leaf, truths: Callable[[Leaf], bool]) -> bool:
    """Whether a condition would be the opposite if this leaf alone were."""
    truth_if_negated = is_true(test, lambda term: truths(term) is not (term is leaf))
    return truth_if_negated is not is_true(test, truths)


def compare(op: Op, value: Any, operands: Sequence[Any], is_list: bool = False) -> bool:
    """Whether a comparison is true. Of an absent attribute only `<>` is, as in DynamoDB.

    >>> compare(Op.BETWEEN, 3, (1, 5)), compare(Op.BEGINS_WITH, "Anna", ["An"])
    (True, True)
    >>> compare(Op.NE, None, ["DONE"]), compare(Op.EQ, None, ["DONE"])
    (True, False)
    """
    if value is None:
        return op in (Op.NE, Op.NOT_EXISTS)
    if is_list and op not in (Op.EXISTS, Op.NOT_EXISTS):
        return value in operands
    match op:
        case Op.EXISTS:
            return True
        case Op.NOT_EXISTS:
            return False
        case Op.IN:
            return value in operands
        case Op.EQ:
            return bool(value == operands[0])
        case Op.NE:
            return bool(value != operands[0])
        case Op.LT:
            return bool(value < operands[0])
        case Op.LE:
            return bool(value <= operands[0])
        case Op.GT:
            return bool(value > operands[0])
        case Op.GE:
            return bool(value >= operands[0])
        case Op.BETWEEN:
            return bool(operands[0] <= value <= operands[1])
        case Op.BEGINS_WITH:
            return str(value).startswith(str(operands[0]))
        case Op.CONTAINS:
            return operands[0] in value
        case _:
            assert_never(op)


def value_of(value: Value, attribute: Attribute, now: datetime, inputs: dict[str, Any] | None = None) -> Any:
    """The Python value of a constant, an input or a time, for an attribute."""
    if value.param is not None:
        return (inputs or {})[value.param]
    if value.now is not None:
        return _moment(now + timedelta(seconds=value.now), attribute)
    return constant(value.const or "", attribute.type)


def _moment(moment: datetime, attribute: Attribute) -> Any:
    match attribute.type.kind:
        case Kind.DATETIME:
            return moment.replace(microsecond=0) if attribute.ttl else moment
        case Kind.DATE:
            return moment.date()
        case Kind.STRING:
            return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
        case (
            Kind.NUMBER
            | Kind.INTEGER
            | Kind.DECIMAL
            | Kind.BOOLEAN
            | Kind.BINARY
            | Kind.UUID
            | Kind.ULID
            | Kind.LIST
            | Kind.MAP
            | Kind.SET
            | Kind.ENUM
            | Kind.CONTENT
        ):
            return int(moment.timestamp())
        case _:
            assert_never(attribute.type.kind)
