"""Decode the body of a request, and find AWS's message for one that does not fit its struct.

msgspec decodes and checks in one pass. Only if that fails, the body is decoded again without types, and compared with
the struct member by member, to name the first difference as AWS's Java does.
"""

from __future__ import annotations

import gc
from contextlib import suppress
from itertools import islice
from typing import Any, NoReturn, TypeVar

import msgspec
from msgspec import inspect

from prejoin.protocol.errors import DynamoDBError, invalid, refuse
from prejoin.protocol.values import unbase64

R = TypeVar("R")

_MODEL = "com.amazonaws.dynamodb.v20120810."
_SHAPES = {
    "LegacyCondition": "Condition",
    "ExpectedAttribute": "ExpectedAttributeValue",
    "AttributeUpdate": "AttributeValueUpdate",
    "IndexProjection": "Projection",
    "SecondaryIndex": "GlobalSecondaryIndex",
    "GlobalIndexUpdate": "GlobalSecondaryIndexUpdate",
    "IndexThroughput": "UpdateGlobalSecondaryIndexAction",
    "IndexDeletion": "DeleteGlobalSecondaryIndexAction",
}
"""AWS's names of structs that have another one here."""
_IN_MEMBER = {
    "LocalSecondaryIndexes": f"{_MODEL}LocalSecondaryIndex",
    "Create": f"{_MODEL}CreateGlobalSecondaryIndexAction",
}
"""AWS's names of structs in members that share ours with others."""
_LONG_MEMBERS = frozenset(
    {
        *("ReadCapacityUnits", "WriteCapacityUnits", "MaxReadRequestUnits", "MaxWriteRequestUnits"),
        *("ReadUnitsPerSecond", "WriteUnitsPerSecond"),
    }
)
_LARGE_BODY = 1024 * 1024
"""Only a body that is longer than this can have too many members."""
_MAX_MEMBERS = 400 * 1024
"""Each member of an item counts at least one byte, so an item cannot have more."""
_MAX_PARTS = 1_000
"""No request may have more parts, so what follows them is refused anyway."""
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""Errors of a body without types. Members that are not of the struct may have them even if it fits the struct."""
_TOO_LARGE = "Item size has exceeded the maximum allowed size"
_UNEXPECTED_STRUCTURE = "Start of structure or map found where not expected"
_NULL = "One or more parameter values were invalid: Null attribute value types must have the value of true"
_NULL_IN_SET = "One or more parameter values were invalid: An {} set may not have a null {} as a member"


def decode(decoder: msgspec.json.Decoder[R], body: bytes) -> R:
    """Decode the body of a request. Invalid JSON raises a SerializationException, worded as AWS words it."""
    try:
        # A body of ordinary length cannot have so many members that looking at each takes long.
        return decoder.decode(body) if len(body) <= _LARGE_BODY else _decode_large(decoder, body)
    except msgspec.ValidationError:
        try:
            plain = _decode_untracked(_plain, body)
            if len(body) <= _LARGE_BODY or not _weighs_too_much(plain):
                _check_value(plain, inspect.type_info(decoder.type), "")
        except _UNREADABLE:
            raise DynamoDBError("SerializationException") from None
        # A number that is no integer, or too large for one.
        raise DynamoDBError("SerializationException", "DECIMAL_VALUE cannot be converted to Integer") from None
    except (*_UNREADABLE, TypeError):
        raise DynamoDBError("SerializationException") from None


def check_binary(decoder: msgspec.json.Decoder[Any], body: bytes, earlier_error: DynamoDBError) -> None:
    """Refuse invalid base64, in a request that had `earlier_error`.

    DynamoDB decodes base64 with the rest of a request, so it reports it before an invalid table name. The engine
    decodes it where it checks the values, and looks for it here only after another error.
    """
    if earlier_error.code == "ValidationException" and b'"B' in body and len(body) <= _LARGE_BODY:
        with suppress(*_UNREADABLE):
            _check_value(_plain.decode(body), inspect.type_info(decoder.type), "")


def _decode_large(decoder: msgspec.json.Decoder[R], body: bytes) -> R:
    request = _decode_untracked(decoder, body)
    _check_weight(request)
    return request


def _decode_untracked(decoder: msgspec.json.Decoder[R], body: bytes) -> R:
    """Decode without the garbage collector, which would look at the new objects again and again: 1.5 s instead of 0.4 s
    for 16 MB. No other thread runs while msgspec decodes.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return decoder.decode(body)
    finally:
        if was_enabled:
            gc.enable()


_plain = msgspec.json.Decoder()


def _check_weight(member: Any) -> None:
    """Refuse an item, key or value with more members than an item can hold, before each is looked at for seconds."""
    if isinstance(member, msgspec.Struct):
        for name in member.__struct_fields__:
            _check_weight(getattr(member, name))
        return
    if isinstance(member, dict) and not isinstance(next(iter(member.values()), None), msgspec.Struct | list):
        parts: list[Any] = [member]  # an item, or names
    elif isinstance(member, dict | list):
        # The tables of a batch, or a list of values or of requests.
        parts = list(islice(member.values() if isinstance(member, dict) else member, _MAX_PARTS))
    else:
        return
    for part in parts:
        if not isinstance(part, dict):
            _check_weight(part)
        elif _weighs_too_much(part):
            refuse(_TOO_LARGE)


def _weighs_too_much(value: Any) -> bool:
    """Whether a value has too many members, at any depth."""
    total, waiting = 0, [value]
    while waiting and total <= _MAX_MEMBERS:
        container = waiting.pop()
        total += len(container)
        if total <= _MAX_MEMBERS:
            contents = container.values() if isinstance(container, dict) else container
            waiting += [content for content in contents if isinstance(content, dict | list)]
    return total > _MAX_MEMBERS


def _check_value(value: Any, type_info: inspect.Type, member: str, *, is_element: bool = False) -> None:
    """Raise the error for the first difference. `is_element` says that the value lies in a list or map."""
    if isinstance(type_info, inspect.UnionType):
        if value is None:
            return
        type_info = type_info.types[0]
    # One match, because it is the table of all kinds of members: for each, what AWS's Java says about another value.
    # AWS stops at the first difference, in the order of the members, so nothing is collected.
    match type_info:
        case inspect.StrType():
            _check_text(value, "String" if member not in ("B", "BS") else "")
        case inspect.IntType():
            if isinstance(value, bool) or not isinstance(value, int | float):
                _refuse_scalar(value, "Long" if member in _LONG_MEMBERS else "Integer")
        case inspect.BoolType():
            if isinstance(value, str) and member == "NULL":
                raise invalid(_NULL)
            if isinstance(value, str):
                _refuse_body("Unexpected token received from parser")
            if not isinstance(value, bool):
                _refuse_scalar(value, "Boolean")
        case inspect.ListType(item_type=item_type):
            if isinstance(value, dict):
                _refuse_body(_UNEXPECTED_STRUCTURE)
            if not isinstance(value, list):
                _refuse_body("Unexpected field type")
            for element in value:
                _check_element(element, item_type, member)
        case inspect.DictType(value_type=value_type):
            if isinstance(value, list):
                _refuse_body(f"Unrecognized collection type java.util.Map<java.lang.String, {_java_class(value_type)}>")
            if not isinstance(value, dict):
                _refuse_body("Unexpected field type")
            for element in value.values():
                _check_element(element, value_type, member)
        case inspect.StructType(fields=fields) | inspect.TypedDictType(fields=fields):
            if isinstance(value, list):
                _refuse_body(f"Unrecognized collection type class {_IN_MEMBER.get(member) or _java_class(type_info)}")
            if not isinstance(value, dict):
                _refuse_body("Unexpected value type in payload" if is_element else "Unexpected field type")
            for field in fields:
                _check_value(value.get(field.encode_name), field.type, field.encode_name)


def _check_element(value: Any, type_info: inspect.Type, member: str) -> None:
    """Check a member of a list or map. Null is a value of the wrong kind there, which AWS finds only later."""
    if value is None:
        if member in ("SS", "NS", "BS"):
            kind = {"SS": "string", "NS": "number", "BS": "binary"}[member]
            raise invalid(_NULL_IN_SET.format(kind, kind))
        raise invalid("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")
    _check_value(value, type_info, member, is_element=True)


def _check_text(value: Any, java_type: str) -> None:
    """Check a text; `java_type` is empty for binary, which is text in base64."""
    if isinstance(value, str):
        if not java_type:
            unbase64(value)
        return
    if not java_type:
        if isinstance(value, list):
            _refuse_body("Unrecognized collection type class java.nio.ByteBuffer")
        if not isinstance(value, dict):
            _refuse_body("only base-64-encoded strings are convertible to bytes")
    _refuse_scalar(value, java_type)


def _refuse_scalar(value: Any, java_type: str) -> NoReturn:
    if isinstance(value, dict):
        _refuse_body(_UNEXPECTED_STRUCTURE)
    if isinstance(value, list):
        _refuse_body(f"Unrecognized collection type class java.lang.{java_type}")
    if isinstance(value, bool):
        literal = "TRUE_VALUE" if value else "FALSE_VALUE"
    elif isinstance(value, str):
        literal = "STRING_VALUE"
    elif value is None:
        literal = "NULL_VALUE"
    else:
        literal = "NUMBER_VALUE" if isinstance(value, int) else "DECIMAL_VALUE"
    _refuse_body(f"{literal} cannot be converted to {java_type}")


def _java_class(type_info: inspect.Type) -> str:
    """The name of a Java class."""
    match type_info:
        case inspect.StructType(cls=cls) | inspect.TypedDictType(cls=cls):
            return _MODEL + _SHAPES.get(cls.__name__, cls.__name__)
        case inspect.ListType(item_type=item_type):
            return f"java.util.List<{_java_class(item_type)}>"
    return "java.lang.String"


def _refuse_body(message: str) -> NoReturn:
    raise DynamoDBError("SerializationException", message)
