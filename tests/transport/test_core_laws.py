"""The law of the core: whatever happens on the way, what a caller is told is true. No sockets, so many cases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prejoin.protocol.errors import DynamoDBError
from prejoin.transport import AnswerLost, ConnectionFailed, OutcomeUnknown, Retries
from prejoin.transport.core import Attempt, Blocking, Core, Failure, How, Pause
from prejoin.transport.credentials import Keyring, always
from prejoin.transport.http import Answer, BrokenAnswer
from prejoin.transport.repeat import is_read, safe_to_repeat
from prejoin.transport.settings import Settings
from prejoin.transport.url import read_url

from .conftest import KEYS
from .scripted import OK, item


@dataclass(frozen=True)
class Event:
    """What comes of one attempt, and whether the server did what was asked."""

    outcome: Answer | Failure
    applied: bool


def refused(code: str, status: int = 400) -> Answer:
    return Answer(status, {}, DynamoDBError(code, "no").body())


GONE = ConnectionResetError("gone")
maybe = st.booleans()
events = st.one_of(
    st.just(Event(Answer(200, {}, OK), True)),
    st.sampled_from(
        [
            Event(refused("ThrottlingException"), False),
            Event(refused("TransactionInProgressException"), False),
            Event(refused("AccessDeniedException"), False),
            Event(Failure(How.UNREACHED, GONE), False),
            Event(Failure(How.UNSENT, GONE, stale=True), False),
        ]
    ),
    st.builds(Event, st.just(Failure(How.LOST, GONE)), maybe),
    st.builds(Event, st.just(Failure(How.LOST, GONE, stale=True)), maybe),
    st.builds(Event, st.just(Failure(How.LOST, TimeoutError("timed out"))), maybe),
    st.builds(Event, st.just(Answer(200, {b"x-amz-crc32": b"1"}, OK)), maybe),
    st.builds(Event, st.sampled_from([refused("InternalServerError", 500), Answer(503, {}, b"<html>")]), maybe),
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


def core(attempts: int = 4, on_retry: Callable[..., None] | None = None) -> Core:
    settings = Settings(
        timeout=1,
        connect_timeout=1,
        retries=Retries(attempts=attempts),
        pool=1,
        idle=1,
        ssl_context=None,
        on_retry=on_retry,
    )
    return Core(read_url("http://127.0.0.1:8000"), "us-east-1", None, Keyring(always(KEYS)), settings)


@dataclass
class Held:
    """How an exchange went."""

    told: bytes | Exception
    applied: int
    sent: int
    pauses: list[float]


def hold(core: Core, operation: str, body: bytes, events: list[Event]) -> Held:
    """Be the driver, with these events; after them the server is not reached any more."""
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
        if type(step) is Attempt:
            event = next(script, Event(Failure(How.UNREACHED, GONE), False))
            applied += event.applied
            sent += 1
            result = event.outcome
        elif type(step) is Pause:
            pauses.append(step.seconds)
        elif type(step) is Blocking:
            result = step.call()


@given(requests, st.lists(events, max_size=8))
def test_what_the_caller_is_told_is_true(request: tuple[str, bytes], script: list[Event]) -> None:
    held = hold(core(), *request, script)
    if isinstance(held.told, bytes):
        assert held.told == OK
        assert held.applied >= 1
    elif isinstance(held.told, ConnectionFailed):
        assert held.applied == 0 or is_read(request[0])
    elif isinstance(held.told, OutcomeUnknown):
        assert not is_read(request[0])
    elif isinstance(held.told, AnswerLost):
        assert is_read(request[0])
    else:
        assert isinstance(held.told, DynamoDBError)
        assert held.applied == 0 or is_read(request[0])
    if not safe_to_repeat(*request):
        assert held.applied <= 1


@given(requests, st.lists(events, max_size=12), st.integers(1, 5))
def test_it_ends_after_as_many_attempts_as_said(request: tuple[str, bytes], script: list[Event], most: int) -> None:
    held = hold(core(most), *request, script)
    # One more where a kept connection turned out dead, which is nobody's fault.
    assert 1 <= held.sent <= most + 1
    assert len(held.pauses) < most
    assert all(0 <= pause <= Retries().ceiling(at) for at, pause in enumerate(held.pauses, 1))


def test_a_hook_that_fails_fails_the_request() -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    held = hold(core(on_retry=fail), "GetItem", item(), [Event(refused("ThrottlingException"), False)])
    assert isinstance(held.told, ZeroDivisionError)


@pytest.mark.parametrize("cause", [GONE, BrokenAnswer("cut off")])
def test_the_error_names_what_happened(cause: Exception) -> None:
    held = hold(core(1), "GetItem", item(), [Event(Failure(How.LOST, cause), True)])
    assert str(held.told) == f"http://127.0.0.1:8000 did not answer GetItem: {cause}"
