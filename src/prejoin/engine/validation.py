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
        shown = "null" if value is None else f"'{value}'"
        self._found.append(f"Value {shown} at '{member}' failed to satisfy constraint: {constraint}")

    def required(self, member: str, value: Any) -> None:
        if value is None:
            self.fail(member, None, "Member must not be null")

    def one_of(self, member: str, value: str | None, allowed: Iterable[str]) -> None:
        if value is not None and value not in allowed:
            self.fail(member, value, f"Member must satisfy enum value set: [{', '.join(allowed)}]")

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
            self.required(member, value)
            return
        if not _NAME.fullmatch(value) and (value or minimum > 1):  # of a name that may be an ARN, only the length
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
    plain = minimum <= len(value) <= limits.TABLE_NAME_MAXIMUM and _NAME.fullmatch(value)
    return bool(plain or _ARN.fullmatch(value))


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
    given = [parameter for parameter, text in expressions.items() if text is not None]
    old = [parameter for parameter, content in legacy.items() if content is not None]
    if given and old:
        refuse(
            "Can not use both expression and non-expression parameters in the same request: "
            f"Non-expression parameters: {{{', '.join(old)}}} Expression parameters: {{{', '.join(given)}}}"
        )
    if names is not None and not given:
        refuse("ExpressionAttributeNames can only be specified when using expressions")
    takers = [parameter for parameter in expressions if parameter != "ProjectionExpression"]
    if values is not None and takers and not any(expressions[parameter] is not None for parameter in takers):
        verb = "are" if len(takers) > 1 else "is"
        message = "ExpressionAttributeValues can only be specified when using expressions"
        raise TwoWordingsError(f"{message}: {' and '.join(takers)} {verb} null", message)
