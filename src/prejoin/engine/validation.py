"""Checks of request members that need no table. Violated constraints are reported together, as AWS's API layer does."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from prejoin.protocol import limits
from prejoin.protocol.errors import TwoWordingsError, invalid, refuse

_NAME = re.compile(r"[a-zA-Z0-9_.-]+")
_ARN = re.compile(r"arn:[^:]+:dynamodb:[^:]*:[^:]*:table/([a-zA-Z0-9_.-]{3,255})")
"""Any region and account are accepted: the engine has only one."""
_PATTERN = "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"

CAPACITY = ("INDEXES", "TOTAL", "NONE")
METRICS = ("SIZE", "NONE")
RETURN_VALUES = ("ALL_NEW", "UPDATED_OLD", "ALL_OLD", "NONE", "UPDATED_NEW")
ON_FAILURE = ("ALL_OLD", "NONE")
SELECT = ("SPECIFIC_ATTRIBUTES", "COUNT", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES")


class Constraints:
    """Collects violated constraints of one request. `finish` raises them all as one error."""

    __slots__ = ("_found",)

    def __init__(self) -> None:
        self._found: list[str] = []

    def fail(self, member: str, value: Any, constraint: str) -> None:
        text = "null" if value is None else f"'{value}'"
        self._found.append(f"Value {text} at '{member}' failed to satisfy constraint: {constraint}")

    def require(self, member: str, value: Any) -> None:
        if value is None:
            self.fail(member, None, "Member must not be null")

    def one_of(self, member: str, value: str | None, allowed_values: Iterable[str]) -> None:
        if value is not None and value not in allowed_values:
            self.fail(member, value, f"Member must satisfy enum value set: [{', '.join(allowed_values)}]")

    def at_least(self, member: str, value: int | None, minimum: int) -> None:
        if value is not None and value < minimum:
            self.fail(member, value, f"Member must have value greater than or equal to {minimum}")

    def between(self, member: str, value: int | None, minimum: int, maximum: int) -> None:
        self.at_least(member, value, minimum)
        if value is not None and value > maximum:
            self.fail(member, value, f"Member must have value less than or equal to {maximum}")

    def name(self, member: str, value: str | None, minimum: int = limits.TABLE_NAME_MINIMUM) -> None:
        """Check the name of a table or an index."""
        if value is None:
            self.require(member, value)
            return
        # Where an ARN is allowed, only the length of an empty name is reported.
        if not _NAME.fullmatch(value) and (value or minimum > 1):
            self.fail(member, value, _PATTERN)
        if len(value) < minimum:
            self.fail(member, value, f"Member must have length greater than or equal to {minimum}")
        elif len(value) > limits.TABLE_NAME_MAXIMUM:
            self.fail(member, value, f"Member must have length less than or equal to {limits.TABLE_NAME_MAXIMUM}")

    def table(self, member: str, value: str | None) -> None:
        """Check the name or ARN of an existing table."""
        if value is None or not is_table_name(value):
            self.name(member, value, 1)

    def finish(self) -> None:
        if self._found:
            count = len(self._found)
            plural = "s" if count > 1 else ""
            raise invalid(f"{count} validation error{plural} detected: {'; '.join(self._found)}")


@lru_cache(maxsize=1024)
def is_table_name(value: str, minimum: int = 1) -> bool:
    """Whether a text can be the name of a table, or its ARN."""
    is_plain_name = minimum <= len(value) <= limits.TABLE_NAME_MAXIMUM and _NAME.fullmatch(value)
    return bool(is_plain_name or _ARN.fullmatch(value))


@lru_cache(maxsize=1024)
def table_name(value: str | None, minimum: int = 1) -> str:
    """The name of the table in a request, which may be given as an ARN.

    An invalid name is reported alone, before any other violated constraint.
    """
    if value is not None and is_table_name(value, minimum):
        arn = _ARN.fullmatch(value)
        return arn.group(1) if arn else value
    constraints = Constraints()
    constraints.name("tableName", value, minimum)
    constraints.finish()
    raise AssertionError("a name that is not valid breaks a constraint")


def expression_parameters(expressions: dict[str, str | None], legacy: dict[str, Any], names: Any, values: Any) -> None:
    """Refuse a mixture of expressions and legacy parameters, and placeholders without an expression that could use
    them.
    """
    expression_names = [parameter for parameter, text in expressions.items() if text is not None]
    legacy_names = [parameter for parameter, content in legacy.items() if content is not None]
    if expression_names and legacy_names:
        refuse(
            "Can not use both expression and non-expression parameters in the same request: "
            f"Non-expression parameters: {{{', '.join(legacy_names)}}} "
            f"Expression parameters: {{{', '.join(expression_names)}}}"
        )
    if names is not None and not expression_names:
        refuse("ExpressionAttributeNames can only be specified when using expressions")
    if values is not None:
        _check_values_are_usable(expressions)


def _check_values_are_usable(expressions: dict[str, str | None]) -> None:
    """Refuse ExpressionAttributeValues of a request without an expression that could use them."""
    # A projection has no values, so GetItem, which has no other expression, is not refused here.
    users_of_values = [parameter for parameter in expressions if parameter != "ProjectionExpression"]
    if not users_of_values or any(expressions[parameter] is not None for parameter in users_of_values):
        return
    verb = "are" if len(users_of_values) > 1 else "is"
    message = "ExpressionAttributeValues can only be specified when using expressions"
    raise TwoWordingsError(f"{message}: {' and '.join(users_of_values)} {verb} null", message)
