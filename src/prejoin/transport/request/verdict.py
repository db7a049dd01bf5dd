"""What an error means for the request that got it: whether it was done, and what to do about it."""

from __future__ import annotations

from enum import Enum

from prejoin.protocol.errors import DynamoDBError


class Verdict(Enum):
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


def verdict(error: DynamoDBError) -> Verdict:
    """
    >>> verdict(DynamoDBError("ThrottlingException", "Rate exceeded")).name
    'BUSY'

    A server error may come after the write. AWS's own SDKs repeat it all the same:

    >>> verdict(DynamoDBError("InternalServerError")).name
    'UNKNOWN'
    """
    if error.code in _BUSY or error.status in (408, 429):  # the request came too late, or too many did
        return Verdict.BUSY
    if error.status >= 500:
        return Verdict.UNKNOWN
    if error.code in _RENEW:
        return Verdict.RENEW
    if error.code in _CLOCK:
        return Verdict.CLOCK
    return Verdict.FINAL


def settles(operation: str, error: Exception) -> bool:
    """Whether an error for the repetition of a lost write says that the lost one was not done either.

    A transaction with a token is cancelled only if it was not done before; a request that is not valid never was. An
    update is an exception: whether its paths are valid depends on the item, which may have changed in between.

    >>> invalid = DynamoDBError("ValidationException")
    >>> settles("PutItem", invalid), settles("UpdateItem", invalid)
    (True, False)
    """
    if not isinstance(error, DynamoDBError) or error.status >= 500:
        return False
    if error.code == "ValidationException":
        return operation != "UpdateItem"
    return error.code == "TransactionCanceledException"
