"""ExpressionAttributeNames and ExpressionAttributeValues of one request: checked, resolved, and all used."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NoReturn

from prejoin.protocol import limits
from prejoin.protocol.errors import DynamoDBError, invalid, newer_wording, refuse
from prejoin.protocol.sizes import value_size
from prejoin.protocol.values import SHORT_NAME, Value, canonical, check_name

_NAME = re.compile(r"#[0-9a-zA-Z_]+")
_VALUE = re.compile(r":[0-9a-zA-Z_]+")


class Substitutions:
    """The names and values of one request's placeholders. `finish` refuses unused ones.

    For an invalid value most operations name its placeholder. Query reports only the problem, in newer wording
    (`newer_words`).
    """

    __slots__ = ("_unused_names", "_unused_values", "names", "shape", "values")

    def __init__(self, names: dict[str, str] | None = None, values: Any = None, *, newer_words: bool = False) -> None:
        self.names = names or {}
        self.values: dict[str, Value] = {}
        if names is not None:
            _check_names(names)
        if values is not None:
            _check_keys(values, _VALUE, "ExpressionAttributeValues")
            self.values = checked_values(values, newer_words=newer_words)
        self.shape = (
            tuple(self.names.items()) if names else (),
            tuple([(key, *value) for key, value in self.values.items()]),
        )
        """The names and the types of the values: what requests with the same expressions have in common."""
        self._unused_names = set(self.names)
        self._unused_values = set(self.values)

    def use(self, names: tuple[str, ...], values: tuple[str, ...]) -> None:
        """Mark the placeholders of an expression as used. All of them are known to exist."""
        self._unused_names.difference_update(names)
        self._unused_values.difference_update(values)

    def name(self, placeholder: str, parameter: str) -> str:
        name = self.names.get(placeholder)
        if name is None:
            raise invalid(
                f"Invalid {parameter}: An expression attribute name used in the document path is not "
                f"defined; attribute name: {placeholder}"
            )
        self._unused_names.discard(placeholder)
        return name

    def value(self, placeholder: str, parameter: str) -> Value:
        value = self.values.get(placeholder)
        if value is None:
            raise invalid(
                f"Invalid {parameter}: An expression attribute value used in expression is not defined; "
                f"attribute value: {placeholder}"
            )
        self._unused_values.discard(placeholder)
        return value

    def finish(self) -> None:
        if self._unused_names:
            _refuse_unused("Names", self.names, self._unused_names)
        if self._unused_values:
            _refuse_unused("Values", self.values, self._unused_values)


def _refuse_unused(parameter: str, placeholders: Iterable[str], unused_placeholders: set[str]) -> NoReturn:
    keys = ", ".join(key for key in placeholders if key in unused_placeholders)
    refuse(f"Value provided in ExpressionAttribute{parameter} unused in expressions: keys: {{{keys}}}")


def _check_names(names: dict[str, str]) -> None:
    _check_keys(names, _NAME, "ExpressionAttributeNames")
    for key, name in names.items():
        if not name or len(name) > SHORT_NAME:
            try:
                check_name(name)
            except DynamoDBError as error:
                refuse(f"ExpressionAttributeNames contains invalid value: {error.message} for key {key}")


def _check_keys(placeholders: dict[str, Any], form: re.Pattern[str], parameter: str) -> None:
    if not placeholders:
        refuse(f"{parameter} must not be empty")
    for key in placeholders:
        if len(key) <= limits.PLACEHOLDER_SIZE and _is_placeholder(key, form):
            continue
        if not form.fullmatch(key):
            refuse(f'{parameter} contains invalid key: Syntax error; key: "{key}"')
        refuse(
            f"{parameter} contains invalid key: The expression attribute map contains a key that is too "
            f'long; key: "{key}"'
        )


@lru_cache(maxsize=2048)
def _is_placeholder(key: str, form: re.Pattern[str]) -> bool:
    return form.fullmatch(key) is not None


def checked_values(values: Any, *, newer_words: bool = False) -> dict[str, Value]:
    """ExpressionAttributeValues in canonical form, or DynamoDB's error."""
    canonical_values: dict[str, Value] = {}
    size = 0
    for key, value in values.items():
        text = value.get("S")
        if text is not None and len(value) == 1:
            canonical_values[key] = value
            size += len(key) + 4 * len(text)
        else:
            canonical_values[key] = value = _checked_value(key, value, newer_words)
            size += len(key) + value_size(value)
    # Text has at most four bytes per character. The exact size matters only near the limit.
    if size > limits.SUBSTITUTIONS_SIZE:
        _check_size(canonical_values)
    return canonical_values


def _checked_value(key: str, value: Any, newer_words: bool) -> Value:
    try:
        return canonical(value, 0)  # one level deeper than an attribute: it may be compared with a whole document
    except DynamoDBError as error:
        if error.code != "ValidationException":
            raise
        if newer_words:
            raise newer_wording(error) from None
        raise invalid(f"ExpressionAttributeValues contains invalid value: {error.message} for key {key}") from None


def _check_size(values: dict[str, Value]) -> None:
    if sum(len(key) + value_size(value) for key, value in values.items()) > limits.SUBSTITUTIONS_SIZE:
        refuse("ExpressionAttributeValues exceeds max size")
