"""ExpressionAttributeNames and ExpressionAttributeValues of one request: checked, looked up, and all used."""

from __future__ import annotations

import re
from typing import Any

from prejoin.protocol import limits
from prejoin.protocol.errors import DynamoDBError, invalid, refuse
from prejoin.protocol.sizes import value_size
from prejoin.protocol.values import Value, canonical

_NAME = re.compile(r"#[0-9a-zA-Z_]+")
_VALUE = re.compile(r":[0-9a-zA-Z_]+")


class Substitutions:
    """What the placeholders of one request stand for. `finish` refuses those that no expression used."""

    __slots__ = ("_names", "_unused_names", "_unused_values", "_values")

    def __init__(self, names: dict[str, str] | None = None, values: Any = None) -> None:
        self._names = names or {}
        self._values: dict[str, Value] = {}
        if names is not None:
            _check_keys(names, _NAME, "ExpressionAttributeNames")
            for key, name in names.items():
                if not name:
                    refuse(f"ExpressionAttributeNames contains invalid value: Empty attribute name for key {key}")
        if values is not None:
            _check_keys(values, _VALUE, "ExpressionAttributeValues")
            self._values = {key: _checked_value(key, value) for key, value in values.items()}
            if sum(len(key) + value_size(value) for key, value in self._values.items()) > limits.SUBSTITUTIONS_SIZE:
                refuse("ExpressionAttributeValues exceeds max size")
        self._unused_names = dict.fromkeys(self._names)
        self._unused_values = dict.fromkeys(self._values)

    def __bool__(self) -> bool:
        return bool(self._names or self._values)

    def name(self, placeholder: str, parameter: str) -> str:
        name = self._names.get(placeholder)
        if name is None:
            raise invalid(
                f"Invalid {parameter}: An expression attribute name used in the document path is not "
                f"defined; attribute name: {placeholder}"
            )
        self._unused_names.pop(placeholder, None)
        return name

    def value(self, placeholder: str, parameter: str) -> Value:
        value = self._values.get(placeholder)
        if value is None:
            raise invalid(
                f"Invalid {parameter}: An expression attribute value used in expression is not defined; "
                f"attribute value: {placeholder}"
            )
        self._unused_values.pop(placeholder, None)
        return value

    def finish(self) -> None:
        for parameter, unused in (("Names", self._unused_names), ("Values", self._unused_values)):
            if unused:
                keys = ", ".join(unused)
                refuse(f"Value provided in ExpressionAttribute{parameter} unused in expressions: keys: {{{keys}}}")


def _check_keys(given: dict[str, Any], form: re.Pattern[str], parameter: str) -> None:
    if not given:
        refuse(f"{parameter} must not be empty")
    for key in given:
        if not form.fullmatch(key):
            refuse(f'{parameter} contains invalid key: Syntax error; key: "{key}"')
        if len(key) > limits.PLACEHOLDER_SIZE:
            refuse(
                f"{parameter} contains invalid key: The expression attribute map contains a key that is too "
                f'long; key: "{key}"'
            )


def _checked_value(key: str, value: Any) -> Value:
    try:
        return canonical(value, 0)
    except DynamoDBError as error:
        if error.code != "ValidationException":
            raise
        raise invalid(f"ExpressionAttributeValues contains invalid value: {error.message} for key {key}") from None
