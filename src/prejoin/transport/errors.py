"""Errors of the transport: no response came from DynamoDB."""

from __future__ import annotations

from prejoin.errors import PrejoinError


class TransportError(PrejoinError):
    """The base of these errors. `operation`, `attempts` and `cause` say what was sent, how often, and what happened.

    >>> import pickle
    >>> error = OutcomeUnknown("lost", operation="PutItem", attempts=1, cause=TimeoutError("timed out"))
    >>> back = pickle.loads(pickle.dumps(error))
    >>> back.operation, back.attempts, back.cause
    ('PutItem', 1, TimeoutError('timed out'))
    """

    def __init__(
        self, message: str, *, operation: str = "", attempts: int = 0, cause: BaseException | None = None
    ) -> None:
        super().__init__(message)
        self.operation = operation
        self.attempts = attempts
        self.cause = cause


class NotConfigured(TransportError):  # noqa: N818 - named by what happened
    """The address, region or credentials are missing or invalid, or the server redirects."""


class CredentialsMissing(NotConfigured):
    """There are no credentials to sign with."""


class ConnectionFailed(TransportError):  # noqa: N818
    """Not one byte of the request was sent, so it was not applied."""


class AnswerLost(TransportError):  # noqa: N818
    """The request was sent, but no complete response came. It was a read, unless this is an OutcomeUnknown."""


class OutcomeUnknown(AnswerLost):
    """A write was sent, at least in part, and no response says whether it was applied.

    It was retried only if that is safe. Once a response is lost the outcome stays unknown, even if later attempts fail
    in other ways. Read the item to find out.
    """
