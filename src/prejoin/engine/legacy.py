"""The parameters that DynamoDB had before expressions, translated into compiled expressions.

`Expected`, `QueryFilter` and `ScanFilter` become a condition, `AttributeUpdates` an update, `KeyConditions` the
conditions of a Query, and `AttributesToGet` a projection. From there on nothing knows which of the two a request used.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prejoin.engine.items.write_expressions import NO_EXPRESSIONS, WriteExpressions
from prejoin.engine.requests import (
    AttributeUpdate,
    ExpectedAttribute,
    LegacyCondition,
    QueryInput,
    ReadOptions,
    ScanInput,
    UpdateItemInput,
    WriteOptions,
)
from prejoin.engine.validation import Constraints
from prejoin.protocol.errors import refuse
from prejoin.protocol.expressions import (
    AttributeCondition,
    BoundCondition,
    Condition,
    DocumentPath,
    ProjectionExpression,
    Update,
)
from prejoin.protocol.expressions.apply import compile_update
from prejoin.protocol.expressions.evaluate import compile_condition
from prejoin.protocol.expressions.nodes import (
    Action,
    AddAction,
    And,
    Between,
    Compare,
    DeleteAction,
    FunctionCall,
    In,
    Not,
    Or,
    Placeholder,
    RemoveAction,
    SetAction,
    Values,
)
from prejoin.protocol.values import Value, canonical, check_name, kind, ordered

_INVALID = "One or more parameter values were invalid: "
_OPERATORS = (
    *("IN", "NULL", "BETWEEN", "LT", "NOT_CONTAINS", "EQ", "GT", "NOT_NULL", "NE", "LE", "BEGINS_WITH", "GE"),
    "CONTAINS",
)
_ACTIONS = ("ADD", "PUT", "DELETE")
_COMPARISONS = {"EQ": "=", "NE": "<>", "LT": "<", "LE": "<=", "GT": ">", "GE": ">="}
_KEY_OPERATORS = {**_COMPARISONS, "BETWEEN": "BETWEEN", "BEGINS_WITH": "begins_with"}
_SCALARS = frozenset({"S", "N", "B"})
_TEXTS = frozenset({"S", "B"})
_SETS = frozenset({"SS", "NS", "BS"})
_OPERAND_TYPES = {
    **dict.fromkeys(("LT", "LE", "GT", "GE", "BETWEEN", "IN", "CONTAINS", "NOT_CONTAINS"), _SCALARS),
    "BEGINS_WITH": _TEXTS,
}
"""The types of operands that an operator takes. EQ and NE take any."""
_MISMATCH = "Type mismatch for attribute to update"
_MOST_ATTRIBUTES = 255


# --- Constraints of members, listed with the others of a request -----------------------------------------------------


def constrain_write(constraints: Constraints, request: WriteOptions) -> None:
    constraints.one_of("conditionalOperator", request.conditional_operator, ("OR", "AND"))
    for name, expectation in (request.expected or {}).items():
        member_path = f"expected.{name}.member.comparisonOperator"
        constraints.one_of(member_path, expectation.comparison_operator, _OPERATORS)
    if isinstance(request, UpdateItemInput):
        for name, update in (request.attribute_updates or {}).items():
            constraints.one_of(f"attributeUpdates.{name}.member.action", update.action, _ACTIONS)


def constrain_read(constraints: Constraints, request: ReadOptions) -> None:
    constraints.one_of("conditionalOperator", request.conditional_operator, ("OR", "AND"))
    constrain_attributes(constraints, "attributesToGet", request.attributes_to_get)
    for member, conditions in _conditions_of(request).items():
        for name, condition in (conditions or {}).items():
            member_path = f"{member}.{name}.member.comparisonOperator"
            constraints.require(member_path, condition.comparison_operator)
            constraints.one_of(member_path, condition.comparison_operator, _OPERATORS)


def constrain_attributes(constraints: Constraints, member: str, names: list[str] | None) -> None:
    if names is not None and not 1 <= len(names) <= _MOST_ATTRIBUTES:
        bound = f"less than or equal to {_MOST_ATTRIBUTES}" if names else "greater than or equal to 1"
        constraints.fail(member, f"[{', '.join(names)}]", f"Member must have length {bound}")


def _conditions_of(request: ReadOptions) -> dict[str, dict[str, LegacyCondition] | None]:
    if isinstance(request, QueryInput):
        return {"queryFilter": request.query_filter, "keyConditions": request.key_conditions}
    return {"scanFilter": request.scan_filter} if isinstance(request, ScanInput) else {}


# --- Translations ----------------------------------------------------------------------------------------------------


def write_expressions(request: WriteOptions) -> tuple[WriteExpressions, Values]:
    """The condition and the update of a write without expressions, and their values."""
    values: Values = {}
    update = None
    if isinstance(request, UpdateItemInput) and request.attribute_updates:
        actions = [
            _update_action(name, update_of_attribute, values)
            for name, update_of_attribute in request.attribute_updates.items()
        ]
        update = Update(tuple(actions))
    check_conditional_operator(request.conditional_operator, request.expected)
    parts = [
        _expectation_condition(name, expectation, values) for name, expectation in (request.expected or {}).items()
    ]
    condition = _combine(parts, request.conditional_operator)
    if condition is None and update is None:
        return NO_EXPRESSIONS, values
    return (
        WriteExpressions(
            None if condition is None else compile_condition(condition),
            None if update is None else compile_update(update, mismatch=_MISMATCH),
            update,
            legacy=True,
        ),
        values,
    )


def filter_condition(conditions: dict[str, LegacyCondition] | None, operator: str | None) -> BoundCondition | None:
    """The condition of a QueryFilter or ScanFilter; None if there is none."""
    check_conditional_operator(operator, conditions)
    values: Values = {}
    parts = [
        _comparison(name, condition, _operands(condition), values) for name, condition in (conditions or {}).items()
    ]
    tree = _combine(parts, operator)
    return None if tree is None else BoundCondition(tree, compile_condition(tree), values)


def key_conditions(conditions: dict[str, LegacyCondition], *, of_index: bool) -> dict[str, AttributeCondition]:
    """The condition on each key attribute. Whether the attributes are the key is for the table to say. Only the key of
    an index may have more than two.
    """
    key_conditions_by_name: dict[str, AttributeCondition] = {}
    for name, condition in conditions.items():
        operator = str(condition.comparison_operator)
        key_conditions_by_name[name] = AttributeCondition(_KEY_OPERATORS.get(operator, operator), _operands(condition))
    if not key_conditions_by_name or (len(key_conditions_by_name) > 2 and not of_index):
        refuse("Conditions can be of length 1 or 2 only")
    return key_conditions_by_name


def projection(names: list[str]) -> ProjectionExpression:
    """The projection of AttributesToGet. A name is an attribute's, whatever it looks like: never a path."""
    for number, name in enumerate(names):
        check_name(name)
        if name in names[:number]:
            refuse(_INVALID + f"Duplicate value in attribute name: {name}")
    return ProjectionExpression(tuple(DocumentPath((name,)) for name in names))


def check_conditional_operator(operator: str | None, conditions: Mapping[str, Any] | None) -> None:
    if operator is None:
        return
    if not conditions:
        refuse("ConditionalOperator cannot be used without Filter or Expected")
    if len(conditions) < 2:
        refuse("ConditionalOperator can only be used when Filter or Expected has two or more elements")


def _combine(parts: list[Condition], operator: str | None) -> Condition | None:
    if len(parts) < 2:
        return parts[0] if parts else None
    return Or(tuple(parts)) if operator == "OR" else And(tuple(parts))


def _expectation_condition(name: str, expectation: ExpectedAttribute, values: Values) -> Condition:
    """The condition of one attribute in Expected: a comparison, or the older `Value` and `Exists`."""
    # Value with Exists is the older form, ComparisonOperator with AttributeValueList the newer one. Value may also be
    # the only operand of a ComparisonOperator. Everything else between the two is refused, in this order.
    operator, value, value_list = expectation.comparison_operator, expectation.value, expectation.attribute_value_list
    if value is not None and value_list is not None:
        refuse(_INVALID + f"Value and AttributeValueList cannot be used together for Attribute: {name}")
    if operator is not None:
        if expectation.exists is not None:
            refuse(_INVALID + f"Exists and ComparisonOperator cannot be used together for Attribute: {name}")
        if value is None and value_list is None and operator not in ("NULL", "NOT_NULL"):
            refuse(
                _INVALID + f"Value or AttributeValueList must be used with ComparisonOperator: {operator} "
                f"for Attribute: {name}"
            )
        return _comparison(name, expectation, _operands(expectation, value_list if value is None else [value]), values)
    if value_list is not None:
        refuse(_INVALID + f"AttributeValueList can only be used with a ComparisonOperator for Attribute: {name}")
    if expectation.exists is False:
        if value is not None:
            refuse(_INVALID + f"Value cannot be used when Exists is false for Attribute: {name}")
        return _test("attribute_not_exists", name)
    if value is None:
        exists_text = "null" if expectation.exists is None else "true"
        refuse(_INVALID + f"Value must be provided when Exists is {exists_text} for Attribute: {name}")
    return Compare("=", _path(name), _placeholder(canonical(value), values))


def _operands(condition: LegacyCondition, value_list: list[Any] | None = None) -> list[Value]:
    """The operands of a comparison in canonical form: as many as the operator takes, all of one type that it takes."""
    operator = condition.comparison_operator
    operands = [canonical(value) for value in value_list or condition.attribute_value_list or ()]
    # Operators that are not listed take one operand.
    fits = {"IN": bool(operands), "BETWEEN": len(operands) == 2, "NULL": not operands, "NOT_NULL": not operands}
    if not fits.get(str(operator), len(operands) == 1):
        refuse(_INVALID + f"Invalid number of argument(s) for the {operator} ComparisonOperator")
    types = list(map(kind, operands))
    if len(set(types)) > 1:
        refuse(_INVALID + "AttributeValues inside AttributeValueList must be of same type")
    for name in types:
        if name not in _OPERAND_TYPES.get(str(operator), types):
            refuse(_INVALID + f"ComparisonOperator {operator} is not valid for {name} AttributeValue type")
    if operator == "BETWEEN" and ordered(operands[0]) > ordered(operands[1]):
        refuse("The BETWEEN condition was provided a range where the lower bound is greater than the upper bound")
    return operands


def _comparison(name: str, condition: LegacyCondition, operands: list[Value], values: Values) -> Condition:
    path, (operator, placeholders) = (
        _path(name),
        (condition.comparison_operator, [_placeholder(operand, values) for operand in operands]),
    )
    match operator:
        case "NULL":
            return _test("attribute_not_exists", name)
        case "NOT_NULL":
            return _test("attribute_exists", name)
        case "IN":
            return In(path, tuple(placeholders))
        case "BETWEEN":
            return Between(path, *placeholders)
        case "BEGINS_WITH":
            return FunctionCall("begins_with", (path, *placeholders))
        case "CONTAINS":
            return FunctionCall("contains", (path, *placeholders))
        case "NOT_CONTAINS":
            # Unlike NE, it is false for an attribute that does not exist.
            return And((_test("attribute_exists", name), Not(FunctionCall("contains", (path, *placeholders)))))
    return Compare(_COMPARISONS[str(operator)], path, *placeholders)


def _update_action(name: str, update: AttributeUpdate, values: Values) -> Action:
    path, action = _path(name), update.action or "PUT"
    if update.value is None:
        if action != "DELETE":
            refuse(_INVALID + "Only DELETE action is allowed when no attribute value is specified")
        return RemoveAction(path)
    value = canonical(update.value)
    if action == "DELETE":
        if kind(value) not in _SETS:
            refuse(_INVALID + f"DELETE action with value is not supported for the type {kind(value)}")
        return DeleteAction(path, _placeholder(value, values))
    if action == "ADD":
        if kind(value) not in (*_SETS, "N", "L"):
            refuse(_INVALID + f"ADD action is not supported for the type {kind(value)}")
        return AddAction(path, _placeholder(value, values))
    return SetAction(path, _placeholder(value, values))


def _path(name: str) -> DocumentPath:
    check_name(name)
    return DocumentPath((name,))


def _test(function: str, name: str) -> FunctionCall:
    return FunctionCall(function, (_path(name),))


def _placeholder(value: Value, values: Values) -> Placeholder:
    """A placeholder for a value, which is added to the values."""
    placeholder = f":{len(values)}"
    values[placeholder] = value
    return Placeholder(placeholder)
