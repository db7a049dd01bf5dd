"""Law of exchanges: whatever happens to requests, the reported outcome is true. It needs no sockets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prejoin.protocol.errors import DynamoDBError
from prejoin.transport import (
    AnswerLost,
    ConnectionFailed,
    Credentials,
    CredentialsMissing,
    OutcomeUnknown,
    Retries,
    TransportError,
)
from prejoin.transport.connection.http import MalformedResponse, WireResponse
from prejoin.transport.credentials import CredentialCache, static_source
from prejoin.transport.request.exchange import BlockingCall, Channel, RetryDelay, SendAttempt, SendFailure, SendProgress
from prejoin.transport.request.retry import is_read, safe_to_repeat
from prejoin.transport.settings import TransportSettings
from prejoin.transport.url import read_url

from .conftest import KEYS
from .scripted import OK, item


@dataclass(frozen=True)
class Event:
    """The outcome of one attempt, and whether the server applied the request."""

    outcome: WireResponse | SendFailure
    applied: bool


def refused(code: str, status: int = 400) -> WireResponse:
    return WireResponse(status, {}, DynamoDBError(code, "no").body())


GONE = ConnectionResetError("gone")
maybe = st.booleans()
events = st.one_of(
    st.just(Event(WireResponse(200, {}, OK), True)),
    st.sampled_from(
        [
            Event(refused("ThrottlingException"), False),
            Event(refused("TransactionInProgressException"), False),
            Event(refused("AccessDeniedException"), False),
            Event(SendFailure(SendProgress.UNSENT, GONE), False),
            Event(SendFailure(SendProgress.UNSENT, TransportError("the transport is closed")), False),
            Event(SendFailure(SendProgress.UNSENT, GONE, stale=True), False),
        ]
    ),
    st.builds(Event, st.just(SendFailure(SendProgress.LOST, GONE)), maybe),
    st.builds(Event, st.just(SendFailure(SendProgress.LOST, GONE, stale=True)), maybe),
    st.builds(Event, st.just(SendFailure(SendProgress.LOST, TimeoutError("timed out"))), maybe),
    st.builds(Event, st.just(WireResponse(200, {b"x-amz-crc32": b"1"}, OK)), maybe),
    st.builds(Event, st.sampled_from([refused("InternalServerError", 500), WireResponse(503, {}, b"<html>")]), maybe),
)
requests = st.sampled_from(
    [
        ("GetItem", item(Key={})),
        ("PutItem", item(Item={})),
        ("PutItem", item(Item={}, ConditionExpression="attribute_not_exists(pk)")),
        ("UpdateItem", item(UpdateExpression="ADD n :one")),
        ("TransactWriteItems", item(TransactItems=[], ClientRequestToken="7")),
        ("TransactWriteItems", item(TransactItems=[])),
    ]
)


def core(
    attempts: int = 4, on_retry: Callable[..., None] | None = None, keyring: CredentialCache | None = None
) -> Channel:
    settings = TransportSettings(
        timeout=1,
        connect_timeout=1,
        retries=Retries(attempts=attempts),
        pool=1,
        idle=1,
        ssl_context=None,
        on_retry=on_retry,
    )
    return Channel(
        read_url("http://127.0.0.1:8000"), "us-east-1", None, keyring or CredentialCache(static_source(KEYS)), settings
    )


@dataclass
class Held:
    """The course of an exchange."""

    outcome: bytes | Exception
    applied: int
    sent: int
    pauses: list[float]


def hold(core: Channel, operation: str, body: bytes, events: list[Event]) -> Held:
    """Drives an exchange with these events; after them the server is unreachable."""
    exchange = core.exchange(operation, body)
    script = iter(events)
    applied = sent = 0
    pauses: list[float] = []
    result: Any = None
    while True:
        try:
            step = exchange.send(result)
        except StopIteration as stop:
            return Held(stop.value, applied, sent, pauses)
        except Exception as error:
            return Held(error, applied, sent, pauses)
        result = None
        if type(step) is SendAttempt:
            event = next(script, Event(SendFailure(SendProgress.UNSENT, ConnectionRefusedError("not reached")), False))
            applied += event.applied
            sent += 1
            result = event.outcome
        elif type(step) is RetryDelay:
            pauses.append(step.seconds)
        elif type(step) is BlockingCall:
            try:
                result = step.call()
            except Exception as error:
                try:
                    exchange.throw(error)
                except Exception as outcome:
                    return Held(outcome, applied, sent, pauses)


@given(requests, st.lists(events, max_size=8))
def test_reported_outcome_is_true(request: tuple[str, bytes], script: list[Event]) -> None:
    held = hold(core(), *request, script)
    if isinstance(held.outcome, bytes):
        assert held.outcome == OK
        assert held.applied >= 1
    elif isinstance(held.outcome, ConnectionFailed):
        assert held.applied == 0 or is_read(request[0])
    elif isinstance(held.outcome, OutcomeUnknown):
        assert not is_read(request[0])
    elif isinstance(held.outcome, AnswerLost):
        assert is_read(request[0])
    else:
        assert isinstance(held.outcome, DynamoDBError) or type(held.outcome) is TransportError
        assert held.applied == 0 or is_read(request[0])
    if not safe_to_repeat(*request):
        assert held.applied <= 1


@given(requests, st.lists(events, max_size=12), st.integers(1, 5))
def test_exchange_ends_after_configured_attempts(request: tuple[str, bytes], script: list[Event], most: int) -> None:
    held = hold(core(most), *request, script)
    # One more if a kept connection was closed by the server.
    assert 1 <= held.sent <= most + 1
    assert len(held.pauses) < most
    assert all(0 <= pause <= Retries().ceiling(at) for at, pause in enumerate(held.pauses, 1))


LOST = Event(SendFailure(SendProgress.LOST, GONE), True)


def test_lost_write_stays_unknown_when_credentials_run_out() -> None:
    expired = [Credentials(KEYS.access_key, KEYS.secret_key, expires=datetime.now(UTC))]

    def source() -> Credentials:
        if not expired:
            raise CredentialsMissing("there are no credentials")
        return expired.pop()

    held = hold(core(keyring=CredentialCache(source)), "PutItem", item(Item={}), [LOST])
    assert isinstance(held.outcome, OutcomeUnknown)
    assert str(held.outcome).endswith("whether it was applied: gone; then: there are no credentials")


def test_unknown_counts_what_was_sent_and_tells_the_last_error() -> None:
    held = hold(core(), "PutItem", item(Item={}), [LOST, Event(refused("ThrottlingException"), False)])
    assert isinstance(held.outcome, OutcomeUnknown)
    assert held.outcome.attempts == 4
    assert held.outcome.cause is GONE
    expected = "PutItem was sent 2 times and no response says whether it was applied: gone; then: not reached"
    assert str(held.outcome) == expected


def test_invalid_update_after_a_lost_one_is_unknown() -> None:
    """Whether `SET m.x = :v` is valid depends on the item, so the first attempt may have been applied."""
    update = item(Key={}, UpdateExpression="SET m.x = :v")
    held = hold(core(), "UpdateItem", update, [LOST, Event(refused("ValidationException"), False)])
    assert isinstance(held.outcome, OutcomeUnknown)


def test_a_hook_that_fails_fails_the_request() -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    held = hold(core(on_retry=fail), "GetItem", item(), [Event(refused("ThrottlingException"), False)])
    assert isinstance(held.outcome, ZeroDivisionError)


@pytest.mark.parametrize("cause", [GONE, MalformedResponse("cut off")])
def test_the_error_names_what_happened(cause: Exception) -> None:
    held = hold(core(1), "GetItem", item(), [Event(SendFailure(SendProgress.LOST, cause), True)])
    assert str(held.outcome) == f"http://127.0.0.1:8000 did not answer GetItem: {cause}"
