"""DynamoDB's errors: code, message, HTTP status and JSON body."""

from __future__ import annotations

from typing import Any, NoReturn

import msgspec

from prejoin.errors import PrejoinError

_CORAL = "com.amazon.coral.service#"
_CORAL_VALIDATE = "com.amazon.coral.validate#"
_DYNAMODB = "com.amazonaws.dynamodb.v20120810#"

_NAMESPACES = {
    "ValidationException": _CORAL_VALIDATE,
    "SerializationException": _CORAL,
    "UnknownOperationException": _CORAL,
    "AccessDeniedException": _CORAL,
    "InternalServerError": _DYNAMODB,
    "ThrottlingException": "com.amazon.coral.availability#",
}
_SERVER_FAULTS = frozenset({"InternalServerError", "ServiceUnavailable"})


class DynamoDBError(PrejoinError):
    """An error that DynamoDB returned. `fields` are further members of the body, such as `CancellationReasons` or
    `Item`. `request_id` is AWS's id of the request, if there is one; AWS support asks for it.

    >>> error = DynamoDBError("ValidationException", "The provided key element does not match the schema")
    >>> error.status
    400
    >>> DynamoDBError.from_body(error.body(), error.status).code
    'ValidationException'
    """

    def __init__(
        self,
        code: str,
        message: str = "",
        *,
        status: int | None = None,
        fields: dict[str, Any] | None = None,
        request_id: str = "",
    ) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.status = status if status is not None else (500 if code in _SERVER_FAULTS else 400)
        self.fields: dict[str, Any] = fields or {}
        self.request_id = request_id

    def __str__(self) -> str:
        text = f"{self.code}: {self.message}" if self.message else self.code
        return f"{text} (request {self.request_id})" if self.request_id else text

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.code, self.message, self.status, self.fields, self.request_id)

    def body(self) -> bytes:
        """The JSON body of the HTTP response."""
        # AWS writes "Message" in errors of its outer layer and of cancelled transactions, else "message".
        outer = self.code in ("SerializationException", "TransactionCanceledException", "AccessDeniedException")
        sentence = "Message" if outer else "message"
        document = {"__type": _NAMESPACES.get(self.code, _DYNAMODB) + self.code}
        if self.message:
            document[sentence] = self.message
        return msgspec.json.encode({**document, **self.fields})

    @classmethod
    def from_body(cls, body: bytes, status: int = 400, *, request_id: str = "") -> DynamoDBError:
        """The error in a response body. A body that is not DynamoDB's is shown in the message."""
        # A gateway or load balancer may send its own errors, some of them in JSON.
        unknown = "InternalServerError" if status >= 500 else "UnknownError"
        try:
            document = msgspec.json.decode(body, type=dict[str, Any])
        except (ValueError, RecursionError):
            text = foreign(body, 200)
            message = f"HTTP status {status}, and a body that is not DynamoDB's: {text}" if body else ""
            return cls(unknown, message, status=status, request_id=request_id)
        kind = document.pop("__type", None)
        lower, upper = document.pop("message", None), document.pop("Message", None)
        code = kind.rsplit("#", 1)[-1] if isinstance(kind, str) else unknown
        return cls(code, str(lower or upper or ""), status=status, fields=document, request_id=request_id)


def foreign(body: bytes, limit: int) -> str:
    """A short form of a body that is not DynamoDB's, for a message: its beginning, or "a page of HTML or XML".

    >>> foreign(b"upstream timed out", 8), foreign(b"<html><h1>Welcome to nginx", 60)
    ("'upstream'", 'a page of HTML or XML')
    """
    return "a page of HTML or XML" if body.lstrip()[:1] == b"<" else repr(body[:limit].decode("utf-8", "replace"))


class TwoWordingsError(DynamoDBError):
    """A ValidationException with a newer wording for GetItem, BatchGetItem and Query, and lately for PutItem,
    UpdateItem and DeleteItem.
    """

    def __init__(self, message: str, newer: str) -> None:
        super().__init__("ValidationException", message)
        self.newer = newer


def newer_wording(error: DynamoDBError) -> DynamoDBError:
    """The same error in the newer wording, if it has one."""
    return invalid(error.newer) if isinstance(error, TwoWordingsError) else error


class UnprefixedError(DynamoDBError):
    """A ValidationException that never gets the prefix of `prefixed`."""

    def __init__(self, message: str) -> None:
        super().__init__("ValidationException", message)


def prefixed(error: DynamoDBError) -> DynamoDBError:
    """The same error as PutItem, UpdateItem and DeleteItem report it lately: the newer wording, with a prefix."""
    if error.code != "ValidationException" or isinstance(error, UnprefixedError):
        return error
    return invalid(f"1 validation error detected: {newer_wording(error).message}")


def _rebuild(code: str, message: str, status: int, fields: dict[str, Any], request_id: str) -> DynamoDBError:
    return DynamoDBError(code, message, status=status, fields=fields, request_id=request_id)


def invalid(message: str) -> DynamoDBError:
    """A ValidationException, the error of nearly every invalid request."""
    return DynamoDBError("ValidationException", message)


def refuse(message: str) -> NoReturn:
    """Raise a ValidationException."""
    raise DynamoDBError("ValidationException", message)


def not_found(message: str = "Requested resource not found") -> DynamoDBError:
    return DynamoDBError("ResourceNotFoundException", message)


def condition_failed(item: Any = None) -> DynamoDBError:
    """The error of a write whose condition is false, with the item if the request asks for it."""
    fields = {"Item": item} if item is not None else None
    return DynamoDBError("ConditionalCheckFailedException", "The conditional request failed", fields=fields)
