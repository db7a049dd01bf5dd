"""From a request's bytes to its struct; what JSON cannot be it is a SerializationException, worded as AWS's."""

from __future__ import annotations

import re
from typing import TypeVar

import msgspec

from prejoin.protocol.errors import DynamoDBError

R = TypeVar("R")

_EXPECTED = re.compile(r"Expected `([^`]+)`, got `([^`]+)`")
_JAVA = {"str": "String", "int": "Integer", "bool": "Boolean"}


def decode(decoder: msgspec.json.Decoder[R], body: bytes) -> R:
    """The request in these bytes."""
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        raise DynamoDBError("SerializationException", _wording(str(error))) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, TypeError):
        raise DynamoDBError("SerializationException") from None


def _wording(problem: str) -> str:
    """AWS's sentence for a member of the wrong JSON type."""
    match = _EXPECTED.search(problem)
    if not match:
        return "Unexpected value type in payload"
    expected, got = match.group(1).removesuffix(" | null"), match.group(2)
    if expected in _JAVA:
        java = _JAVA[expected]
        if got == "object":
            return "Start of structure or map found where not expected"
        if got == "array":
            return f"Unrecognized collection type class java.lang.{java}"
        given = {"int": "NUMBER_VALUE", "float": "DECIMAL_VALUE", "str": "STRING_VALUE", "bool": "TRUE_VALUE"}
        return f"{given.get(got, 'NULL_VALUE')} cannot be converted to {java}"
    if got == "object":
        return "Start of structure or map found where not expected"
    if got == "array":
        return "Unrecognized collection type class com.amazonaws.dynamodb.v20120810.AttributeValue"
    return "Unexpected field type"
