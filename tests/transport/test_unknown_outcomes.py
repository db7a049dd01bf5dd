"""Misbehaving servers: safe requests are retried, and unsafe ones are never applied twice."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import repeat

import pytest
from _pytest.mark import ParameterSet

from prejoin.protocol.errors import DynamoDBError
from prejoin.transport import AnswerLost, ConnectionFailed, NotConfigured, OutcomeUnknown

from .conftest import Connect, Send, Serve
from .scripted import OK, Behaviour, answer, chunked, drips, fails, item, resets, sends, silent

READ = ("GetItem", item(Key={"pk": {"S": "a"}}))
PUT = ("PutItem", item(Item={"pk": {"S": "a"}}))
INSERT = ("PutItem", item(Item={"pk": {"S": "a"}}, ConditionExpression="attribute_not_exists(pk)"))
COUNT = ("UpdateItem", item(Key={}, UpdateExpression="SET n = n + :one"))
SET = ("UpdateItem", item(Key={}, UpdateExpression="SET #n = :one, b.c = :two", ReturnValues="ALL_NEW"))
TOKEN = ("TransactWriteItems", item(TransactItems=[], ClientRequestToken="7"))
NO_TOKEN = ("TransactWriteItems", item(TransactItems=[]))
BATCH = ("BatchWriteItem", item(RequestItems={}))

LOST: dict[str, Behaviour] = {
    "the connection is reset without an answer": resets(),
    "the connection is reset in the middle of the headers": resets(40),
    "the connection is reset in the middle of the body": resets(len(answer()) - 3),
    "the answer is cut off": sends(answer()[:-4], hang_up=True),
    "a chunked answer is cut off": sends(chunked()[:-9], hang_up=True),
    "an answer without a length is cut off": sends(b'HTTP/1.0 200 OK\r\n\r\n{"ok":', hang_up=True),
    "the connection is closed without an answer": sends(b"", hang_up=True),
    "there is no answer in time": silent,
    "the answer is too slow as a whole": drips,
    "the answer has another checksum": sends(answer(crc=1)),
    "an error has another checksum": sends(answer(b'{"__type":"x#ValidationException"}', 400, crc=1)),
    "the response is not HTTP": sends(b"SSH-2.0-OpenSSH_9.2\r\n\r\n", hang_up=True),
    "the headers do not end": sends(b"HTTP/1.1 200 OK\r\n" + b"x: " + b"y" * 100_000, hang_up=True),
    "the answer is a web page": sends(answer(b"<html>Please log in</html>")),
    "the protocol is switched": sends(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n"
    ),
    "the server failed": fails("InternalServerError", 500, applied=True),
    "a gateway failed": sends(answer(b"<html>Bad gateway</html>", 502)),
    "a gateway failed, in JSON": sends(answer(b'{"message":"Endpoint request timed out"}', 504)),
    "the service is not there": fails("ServiceUnavailable", 503, applied=True),
}
NOT_DONE: dict[str, Behaviour] = {
    code: fails(code, status)
    for code, status in {
        "ProvisionedThroughputExceededException": 400,
        "ThrottlingException": 400,
        "RequestLimitExceeded": 400,
        "TransactionInProgressException": 400,
        "TransactionConflictException": 400,
        "Throttling": 503,
    }.items()
}


SLOW = (silent, drips)
"""Responses that come after the timeout."""


def lost(*requests: tuple[str, bytes]) -> list[ParameterSet]:
    """Each request with each way to lose its response; slow ones only with the first, as they are the same for all."""
    return [
        pytest.param(request, behaviour, id=f"{request[0]}: {name}")
        for request in requests
        for name, behaviour in LOST.items()
        if request is requests[0] or behaviour not in SLOW
    ]


def timeout(behaviour: Behaviour) -> float:
    return 1.0 if behaviour in SLOW else 30.0


@pytest.mark.parametrize(("request_", "behaviour"), lost(READ, PUT, SET, BATCH, TOKEN))
def test_safe_request_is_retried(
    serve: Serve, connect: Connect, send: Send, behaviour: Behaviour, request_: tuple[str, bytes]
) -> None:
    server = serve(behaviour)
    assert send(connect(server.url, timeout=timeout(behaviour)), *request_) == OK
    assert [request.operation for request in server.requests] == [request_[0]] * 2


@pytest.mark.parametrize(("request_", "behaviour"), lost(INSERT, COUNT, NO_TOKEN))
def test_unsafe_request_is_applied_once_and_reported_unknown(
    serve: Serve, connect: Connect, send: Send, behaviour: Behaviour, request_: tuple[str, bytes]
) -> None:
    server = serve(behaviour)
    with pytest.raises(OutcomeUnknown) as caught:
        send(connect(server.url, timeout=timeout(behaviour)), *request_)
    assert len(server.requests) == 1
    assert server.applied <= 1
    assert (caught.value.operation, caught.value.attempts) == (request_[0], 1)
    assert caught.value.cause is caught.value.__cause__ is not None


@pytest.mark.parametrize("behaviour", NOT_DONE.values(), ids=NOT_DONE.keys())
@pytest.mark.parametrize("request_", [READ, INSERT, COUNT], ids=lambda request: request[0])
def test_unsent_request_is_always_retried(
    serve: Serve, connect: Connect, send: Send, behaviour: Behaviour, request_: tuple[str, bytes]
) -> None:
    server = serve(behaviour, behaviour)
    assert send(connect(server.url), *request_) == OK
    assert (len(server.requests), server.applied) == (3, 1)


def test_attempts_end_with_the_error_of_the_last(serve: Serve, connect: Connect, send: Send) -> None:
    server = serve(*[fails("ThrottlingException")] * 9)
    with pytest.raises(DynamoDBError, match="ThrottlingException: no \\(request REQUEST1\\)") as caught:
        send(connect(server.url), *INSERT)
    assert caught.value.request_id == "REQUEST1"
    assert len(server.requests) == 4


def test_a_read_that_is_never_answered_changed_nothing(serve: Serve, connect: Connect, send: Send) -> None:
    server = serve(*[resets()] * 9)
    with pytest.raises(AnswerLost) as caught:
        send(connect(server.url), *READ)
    assert not isinstance(caught.value, OutcomeUnknown)
    assert (caught.value.attempts, len(server.requests)) == (4, 4)


def test_a_read_that_fails_in_the_server_raises_the_servers_error(serve: Serve, connect: Connect, send: Send) -> None:
    server = serve(*[fails("InternalServerError", 500)] * 9)
    with pytest.raises(DynamoDBError, match="InternalServerError"):
        send(connect(server.url), *READ)


@dataclass(frozen=True)
class Then:
    """The response to the repetition of a lost write, and the outcome for the caller."""

    behaviours: tuple[Behaviour, ...]
    error: type[Exception]
    request: tuple[str, bytes] = PUT


@pytest.mark.parametrize(
    "then",
    [
        Then((fails("ThrottlingException"),) * 9, OutcomeUnknown),
        Then((fails("AccessDeniedException"),), OutcomeUnknown),
        Then((resets(),) * 9, OutcomeUnknown),
        Then((fails("TransactionCanceledException"),), DynamoDBError, TOKEN),
        Then((fails("ValidationException"),), DynamoDBError),
    ],
)
def test_a_write_that_was_lost_once_stays_unknown_unless_its_repetition_settles_it(
    serve: Serve, connect: Connect, send: Send, then: Then
) -> None:
    server = serve(resets(), *then.behaviours)
    with pytest.raises(then.error):
        send(connect(server.url), *then.request)


@pytest.mark.parametrize(
    "code", ["ValidationException", "ConditionalCheckFailedException", "ResourceNotFoundException"]
)
def test_error_response_is_not_retried(serve: Serve, connect: Connect, send: Send, code: str) -> None:
    server = serve(fails(code))
    with pytest.raises(DynamoDBError, match=code):
        send(connect(server.url), *READ)
    assert len(server.requests) == 1


def test_redirects_are_refused(serve: Serve, connect: Connect, send: Send) -> None:
    server = serve(sends(answer(b"", 301, Location="https://elsewhere.example/"), applied=False))
    with pytest.raises(NotConfigured, match=r"answered 301 to https://elsewhere\.example/"):
        send(connect(server.url), *READ)
    assert len(server.requests) == 1


def test_missing_server_raises_connection_failed(connect: Connect, send: Send, unused_port: int) -> None:
    with pytest.raises(
        ConnectionFailed, match=f"PutItem did not reach http://127.0.0.1:{unused_port}, 4 times"
    ) as caught:
        send(connect(f"http://127.0.0.1:{unused_port}"), *INSERT)
    assert isinstance(caught.value.cause, ConnectionRefusedError)


def test_on_retry_is_called(serve: Serve, connect: Connect, send: Send) -> None:
    reported: list[tuple[str, int, str]] = []
    server = serve(fails("ThrottlingException"), resets(40))

    def on_retry(operation: str, attempts: int, error: Exception, delay: float) -> None:
        assert 0 <= delay <= 0.01
        reported.append((operation, attempts, type(error).__name__))

    send(connect(server.url, on_retry=on_retry), *READ)
    assert [(operation, attempts) for operation, attempts, _ in reported] == [("GetItem", 1), ("GetItem", 2)]
    assert reported[0][2] == "DynamoDBError"


def test_retry_quota_stops_retries(serve: Serve, connect: Connect, send: Send) -> None:
    server = serve()
    server._script = repeat(fails("ThrottlingException"))
    endpoint = connect(server.url)
    for _ in range(40):
        with pytest.raises(DynamoDBError):
            send(endpoint, *READ)
    # 500 coins pay for 100 repetitions: 33 requests sent four times, one twice, the rest once.
    assert len(server.requests) == 40 + 100
