"""One request from signature to response, without I/O: it is signed, sent, retried where that is right, and its outcome
judged.

An exchange is a generator. It yields what to do (send, wait, call a blocking function), and a driver does it, for
threads or for asyncio, and sends back the outcome.
"""

from __future__ import annotations

from _thread import allocate_lock
from collections.abc import Callable, Generator
from enum import Enum
from functools import partial
from time import time
from typing import TYPE_CHECKING, Any

import msgspec

from prejoin.protocol.errors import DynamoDBError
from prejoin.transport.connection.http import MalformedResponse, RequestHead, WireResponse, response_damage
from prejoin.transport.connection.pool import PoolExhausted
from prejoin.transport.connection.proxy import ProxyRefusal
from prejoin.transport.credentials import CredentialCache, Credentials
from prejoin.transport.errors import (
    AnswerLost,
    ConnectionFailed,
    NotConfigured,
    OutcomeUnknown,
    TransportError,
)
from prejoin.transport.request.sign import STREAMS_TARGET, TARGET, Signer
from prejoin.transport.settings import TransportSettings
from prejoin.transport.url import Url

if TYPE_CHECKING:
    from prejoin.transport.request.retry import ErrorClass

_FULL = 500
_RETRY = 5
_RETRY_AFTER_TIMEOUT = 10


class RetryQuota:
    """Limits the retries of all requests of a transport together, so that an outage is not made worse.

    It is a token bucket, as in the AWS SDKs: a retry costs tokens, a success after a retry pays back its cost, any
    other success pays one.

    >>> quota = RetryQuota()
    >>> sum(bool(quota.spend()) for _ in range(200))
    100
    """

    __slots__ = ("_left", "_lock")

    def __init__(self) -> None:
        self._left = _FULL
        self._lock = allocate_lock()

    def spend(self, *, timed_out: bool = False) -> int:
        """Take the cost of one retry and return it. Return 0 if there is not enough left."""
        price = _RETRY_AFTER_TIMEOUT if timed_out else _RETRY
        with self._lock:
            if self._left < price:
                return 0
            self._left -= price
            return price

    def earn(self, cost: int) -> None:
        """Note a success, after its last retry cost this much."""
        if self._left < _FULL:
            with self._lock:
                self._left = min(_FULL, self._left + (cost or 1))

    def after_fork(self) -> None:
        """In a forked child, replace the lock, which another thread of the parent may have held."""
        self._lock = allocate_lock()


_SKEW = 240.0
"""Seconds by which two clocks may differ. AWS refuses signatures from 15 minutes on."""


class SendAttempt(msgspec.Struct, frozen=True, gc=False):
    """Step: send this request. The driver replies with a WireResponse or a SendFailure."""

    request: bytes
    fresh: bool
    """Use a new connection, because a pooled one has just turned out dead."""


class RetryDelay(msgspec.Struct, frozen=True, gc=False):
    """Step: wait."""

    seconds: float


class BlockingCall(msgspec.Struct, frozen=True):
    """Step: call this function, which may block. The driver replies with its result."""

    call: Callable[[], Any]


class SendProgress(Enum):
    """How far a request got before its attempt failed.

    A request is unsent only if not one byte of it was passed to a socket or an asyncio transport. Neither can tell
    afterwards how much was sent, so from the first byte on the outcome is unknown until a complete response arrives.
    """

    UNSENT = "not one byte was sent"
    LOST = "sent, at least in part, without a complete response"


class SendFailure(msgspec.Struct, frozen=True):
    """An attempt without a complete response."""

    how: SendProgress
    cause: Exception
    stale: bool = False
    """A pooled connection ended without a byte: probably the server had closed it as idle."""


Step = SendAttempt | RetryDelay | BlockingCall
Exchange = Generator[Step, Any, bytes]


class Channel:
    """Shared by all exchanges with one DynamoDB: address, credentials, the server's clock and the retry quota."""

    def __init__(
        self,
        url: Url,
        region: str,
        proxy: Url | None,
        keyring: CredentialCache,
        settings: TransportSettings,
        streams: bool = False,
    ) -> None:
        self.url = url
        self.proxy = proxy
        self.settings = settings
        self.keyring = keyring
        self.quota = RetryQuota()
        target = STREAMS_TARGET if streams else TARGET
        self._opening = RequestHead(url, proxy, target)
        self._signer = Signer(url.authority, url.path, region, target)
        self._ahead = 0.0
        """Seconds that the server's clock is ahead of ours."""

    def exchange(self, operation: str, body: bytes) -> Exchange:
        """One exchange. It returns the body of the response, or raises DynamoDBError or TransportError."""
        if not (operation.isascii() and operation.isalnum()):
            raise ValueError(f"DynamoDB has no operation {operation!r}")
        # One piece, because it is a protocol: each way to the next attempt is a `continue`, and what was learned on the
        # way is in these variables.
        attempts, try_count, send_count, retry_cost = 1, 0, 0, 0
        fresh = has_renewed = has_set_clock = False
        # Once a response to a write is lost, its outcome stays unknown, whatever happens to later attempts.
        lost_answer: Exception | None = None
        while True:
            credentials = self.keyring.current(time())
            if credentials is None:
                try:
                    credentials = yield BlockingCall(self.keyring.renew)
                except Exception as missing:
                    if lost_answer is not None:
                        raise self._unknown_outcome(
                            operation, try_count, send_count, lost_answer, missing
                        ) from lost_answer
                    raise
            moment = time() + self._ahead
            signature = self._signer.headers(operation, body, credentials, moment)
            outcome = yield SendAttempt(self._opening.request(operation, signature, body), fresh)
            try_count += 1
            if type(outcome) is WireResponse:
                damage = response_damage(outcome)
                if damage is None and outcome.status < 300:
                    self.quota.earn(retry_cost)
                    return outcome.body
                if damage is not None:
                    outcome = SendFailure(SendProgress.LOST, MalformedResponse(damage))

            # Imported only after a failure, to keep the cold start short.
            from prejoin.transport.request.retry import ErrorClass, is_read, proves_not_applied, safe_to_repeat

            if type(outcome) is not SendFailure or outcome.how is SendProgress.LOST:
                send_count += 1
            error, error_class = self._judge(outcome)
            if error_class is ErrorClass.RENEW and not has_renewed:
                has_renewed = True
                if (yield BlockingCall(partial(self._use_other_credentials, credentials))):
                    continue
            if error_class is ErrorClass.CLOCK and not has_set_clock and self._set_clock(outcome, moment):
                has_set_clock = True
                continue
            if error_class is ErrorClass.UNKNOWN and not is_read(operation):
                lost_answer = error
                if not safe_to_repeat(operation, body):
                    raise self._unknown_outcome(operation, try_count, send_count, error, None) from error
            if type(outcome) is SendFailure and outcome.stale and not fresh:
                fresh = True  # at once and without cost: the server is there, only this connection was dead
                continue
            if error_class in (ErrorClass.BUSY, ErrorClass.UNKNOWN) and attempts < self.settings.retries.attempts:
                retry_cost = self.quota.spend(timed_out=isinstance(error, TimeoutError))
                if retry_cost:
                    delay = self._delay(attempts)
                    if self.settings.on_retry is not None:
                        self.settings.on_retry(operation, attempts, error, delay)
                    yield RetryDelay(delay)
                    attempts += 1
                    continue
            if lost_answer is not None and not proves_not_applied(operation, error):
                raise self._unknown_outcome(operation, try_count, send_count, lost_answer, error) from lost_answer
            raise self._failure(operation, try_count, error, outcome)

    def _judge(self, outcome: WireResponse | SendFailure) -> tuple[Exception, ErrorClass]:
        from prejoin.transport.request.retry import ErrorClass, classify

        if type(outcome) is WireResponse:
            if outcome.status < 400:
                return self._redirect_error(outcome), ErrorClass.FINAL
            error = DynamoDBError.from_body(
                outcome.body, outcome.status, request_id=outcome.header(b"x-amzn-requestid")
            )
            if error.code == "UnknownError":
                return self._not_dynamodb_error(outcome), ErrorClass.FINAL
            return error, classify(error)
        assert type(outcome) is SendFailure
        if outcome.how is SendProgress.LOST:
            return outcome.cause, ErrorClass.UNKNOWN
        return outcome.cause, ErrorClass.FINAL if _will_not_change(outcome.cause) else ErrorClass.BUSY

    def _failure(
        self, operation: str, attempts: int, error: Exception, outcome: WireResponse | SendFailure
    ) -> Exception:
        """The error for a request that was not applied, or that changes nothing."""
        if isinstance(error, DynamoDBError | TransportError):
            return error
        times = "" if attempts == 1 else f", {attempts} times"
        if type(outcome) is SendFailure and outcome.how is SendProgress.LOST:
            failure: TransportError = AnswerLost(
                f"{self.url} did not answer {operation}{times}: {_description(error)}",
                operation=operation,
                attempts=attempts,
                cause=error,
            )
        else:
            way = f"{self.url} through {self.proxy}" if self.proxy else f"{self.url}"
            failure = ConnectionFailed(
                f"{operation} did not reach {way}{times}: {_description(error)}. It was not applied",
                operation=operation,
                attempts=attempts,
                cause=error,
            )
        failure.__cause__ = error
        return failure

    def _unknown_outcome(
        self, operation: str, attempts: int, send_count: int, lost_answer: Exception, last: Exception | None
    ) -> OutcomeUnknown:
        """The error for a write whose response was lost. `last` is the error of its retry, if it was retried."""
        times = f" {send_count} times" if send_count > 1 else ""
        if last is None:
            details = ". It was not retried, because repeating it may not be safe"
        else:
            details = "" if last is lost_answer else f"; then: {_description(last)}"
        return OutcomeUnknown(
            f"{operation} was sent{times} and no response says whether it was applied: {_description(lost_answer)}"
            f"{details}",
            operation=operation,
            attempts=attempts,
            cause=lost_answer,
        )

    def _not_dynamodb_error(self, response: WireResponse) -> TransportError:
        content_type = response.header(b"content-type") or "no content type"
        return NotConfigured(f"{self.url} is not a DynamoDB: it returned {response.status} ({content_type[:100]})")

    def _redirect_error(self, response: WireResponse) -> TransportError:
        location = response.header(b"location")
        return NotConfigured(
            f"{self.url} answered {response.status}{f' to {location[:200]}' if location else ''}, which DynamoDB never "
            "does: redirects are not followed, so use the final address"
        )

    def _use_other_credentials(self, refused: Credentials) -> bool:
        """Use other credentials, if the source has any. Return whether it has."""
        try:
            credentials = self.keyring.renew(refused)
        except Exception:
            return False  # the server's own error says more
        return (credentials.access_key, credentials.secret_key, credentials.token) != (
            refused.access_key,
            refused.secret_key,
            refused.token,
        )

    def _set_clock(self, response: WireResponse | SendFailure, signing_time: float) -> bool:
        """Return whether the server's clock differs much from the signature's. Then it is used from now on."""
        assert type(response) is WireResponse
        from email.utils import parsedate_to_datetime

        try:
            server_time = parsedate_to_datetime(response.header(b"date")).timestamp()
        except (ValueError, TypeError, OverflowError):
            return False
        if abs(server_time - signing_time) < _SKEW:
            return False
        self._ahead = server_time - time()
        return True

    def _delay(self, attempts: int) -> float:
        from random import random

        return random() * self.settings.retries.ceiling(attempts)  # noqa: S311 - spreads clients out, no secret

    def after_fork(self) -> None:
        self.keyring.after_fork()
        self.quota.after_fork()


def _description(error: Exception) -> str:
    """A short description of an error; some have no text."""
    return str(error) or type(error).__name__


def _will_not_change(cause: Exception) -> bool:
    if isinstance(cause, PoolExhausted | TransportError):
        return True  # waiting again would exceed the timeout; a closed transport stays closed
    if isinstance(cause, ProxyRefusal):
        return 400 <= cause.status < 500
    return hasattr(cause, "verify_code")  # ssl.SSLCertVerificationError, without importing ssl for it
