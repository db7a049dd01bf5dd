"""DynamoDB JSON values: their types, validation, canonical form, equality and order."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable
from typing import Any, NoReturn, TypedDict

from prejoin.protocol import limits, numbers
from prejoin.protocol.errors import DynamoDBError, TwoWordingsError, UnprefixedError, refuse


class AttributeValue(TypedDict, total=False):
    """One value as JSON; exactly one member is set. Binary is base64 text."""

    S: str | None
    N: str | None
    B: str | None
    BOOL: bool | None
    NULL: bool | None
    L: list[AttributeValue] | None
    M: dict[str, AttributeValue] | None
    SS: list[str] | None
    NS: list[str] | None
    BS: list[str] | None


Value = dict[str, Any]
"""A valid, canonical value: a dict with one member."""
Item = dict[str, Value]

_EXACTLY_ONE = "must contain exactly one of the supported datatypes"
_EMPTY = f"Supplied AttributeValue is empty, {_EXACTLY_ONE}"
_SEVERAL_TYPES = f"Supplied AttributeValue has more than one datatypes set, {_EXACTLY_ONE}"
_PARAMETER = "One or more parameter values were invalid: "


def kind(value: Value) -> str:
    """The type of a valid value: the name of its one member."""
    for name in value:
        return name
    raise AssertionError("a valid value has one member")


def canonical_item(item: Any) -> Item:
    """Check every value of an item and convert it to canonical form."""
    if "" in item:
        check_name("")  # reported before any invalid value
    try:
        return _canonical_members(item, 1)
    except DynamoDBError as error:
        check_levels(item, error)
        raise


def _canonical_members(members: dict[str, Any], depth: int) -> Item:
    canonical_members: Item = {}
    for name, value in members.items():
        if not 0 < len(name) <= SHORT_NAME:
            check_name(name)
        # Most values are text, which is already canonical.
        if len(value) == 1 and value.get("S") is not None:
            canonical_members[name] = value
        else:
            canonical_members[name] = canonical(value, depth)
    return canonical_members


SHORT_NAME = limits.ATTRIBUTE_NAME_SIZE // 4
"""This many characters are within the limit in any encoding."""


def check_name(name: str) -> None:
    """Refuse an invalid attribute name."""
    if not name:
        refuse("Empty attribute name")
    if len(name.encode()) > limits.ATTRIBUTE_NAME_SIZE:
        refuse("Attribute name is too large, must be less than 65536 bytes")


def canonical(value: Any, depth: int = 1) -> Value:
    """Check a value and convert it to the form in which DynamoDB returns it. Invalid values raise DynamoDB's errors.

    `depth` is the nesting level of the value: 1 for an attribute, and for a value of an expression.

    >>> canonical({"N": "01.50"})
    {'N': '1.5'}
    """
    if len(value) != 1 or None in value.values():
        value = {name: content for name, content in value.items() if content is not None}
        for name, content in value.items() if len(value) != 1 else ():
            canonical({name: content}, depth)  # an invalid one is reported first
        if len(value) != 1:
            raise UnprefixedError(_SEVERAL_TYPES if value else _EMPTY)
    # One piece and in this order, because it runs for each value of each item: the most common types come first.
    for name, content in value.items():
        if name in ("S", "BOOL"):
            return value  # type: ignore[no-any-return]
        if name == "N":
            return {"N": numbers.normalise(content)}
        if name == "M":
            _check_depth(depth)
            return {"M": _canonical_members(content, depth + 1)}
        if name == "L":
            _check_depth(depth)
            return {"L": [canonical(member, depth + 1) for member in content]}
        if name == "NULL":
            if not content:
                refuse(_PARAMETER + "Null attribute value types must have the value of true")
            return value  # type: ignore[no-any-return]
        if name == "B":
            unbase64(content)
            return value  # type: ignore[no-any-return]
        return {name: _canonical_set(name, content)}
    raise AssertionError("a value has one member")


def check_levels(item: Any, error: DynamoDBError) -> None:
    """Refuse an item that is nested too deeply. DynamoDB reports this before other problems of values.

    Nesting is checked together with everything else, so this only runs after a value was `refused` for another reason.
    """
    if error.code == "ValidationException":
        for value in item.values():
            _check_levels(value, 1)


def _check_levels(value: Any, depth: int) -> None:
    documents, members = value.get("M"), value.get("L")
    if documents is None and members is None:
        return
    _check_depth(depth)
    for member in (*(documents or {}).values(), *(members or ())):
        _check_levels(member, depth + 1)


def _check_depth(depth: int) -> None:
    # The attribute itself is the first level, so lists and maps can have one level less than the limit.
    if depth >= limits.NESTING:
        raise UnprefixedError(
            "Nesting Levels have exceeded supported limits: "
            "Attributes in the item have nested levels beyond supported limit"
        )


def _canonical_set(name: str, members: list[str]) -> list[str]:
    if not members:
        refuse(_PARAMETER + _EMPTY_SET[name])
    if name == "NS":
        members = [numbers.normalise(member) for member in members]
    canonical_members = set_of(name, members)
    if len(canonical_members) != len(members):
        _refuse_duplicates(name, members)
    return canonical_members


_EMPTY_SET = {
    "SS": "An string set  may not be empty",  # so AWS writes it
    "NS": "An number set  may not be empty",
    "BS": "Binary sets should not be empty",
}


def set_of(name: str, members: Iterable[str]) -> list[str]:
    """The canonical members of a set, without duplicates, in DynamoDB's order: text and binary by bytes, numbers by
    value.

    >>> set_of("NS", ["10", "9", "10"])
    ['9', '10']
    """
    return sorted(set(members), key=_SET_ORDER[name])


def _refuse_duplicates(name: str, members: list[str]) -> NoReturn:
    """Refuse a set, showing its members as given. The newer wording sorts them, up to the first duplicate."""
    if name == "NS":
        raise TwoWordingsError(
            "Input collection contains duplicates", _PARAMETER + "Input collection contains duplicates."
        )
    distinct_members: set[str] = set()
    for member in members:
        if member in distinct_members:
            break
        distinct_members.add(member)
    between, of_type = (", ", " ") if name == "SS" else (",", "of type BS ")
    members_text = between.join(
        f'"{member}"' for member in (*set_of(name, distinct_members), *members[len(distinct_members) :])
    )
    raise TwoWordingsError(
        _PARAMETER + f"Input collection [{', '.join(members)}]{of_type}contains duplicates.",
        _PARAMETER + f"Input collection [{members_text}]{of_type}contains duplicates.",
    )


def unbase64(text: str) -> bytes:
    """The bytes of a binary value. Anything but canonical base64 raises a SerializationException, as at AWS."""
    if len(text) % 4:
        _unserialisable(f"Base64 encoded length is expected a multiple of 4 bytes but found: {len(text)}")
    digits = text.rstrip("=")
    unused_bits = {1: 0b11, 2: 0b1111}.get(len(text) - len(digits), 0)
    if unused_bits and max(_BASE64.find(digits[-1:]), 0) & unused_bits:
        _unserialisable("Invalid last non-pad Base64 character dectected")  # so AWS writes it
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        _unserialisable("Invalid Base64 character")


_BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_SET_ORDER: dict[str, Callable[[str], Any] | None] = {"SS": None, "NS": numbers.value, "BS": unbase64}


def _unserialisable(message: str) -> NoReturn:
    raise DynamoDBError("SerializationException", message)


def equal(first: Value, second: Value) -> bool:
    """Whether two canonical values are equal. The order of set members does not matter, at any depth."""
    if first == second:
        return True
    name = kind(first)
    if name != kind(second):
        return False
    first_content, second_content = first[name], second[name]
    if name in ("SS", "NS", "BS"):
        return len(first_content) == len(second_content) and set(first_content) == set(second_content)
    if name == "L":
        return len(first_content) == len(second_content) and all(map(equal, first_content, second_content))
    if name == "M":
        return first_content.keys() == second_content.keys() and all(
            equal(member, second_content[key]) for key, member in first_content.items()
        )
    return False


def ordered(value: Value) -> Any:
    """A key to compare values of one orderable type: S as UTF-8 bytes, N as numbers, B as unsigned bytes."""
    if "S" in value:
        return value["S"].encode()
    if "N" in value:
        return numbers.value(value["N"])
    return unbase64(value["B"])


ORDERABLE = frozenset({"S", "N", "B"})
"""Types with an order: those of keys, and of `<`, `>`, BETWEEN."""
