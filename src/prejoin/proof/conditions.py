"""Whether a condition of the document is true: the oracle of the proof, apart from what renders conditions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, assert_never

from prejoin.proof.brute_force import compare
from prejoin.workload.model import Absence, AllOf, AnyOf, Comparison, Leaf, Negation, Op, Presence, Test


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


def is_leaf_true(leaf: Leaf, value: Any, compared: list[Any]) -> bool:
    """Whether a leaf is true of an attribute's value, None for an absent one, and of the values it is compared with.

    DynamoDB finds an absent attribute unlike everything, and every other comparison with it false.
    """
    if not isinstance(leaf, Comparison):
        return (value is None) is isinstance(leaf, Absence)
    if leaf.op is Op.IN and len(compared) == 1 and isinstance(compared[0], list):
        compared = compared[0]
    if value is None or any(one is None for one in compared):
        return leaf.op is Op.NE
    try:
        return compare(leaf.op, value, compared)
    except TypeError:
        return False


def is_true_of_nothing(test: Test) -> bool:
    """Whether a condition is true of an item that does not exist."""
    return is_true(test, lambda leaf: is_leaf_true(leaf, None, []))


def is_decisive(test: Test, leaf: Leaf, truths: Callable[[Leaf], bool]) -> bool:
    """Whether a condition would be the opposite if this leaf alone were."""
    turned = is_true(test, lambda one: truths(one) is not (one is leaf))
    return turned is not is_true(test, truths)
