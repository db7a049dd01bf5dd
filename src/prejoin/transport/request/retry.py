"""Decides about failed attempts: the class of an error, and whether a request may be sent again."""

from __future__ import annotations

import re
from enum import Enum

import msgspec

from prejoin.protocol.errors import DynamoDBError


class ErrorClass(Enum):
    """The meaning of an error for the request."""

    FINAL = "final"
    BUSY = "not applied; may work later"
    UNKNOWN = "unknown whether it was applied"
    RENEW = "the credentials are refused or have expired"
    CLOCK = "the signature is refused, perhaps because of its time"


_BUSY = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "SlowDown",
        "Throttling",
        "ThrottlingError",
        "ThrottlingException",
        "TooManyRequestsException",
        # Conflicts that pass.
        "ReplicatedWriteConflictException",
        "TransactionConflictException",
        "TransactionInProgressException",
    }
)
_RENEW = frozenset({"ExpiredTokenException", "ExpiredToken", "UnrecognizedClientException", "InvalidClientTokenId"})
_CLOCK = frozenset(
    {"InvalidSignatureException", "RequestExpired", "RequestTimeTooSkewed", "SignatureDoesNotMatch", "AuthFailure"}
)


def classify(error: DynamoDBError) -> ErrorClass:
    """The class of an error.

    >>> classify(DynamoDBError("ThrottlingException", "Rate exceeded")).name
    'BUSY'

    A server error may come after the write was applied, although AWS's own SDKs always retry it:

    >>> classify(DynamoDBError("InternalServerError")).name
    'UNKNOWN'
    """
    if error.code in _BUSY or error.status in (408, 429):  # request timeout, too many requests
        return ErrorClass.BUSY
    if error.status >= 500:
        return ErrorClass.UNKNOWN
    if error.code in _RENEW:
        return ErrorClass.RENEW
    if error.code in _CLOCK:
        return ErrorClass.CLOCK
    return ErrorClass.FINAL


def proves_not_applied(operation: str, error: Exception) -> bool:
    """Whether the error of a retry proves that the earlier attempt, whose response was lost, was not applied either.

    A transaction with a token is cancelled only if it was not applied before. An invalid request is never applied. An
    update is an exception: whether its paths are valid depends on the item, which may have changed in between.

    >>> invalid = DynamoDBError("ValidationException")
    >>> proves_not_applied("PutItem", invalid), proves_not_applied("UpdateItem", invalid)
    (True, False)
    """
    if not isinstance(error, DynamoDBError) or error.status >= 500:
        return False
    if error.code == "ValidationException":
        return operation != "UpdateItem"
    return error.code == "TransactionCanceledException"


_READS = frozenset({"GetItem", "BatchGetItem", "Query", "Scan", "TransactGetItems", "GetShardIterator", "GetRecords"})
_AFTERWARDS = ("NONE", "ALL_NEW", "UPDATED_NEW")
"""ReturnValues that are the same the second time."""
# No list positions: beyond the end of a list, `SET items[99] = :x` appends, and would append again.
_PLAIN_SET = r"\s*SET\s+[#\w.]+\s*=\s*:\w+(?:\s*,\s*[#\w.]+\s*=\s*:\w+)*\s*"


class _Members(msgspec.Struct):
    """The members of a request that decide whether it is safe to repeat."""

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
    """Whether applying a request twice has the same result as once. In doubt, False.

    >>> safe_to_repeat("PutItem", b'{"TableName":"shop","Item":{}}')
    True

    If the first attempt makes the condition false, the second fails, and the caller believes neither was applied:

    >>> safe_to_repeat("PutItem", b'{"Item":{},"ConditionExpression":"attribute_not_exists(pk)"}')
    False
    >>> safe_to_repeat("UpdateItem", b'{"UpdateExpression":"SET stock = :n"}')
    True
    >>> safe_to_repeat("UpdateItem", b'{"UpdateExpression":"SET stock = stock - :n"}')
    False
    >>> safe_to_repeat("TransactWriteItems", b'{"TransactItems":[],"ClientRequestToken":"7"}')
    True
    """
    if is_read(operation) or operation == "BatchWriteItem":  # it has no conditions
        return True
    try:
        members = _decode(body)
    except ValueError:
        return False
    if operation in ("TransactWriteItems", "ExecuteTransaction"):
        return bool(members.ClientRequestToken)
    if members.ConditionExpression is not None or members.Expected is not None:
        return False
    return_values = members.ReturnValues or "NONE"
    if operation in ("PutItem", "DeleteItem"):
        return return_values == "NONE"  # ALL_OLD would return what the first attempt wrote
    if operation == "UpdateItem":
        update = members.UpdateExpression
        if members.AttributeUpdates is not None or update is None or return_values not in _AFTERWARDS:
            return False
        return re.fullmatch(_PLAIN_SET, update, re.IGNORECASE) is not None
    return False
