"""Connections: reused, shared, given up, and never the reason for a request that is applied twice."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat

import msgspec
import pytest

from prejoin.protocol.errors import DynamoDBError
from prejoin.transport import ConnectionFailed, Endpoint, OutcomeUnknown, TransportError
from prejoin.transport.connection.aio import AsyncConnection, AsyncDriver
from prejoin.transport.request.exchange import SendFailure, SendProgress
from prejoin.transport.settings import TransportSettings

from .conftest import KEYS, QUICK, Connect, Send, Serve
from .scripted import OK, ReceivedRequest, Scripted, answer, chunked, item, late, resets, sends, silent

READ = ("GetItem", item(Key={"pk": {"S": "a"}}))
INSERT = ("PutItem", item(Item={}, ConditionExpression="attribute_not_exists(pk)"))


def test_a_connection_is_used_again(serve: Serve, connect: Connect, send: Send) -> None:
    server = serve()
    endpoint = connect(server.url)
    for _ in range(5):
        send(endpoint, *READ)
    assert server.connections == 1


@pytest.mark.parametrize(
    "data",
    {
        "chunked": chunked(),
        "100 Continue first": b"HTTP/1.1 100 Continue\r\n\r\n" + answer(),
        "103 first": b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + answer(),
        "many headers": answer(**{f"x_{n}": "y" * 100 for n in range(200)}),
        "no checksum": b"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n" + OK,
    }.values(),
)
def test_all_response_framings_are_understood(serve: Serve, connect: Connect, send: Send, data: bytes) -> None:
    server = serve(sends(data))
    endpoint = connect(server.url)
    assert send(endpoint, *INSERT) == OK
    assert send(endpoint, *INSERT) == OK
    assert (server.connections, server.applied) == (1, 2)


@pytest.mark.parametrize(
    "data",
    {
        "closes": answer(Connection="close"),
        "HTTP/1.0": b"HTTP/1.0 200 OK\r\nContent-Length: 11\r\n\r\n" + OK,
        "says more than was asked": answer() + answer(),
        "says more, which is not HTTP": answer() + b"\x00\x01",
    }.values(),
)
def test_unusable_connection_is_not_reused(serve: Serve, connect: Connect, send: Send, data: bytes) -> None:
    server = serve(sends(data))
    endpoint = connect(server.url)
    assert send(endpoint, *INSERT) == OK
    assert send(endpoint, *INSERT) == OK
    assert server.connections == 2


def test_response_ended_by_close_is_complete_if_json_is(serve: Serve, connect: Connect, send: Send) -> None:
    server = serve(sends(b"HTTP/1.0 200 OK\r\n\r\n" + OK, hang_up=True))
    assert send(connect(server.url), *INSERT) == OK
    assert server.applied == 1


def test_large_response_arrives_complete(serve: Serve, connect: Connect, send: Send) -> None:
    body = json.dumps({"Items": ["x" * 1000] * 3000}).encode()
    server = serve(sends(answer(body)))
    assert send(connect(server.url, timeout=10), "Scan", b"{}") == body


def test_large_request_is_sent_complete(serve: Serve, connect: Connect, send: Send) -> None:
    body = json.dumps({"Items": ["x" * 1000] * 3000}).encode()
    server = serve()
    send(connect(server.url, timeout=10), "BatchWriteItem", body)
    assert server.requests[0].body == body


def test_a_connection_that_the_server_closed_while_idle_is_not_used(serve: Serve, connect: Connect, send: Send) -> None:
    server = serve()
    endpoint = connect(server.url)
    send(endpoint, *INSERT)
    server.hang_up()
    time.sleep(0.05)
    assert send(endpoint, *INSERT) == OK
    assert (server.connections, len(server.requests)) == (2, 2)


def test_a_kept_connection_that_dies_under_a_read_is_replaced_at_once(
    serve: Serve, connect: Connect, send: Send
) -> None:
    server = serve(sends(answer()), resets())
    endpoint = connect(server.url, on_retry=lambda *_: pytest.fail("that is no retry to speak of"))
    send(endpoint, *READ)
    assert send(endpoint, *READ) == OK
    assert server.connections == 2


def test_a_kept_connection_that_dies_under_a_conditional_write_leaves_it_unknown(
    serve: Serve, connect: Connect, send: Send
) -> None:
    server = serve(sends(answer()), resets())
    endpoint = connect(server.url)
    send(endpoint, *INSERT)
    with pytest.raises(OutcomeUnknown):
        send(endpoint, *INSERT)
    assert server.applied == 2


def test_a_connection_that_was_idle_for_long_is_not_used(serve: Serve, connect: Connect, send: Send) -> None:
    server = serve()
    endpoint = connect(server.url, idle=0.02)
    send(endpoint, *READ)
    time.sleep(0.05)
    send(endpoint, *READ)
    assert server.connections == 2


def refuse_the_first(number: int, sock: socket.socket) -> None:
    if number == 1:
        sock.recv(1000)
        raise ConnectionResetError


def test_write_that_was_sent_in_part_is_unknown(serve: Serve, connect: Connect, send: Send) -> None:
    server = serve(on_connection=refuse_the_first)
    body = item(Item={"pk": "x" * 8_000_000}, ConditionExpression="attribute_not_exists(pk)")
    with pytest.raises(OutcomeUnknown):
        send(connect(server.url, timeout=10), "PutItem", body)
    assert (server.connections, server.applied) == (1, 0)


def test_harmless_write_that_was_sent_in_part_is_sent_again(serve: Serve, connect: Connect, send: Send) -> None:
    server = serve(on_connection=refuse_the_first)
    assert send(connect(server.url, timeout=10), "PutItem", item(Item={"pk": "x" * 8_000_000})) == OK
    assert (server.connections, server.applied) == (2, 1)


@pytest.mark.parametrize("kept", [False, True], ids=["new connection", "kept connection"])
def test_early_error_response_is_accepted(serve: Serve, connect: Connect, send: Send, kept: bool) -> None:
    refusal = answer(b'{"__type":"x#RequestEntityTooLarge","message":"too large"}', 413, Connection="close")

    def refuse(number: int, sock: socket.socket) -> None:
        sock.recv(1000)
        sock.sendall(refusal)
        time.sleep(0.2)  # a reset must not discard the response
        raise ConnectionResetError

    def answer_first(number: int, sock: socket.socket) -> None:
        if kept:
            sock.recv(10_000)
            sock.sendall(answer())
        refuse(number, sock)

    endpoint = connect(serve(on_connection=answer_first).url, timeout=10)
    if kept:
        assert send(endpoint, *READ) == OK
    body = item(Item={"pk": "x" * 8_000_000}, ConditionExpression="attribute_not_exists(pk)")
    with pytest.raises(DynamoDBError, match="too large"):
        send(endpoint, "PutItem", body)


def test_early_success_response_is_not_believed(serve: Serve, connect: Connect) -> None:
    def answer_early(number: int, sock: socket.socket) -> None:
        sock.recv(1000)
        sock.sendall(answer())
        time.sleep(0.2)
        raise ConnectionResetError

    with Endpoint(serve(on_connection=answer_early).url, credentials=KEYS, retries=QUICK) as endpoint:
        body = item(Item={"pk": "x" * 8_000_000}, ConditionExpression="attribute_not_exists(pk)")
        with pytest.raises(OutcomeUnknown):
            endpoint.send("PutItem", body)


def test_connection_with_unsolicited_data_is_not_used(serve: Serve) -> None:
    server = serve(on_connection=lambda number, sock: sock.sendall(answer(b'{"somebody":"elses"}')))

    async def main() -> None:
        async with Endpoint(server.url, credentials=KEYS, retries=QUICK) as endpoint:
            driver = await opened_driver(endpoint)
            connection = await driver._take(fresh=False)
            while not connection.is_closing():
                await asyncio.sleep(0.01)
            outcome = await connection.ask(b"POST / HTTP/1.1\r\n\r\n")
            assert isinstance(outcome, SendFailure)
            assert outcome.how is SendProgress.UNSENT

    asyncio.run(main())
    assert server.requests == []


def test_connection_that_was_given_up_is_closed_when_it_is_made(serve: Serve) -> None:
    """asyncio finishes some connections although connecting was cancelled; they must be closed."""
    server = serve()

    async def main() -> None:
        async with Endpoint(server.url, credentials=KEYS) as endpoint:
            driver = await opened_driver(endpoint)
            connection = AsyncConnection(driver, 1, 1)
            connection.abandon()
            await asyncio.get_running_loop().create_connection(lambda: connection, "127.0.0.1", server.port)
            assert connection.is_closing()

    asyncio.run(main())
    assert server.requests == []


async def opened_driver(endpoint: Endpoint) -> AsyncDriver:
    return endpoint._open_async(asyncio.get_running_loop())


def test_connect_timeout_is_respected(connect: Connect, send: Send) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full, socket.socket() as first:
        address = full.getsockname()
        first.connect(address)  # the backlog is one, and now it is full
        with socket.socket() as second:
            second.setblocking(False)
            second.connect_ex(address)
            endpoint = connect(f"http://127.0.0.1:{address[1]}", connect_timeout=0.05)
            with pytest.raises(ConnectionFailed) as caught:
                send(endpoint, *INSERT)
            assert isinstance(caught.value.cause, TimeoutError)


def echo(server: Scripted, sock: socket.socket, request: ReceivedRequest) -> None:
    server.apply()
    sock.sendall(answer(request.body))


def test_threads_share_one_transport(serve: Serve) -> None:
    server = serve()
    server._script = repeat(echo)
    with Endpoint(server.url, credentials=KEYS, pool=5) as endpoint:

        def ask(number: int) -> bool:
            body = json.dumps({"number": number}).encode()
            return endpoint.send("GetItem", body) == body

        with ThreadPoolExecutor(20) as threads:
            assert all(threads.map(ask, range(600)))
    assert server.connections <= 5


def test_tasks_share_one_transport(serve: Serve) -> None:
    server = serve()
    server._script = repeat(echo)

    async def ask(endpoint: Endpoint, number: int) -> bool:
        body = json.dumps({"number": number}).encode()
        return await endpoint.send_async("GetItem", body) == body

    async def main() -> None:
        async with Endpoint(server.url, credentials=KEYS, pool=5) as endpoint:
            for _ in range(4):
                assert all(await asyncio.gather(*(ask(endpoint, number) for number in range(50))))

    asyncio.run(main())
    assert server.connections <= 5


def impatient(endpoint: Endpoint) -> TransportSettings:
    return msgspec.structs.replace(endpoint._settings, timeout=0.01)


def test_thread_waits_for_pool_no_longer_than_timeout(serve: Serve) -> None:
    server = serve(late)
    with Endpoint(server.url, credentials=KEYS, pool=1, retries=QUICK) as endpoint, ThreadPoolExecutor(1) as other:
        first = other.submit(endpoint.send, *INSERT)
        while not server.requests:
            time.sleep(0.01)
        assert endpoint._channel is not None
        endpoint._channel.settings = impatient(endpoint)
        with pytest.raises(ConnectionFailed, match=r"all 1 connections are in use, for 0\.01 seconds"):
            endpoint.send(*INSERT)
        assert first.result() == OK
        assert endpoint.send(*INSERT) == OK
    assert (server.connections, server.applied) == (1, 2)


def test_cancelled_task_closes_its_connection(serve: Serve) -> None:
    server = serve(silent)

    async def main() -> bytes:
        async with Endpoint(server.url, credentials=KEYS, pool=1) as endpoint:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.1):
                    await endpoint.send_async(*READ)
            return await endpoint.send_async(*READ)

    assert asyncio.run(main()) == OK
    assert server.connections == 2


def test_tasks_that_wait_for_a_connection_can_be_cancelled(serve: Serve) -> None:
    server = serve(late)

    async def main() -> bytes:
        async with Endpoint(server.url, credentials=KEYS, pool=1) as endpoint:
            first = asyncio.create_task(endpoint.send_async(*READ))
            waiting = [asyncio.create_task(endpoint.send_async(*READ)) for _ in range(3)]
            await asyncio.sleep(0.05)
            for task in waiting[:2]:
                task.cancel()
            assert await first == OK
            return await waiting[2]

    assert asyncio.run(main()) == OK
    assert (server.connections, len(server.requests)) == (1, 2)


def test_task_waits_for_pool_no_longer_than_timeout(serve: Serve) -> None:
    server = serve(late)

    async def main() -> None:
        async with Endpoint(server.url, credentials=KEYS, pool=1, retries=QUICK) as endpoint:
            first = asyncio.create_task(endpoint.send_async(*INSERT))
            while not server.requests:
                await asyncio.sleep(0.01)
            endpoint._async[asyncio.get_running_loop()].channel.settings = impatient(endpoint)
            with pytest.raises(ConnectionFailed, match=r"all 1 connections are in use, for 0\.01 seconds"):
                await endpoint.send_async(*INSERT)
            assert await first == OK
            assert await endpoint.send_async(*INSERT) == OK

    asyncio.run(main())
    assert (server.connections, server.applied) == (1, 2)


def test_one_transport_serves_one_event_loop_after_the_other(serve: Serve) -> None:
    server = serve()
    endpoint = Endpoint(server.url, credentials=KEYS)

    async def main() -> None:
        assert await endpoint.send_async(*READ) == OK
        endpoint._async[asyncio.get_running_loop()].close()
        await asyncio.sleep(0)

    for _ in range(3):
        asyncio.run(main())
        assert len(endpoint._async) == 1
    endpoint.close()
    assert server.connections == 3


def test_threads_and_tasks_can_use_one_transport_at_once(serve: Serve) -> None:
    server = serve()

    async def main() -> None:
        async with Endpoint(server.url, credentials=KEYS) as endpoint:
            loop = asyncio.get_running_loop()
            in_threads = [loop.run_in_executor(None, endpoint.send, *READ) for _ in range(10)]
            in_tasks = [endpoint.send_async(*READ) for _ in range(10)]
            assert await asyncio.gather(*in_threads, *in_tasks) == [OK] * 20

    asyncio.run(main())


def test_a_closed_transport_sends_nothing(serve: Serve, connect: Connect, send: Send) -> None:
    server = serve()
    endpoint = connect(server.url)
    send(endpoint, *READ)
    endpoint.close()
    with pytest.raises(TransportError, match="closed"):
        send(endpoint, *READ)
    assert len(server.requests) == 1


def test_a_transport_that_was_never_used_can_be_closed(serve: Serve) -> None:
    with Endpoint("http://127.0.0.1:1") as endpoint:
        pass
    with pytest.raises(TransportError, match="closed"):
        endpoint.send(*READ)


@pytest.fixture
def forked() -> Iterator[list[int]]:
    children: list[int] = []
    yield children
    for child in children:
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_opens_connections_of_its_own(serve: Serve, forked: list[int]) -> None:
    server = serve()
    with Endpoint(server.url, credentials=KEYS) as endpoint:
        endpoint.send(*READ)
        endpoint._channel.keyring._lock.acquire()  # type: ignore[union-attr]  # as another thread may, at that moment
        child = os.fork()
        if child == 0:
            code = 1
            try:
                endpoint._channel.keyring.renew()  # type: ignore[union-attr]
                code = 0 if endpoint.send(*READ) == OK else 2
            finally:
                os._exit(code)
        forked.append(child)
        endpoint._channel.keyring._lock.release()  # type: ignore[union-attr]
        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
        assert endpoint.send(*READ) == OK
    assert [request.connection for request in server.requests] == [1, 2, 1]
