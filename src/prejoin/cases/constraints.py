"""The unknowns of a case and the constraints on their values, for which `search` finds values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from prejoin.cases.conditions import compare, elements_of
from prejoin.workload.model import Attribute, Op

Variable = tuple[Any, ...]
"""The name of an unknown."""


class ContradictionError(Exception):
    """No values satisfy all constraints, or too many would have to be tried to know."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a condition: the variables that it is about, and its test."""

    variables: tuple[Variable, ...]
    test: Callable[..., bool]


@dataclass(frozen=True, slots=True)
class Constraint:
    """A relation that the values of some unknowns must have."""

    text: str
    variables: tuple[Variable, ...]
    test: Callable[..., bool]
    """Gets the value of each variable, None for an absent one."""
    constants: tuple[Any, ...] = ()
    """The values that the test compares with."""
    is_preferred: bool = False
    """Whether it is only a wish: a status should not be set to what it is already."""
    parts: tuple[Part, ...] = ()
    """The tests that alone decide a condition with parts; none if only the test itself is known."""


@dataclass(slots=True)
class Unknown:
    """What is known of a variable before its value is chosen: the attributes that have it."""

    attributes: list[Attribute] = field(default_factory=list)
    is_optional: bool = False
    """Whether the value may be absent."""
    only_values: tuple[Any, ...] | None = None
    """The only values that it may have; None for all of its type."""
    usual: list[Any] = field(default_factory=list)
    """Values that are tried first."""
    is_list: bool = False
    """Whether it is a list of such values: the input of `status in statuses`."""


def comparison(
    text: str,
    op: Op,
    variables: Sequence[Variable],
    constants: Sequence[Any],
    is_violated: bool = False,
    is_preferred: bool = False,
) -> Constraint:
    """`status = OPEN` as a constraint: the first variable is compared with the others and with the constants."""

    def test(value: Any, *operand_values: Any) -> bool:
        operands = elements_of(op, [*constants, *operand_values])
        if any(operand is None for operand in operands):
            return False
        try:
            return compare(op, value, operands) is not is_violated
        except TypeError:
            return False

    return Constraint(text, tuple(variables), test, tuple(constants), is_preferred)
