"""Reads of several objects in one transaction."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Any

import pytest
from tests.place import fresh
from tests.table.both import Connect, Watched, both

from prejoin import CodecError, Conflict, Entity, Get, Index, Key, Schema, TableError, TooMany
from prejoin.protocol.errors import DynamoDBError


@dataclass(frozen=True)
class Account:
    account_id: str
    balance: int
    owner: str = ""


@dataclass(frozen=True)
class Ledger:
    day: str
    total: int


@dataclass(frozen=True)
class Balance:
    balance: int


SCHEMA = Schema(
    Entity(Account, Key("ACCOUNT#{account_id}", "ACCOUNT"), indexes={"gsi1": Key("OWNER#{owner}", "{account_id}")}),
    Entity(Ledger, Key("LEDGER#{day}", "LEDGER")),
    indexes=[Index("gsi1")],
)


def bank(connect: Connect, transport: Any = None) -> tuple[Any, Watched]:
    watched = Watched()
    db = connect(SCHEMA, transport, observe=watched)
    db.insert(Account("1", 70, "Ann"))
    db.insert(Ledger("2026-05-04", 70))
    watched.calls.clear()
    return db, watched


@both
def test_several_classes_are_read_at_one_moment(connect: Connect) -> None:
    db, watched = bank(connect)
    found = db.get_together(Get(Account, account_id="1"), Get(Ledger, day="2026-05-04"), Get(Account, account_id="2"))
    assert found == (Account("1", 70, "Ann"), Ledger("2026-05-04", 70), None)
    assert [(call.operation, call.items, call.units) for call in watched.calls] == [("TransactGetItems", 2, 6.0)]
    assert db.get_together() == ()
    assert len(watched.calls) == 1


@both
def test_parts_and_the_same_twice(connect: Connect) -> None:
    db, watched = bank(connect)
    part = Get(Account, account_id="1", into=Balance)
    assert db.get_together(part, Get(Ledger, day="x"), part) == (Balance(70), None, Balance(70))
    assert len(watched.calls[0].request["TransactItems"]) == 2
    with pytest.raises(TableError, match="ACCOUNT#1 / ACCOUNT is read twice, with different attributes"):
        db.get_together(part, Get(Account, account_id="1"))


@both
def test_unsupported_read_is_refused(connect: Connect) -> None:
    db, watched = bank(connect)
    with pytest.raises(TableError, match=r"Get\(Account, owner='Ann'\) does not give the key"):
        db.get_together(Get(Account, owner="Ann"))
    with pytest.raises(TooMany, match="at most 100 objects, not 101"):
        db.get_together(*(Get(Account, account_id=str(number)) for number in range(101)))
    assert watched.calls == []


@both
def test_an_item_of_another_kind_is_an_error(connect: Connect) -> None:
    db, _ = bank(connect)
    db.call("PutItem", {"Item": {"pk": {"S": "LEDGER#x"}, "sk": {"S": "LEDGER"}, "entityType": {"S": "Ghost"}}})
    with pytest.raises(CodecError, match="the item LEDGER#x / LEDGER is a Ghost, not a Ledger"):
        db.get_together(Get(Ledger, day="x"))


class Contended:
    """A DynamoDB where other clients write the same items a few times."""

    def __init__(self, times: int, code: str = "TransactionConflict") -> None:
        self.times, self.code = times, code
        self.engine = fresh()

    def send(self, operation: str, body: bytes) -> bytes:
        if operation == "TransactGetItems" and self.times:
            self.times -= 1
            reasons = [{"Code": self.code}, {"Code": "None"}]
            raise DynamoDBError(
                "TransactionCanceledException", f"reasons [{self.code}]", fields={"CancellationReasons": reasons}
            )
        return self.engine.send(operation, body)

    async def send_async(self, operation: str, body: bytes) -> bytes:
        return self.send(operation, body)


@both
def test_conflict_is_retried_and_then_raised(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    async def sleep(seconds: float) -> None: ...

    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    monkeypatch.setattr(asyncio, "sleep", sleep)
    gets = Get(Account, account_id="1"), Get(Ledger, day="2026-05-04")
    db, _ = bank(connect, Contended(2))
    assert db.get_together(*gets) == (Account("1", 70, "Ann"), Ledger("2026-05-04", 70))
    db, _ = bank(connect, Contended(100))
    with pytest.raises(Conflict, match="ACCOUNT#1 / ACCOUNT, LEDGER"):
        db.get_together(*gets)
    db, _ = bank(connect, Contended(1, "ValidationError"))
    with pytest.raises(TableError, match=r"cannot be read together: .*ValidationError"):
        db.get_together(*gets)
