"""What an error means for the request that got it: whether it was done, and what to do about it."""

from __future__ import annotations

import re
from enum import Enum

import msgspec

from prejoin.protocol.errors import DynamoDBError


class ErrorClass(Enum):
    FINAL = "the answer, and there is no other"
    BUSY = "not done; later it may be"
    UNKNOWN = "nobody knows whether it was done"
    RENEW = "the credentials are not taken (any more)"
    CLOCK = "the signature is not right, perhaps for the time in it"


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
        # These stand in each other's way, for a moment.
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
    """
    >>> classify(DynamoDBError("ThrottlingException", "Rate exceeded")).name
    'BUSY'

    A server error may come after the write. AWS's own SDKs repeat it all the same:

    >>> classify(DynamoDBError("InternalServerError")).name
    'UNKNOWN'
    """
    if error.code in _BUSY or error.status in (408, 429):  # the request came too late, or too many did
        return ErrorClass.BUSY
    if error.status >= 500:
        return ErrorClass.UNKNOWN
    if error.code in _RENEW:
        return ErrorClass.RENEW
    if error.code in _CLOCK:
        return ErrorClass.CLOCK
    return ErrorClass.FINAL


def proves_not_applied(operation: str, error: Exception) -> bool:
    """Whether an error for the repetition of a lost write says that the lost one was not done either.

    A transaction with a token is cancelled only if it was not done before; a request that is not valid never was. An
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
