"""Writes with a token can be repeated, because a receipt is written with them."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from dataclasses import dataclass, field, make_dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.patterns.faults import in_processes, in_threads, items, with_every_fault
from tests.patterns.manual_clock import ManualClock
from tests.place import examples, fresh

from prejoin import (
    AsyncClient,
    Call,
    Changes,
    Client,
    Entity,
    Key,
    NotFound,
    OtherTenant,
    Receipt,
    Schema,
    SchemaError,
    TableError,
    Timestamps,
    TokenReused,
    TooMany,
    TransactionCancelled,
    add,
    once,
    receipts,
)
from prejoin.engine import Embedded
from prejoin.patterns.receipt import fingerprint
from prejoin.protocol.errors import DynamoDBError
from prejoin.transport import ConnectionFailed, OutcomeUnknown, Transport, TransportError


@dataclass(frozen=True)
class Account:
    account_id: str
    balance: int = 0


@dataclass(frozen=True)
class Payment:
    payment_id: str
    amount: int
    created_at: datetime | None = None
    updated_at: datetime | None = None


ACCOUNT = Entity(Account, Key("ACCOUNT#{account_id}", "ACCOUNT"))
SCHEMA = Schema(ACCOUNT, Entity(Payment, Key("PAYMENT#{payment_id}", "P"), patterns=[Timestamps()]), receipts())


def opened(transport: Any = None, schema: Schema = SCHEMA, **more: Any) -> Client:
    db = Client(schema, "shop", transport or fresh(), **more)
    db.create_table(if_absent=True)
    if db.get(Account, account_id="1", consistent=True) is None:
        db.insert(Account("1"))
    return db


def pay(db: Client, token: str, amount: int = 5) -> Any:
    with once(db, token) as tx:
        tx.apply(Account, Changes(adds={"balance": amount}), account_id="1")
        tx.result = amount
    return tx


def balance(db: Client) -> int:
    found = db.get(Account, account_id="1", consistent=True)
    assert found
    return found.balance


def test_first_call_writes_and_a_repetition_does_nothing() -> None:
    db = opened()
    first, second = pay(db, "a"), pay(db, "a")
    assert (first.repeated, second.repeated) == (False, True)
    assert (first.result, second.result) == (5, 5)
    assert balance(db) == 5
    assert not pay(db, "b").repeated
    assert balance(db) == 10


def test_async_once_behaves_the_same() -> None:
    async def main() -> list[Any]:
        transport = fresh()
        opened(transport)
        db = AsyncClient(SCHEMA, "shop", transport)
        results: list[Any] = []
        for amount in (5, 5, 6):
            try:
                async with once(db, "a") as tx:
                    tx.apply(Account, Changes(adds={"balance": amount}), account_id="1")
                    tx.result = {"paid": amount}
                results.append((tx.repeated, tx.result))
            except TokenReused as error:
                results.append(type(error))
        found = await db.get(Account, account_id="1")
        return [*results, found and found.balance]

    assert asyncio.run(main()) == [(False, {"paid": 5}), (True, {"paid": 5}), TokenReused, 5]


def test_token_reused_for_other_writes_raises() -> None:
    db = opened()
    pay(db, "a", 5)
    with pytest.raises(TokenReused, match="the token 'a' was used for other writes"):
        pay(db, "a", 6)
    assert balance(db) == 5


WRITES: dict[str, Any] = {
    "insert": lambda tx, n: tx.insert(Payment(f"p{n}", n)),
    "put": lambda tx, n: tx.put(Payment("p", n)),
    "update": lambda tx, n: tx.apply(Account, Changes({"balance": n}), account_id="1"),
    "update with a condition": lambda tx, n: tx.apply(
        Account, Changes({"balance": 1}), where=lambda a: a.balance <= n, account_id="1"
    ),
    "delete": lambda tx, n: tx.delete(Payment, payment_id=f"p{n}"),
    "check": lambda tx, n: tx.check(Account, where=lambda a: a.balance < 10 + n, account_id="1"),
}


@pytest.mark.parametrize("verb", WRITES)
def test_all_written_items_are_compared(verb: str) -> None:
    db = opened()
    write = WRITES[verb]
    for number, expected in ((1, False), (1, True)):
        with once(db, "a") as tx:
            write(tx, number)
        assert tx.repeated is expected
    with pytest.raises(TokenReused), once(db, "a") as tx:
        write(tx, 2)


def test_an_update_as_assignments_is_compared_too() -> None:
    db = opened()
    for amount, repeated in ((5, False), (5, True)):
        with once(db, "a") as tx, tx.update(Account, account_id="1") as account:
            account.balance = add(account.balance, amount)  # type: ignore[misc]
        assert tx.repeated is repeated
    with pytest.raises(TokenReused), once(db, "a") as tx, tx.update(Account, account_id="1") as account:
        account.balance = add(account.balance, 6)  # type: ignore[misc]
    assert balance(db) == 5


def test_times_that_patterns_write_make_no_difference() -> None:
    db = opened()
    for repeated in (False, True):
        with once(db, "a") as tx:
            tx.insert(Payment("7", 99))
        assert tx.repeated is repeated


def test_generated_values_are_compared_by_the_request() -> None:
    @dataclass(frozen=True)
    class Order:
        order_id: str
        total: int
        at: datetime = field(default_factory=lambda: datetime.now(UTC))

    schema = Schema(ACCOUNT, Entity(Order, Key("ORDER#{order_id}", "ORDER")), receipts())
    db = opened(schema=schema)
    results = []
    for number in range(3):
        with once(db, "a", content={"total": 5, "lines": ["x"]}) as tx:
            tx.insert(Order(f"new-{number}", 5))
            tx.result = f"new-{number}"
        results.append((tx.repeated, tx.result))
    assert results == [(False, "new-0"), (True, "new-0"), (True, "new-0")]
    with pytest.raises(TokenReused), once(db, "a", content={"total": 6, "lines": ["x"]}) as tx:
        tx.insert(Order("other", 6))
    assert db.get(Order, order_id="new-1") is None


def test_failure_raises_as_without_a_receipt_and_leaves_no_receipt() -> None:
    db = opened()
    with pytest.raises(TransactionCancelled) as failed, once(db, "a") as tx:
        tx.apply(Account, Changes(adds={"balance": 1}), account_id="1")
        tx.apply(Account, Changes(adds={"balance": 1}), account_id="2")
    (failure,) = failed.value.failures
    assert isinstance(failure, NotFound)
    assert failure.position == 1
    assert db.get(Receipt, token="a") is None
    with pytest.raises(ZeroDivisionError), once(db, "a") as tx:
        tx.apply(Account, Changes(adds={"balance": 1}), account_id="1")
        1 / 0  # noqa: B018
    assert balance(db) == 0
    assert not pay(db, "a").repeated


def test_writes_that_read_first_are_done_once_too() -> None:
    db = opened()
    db.insert(Payment("7", 99))
    for repeated in (False, True):
        with once(db, "a") as tx:
            tx.delete(Payment, payment_id="7", amount=99, read=True)
            tx.apply(Account, Changes(adds={"balance": 1}), account_id="1", read=True)
        assert tx.repeated is repeated
    assert balance(db) == 1


def test_a_receipt_is_an_item_that_can_be_asked_for_and_ends() -> None:
    clock = ManualClock()
    schema = Schema(ACCOUNT, receipts(clock=clock))
    db = opened(schema=schema)
    assert schema.ttl == "expires_at"
    with once(db, "a", keep=timedelta(days=2)) as tx:
        tx.apply(Account, Changes(adds={"balance": 1}), account_id="1")
    found = db.get(Receipt, token="a")
    assert found
    assert found.expires_at == clock() + timedelta(days=2)
    clock.turn(days=2)
    assert db.get(Receipt, token="a") is None
    # DynamoDB has not deleted it yet, and the token may be used again, for anything.
    with once(db, "a", keep=timedelta(days=2)) as tx:
        tx.apply(Account, Changes(adds={"balance": 10}), account_id="1")
    assert not tx.repeated
    assert balance(db) == 11


def test_invalid_arguments_are_refused_before_sending() -> None:
    db = opened()
    with pytest.raises(TableError, match="the token is empty"):
        once(db, "")
    with pytest.raises(TableError, match="must be longer than nothing"):
        once(db, "a", keep=timedelta(0))
    with pytest.raises(SchemaError, match=r"add receipts\(\) to its entities"):
        once(opened(schema=Schema(ACCOUNT)), "a")
    with pytest.raises(TooMany, match="the result has more than"), once(db, "a") as tx:
        tx.result = "x" * 400_000
    with pytest.raises(TooMany, match="this one has 101"), once(db, "a") as tx:
        for number in range(100):
            tx.put(Account(str(number)))
    with once(db, "a") as tx:
        for number in range(99):
            tx.put(Account(str(number)))
        tx.result = "x" * 380_000
    assert not tx.repeated


def test_receipt_without_writes_is_written_once() -> None:
    db = opened()
    results = []
    for _ in range(2):
        with once(db, "mail-7") as tx:
            pass
        results.append(tx.repeated)
    assert results == [False, True]


def test_tenants_have_tokens_of_their_own() -> None:
    @dataclass(frozen=True)
    class Note:
        shop_id: str
        note_id: str

    note = Entity(Note, Key("TENANT#{shop_id}#NOTE#{note_id}", "NOTE"))
    db = Client(Schema(note, receipts(tenant="shop_id"), tenant="shop_id"), "shop", fresh())
    db.create_table()
    for tenant in ("acme", "globex"):
        for repeated in (False, True):
            with once(db.tenant(tenant), "same") as tx:
                tx.insert(Note(tenant, "1"))
            assert tx.repeated is repeated
    with once(db, "same", shop_id="acme") as tx:
        tx.insert(Note("acme", "1"))
    assert tx.repeated
    with pytest.raises(OtherTenant), once(db.tenant("acme"), "other") as tx:
        tx.insert(Note("globex", "2"))
    with pytest.raises(OtherTenant), once(db.tenant("acme"), "other", shop_id="globex") as tx:
        tx.insert(Note("acme", "2"))


# --- Cost -----------------------------------------------------------------------------------------------------------


def test_cost() -> None:
    calls: list[Call] = []
    db = opened(observe=calls.append)
    calls.clear()
    pay(db, "a")
    # the account and the receipt, each twice in a transaction
    assert [(call.operation, call.units) for call in calls] == [("TransactWriteItems", 4.0)]
    calls.clear()
    pay(db, "a")
    # the cancelled transaction is an error, which has no units
    assert [(call.operation, call.units) for call in calls] == [("GetItem", 1.0)]


# --- Concurrency and lost responses ---------------------------------------------------------------------------------


def test_exactly_one_concurrent_thread_does_it() -> None:
    db = opened(Embedded())
    results = in_threads(8, lambda number: [pay(db, f"t{token}").repeated for token in range(5)])
    assert [sum(not repeated[token] for repeated in results) for token in range(5)] == [1] * 5
    assert balance(db) == 25


def pay_in_a_process(number: int, file: str) -> list[bool]:
    with Client(SCHEMA, "shop", Embedded(file)) as db:
        return [pay(db, f"t{token}").repeated for token in range(10)]


@pytest.mark.slow
def test_exactly_one_process_on_a_file_does_it(tmp_path: Path) -> None:
    file = str(tmp_path / "shop.db")
    db = opened(Embedded(file))
    results = in_processes(3, pay_in_a_process, file)
    assert [sum(not repeated[token] for repeated in results) for token in range(10)] == [1] * 10
    assert balance(db) == 50
    db.close()


class Losing:
    """A transport that loses the responses of some transactions, and raises OutcomeUnknown like an HTTP transport."""

    def __init__(self, inner: Transport, lost: list[bool]) -> None:
        self._inner = inner
        self._lost = lost
        """For each transaction to be lost, whether it is applied."""

    def send(self, operation: str, body: bytes) -> bytes:
        if operation != "TransactWriteItems" or not self._lost:
            return self._inner.send(operation, body)
        if self._lost.pop(0):
            self._inner.send(operation, body)
        raise OutcomeUnknown("the answer was lost", operation=operation)

    async def send_async(self, operation: str, body: bytes) -> bytes:
        return self.send(operation, body)


@pytest.mark.parametrize("lost", [[True], [False], [False, True], [True, True], [False, False], [False, False, True]])
def test_outcome_after_a_lost_response_is_determined(lost: list[bool]) -> None:
    transport = fresh()
    db = opened(transport)
    tx = pay(Client(SCHEMA, "shop", Losing(transport, list(lost))), "a")
    assert not tx.repeated  # this one was applied
    assert balance(db) == 5
    assert pay(db, "a").repeated


def test_unknown_outcome_is_settled_by_a_repetition() -> None:
    transport = fresh()
    db = opened(transport)
    with pytest.raises(OutcomeUnknown):
        pay(Client(SCHEMA, "shop", Losing(transport, [False] * 3)), "a")
    pay(db, "a")
    assert balance(db) == 5
    assert pay(db, "a").repeated


class LosingThenFailing(Losing):
    """Loses the responses of some transactions, and then fails with these errors."""

    def __init__(self, inner: Transport, lost: list[bool], errors: dict[str, Exception]) -> None:
        super().__init__(inner, lost)
        self._errors = errors
        """By operation."""

    def send(self, operation: str, body: bytes) -> bytes:
        if not self._lost and operation in self._errors:
            raise self._errors[operation]
        return super().send(operation, body)


UNREACHED = ConnectionFailed("TransactWriteItems did not reach the server. It was not applied")
CONFLICT = DynamoDBError("TransactionConflictException", "others are writing")
NEXT = {
    "the server cannot be reached": {"TransactWriteItems": UNREACHED, "GetItem": UNREACHED},
    "the server is busy": {"TransactWriteItems": DynamoDBError("ThrottlingException", "too much")},
    "access was taken away": {"TransactWriteItems": DynamoDBError("AccessDeniedException", "no")},
    "the transport is closed": {"TransactWriteItems": TransportError("the transport is closed")},
    "the first attempt is still under way": {"TransactWriteItems": CONFLICT},
    "no receipt can be read": {"GetItem": UNREACHED},
}


@pytest.mark.parametrize("errors", NEXT.values(), ids=NEXT.keys())
@pytest.mark.parametrize("applied", [True, False])
@pytest.mark.parametrize("awaited", [True, False])
def test_lost_answer_stays_unknown_after_any_next_attempt(
    errors: dict[str, Exception], applied: bool, awaited: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prejoin.table.conversation.LONGEST_PAUSE", 0.001)
    transport = fresh()
    db = opened(transport)
    failing = LosingThenFailing(transport, [applied], errors)

    async def pay_async() -> None:
        async with once(AsyncClient(SCHEMA, "shop", failing), "a") as tx:
            tx.apply(Account, Changes(adds={"balance": 5}), account_id="1")
            tx.result = 5

    caught: Exception | None = None
    try:
        asyncio.run(pay_async()) if awaited else pay(Client(SCHEMA, "shop", failing), "a")
    except Exception as error:
        caught = error
    # A receipt that can be read settles it; so does a second attempt that succeeds.
    assert caught is None or type(caught) is OutcomeUnknown
    assert caught is not None or balance(db) == 5
    assert pay(db, "a").repeated is (applied or caught is None)
    assert balance(db) == 5


def test_repeat_with_unreadable_receipt_is_unknown() -> None:
    transport = fresh()
    db = opened(transport)
    pay(db, "a")
    unreadable = LosingThenFailing(transport, [], {"GetItem": UNREACHED})
    with pytest.raises(OutcomeUnknown, match="the receipt of 'a' could not be read, so it is unknown whether"):
        pay(Client(SCHEMA, "shop", unreadable), "a")
    assert balance(db) == 5


def test_condition_failure_after_lost_attempt_is_raised_without_a_receipt() -> None:
    transport = fresh()
    db = opened(transport)
    with pytest.raises(TransactionCancelled), once(Client(SCHEMA, "shop", Losing(transport, [False])), "a") as tx:
        tx.insert(Account("1"))
    assert not pay(db, "a").repeated


def test_async_outcome_after_a_lost_response_is_determined() -> None:
    async def main() -> int:
        transport = fresh()
        opened(transport)
        db = AsyncClient(SCHEMA, "shop", Losing(transport, [True, False]))
        async with once(db, "a") as tx:
            tx.apply(Account, Changes(adds={"balance": 5}), account_id="1")
        assert not tx.repeated
        found = await db.get(Account, account_id="1", consistent=True)
        return found.balance if found else 0

    assert asyncio.run(main()) == 5


def test_repetition_after_any_lost_request_does_it_once() -> None:
    def begin() -> Any:
        transport = fresh()
        pay(opened(transport), "before")
        return transport

    def act(transport: Any) -> None:
        db = Client(SCHEMA, "shop", transport)
        pay(db, "a")
        pay(db, "a")

    def check(transport: Any) -> None:
        db = Client(SCHEMA, "shop", transport)
        pay(db, "a")
        assert balance(db) == 10
        assert sum(item["entityType"]["S"] == "Receipt" for item in items(transport, "shop")) == 2

    assert with_every_fault(begin, act, check) >= 4


@settings(max_examples=examples(40))
@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 3)), max_size=12))
def test_balance_equals_a_ledger_of_first_uses(tries: list[tuple[str, int]]) -> None:
    db = opened()
    ledger: dict[str, int] = {}
    for token, amount in tries:
        if ledger.setdefault(token, amount) != amount:
            with pytest.raises(TokenReused):
                pay(db, token, amount)
        else:
            pay(db, token, amount)
    assert balance(db) == sum(ledger.values())


def test_a_fingerprint_is_the_same_in_every_process() -> None:
    content = {"tags": {"a", "b", "c", "d"}, "at": datetime(2026, 5, 4, tzinfo=UTC), "lines": [1, (2, b"x")]}
    program = (
        (
            "from datetime import UTC, datetime; from prejoin.patterns.receipt import fingerprint; "
            f"print(fingerprint({{'lines': [1, (2, b'x')], 'tags': {{'d', 'c', 'b', 'a'}}, 'at': {content['at']!r}}}))"
        )
        .replace("datetime.datetime(", "datetime(")
        .replace("datetime.timezone.utc", "UTC")
    )
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        found = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True
        )
        assert found.stdout.strip() == fingerprint(content)


def test_repetition_is_known_after_the_class_was_renamed() -> None:
    """The receipt depends on the type tag, which stays, and not on the name of the class."""
    classes = [make_dataclass(name, [("user_id", str), ("name", str)]) for name in ("User", "Customer")]
    key = Key("USER#{user_id}", "USER")
    engine = Embedded()
    old, new = (Client(Schema(Entity(cls, key, tag="User"), receipts()), "shop", engine) for cls in classes)
    old.create_table()
    repeated = []
    for client, cls in ((old, classes[0]), (new, classes[1])):
        with once(client, "request") as tx:
            tx.insert(cls("1", "Ann"))
        repeated.append(tx.repeated)
        with once(client, "another") as tx:
            tx.delete(cls, user_id="1")
        repeated.append(tx.repeated)
    assert repeated == [False, False, True, True]
