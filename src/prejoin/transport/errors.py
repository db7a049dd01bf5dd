"""What can go wrong on the way, when DynamoDB's own answer did not come: one small family of exceptions."""

from __future__ import annotations

from prejoin.errors import PrejoinError


class TransportError(PrejoinError):
    """Any of the errors below. `operation`, `attempts` and `cause` say what was sent, how often, and what happened.

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


class NotConfigured(TransportError):  # noqa: N818 - the family is named by what happened
    """Where to send, or how, cannot be told from the arguments and the environment; or the server redirects."""


class CredentialsMissing(NotConfigured):
    """There is nothing to sign with."""


class ConnectionFailed(TransportError):  # noqa: N818
    """Not one byte of the request was sent: it was not applied."""


class AnswerLost(TransportError):  # noqa: N818
    """The request was sent and no whole answer came. It was a read, unless this is an OutcomeUnknown."""


class OutcomeUnknown(AnswerLost):
    """A write was sent, at least in part, and no answer says whether it was applied.

    It was repeated only if that is safe. Once an answer is lost the outcome stays unknown, also if later attempts
    fail in other ways. Read the item to find out.
    """
