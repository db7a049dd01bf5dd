"""Reads with a whole key and further values: GetItem, then a comparison in the client."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any

import pytest
from tests.table.both import Connect, Watched, both

from prejoin import Copy, Entity, Get, Key, NotServed, Schema, SoftDelete, TableError

T = datetime(2026, 5, 4, 12, tzinfo=UTC)


class Kind(Enum):
    WEB = "WEB"
    APP = "APP"


@dataclass(frozen=True)
class Session:
    session_id: str
    username: str
    kind: Kind = Kind.WEB
    quota: Decimal = Decimal("1.50")
    ends: datetime | None = None
    roles: frozenset[str] = frozenset()
    device: str = ""


@dataclass(frozen=True)
class Ended:
    ends: datetime | None


SCHEMA = Schema(
    Entity(
        Session,
        Key("SESSION#{session_id}", "SESSION"),
        patterns=[Copy("of-user", Key("USER#{username}", "{session_id}"), attributes=["kind", "quota"])],
        names={"username": "user", "kind": "k"},
    )
)
ALICE = Session("1", "alice", ends=T, roles=frozenset({"a", "b"}), device="phone")


def filled(connect: Connect) -> tuple[Any, Watched]:
    watched = Watched()
    db = connect(SCHEMA, observe=watched)
    db.insert(ALICE)
    watched.calls.clear()
    return db, watched


@both
def test_get_with_more_than_the_key_returns_only_a_matching_item(connect: Connect) -> None:
    db, watched = filled(connect)
    assert db.get(Session, session_id="1", device="phone", consistent=True) == ALICE
    assert db.get(Session, session_id="1", device="tablet") is None
    assert db.get(Session, session_id="2", device="phone") is None
    assert list(db.query(Session, session_id="1", device="phone")) == [ALICE]
    assert list(db.query(Session, lambda s: (s.session_id == "1") & (s.device == "tablet"))) == []
    assert {call.operation for call in watched.calls} == {"GetItem"}
    assert sum(call.units for call in watched.calls) == 1 + 4 * 0.5
    assert "ConsistentRead" in watched.calls[0].request


@pytest.mark.parametrize(
    ("given", "other"),
    [
        ({"kind": Kind.WEB}, {"kind": Kind.APP}),
        ({"quota": Decimal("1.5")}, {"quota": Decimal("1.51")}),
        ({"ends": T}, {"ends": T + timedelta(seconds=1)}),
        ({"roles": frozenset({"b", "a"})}, {"roles": frozenset({"a"})}),
        ({"device": "phone", "ends": T}, {"device": "phone", "ends": T - timedelta(days=1)}),
    ],
)
@both
def test_values_are_compared_as_dynamodb_would(connect: Connect, given: Any, other: Any) -> None:
    db, _ = filled(connect)
    assert db.get(Session, session_id="1", **given) == ALICE
    assert db.get(Session, session_id="1", **other) is None
    assert db.exists(Session, session_id="1", **given)
    assert not db.exists(Session, session_id="1", **other)
    assert (db.count(Session, session_id="1", **given), db.count(Session, session_id="1", **other)) == (1, 0)


@both
def test_projection_has_only_returned_and_compared_attributes(connect: Connect) -> None:
    db, watched = filled(connect)
    assert db.get(Session, session_id="1", device="phone", into=Ended) == Ended(T)
    assert set(watched.calls[-1].response["Item"]) == {"ends", "device", "entityType"}
    assert db.exists(Session, session_id="1", device="phone")
    assert set(watched.calls[-1].response["Item"]) == {"device", "entityType"}


@both
def test_partial_copy_is_compared_only_with_its_attributes(connect: Connect) -> None:
    db, watched = filled(connect)

    @dataclass(frozen=True)
    class Kinds:
        kind: Kind

    assert db.get(Session, username="alice", session_id="1") == ALICE, "by the table's own key, which has everything"
    assert watched.calls[-1].key == "SESSION#1 / SESSION"
    alone = Schema(
        Entity(
            Session,
            Key("SESSION#{session_id}", "{device}"),
            patterns=[Copy("of-user", Key("USER#{username}", "{session_id}"), attributes=["kind"])],
        )
    )
    db = connect(alone)
    db.insert(ALICE)
    assert db.get(Session, username="alice", session_id="1", kind=Kind.WEB, into=Kinds) == Kinds(Kind.WEB)
    assert db.get(Session, username="alice", session_id="1", kind=Kind.APP, into=Kinds) is None
    with pytest.raises(NotServed, match="quota would be left to a filter"):
        db.get(Session, username="alice", session_id="1", quota=Decimal(1), into=Kinds)


@both
def test_a_filter_of_one_item_is_tested_here_too(connect: Connect) -> None:
    db, watched = filled(connect)
    assert list(db.query(Session, session_id="1", filter=lambda s: s.ends > T - timedelta(days=1))) == [ALICE]
    assert list(db.query(Session, session_id="1", device="phone", filter=lambda s: s.ends > T)) == []
    assert list(db.query(Session, session_id="1", into=Ended, filter=lambda s: s.device != "tablet")) == [Ended(T)]
    assert db.count(Session, session_id="1", filter=lambda s: s.ends <= T) == 1
    assert {call.operation for call in watched.calls} == {"GetItem"}
    assert list(db.collect((Session,), session_id="1", device="phone").items) == [ALICE]
    assert list(db.collect((Session,), session_id="1", device="tablet").items) == []


@both
def test_many_at_once_are_read_by_their_keys_alone(connect: Connect) -> None:
    db, _ = filled(connect)
    with pytest.raises(TableError, match="device is not part of the key of Session, and get_many reads by key only"):
        db.get_many(Session, [{"session_id": "1", "device": "phone"}])
    with pytest.raises(TableError, match="get_together reads by key only"):
        db.get_together(Get(Session, session_id="1", device="phone"))


@both
def test_hidden_item_stays_hidden(connect: Connect) -> None:
    @dataclass(frozen=True)
    class Note:
        note_id: str
        text: str
        deleted_at: datetime | None = None

    db = connect(Schema(Entity(Note, Key("NOTE#{note_id}", "NOTE"), patterns=[SoftDelete("deleted_at")])))
    db.insert(Note("1", "x"))
    assert db.get(Note, note_id="1", text="x") == Note("1", "x")
    db.delete(Note, note_id="1")
    assert db.get(Note, note_id="1", text="x") is None
    assert not db.exists(Note, note_id="1", text="x")
