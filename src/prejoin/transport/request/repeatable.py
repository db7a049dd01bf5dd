"""Whether a request may be sent again when nobody knows if it was done: it changes nothing, or changes it to the same.

Asked only after something went wrong, so the request is looked into then and not before. In doubt the answer is no.
"""

from __future__ import annotations

import re

import msgspec

_READS = frozenset({"GetItem", "BatchGetItem", "Query", "Scan", "TransactGetItems"})
_AFTERWARDS = ("NONE", "ALL_NEW", "UPDATED_NEW")
"""ReturnValues that come out the same the second time."""
# An index is left out: beyond the end of a list, `SET items[99] = :x` appends, and appends again.
_PLAIN_SET = r"\s*SET\s+[#\w.]+\s*=\s*:\w+(?:\s*,\s*[#\w.]+\s*=\s*:\w+)*\s*"


class _Members(msgspec.Struct):
    """What of a request decides."""

    ConditionExpression: msgspec.Raw | None = None
    Expected: msgspec.Raw | None = None
    AttributeUpdates: msgspec.Raw | None = None
    ReturnValues: str | None = None
    UpdateExpression: str | None = None
    ClientRequestToken: str | None = None


_decode = msgspec.json.Decoder(_Members).decode


def is_read(operation: str) -> bool:
    """Whether an operation changes nothing, whatever its body."""
    return operation in _READS or operation.startswith(("Describe", "List"))


def safe_to_repeat(operation: str, body: bytes) -> bool:
    """Whether doing it twice is doing it once.

    >>> safe_to_repeat("PutItem", b'{"TableName":"shop","Item":{}}')
    True

    A condition that the first made false would make the second fail, and its caller believe that neither was done:

    >>> safe_to_repeat("PutItem", b'{"Item":{},"ConditionExpression":"attribute_not_exists(pk)"}')
    False
    >>> safe_to_repeat("UpdateItem", b'{"UpdateExpression":"SET stock = :n"}')
    True
    >>> safe_to_repeat("UpdateItem", b'{"UpdateExpression":"SET stock = stock - :n"}')
    False
    >>> safe_to_repeat("TransactWriteItems", b'{"TransactItems":[],"ClientRequestToken":"7"}')
    True
    """
    if is_read(operation) or operation == "BatchWriteItem":  # which has no conditions
        return True
    try:
        members = _decode(body)
    except ValueError:
        return False
    if operation in ("TransactWriteItems", "ExecuteTransaction"):
        return bool(members.ClientRequestToken)
    if members.ConditionExpression is not None or members.Expected is not None:
        return False
    returned = members.ReturnValues or "NONE"
    if operation in ("PutItem", "DeleteItem"):
        return returned == "NONE"  # ALL_OLD would be what the first wrote
    if operation == "UpdateItem":
        update = members.UpdateExpression
        if members.AttributeUpdates is not None or update is None or returned not in _AFTERWARDS:
            return False
        return re.fullmatch(_PLAIN_SET, update, re.IGNORECASE) is not None
    return False
