"""Conditions of the client as code: comparisons, and the lambda that joins them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import assert_never

from prejoin.render.python.context import RenderContext
from prejoin.render.python.layout import Group, Noted, Part, call, flat, listing, string, with_prefix
from prejoin.render.python.values import annotation, constant_text, moment_text
from prejoin.types import Kind
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

_LOOP_REMARK = "noqa: B023"
"""The rule of linters against functions that use the variable of a loop: it may have changed when they are called."""
_SIGN = {Op.EQ: "==", Op.NE: "!=", Op.LT: "<", Op.LE: "<=", Op.GT: ">", Op.GE: ">="}


def value_text(value: Value, attribute: Attribute, module: RenderContext) -> str:
    """A constant, or a time relative to now, as code."""
    if value.now is not None:
        return moment_text(value, attribute, module.imports)
    return constant_text(value.const or "", attribute, module.imports)


def as_lambda(tests: Sequence[Part], is_looped: bool = False) -> Part:
    """A lambda of an item. In a loop it uses the loop's variables, and is called before these change."""
    if is_looped:
        return _looped_lambda(tests)
    first = tests[0]
    if len(tests) == 1 and isinstance(first, Group):
        return replace(first, head=f"lambda o: {first.head}", loose=first.head == "(")
    return Group("lambda o: (", _operands("&", tests), ")", commas=False, loose=True, has_operators=True)


def _looped_lambda(tests: Sequence[Part]) -> Part:
    """A lambda with a remark for linters in each line."""
    if len(tests) == 1:
        return Noted(f"lambda o: {flat(tests[0])}", _LOOP_REMARK)
    operands: list[Part] = []
    for test in tests:
        operator = "& " if operands else ""
        operands.append(Noted(f"{operator}{_parenthesize(test, tests)}", _LOOP_REMARK))
    return Group("lambda o: (", tuple(operands), ")", commas=False)


def test_part(test: Test, leaf_tests: Callable[[Leaf], Sequence[Part]], module: RenderContext) -> Part:
    """A condition of the client, `(a) | (b)`, from the code of its leaves. A leaf may be several tests together."""
    match test:
        case Presence() | Absence() | Comparison():
            return combine("&", leaf_tests(test))
        case AnyOf():
            return combine("|", [test_part(part, leaf_tests, module) for part in test.parts])
        case AllOf():
            return combine("&", [test_part(part, leaf_tests, module) for part in test.parts])
        case Negation():
            module.imports.name("prejoin", "not_")
            part = test_part(test.part, leaf_tests, module)
            # `not` cannot be overloaded: Python makes a bool of it, and the recorder would lose the condition.
            if isinstance(part, Group) and part.head == "(":
                return replace(part, head="not_(")
            return call("not_", part)
        case _:
            assert_never(test)


def combine(operator: str, tests: Sequence[Part]) -> Part:
    """Tests with an operator between them, in parentheses: `((a) | (b))`."""
    if len(tests) == 1:
        return tests[0]
    return Group("(", _operands(operator, tests), ")", commas=False, has_operators=True)


def _operands(operator: str, tests: Sequence[Part]) -> tuple[Part, ...]:
    """The tests, all but the first with the operator before them."""
    first, *further = tests
    return (_operand(first, tests, ""), *(_operand(test, tests, f"{operator} ") for test in further))


def _operand(test: Part, tests: Sequence[Part], operator: str) -> Part:
    """A test after an operator. One that consists of several may be on several lines."""
    if isinstance(test, Group) and test.has_operators:
        return with_prefix(operator, test)
    return f"{operator}{_parenthesize(test, tests)}"


def any_of(tests: Sequence[Part]) -> Part:
    """A test that an item passes if it passes one of these: `(a) | (b)`."""
    return tests[0] if len(tests) == 1 else " | ".join(_parenthesize(test, tests) for test in tests)


def _parenthesize(test: Part, tests: Sequence[Part]) -> str:
    """A test beside others, in parentheses if it is a comparison: `&` binds tighter."""
    return flat(test) if len(tests) == 1 or isinstance(test, Group) else f"({flat(test)})"


_OPPOSITE = {Op.EQ: "!=", Op.NE: "==", Op.LT: ">=", Op.LE: ">", Op.GT: "<=", Op.GE: "<"}


def failed_comparison(
    op: Op, operand: str, values: Sequence[str], attribute: Attribute, has_params: bool = False
) -> str:
    """The opposite of a comparison, in Python: when it is true, DynamoDB would find the comparison false.

    What is absent is unlike everything: `<>` is true of it, every other comparison is false. `has_params` is whether
    the values are parameters; for `in`, one parameter that is a list.
    """
    kind = attribute.type.kind
    match op:
        # DynamoDB has no empty set: it is an absent attribute.
        case Op.EXISTS:
            return f"not {operand}" if kind is Kind.SET else f"{operand} is None"
        case Op.NOT_EXISTS:
            return operand if kind is Kind.SET else f"{operand} is not None"
        case Op.EQ | Op.NE if kind is Kind.BOOLEAN and not has_params:
            return f"{operand} {'is not' if op is Op.EQ else 'is'} {values[0]}"
        case Op.EQ | Op.NE:
            return f"{operand} {_OPPOSITE[op]} {values[0]}"
        case Op.LT | Op.LE | Op.GT | Op.GE:
            opposite = f"{operand} {_OPPOSITE[op]} {values[0]}"
        case Op.IN:
            # A parameter is one list; constants are listed here.
            opposite = f"{operand} not in {values[0]}" if has_params else _not_one_of(operand, values)
        case Op.BETWEEN:
            opposite = f"not {values[0]} <= {operand} <= {values[1]}"
        case Op.BEGINS_WITH:
            opposite = f"not {_stored_text(operand, attribute)}.startswith({values[0]})"
        case Op.CONTAINS:
            opposite = f"{values[0]} not in {operand}"
        case _:
            assert_never(op)
    # Python cannot compare None with a value; DynamoDB finds the comparison false.
    return f"{operand} is None or {opposite}" if attribute.optional else opposite


def _not_one_of(operand: str, constants: Sequence[str]) -> str:
    return f"{operand} != {constants[0]}" if len(constants) == 1 else f"{operand} not in ({', '.join(constants)})"


def failed_test(test: Test, failed_leaf: Callable[[Leaf], str]) -> str:
    """The opposite of a condition, in Python, from the opposites of its leaves."""
    match test:
        case Presence() | Absence() | Comparison():
            return failed_leaf(test)
        # De Morgan: "a or b" fails where both fail.
        case AnyOf():
            return " and ".join(f"({failed_test(part, failed_leaf)})" for part in test.parts)
        case AllOf():
            return " or ".join(f"({failed_test(part, failed_leaf)})" for part in test.parts)
        case Negation():
            return f"not ({failed_test(test.part, failed_leaf)})"
        case _:
            assert_never(test)


def _stored_text(operand: str, attribute: Attribute) -> str:
    """The text as which a value is stored, as code."""
    match attribute.type.kind:
        case Kind.DATETIME:
            return f"{operand}.isoformat()"
        case Kind.DATE | Kind.UUID:
            return f"str({operand})"
        case (
            Kind.STRING
            | Kind.NUMBER
            | Kind.INTEGER
            | Kind.DECIMAL
            | Kind.BOOLEAN
            | Kind.BINARY
            | Kind.ULID
            | Kind.LIST
            | Kind.MAP
            | Kind.SET
            | Kind.ENUM
            | Kind.CONTENT
        ):
            return operand
        case _:
            assert_never(attribute.type.kind)


def comparison(
    op: Op, field: str, values: Sequence[str], attribute: Attribute, module: RenderContext, has_params: bool = False
) -> Part:
    """A comparison in a condition of the client.

    `has_params` is whether the values are parameters, and not constants; for `in`, one parameter that is a list.
    """
    at = f"o.{field}"
    match op:
        case Op.LT | Op.LE | Op.GT | Op.GE:
            return f"{recorded_attribute(field, attribute, module)} {_SIGN[op]} {values[0]}"
        case Op.IN:
            module.imports.name("prejoin", "one_of")
            return call("one_of", at, values[0] if has_params else listing(values))
        case Op.NOT_EXISTS:
            # Linters take `== None` for a mistake, and `is None` is never true of the recorder.
            module.imports.name("operator", "eq")
            return call("eq", at, "None")
        case Op.EQ | Op.NE if attribute.type.kind is Kind.BOOLEAN and not has_params:
            # Linters take `== True` for a mistake, which it would be of anything but a recorder.
            function = "eq" if op is Op.EQ else "ne"
            module.imports.name("operator", function)
            return call(function, at, values[0])
        case Op.EQ | Op.NE:
            return f"{at} {_SIGN[op]} {values[0]}"
        case Op.BETWEEN | Op.BEGINS_WITH | Op.CONTAINS | Op.EXISTS:
            function = op.value  # the client's functions have the names of the operators
            module.imports.name("prejoin", function)
            return call(function, at, *values)
        case _:
            assert_never(op)


def recorded_attribute(field: str, attribute: Attribute, module: RenderContext) -> str:
    """An attribute of the recorder, as code, whose order is compared."""
    if not attribute.optional:
        return f"o.{field}"
    # To a type checker what may be None cannot be compared; to the recorder it is an attribute like others.
    module.imports.name("typing", "cast")
    return f"cast({string(annotation(attribute.type, module.imports))}, o.{field})"
