"""Errors name the item, the table or the address, and have one base class."""

from __future__ import annotations

import asyncio
import inspect
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from uuid import UUID

import pytest
from tests.place import fresh
from tests.table.both import Connect, awaited, waiting

import prejoin
from prejoin import (
    AsyncClient,
    Client,
    Entity,
    ItemTooLarge,
    Key,
    NoSuchTable,
    PartlyWritten,
    Schema,
    SchemaError,
    TableError,
    TransactionCancelled,
    Unique,
)
from prejoin.engine import Embedded
from prejoin.errors import PrejoinError
from prejoin.protocol.errors import DynamoDBError
from prejoin.table.condition.describe import condition_text
from prejoin.table.condition.record import Compare
from prejoin.transport import Endpoint, TransportError


@dataclass
class File:
    file_id: str
    text: str


@dataclass
class User:
    user_id: str
    email: str


SCHEMA = Schema(
    Entity(File, Key("FILE#{file_id}", "FILE")),
    Entity(User, Key("USER#{user_id}", "USER"), patterns=[Unique("email")]),
)
LARGE = "x" * 500_000


@pytest.fixture(params=[waiting, awaited])
def connect(request: pytest.FixtureRequest) -> Connect:
    found: Connect = request.param
    return found


def test_every_exception_has_the_one_base() -> None:
    public = [getattr(prejoin, name) for name in prejoin.__all__]
    found = [one for one in public if inspect.isclass(one) and issubclass(one, Exception)]
    assert len(found) > 30
    assert [one for one in found if not issubclass(one, PrejoinError)] == []


def test_value_that_cannot_be_a_key_is_of_the_family(connect: Connect) -> None:
    db = connect(SCHEMA)
    long = "x" * 3000
    for wrong in (
        lambda: db.get(File, file_id=long),
        lambda: db.insert(File(long, "x")),
        lambda: db.get(File, file_id=3),
    ):
        with pytest.raises(PrejoinError):
            wrong()
    with pytest.raises(PrejoinError):
        SCHEMA.read_key("no", "key")


def test_item_too_large_is_named_with_its_size(connect: Connect) -> None:
    db = connect(SCHEMA)
    expected = r"File file_id='1' is too large: the item FILE#1 / FILE has 500,\d\d\d bytes, and the limit is 409,600"
    for write in (lambda: db.put(File("1", LARGE)), lambda: db.insert(File("1", LARGE))):
        with pytest.raises(ItemTooLarge, match=expected) as caught:
            write()
        assert caught.value.size > 500_000
        assert isinstance(caught.value.__cause__, DynamoDBError)
    with pytest.raises(ItemTooLarge, match=expected):
        db.put_many([File("1", LARGE)])
    with pytest.raises(PartlyWritten) as partly:
        db.insert_many([File("0", "small"), File("1", LARGE)])
    assert [type(one.error) for one in partly.value.failures] == [ItemTooLarge]
    with pytest.raises((ItemTooLarge, TransactionCancelled), match=expected), db.transaction() as tx:
        tx.put(File("2", "small"))
        tx.put(File("1", LARGE))
    assert not db.exists(File, file_id="1")


def test_item_too_large_after_update_is_named(connect: Connect) -> None:
    db = connect(SCHEMA)
    db.insert(File("1", "small"))
    expected = r"File file_id='1' would be too large after this update: .* 409,600 bytes for the item FILE#1 / FILE"
    with pytest.raises(ItemTooLarge, match=expected) as caught, db.update(File, file_id="1") as file:
        file.text = LARGE
    assert isinstance(caught.value.__cause__, DynamoDBError)
    with pytest.raises(TransactionCancelled, match=expected) as cancelled, db.transaction() as tx:
        tx.put(File("2", "small"))
        with tx.update(File, file_id="1") as file:
            file.text = LARGE
    assert [type(one) for one in cancelled.value.failures] == [ItemTooLarge]
    assert db.get(File, file_id="1") == File("1", "small")


def test_missing_table_is_named() -> None:
    db = Client(SCHEMA, "shoop", Embedded())
    for use in (
        lambda: db.get(File, file_id="1"),
        lambda: db.query(File, file_id="1"),
        lambda: db.insert(File("1", "x")),
        lambda: db.insert(User("1", "x")),
        lambda: db.put_many([File("1", "x")]),
        lambda: db.get_many(File, [{"file_id": "1"}]),
        lambda: list(db.everything()),
    ):
        with pytest.raises(
            NoSuchTable, match=r"the table 'shoop' does not exist .*Create it with create_table\(\)"
        ) as caught:
            use()
        assert isinstance(caught.value, TableError)
        assert caught.value.code == "ResourceNotFoundException"
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.table) == (str(caught.value), "shoop")
    assert db.describe() is None


def test_missing_table_is_named_by_the_async_client() -> None:
    async def get() -> None:
        await AsyncClient(SCHEMA, "shoop", Embedded()).get(File, file_id="1")

    with pytest.raises(NoSuchTable, match="'shoop'"):
        asyncio.run(get())


@contextmanager
def website(status: int, body: bytes = b"<html><h1>Welcome to nginx</h1></html>" + b" " * 5000) -> Iterator[str]:
    """A server on a port that is not a DynamoDB."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


@pytest.mark.parametrize("status", [404, 405, 200])
def test_endpoint_that_is_no_dynamodb_is_reported(status: int) -> None:
    with (
        website(status) as url,
        Client(SCHEMA, "shop", Endpoint(url)) as db,
        pytest.raises(TransportError) as caught,
    ):
        db.get(File, file_id="1")
    message = str(caught.value)
    assert url in message
    assert "nginx" not in message
    assert (
        "the response is not DynamoDB's: a page of HTML or XML" in message
        if status == 200
        else f"is not a DynamoDB: it returned {status} (text/html)" in message
    )


def test_page_of_gateway_is_not_printed() -> None:
    with website(502) as url, Client(SCHEMA, "shop", Endpoint(url)) as db, pytest.raises(DynamoDBError) as caught:
        db.get(File, file_id="1")
    assert str(caught.value) == (
        "InternalServerError: HTTP status 502, and a body that is not DynamoDB's: a page of HTML or XML"
    )


def test_coroutine_as_a_value_raises_with_a_hint_to_await() -> None:
    async def forget() -> None:
        db = AsyncClient(SCHEMA, "shop", fresh())
        await db.create_table()
        found = db.get(File, file_id="1")
        try:
            with pytest.raises(SchemaError, match="Await the call that returned it"):
                await db.insert(found)
            with pytest.raises(TypeError, match=r"`async with db\.transaction"), db.transaction():
                pass
        finally:
            found.close()

    asyncio.run(forget())


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (datetime(2026, 11, 18, 23, 59, 59, 999_999, tzinfo=UTC), "'2026-11-18T23:59:59.999999+00:00'"),
        (date(2026, 11, 18), "'2026-11-18'"),
        (10**80, str(10**80)),
        (Decimal("1." + "5" * 60), repr(Decimal("1." + "5" * 60))),
        (UUID(int=2**128 - 1), repr(UUID(int=2**128 - 1))),
        ("a" * 150, repr("a" * 150)),
        ("a" * 300, "'" + "a" * 198 + "…"),
        (b"abc", "3 bytes"),
    ],
)
def test_the_value_of_a_condition_is_shown_as_a_whole_unless_it_is_a_long_text(value: object, text: str) -> None:
    assert condition_text([Compare(("valid_until",), ">", value)]) == f"valid_until > {text}"
