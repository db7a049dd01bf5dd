"""Expressions: text to tree (cached), tree bound to a request's values, and what that does to items."""

from __future__ import annotations

from functools import lru_cache

from prejoin.protocol.expressions.apply import apply
from prejoin.protocol.expressions.bind import Binder
from prejoin.protocol.expressions.conditions import parse_condition
from prejoin.protocol.expressions.evaluate import evaluate
from prejoin.protocol.expressions.keyconditions import KeyCondition, key_conditions
from prejoin.protocol.expressions.nodes import Condition, Path, Projection, Update, document_paths
from prejoin.protocol.expressions.paths import heads, project, read
from prejoin.protocol.expressions.projections import parse_projection
from prejoin.protocol.expressions.substitutions import Substitutions
from prejoin.protocol.expressions.updates import parse_update

__all__ = [
    "Condition",
    "KeyCondition",
    "Path",
    "Projection",
    "Substitutions",
    "Update",
    "apply",
    "bind_condition",
    "bind_projection",
    "bind_update",
    "document_paths",
    "evaluate",
    "heads",
    "key_conditions",
    "project",
    "read",
]


def bind_condition(text: str, substitutions: Substitutions, parameter: str = "ConditionExpression") -> Condition:
    """Parse a condition and bind it to what its placeholders stand for."""
    if not substitutions:
        return _bound_condition(text, parameter)
    return Binder(substitutions, parameter).condition(parse_condition(text, parameter))


@lru_cache(maxsize=2048)
def _bound_condition(text: str, parameter: str) -> Condition:
    """A condition without placeholders, as `attribute_not_exists(pk)`, is the same for every request."""
    return Binder(Substitutions(), parameter).condition(parse_condition(text, parameter))


def bind_update(text: str, substitutions: Substitutions) -> Update:
    """Parse an UpdateExpression and bind it to what its placeholders stand for."""
    return Binder(substitutions, "UpdateExpression").update(parse_update(text))


def bind_projection(text: str, substitutions: Substitutions) -> Projection:
    """Parse a ProjectionExpression and bind it to what its placeholders stand for."""
    return Binder(substitutions, "ProjectionExpression").projection(parse_projection(text))
