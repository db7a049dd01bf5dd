"""Conditions of writes as trees: their leaves, what they are about, and what is true of an absent item."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import TypeVar, assert_never, overload

from msgspec.structs import replace

from prejoin.workload.model import (
    Absence,
    AllOf,
    AnyOf,
    Comparison,
    Condition,
    Leaf,
    Negation,
    Op,
    Presence,
    Test,
    Uniqueness,
    Value,
    Write,
)

RELATIONS = frozenset({Op.EQ, Op.NE, Op.LT, Op.LE, Op.GT, Op.GE})
"""The operators that compare two attributes."""
LeafOf = TypeVar("LeafOf", Presence, Absence, Comparison)


def tests_of(write: Write) -> tuple[Test, ...]:
    """The conditions of a write that are true or false of an item or an input, all but those of unique values."""
    return tuple(check for check in write.checks if not isinstance(check, Uniqueness))


def leaves(condition: Condition) -> Iterator[Leaf]:
    """The comparisons and the tests of presence in a condition."""
    match condition:
        case Presence() | Absence() | Comparison():
            yield condition
        case AnyOf() | AllOf():
            for part in condition.parts:
                yield from leaves(part)
        case Negation():
            yield from leaves(condition.part)
        case Uniqueness():
            return
        case _:
            assert_never(condition)


def all_leaves(write: Write) -> Iterator[Leaf]:
    """The comparisons and the tests of presence in all conditions of a write."""
    for condition in write.checks:
        yield from leaves(condition)


def facts(write: Write) -> tuple[Leaf, ...]:
    """The comparisons and the tests of presence that are true whenever the write is done: not those beside an `or`."""
    return tuple(check for check in write.checks if isinstance(check, Presence | Absence | Comparison))


@overload
def with_leaves(condition: Uniqueness, change: Callable[[Leaf], Test]) -> Uniqueness: ...
@overload
def with_leaves(condition: Test, change: Callable[[Leaf], Test]) -> Test: ...
@overload
def with_leaves(condition: Condition, change: Callable[[Leaf], Test]) -> Condition: ...
def with_leaves(condition: Condition, change: Callable[[Leaf], Test]) -> Condition:
    """A condition with other leaves."""
    match condition:
        case Presence() | Absence() | Comparison():
            return change(condition)
        case AnyOf() | AllOf():
            return replace(condition, parts=tuple(with_leaves(part, change) for part in condition.parts))
        case Negation():
            return replace(condition, part=with_leaves(condition.part, change))
        case Uniqueness():
            return condition
        case _:
            assert_never(condition)


def with_values(leaf: Leaf, change: Callable[[Value], Value]) -> Leaf:
    """A leaf with other values that it compares with."""
    if not isinstance(leaf, Comparison):
        return leaf
    return replace(leaf, values=tuple(map(change, leaf.values)))


def entities_of(condition: Condition) -> set[str]:
    """The entities that a condition is about; an empty name stands for the first one of the pattern."""
    if isinstance(condition, Uniqueness):
        return {condition.entity}
    return {leaf.entity for leaf in leaves(condition)}


def params_of(condition: Condition) -> set[str]:
    """The inputs that a condition compares with."""
    return {value.param for leaf in leaves(condition) for value in values_of(leaf) if value.param is not None}


def values_of(leaf: Leaf) -> tuple[Value, ...]:
    """The values that a leaf compares with."""
    return leaf.values if isinstance(leaf, Comparison) else ()


def operator_of(leaf: Leaf) -> Op:
    """The operator of a leaf, `exists` and `not exists` included."""
    match leaf:
        case Presence():
            return Op.EXISTS
        case Absence():
            return Op.NOT_EXISTS
        case Comparison():
            return leaf.op
        case _:
            assert_never(leaf)


def is_of_whole_item(condition: Condition) -> bool:
    """Whether a condition says only that an item exists, or that it does not."""
    return isinstance(condition, Presence | Absence) and not condition.attribute


def holds_if_absent(test: Test) -> bool:
    """Whether a condition is true of an item that does not exist: DynamoDB finds it unlike every value."""
    match test:
        case Presence():
            return False
        case Absence():
            return True
        case Comparison():
            return test.op is Op.NE
        case AnyOf():
            return any(map(holds_if_absent, test.parts))
        case AllOf():
            return all(map(holds_if_absent, test.parts))
        case Negation():
            return not holds_if_absent(test.part)
        case _:
            assert_never(test)


def opposite(leaf: Leaf) -> Test:
    """What is true where a leaf is false."""
    match leaf:
        case Presence():
            return Absence(entity=leaf.entity, attribute=leaf.attribute, by=leaf.by)
        case Absence():
            return Presence(entity=leaf.entity, attribute=leaf.attribute, by=leaf.by)
        case Comparison():
            return Negation(leaf)
        case _:
            assert_never(leaf)


def ways_to_hold(test: Test, is_true: bool = True) -> Iterator[tuple[tuple[Leaf, bool], ...]]:
    """The ways in which a condition is true, or false: each has the leaves that decide, with their truth.

    `status = FREE or heldUntil < now` is true in two ways.
    """
    match test:
        case Presence() | Absence() | Comparison():
            yield ((test, is_true),)
        case AnyOf() | AllOf():
            if isinstance(test, AnyOf) is is_true:
                for part in test.parts:
                    yield from ways_to_hold(part, is_true)
            else:
                for ways in product(*(ways_to_hold(part, is_true) for part in test.parts)):
                    yield tuple(literal for way in ways for literal in way)
        case Negation():
            yield from ways_to_hold(test.part, not is_true)
        case _:
            assert_never(test)
