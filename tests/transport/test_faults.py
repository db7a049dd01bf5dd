"""A part of the fault matrix that has found errors before. `tests/wide/test_faults.py` runs all of it."""

from __future__ import annotations

import asyncio
import errno
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.attack.faults import DRIVERS, OPERATIONS, SCHEMA, Account, Cell, Matrix, broken, request, run
from tests.attack.proxy import FAULTS, Exchange, Fault, FaultProxy, Identity, has_openssl, make_identity

from prejoin import AsyncClient, Client
from prejoin.engine import Embedded
from prejoin.transport import AnswerLost, Endpoint, OutcomeUnknown

from .conftest import KEYS, QUICK

pytestmark = pytest.mark.skipif(not has_openssl(), reason="needs the openssl command")

CLOSED = ("close_after_applying", "reset_after_applying", "tls_close_after_applying", "truncated_body")


@pytest.fixture(scope="module")
def identity(tmp_path_factory: pytest.TempPathFactory) -> Identity:
    folder: Path = tmp_path_factory.mktemp("tls")
    return make_identity(folder)


@pytest.fixture
def matrix(identity: Identity) -> Iterator[Matrix]:
    with Matrix(identity) as matrix:
        yield matrix


def slice_of(operations: tuple[str, ...], faults: tuple[str, ...], then: str, driver: str, scheme: str) -> list[Cell]:
    return [
        Cell(operation, fault, then, driver, scheme, warm)
        for operation in operations
        for fault in faults
        for warm in (False, True)
    ]


@pytest.mark.slow
@pytest.mark.everyday(1)
@pytest.mark.parametrize("scheme", ["http", "tls1.2", "tls1.3", "tunnel"])
@pytest.mark.parametrize("driver", DRIVERS)
def test_lost_answer_to_a_write_is_unknown_and_not_repeated(matrix: Matrix, driver: str, scheme: str) -> None:
    operations = ("UpdateItem increment", "PutItem conditional", "insert")
    some = slice_of(operations, (*CLOSED, "internal_error"), "well", driver, scheme)
    found = matrix.check(some)
    assert not found, broken(found)
    assert matrix.tally.outcomes == {"OutcomeUnknown": len(some)}


@pytest.mark.slow
@pytest.mark.everyday(1)
@pytest.mark.parametrize("scheme", ["tls1.3", "http"])
@pytest.mark.parametrize("driver", DRIVERS)
def test_lost_answer_stays_unknown_when_the_server_is_gone(matrix: Matrix, driver: str, scheme: str) -> None:
    operations = ("once", "transaction", "PutItem", "TransactWriteItems with token")
    some = slice_of(operations, CLOSED, "refused", driver, scheme)
    found = matrix.check(some)
    assert not found, broken(found)
    assert matrix.tally.outcomes == {"OutcomeUnknown": len(some)}


def test_random_cells_keep_the_law() -> None:
    result = run(0.01, seed=7)
    assert not result.findings, broken(result.findings)
    assert result.tries > 0


@pytest.mark.slow
def test_matrix_finds_a_client_that_repeats_what_it_must_not(matrix: Matrix, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("prejoin.transport.request.retry.safe_to_repeat", lambda operation, body: True)
    (finding,) = matrix.check([Cell("UpdateItem increment", "close_after_applying", "well", "sync", "http", False)])
    assert "applied 2 times" in finding


@pytest.mark.slow
def test_matrix_finds_a_client_that_calls_lost_writes_unsent(matrix: Matrix, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("prejoin.transport.request.retry.proves_not_applied", lambda operation, error: True)
    (finding,) = matrix.check([Cell("PutItem", "close_after_applying", "refused", "sync", "http", False)])
    assert "applied, and reported as not done: ConnectionFailed" in finding


@pytest.mark.parametrize("scheme", ["http", "tls1.2", "tls1.3"])
def test_cancelled_task_leaves_no_answer_for_the_next(identity: Identity, scheme: str) -> None:
    """A cancelled write may be applied, and its late response must not be taken for that of the next request."""
    engine = Embedded()
    db = Client(SCHEMA, "faults", engine)
    db.create_table()
    db.insert(Account("a"))
    met = asyncio.Event()

    async def main(proxy: FaultProxy) -> None:
        loop = asyncio.get_running_loop()

        def applied_and_late(exchange: Exchange) -> None:
            loop.call_soon_threadsafe(met.set)
            FAULTS["answered_late"](exchange)

        async with Endpoint(proxy.url, credentials=KEYS, ssl_context=identity.client, pool=1) as endpoint:
            await endpoint.send_async("ListTables", b"{}")
            proxy.play([Fault("applied and late", applied_and_late)])
            task = asyncio.create_task(endpoint.send_async(*request(OPERATIONS["UpdateItem increment"], "a")))
            await met.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            proxy.settle()
            found = json.loads(await endpoint.send_async(*request(OPERATIONS["GetItem"], "a")))
            assert found["Item"]["n"] == {"N": "1"}
        assert proxy.connections == 2

    with FaultProxy(engine, identity.server[scheme[3:]] if scheme != "http" else None) as proxy:
        asyncio.run(main(proxy))
    assert len(proxy.applied) == 3


@pytest.mark.parametrize("observed", [False, True])
@pytest.mark.parametrize("driver", DRIVERS)
def test_unreadable_response_counts_as_lost(driver: str, observed: bool) -> None:
    """Without a checksum, damage is found only when the response is decoded."""

    def damaged(exchange: Exchange) -> None:
        exchange.read()
        exchange.apply()
        exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n{'Item':")

    async def main(endpoint: Endpoint) -> None:
        db = AsyncClient(SCHEMA, "faults", endpoint, observe=(lambda call: None) if observed else None)
        with pytest.raises(AnswerLost, match="the response to GetItem cannot be decoded") as read:
            await db.get(Account, account_id="a")
        assert not isinstance(read.value, OutcomeUnknown)
        with pytest.raises(OutcomeUnknown, match="the response to PutItem cannot be decoded"):
            await db.insert(Account("a"))
        await db.close()

    with Embedded() as engine, FaultProxy(engine) as proxy, Endpoint(proxy.url, credentials=KEYS) as endpoint:
        Client(SCHEMA, "faults", engine).create_table()
        proxy.play([Fault("damaged", damaged)] * 2)
        if driver == "async":
            asyncio.run(main(endpoint))
        else:
            db = Client(SCHEMA, "faults", endpoint, observe=(lambda call: None) if observed else None)
            with pytest.raises(AnswerLost, match="the response to GetItem cannot be decoded") as read:
                db.get(Account, account_id="a")
            assert not isinstance(read.value, OutcomeUnknown)
            with pytest.raises(OutcomeUnknown, match="the response to PutItem cannot be decoded"):
                db.insert(Account("a"))
    assert [one.operation for one in proxy.applied] == ["GetItem", "PutItem"]


def test_message_names_lost_response_and_last_error() -> None:
    with Embedded() as engine, FaultProxy(engine) as proxy:
        Client(SCHEMA, "faults", engine).create_table()

        def last(exchange: Exchange) -> None:
            proxy.refuse()
            FAULTS["close_after_applying"](exchange)

        proxy.play([Fault("last", last)])
        with Endpoint(proxy.url, credentials=KEYS, retries=QUICK) as endpoint, pytest.raises(OutcomeUnknown) as caught:
            endpoint.send(*request(OPERATIONS["PutItem"], "a"))
    refused = OSError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))
    lost = "the connection was closed without a response"
    assert str(caught.value) == f"PutItem was sent and no response says whether it was applied: {lost}; then: {refused}"


def test_transport_that_is_closed_after_a_lost_answer_leaves_it_unknown(identity: Identity) -> None:
    with Embedded() as engine, FaultProxy(engine) as proxy:
        Client(SCHEMA, "faults", engine).create_table()
        endpoint = Endpoint(proxy.url, credentials=KEYS, retries=QUICK, on_retry=lambda *_: endpoint.close())
        proxy.play([FAULTS["close_after_applying"]])
        with pytest.raises(OutcomeUnknown, match="; then: the transport is closed"):
            endpoint.send(*request(OPERATIONS["PutItem"], "a"))
    assert len(proxy.applied) == 1
