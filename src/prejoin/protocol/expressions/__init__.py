"""Expressions: parsed to a tree, compiled to a function and cached, then bound to the values of a request."""

from __future__ import annotations

from prejoin.protocol.expressions.apply import Change, compile_update
from prejoin.protocol.expressions.bind import ExpressionBinder
from prejoin.protocol.expressions.evaluate import Test, compile_condition
from prejoin.protocol.expressions.expression import BoundExpression, ExpressionKind
from prejoin.protocol.expressions.key_conditions import AttributeCondition, KeyConditions, compile_key_conditions
from prejoin.protocol.expressions.nodes import Condition, DocumentPath, ProjectionExpression, Update, document_paths
from prejoin.protocol.expressions.parser import parse_condition, parse_projection, parse_update
from prejoin.protocol.expressions.paths import heads, project, read
from prejoin.protocol.expressions.substitutions import Substitutions, checked_values
from prejoin.protocol.values import Item

__all__ = [
    "AttributeCondition",
    "BoundCondition",
    "BoundKeyConditions",
    "BoundUpdate",
    "Change",
    "Condition",
    "DocumentPath",
    "ProjectionExpression",
    "Substitutions",
    "Test",
    "Update",
    "apply",
    "bind_condition",
    "bind_key_conditions",
    "bind_projection",
    "bind_update",
    "checked_values",
    "document_paths",
    "evaluate",
    "heads",
    "key_conditions",
    "project",
    "read",
]

BoundCondition = BoundExpression[Condition, Test]
BoundKeyConditions = BoundExpression[Condition, KeyConditions]
BoundUpdate = BoundExpression[Update, Change]

_CONDITION = ExpressionKind(parse_condition, ExpressionBinder.condition, compile_condition)
_KEY_CONDITION = ExpressionKind(parse_condition, ExpressionBinder.condition, compile_key_conditions)
_UPDATE = ExpressionKind(parse_update, ExpressionBinder.update, compile_update)
_PROJECTION = ExpressionKind(parse_projection, ExpressionBinder.projection, lambda projection: projection)


def bind_condition(text: str, substitutions: Substitutions, parameter: str = "ConditionExpression") -> BoundCondition:
    """Parse a condition and bind it to its names and values."""
    return _CONDITION.bind(text, parameter, substitutions)


def bind_key_conditions(text: str, substitutions: Substitutions) -> BoundKeyConditions:
    """Parse a KeyConditionExpression and bind it to its names and values."""
    return _KEY_CONDITION.bind(text, "KeyConditionExpression", substitutions)


def key_conditions(bound: BoundKeyConditions) -> dict[str, AttributeCondition]:
    """The condition on each key attribute, or DynamoDB's error."""
    return bound.run(bound.values)


def bind_update(text: str, substitutions: Substitutions) -> BoundUpdate:
    """Parse an UpdateExpression and bind it to its names and values."""
    return _UPDATE.bind(text, "UpdateExpression", substitutions)


def bind_projection(text: str, substitutions: Substitutions) -> ProjectionExpression:
    """Parse a ProjectionExpression and bind it to its names."""
    return _PROJECTION.bind(text, "ProjectionExpression", substitutions).tree


def evaluate(condition: BoundCondition, item: Item) -> bool:
    """Whether an item satisfies a condition. A missing item counts as an empty one."""
    return condition.run(item, condition.values)


def apply(update: BoundUpdate, item: Item) -> Item:
    """The item after an update. The given item is not changed."""
    return update.run(item, update.values)
