"""Conditions of the client as code: comparisons, and the lambda that joins them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import assert_never

from prejoin.render.python.layout import Group, Noted, Part, call, flat, listing, prefixed, string
from prejoin.render.python.method import RenderContext
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

_SIGN = {Op.EQ: "==", Op.NE: "!=", Op.LT: "<", Op.LE: "<=", Op.GT: ">", Op.GE: ">="}


def value_text(value: Value, attribute: Attribute, module: RenderContext) -> str:
    """A constant, or a time relative to now, as code."""
    if value.now is not None:
        return moment_text(value, attribute, module.imports)
    return constant_text(value.const or "", attribute, module.imports)


def as_lambda(tests: Sequence[Part], looped: bool = False) -> Part:
    """A lambda of an item. In a loop it uses the loop's variables, and is called before these change."""
    first = tests[0]
    if looped:
        noted = [Noted(f"{'& ' * bool(at)}{_apart(test, tests)}", "noqa: B023") for at, test in enumerate(tests)]
        if len(tests) == 1:
            return Noted(f"lambda o: {noted[0].code}", noted[0].remark)
        return Group("lambda o: (", tuple(noted), ")", commas=False)
    if len(tests) == 1 and isinstance(first, Group):
        return replace(first, head=f"lambda o: {first.head}", loose=first.head == "(")
    operands = tuple(_operand(test, tests, "& " * bool(at)) for at, test in enumerate(tests))
    return Group("lambda o: (", operands, ")", commas=False, loose=True, has_operators=True)


def test_part(test: Test, leaf_tests: Callable[[Leaf], Sequence[Part]], module: RenderContext) -> Part:
    """A condition of the client, `(a) | (b)`, from the code of its leaves. A leaf may be several tests together."""
    match test:
        case Presence() | Absence() | Comparison():
            return combined("&", leaf_tests(test))
        case AnyOf():
            return combined("|", [test_part(part, leaf_tests, module) for part in test.parts])
        case AllOf():
            return combined("&", [test_part(part, leaf_tests, module) for part in test.parts])
        case Negation():
            module.imports.name("prejoin", "not_")
            part = test_part(test.part, leaf_tests, module)
            if isinstance(part, Group) and part.head == "(":
                return replace(part, head="not_(")
            return call("not_", part)
        case _:
            assert_never(test)


def combined(operator: str, tests: Sequence[Part]) -> Part:
    """Tests with an operator between them, in parentheses: `((a) | (b))`."""
    if len(tests) == 1:
        return tests[0]
    operands = tuple(_operand(test, tests, f"{operator} " * bool(at)) for at, test in enumerate(tests))
    return Group("(", operands, ")", commas=False, has_operators=True)


def _operand(test: Part, tests: Sequence[Part], operator: str) -> Part:
    """A test after an operator. One that consists of several may be on several lines."""
    if isinstance(test, Group) and test.has_operators:
        return prefixed(operator, test)
    return f"{operator}{_apart(test, tests)}"


def any_of(tests: Sequence[Part]) -> Part:
    """A test that an item passes if it passes one of these: `(a) | (b)`."""
    return tests[0] if len(tests) == 1 else " | ".join(_apart(test, tests) for test in tests)


def _apart(test: Part, tests: Sequence[Part]) -> str:
    """A test beside others, in parentheses if it is a comparison: `&` binds tighter."""
    return flat(test) if len(tests) == 1 or isinstance(test, Group) else f"({flat(test)})"


_OPPOSITE = {Op.EQ: "!=", Op.NE: "==", Op.LT: ">=", Op.LE: ">", Op.GT: "<=", Op.GE: "<"}


def failed_comparison(op: Op, left: str, values: Sequence[str], attribute: Attribute, given: bool = False) -> str:
    """The opposite of a comparison, in Python: when it is true, DynamoDB would find the comparison false.

    What is absent is unlike everything: `<>` is true of it, every other comparison is false. `given` is whether the
    values are parameters; for `in`, one parameter that is a list.
    """
    kind = attribute.type.kind
    match op:
        # DynamoDB has no empty set: it is an absent attribute.
        case Op.EXISTS:
            return f"not {left}" if kind is Kind.SET else f"{left} is None"
        case Op.NOT_EXISTS:
            return left if kind is Kind.SET else f"{left} is not None"
        case Op.EQ | Op.NE if kind is Kind.BOOLEAN and not given:
            return f"{left} {'is not' if op is Op.EQ else 'is'} {values[0]}"
        case Op.EQ | Op.NE:
            return f"{left} {_OPPOSITE[op]} {values[0]}"
        case Op.IN:
            several = values[0] if given else f"({', '.join(values)})"
            failed = f"{left} != {values[0]}" if len(values) == 1 and not given else f"{left} not in {several}"
        case Op.BETWEEN:
            failed = f"not {values[0]} <= {left} <= {values[1]}"
        case Op.BEGINS_WITH:
            failed = f"not {_stored_text(left, attribute)}.startswith({values[0]})"
        case Op.CONTAINS:
            failed = f"{values[0]} not in {left}"
        case Op.LT | Op.LE | Op.GT | Op.GE:
            failed = f"{left} {_OPPOSITE[op]} {values[0]}"
        case _:
            assert_never(op)
    return f"{left} is None or {failed}" if attribute.optional else failed


def failed_test(test: Test, failed_leaf: Callable[[Leaf], str]) -> str:
    """The opposite of a condition, in Python, from the opposites of its leaves."""
    match test:
        case Presence() | Absence() | Comparison():
            return failed_leaf(test)
        case AnyOf():
            return " and ".join(f"({failed_test(part, failed_leaf)})" for part in test.parts)
        case AllOf():
            return " or ".join(f"({failed_test(part, failed_leaf)})" for part in test.parts)
        case Negation():
            return f"not ({failed_test(test.part, failed_leaf)})"
        case _:
            assert_never(test)


def _stored_text(left: str, attribute: Attribute) -> str:
    """The text as which a value is stored, as code."""
    match attribute.type.kind:
        case Kind.DATETIME:
            return f"{left}.isoformat()"
        case Kind.DATE | Kind.UUID:
            return f"str({left})"
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
            return left
        case _:
            assert_never(attribute.type.kind)


def comparison(
    op: Op, field: str, values: Sequence[str], attribute: Attribute, module: RenderContext, given: bool = False
) -> Part:
    """A comparison in a condition of the client.

    `given` is whether the values are parameters, and not constants; for `in`, one parameter that is a list.
    """
    at = f"o.{field}"
    match op:
        case Op.LT | Op.LE | Op.GT | Op.GE:
            return f"{recorded_attribute(field, attribute, module)} {_SIGN[op]} {values[0]}"
        case Op.IN:
            module.imports.name("prejoin", "one_of")
            return call("one_of", at, values[0] if given else listing(values))
        case Op.NOT_EXISTS:
            module.imports.name("operator", "eq")
            return call("eq", at, "None")
        case Op.EQ | Op.NE if attribute.type.kind is Kind.BOOLEAN and not given:
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
