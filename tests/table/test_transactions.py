"""Transactions: all or nothing, failures by write, and retries only if they are safe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from tests.place import fresh
from tests.table.both import Connect, both, waiting

from prejoin import (
    AlreadyExists,
    Bounds,
    Call,
    Changes,
    Client,
    ConditionFailed,
    Conflict,
    Entity,
    Key,
    NotFound,
    NotUnique,
    Schema,
    TableError,
    TooMany,
    TransactionCancelled,
    Unique,
    add,
    exists,
)
from prejoin.protocol.errors import DynamoDBError
from prejoin.table.client.transaction import WriteList


@dataclass
class Account:
    account_id: str
    balance: int = 0
    owner: str | None = None
    blob: bytes | None = None


SCHEMA = Schema(Entity(Account, Key("ACCOUNT#{account_id}", "ACCOUNT"), patterns=[Unique("owner")]))


class Crowded:
    """An engine with conflicts: the first writes fail with the given errors."""

    def __init__(self, *errors: DynamoDBError) -> None:
        self.engine = fresh()
        self.errors = list(errors)
        self.sent: list[dict[str, Any]] = []

    def send(self, operation: str, body: bytes) -> bytes:
        if operation in ("PutItem", "UpdateItem", "TransactWriteItems"):
            self.sent.append(msgspec.json.decode(body))
            if self.errors:
                raise self.errors.pop(0)
        return self.engine.send(operation, body)


def cancelled(*codes: str) -> DynamoDBError:
    reasons = [{"Code": code, "Message": "why"} if code != "None" else {"Code": code} for code in codes]
    return DynamoDBError("TransactionCanceledException", "cancelled", fields={"CancellationReasons": reasons})


def client(transport: Any) -> Client:
    db = Client(SCHEMA, "bank", transport)
    db.create_table()
    return db


@pytest.fixture
def sleeps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    found: list[float] = []
    monkeypatch.setattr("time.sleep", found.append)
    return found


def test_each_failure_says_which_write_it_is_about() -> None:
    db = client(fresh())
    db.insert(Account("1", 5, "ann"))
    with pytest.raises(TransactionCancelled) as failed, db.transaction() as tx:
        tx.insert(Account("2"))
        tx.insert(Account("1"))
        tx.insert(Account("3", owner="ann"))
        tx.apply(Account, Changes(adds={"balance": 1}), account_id="4")
        tx.check(Account, account_id="5", where=lambda a: a.balance >= 9)
    failures = failed.value.failures
    assert [(type(one), one.position) for one in failures] == [
        (AlreadyExists, 1),
        (NotUnique, 2),
        (NotFound, 3),
        (NotFound, 4),
    ]
    assert [one.write.verb for one in failures if one.write] == ["insert", "insert", "update", "check"]
    assert [isinstance(one, ConditionFailed) and one.elsewhere for one in failures] == [False, True, False, False]
    assert isinstance(failures[0], ConditionFailed)
    assert failures[0].item is not None
    assert failures[0].item["balance"] == {"N": "5"}
    assert "Account account_id='1' exists already; another Account has owner 'ann' already" in str(failed.value)
    assert db.get(Account, account_id="2") is None


def test_a_conflict_with_others_is_tried_again_for_nothing_was_written(sleeps: list[float]) -> None:
    transport = Crowded(cancelled("None", "TransactionConflict"), cancelled("TransactionConflict", "ThrottlingError"))
    db = client(transport)
    with db.transaction(token="once") as tx:
        tx.insert(Account("1"))
        tx.insert(Account("2"))
    assert transport.sent[0] == transport.sent[1] == transport.sent[2], "with the same token"
    assert len(transport.sent) == 3
    assert len(sleeps) == 2
    assert db.get(Account, account_id="2") == Account("2")


def test_a_plain_write_that_meets_a_transaction_is_tried_again(sleeps: list[float]) -> None:
    transport = Crowded()
    db = client(transport)
    db.insert(Account("1"))
    transport.errors = [DynamoDBError("TransactionConflictException", "busy")] * 3
    db.apply(Account, Changes({"balance": 3}), account_id="1")
    assert [len(transport.sent), len(sleeps)] == [5, 3]
    transport.errors = [DynamoDBError("TransactionConflictException", "busy")] * 6
    with pytest.raises(Conflict, match=r"was in other transactions at each of 6 attempts. Nothing was written"):
        db.apply(Account, Changes({"balance": 4}), account_id="1")
    assert db.get(Account, account_id="1") == Account("1", 3)


def test_write_that_never_succeeds_raises_conflict(sleeps: list[float]) -> None:
    db = client(Crowded(*[cancelled("None", "TransactionConflict")] * 6))
    with pytest.raises(TransactionCancelled, match="TransactionConflict: why") as failed, db.transaction() as tx:
        tx.insert(Account("1"))
        tx.insert(Account("2"))
    (failure,) = failed.value.failures
    assert isinstance(failure, Conflict)
    assert failure.position == 1
    assert len(sleeps) == 5


def test_permanent_failure_is_not_retried(sleeps: list[float]) -> None:
    transport = Crowded(cancelled("ConditionalCheckFailed", "TransactionConflict"))
    db = client(transport)
    with pytest.raises(TransactionCancelled, match=r"exists already; .*TransactionConflict"), db.transaction() as tx:
        tx.insert(Account("1"))
        tx.insert(Account("2"))
    transport.errors = [DynamoDBError("ValidationException", "no")]
    with pytest.raises(DynamoDBError, match="no"):
        db.insert(Account("1"))
    assert len(transport.sent) == 2
    assert sleeps == []


def test_a_transaction_that_is_too_large_is_refused_before_the_call() -> None:
    transport = Crowded()
    db = client(transport)
    with pytest.raises(TooMany, match=r"at most 4 MB, and this one has 4\.[12] MB"), db.transaction() as tx:
        for number in range(11):
            tx.insert(Account(str(number), blob=b"x" * 400_000))
    assert transport.sent == []
    with db.transaction() as tx:
        for number in range(10):
            tx.insert(Account(str(number), blob=b"x" * 400_000))
    assert len(transport.sent) == 1


def test_a_check_is_never_empty() -> None:
    db = client(fresh())
    with pytest.raises(NotFound, match="there is no Account account_id='1'"), db.transaction() as tx:
        tx.check(Account, account_id="1")
    db.insert(Account("1"))
    with db.transaction() as tx:
        tx.check(Account, account_id="1")
        tx.insert(Account("2"))
    with pytest.raises(TableError, match="is not a condition"), db.transaction() as tx:
        tx.check(Account, account_id="1", where=lambda a: None)  # type: ignore[arg-type, return-value]
    with pytest.raises(ConditionFailed), db.transaction() as tx:
        tx.check(Account, account_id="1", where=lambda a: exists(a.owner))


def test_transaction_can_check_that_an_item_is_absent() -> None:
    db = client(fresh())
    with db.transaction() as tx:
        tx.check_absent(Account, account_id="1")
        tx.insert(Account("2"))
    with pytest.raises(TransactionCancelled, match="Account account_id='2' exists already"), db.transaction() as tx:
        tx.check_absent(Account, account_id="2")
        tx.insert(Account("3"))
    assert db.get(Account, account_id="3") is None
    with (
        pytest.raises(TableError, match=r"takes the key of Account only. Leave out owner"),
        db.transaction() as tx,
    ):
        tx.check_absent(Account, account_id="1", owner="a")


def test_checks_of_presence_and_absence_of_one_entity_are_kept_apart() -> None:
    """Writes of one form share their expressions; these two have different forms."""
    db = Client(Schema(Entity(Account, Key("ACCOUNT#{account_id}", "ACCOUNT"))), "accounts", fresh())
    db.create_table()
    db.insert(Account("1"))
    for _ in range(2):
        with db.transaction() as tx:
            tx.check(Account, account_id="1")
            tx.check_absent(Account, account_id="2")
        with pytest.raises(TransactionCancelled), db.transaction() as tx:
            tx.check(Account, account_id="2")
            tx.check_absent(Account, account_id="1")


# --- Checks without writes ------------------------------------------------------------------------------------------


@dataclass
class Jar:
    jar_id: str
    label: str
    coins: int = 0


JARS = Schema(Entity(Jar, Key("JAR#{jar_id}", "JAR"), patterns=[Bounds("coins", min=0, max=9), Unique("label")]))


def _insert(tx: WriteList, jar_id: str, label: str) -> None:
    tx.insert(Jar(jar_id, label, 1))


def _take(tx: WriteList, coins: int) -> None:
    with tx.update(Jar, jar_id="a") as jar:
        jar.coins -= coins


def _upsert(tx: WriteList, coins: int) -> None:
    with tx.upsert(Jar, read=True, jar_id="b") as jar:
        jar.label = "new"
        jar.coins = add(jar.coins, coins)


def _rename(tx: WriteList, label: str) -> None:
    with tx.update(Jar, read=True, jar_id="a") as jar:
        jar.label = label


def _put(tx: WriteList, label: str) -> None:
    tx.put(Jar("a", label), read=True)


def _delete(tx: WriteList, coins: int) -> None:
    tx.delete(Jar, where=lambda jar: jar.coins == coins, jar_id="a", label="red")


def _replace(tx: WriteList, coins: int) -> None:
    _take(tx, coins)
    tx.check_absent(Jar, jar_id="b")


@pytest.mark.parametrize(
    ("write", "accepted", "refused", "error"),
    [
        (_insert, ("b", "green"), ("a", "green"), AlreadyExists),
        (_insert, ("b", "green"), ("b", "blue"), NotUnique),
        (_take, (3,), (4,), ConditionFailed),
        (_upsert, (9,), (10,), ConditionFailed),
        (_rename, ("green",), ("blue",), NotUnique),
        (_put, ("green",), ("blue",), NotUnique),
        (_delete, (3,), (4,), ConditionFailed),
        (_replace, (3,), (4,), ConditionFailed),
    ],
)
@both
def test_transaction_that_only_checks_is_refused_as_one_that_writes_and_writes_nothing(
    connect: Connect, write: Any, accepted: Any, refused: Any, error: type[Exception]
) -> None:
    db = connect(JARS)
    for jar in (Jar("a", "red", 3), Jar("c", "blue", 3)):
        db.insert(jar)
    jars = [jar for page in db.everything(Jar) for jar in page]
    with db.transaction(only_check=True) as tx:
        write(tx, *accepted)
    for only_check in (True, False):
        transaction = db.transaction(only_check=only_check)
        with pytest.raises((TransactionCancelled, ConditionFailed)) as raised, transaction as tx:
            write(tx, *refused)
        failures = getattr(raised.value, "failures", [raised.value])
        assert [type(failure) for failure in failures] == [error]
    assert [jar for page in db.everything(Jar) for jar in page] == jars
    with db.transaction() as tx:
        write(tx, *accepted)
    assert [jar for page in db.everything(Jar) for jar in page] != jars


def test_transaction_that_only_checks_sends_nothing_without_conditions() -> None:
    calls: list[Call] = []
    db = waiting(Schema(Entity(Account, Key("ACCOUNT#{account_id}", "ACCOUNT"))), observe=calls.append)
    db.insert(Account("a"))
    calls.clear()
    with db.transaction(only_check=True) as tx:
        tx.delete(Account, account_id="a")
        tx.put(Account("b"))
    assert calls == []
    assert db.get(Account, account_id="a") == Account("a")
