"""`get_many`: objects in the order of the keys, whatever the order of DynamoDB's responses."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.place import fresh
from tests.table.both import Connect, Watched, awaited, both, waiting

from prejoin import CodecError, Entity, Index, Key, Schema, TableError, Unanswered, UnknownAttribute


@dataclass(frozen=True)
class User:
    team: str
    user_id: str
    name: str = ""


@dataclass(frozen=True)
class Name:
    name: str


SCHEMA = Schema(
    Entity(User, Key("TEAM#{team}", "USER#{user_id}"), indexes={"gsi1": Key("NAME#{name}", "USER")}),
    indexes=[Index("gsi1")],
)


class Busy:
    """A DynamoDB that processes only some keys of a batch, as when its capacity is exceeded."""

    def __init__(self, answered: int) -> None:
        self.answered = answered
        self.engine = fresh()

    def send(self, operation: str, body: bytes) -> bytes:
        if operation != "BatchGetItem":
            return self.engine.send(operation, body)
        request = msgspec.json.decode(body)
        asked = request["RequestItems"]["shop"]
        now, left = asked["Keys"][: self.answered], asked["Keys"][self.answered :]
        if not now:
            return msgspec.json.encode({"Responses": {"shop": []}, "UnprocessedKeys": request["RequestItems"]})
        asked["Keys"] = now
        answer = msgspec.json.decode(self.engine.send(operation, msgspec.json.encode(request)))
        answer["UnprocessedKeys"] = {"shop": {**asked, "Keys": left}} if left else {}
        return msgspec.json.encode(answer)

    async def send_async(self, operation: str, body: bytes) -> bytes:
        return self.send(operation, body)


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Records pauses instead of sleeping."""
    noted: list[float] = []

    async def sleep(seconds: float) -> None:
        noted.append(seconds)

    monkeypatch.setattr(time, "sleep", noted.append)
    monkeypatch.setattr(asyncio, "sleep", sleep)
    return noted


def filled(connect: Connect, count: int, transport: Any = None) -> tuple[Any, Watched]:
    watched = Watched()
    db = connect(SCHEMA, transport, observe=watched)
    for number in range(count):
        db.put(User("red", str(number), f"name {number}"))
    watched.calls.clear()
    return db, watched


@both
def test_get_many_keeps_the_order_of_keys_with_gaps_and_duplicates(connect: Connect) -> None:
    db, watched = filled(connect, 3)
    keys = [{"team": "red", "user_id": id_} for id_ in ("2", "nobody", "0", "2")]
    found = db.get_many(User, iter(keys), consistent=True)
    assert found == [User("red", "2", "name 2"), None, User("red", "0", "name 0"), User("red", "2", "name 2")]
    assert [(call.operation, call.items) for call in watched.calls] == [("BatchGetItem", 2)]
    assert watched.calls[0].units == 3.0, "three keys, consistently"
    assert db.get_many(User, []) == []
    assert db.get_many(User, keys[:2], into=Name) == [Name("name 2"), None]
    assert all("user_id" not in item for item in watched.calls[-1].response["Responses"]["shop"])


@both
def test_get_many_accepts_keys_in_any_order_and_plans_made_meanwhile(connect: Connect) -> None:
    """Another thread that plans the same read, or a full cache, replaces the plan."""
    db, _ = filled(connect, 3)

    def keys() -> Iterator[dict[str, str]]:
        yield {"team": "red", "user_id": "0"}
        SCHEMA.read_plans.clear()
        yield {"team": "red", "user_id": "1"}
        yield {"user_id": "2", "team": "red"}

    assert [user.user_id for user in db.get_many(User, keys())] == ["0", "1", "2"]


@both
def test_get_many_sends_a_hundred_keys_per_request(connect: Connect) -> None:
    db, watched = filled(connect, 250)
    reported: list[int] = []
    keys = [{"team": "red", "user_id": str(number)} for number in range(255)]
    found = db.get_many(User, keys, progress=reported.append)
    assert [user and user.user_id for user in found] == [str(number) for number in range(250)] + [None] * 5
    assert sorted(call.items for call in watched.calls) == [50, 100, 100]
    assert reported == [255]


@both
def test_unprocessed_keys_are_requested_again(connect: Connect, pauses: list[float]) -> None:
    db, _ = filled(connect, 130, Busy(30))
    reported: list[int] = []
    found = db.get_many(User, [{"team": "red", "user_id": str(n)} for n in range(130)], progress=reported.append)
    assert [user.user_id for user in found] == [str(number) for number in range(130)]
    assert reported[-1] == 130
    assert reported == sorted(reported)
    assert len(pauses) == len(reported) - 1


@both
def test_unanswered_keys_raise_after_the_attempts(connect: Connect, pauses: list[float]) -> None:
    db, _ = filled(connect, 3, Busy(0))
    with pytest.raises(
        Unanswered, match="3 of 3 keys were not read: DynamoDB had no capacity for 10 requests in a row"
    ) as given_up:
        db.get_many(User, [{"team": "red", "user_id": str(n)} for n in range(3)])
    assert [key["sk"]["S"] for key in given_up.value.keys] == ["USER#0", "USER#1", "USER#2"]
    assert len(pauses) == 9
    assert all(0 <= pause <= 5 for pause in pauses)


@both
@pytest.mark.parametrize(
    ("keys", "error", "message"),
    [
        ([{"name": "x"}], TableError, "name is not the key of User in the table"),
        ([{"team": "red"}], TableError, "team is not the key of User in the table"),
        ([{"team": "red", "user": "1"}], UnknownAttribute, "User has no attribute user"),
        ([{"team": "red", "user_id": None}], TableError, "user_id is None"),
    ],
)
def test_only_keys_are_taken(connect: Connect, keys: Any, error: type, message: str) -> None:
    db, watched = filled(connect, 0)
    with pytest.raises(error, match=message):
        db.get_many(User, keys)
    assert watched.calls == []


@both
def test_an_item_of_another_kind_is_an_error_and_one_without_a_tag_is_not(connect: Connect) -> None:
    db, _ = filled(connect, 0)
    item = {"pk": {"S": "TEAM#a"}, "sk": {"S": "USER#1"}, "team": {"S": "a"}, "user_id": {"S": "1"}}
    db.call("PutItem", {"Item": item})
    assert db.get_many(User, [{"team": "a", "user_id": "1"}]) == [User("a", "1")]
    assert db.get(User, team="a", user_id="1") == User("a", "1")
    db.call("PutItem", {"Item": {**item, "entityType": {"S": "Ghost"}}})
    with pytest.raises(CodecError, match="the item TEAM#a / USER#1 is a Ghost, not a User"):
        db.get_many(User, [{"team": "a", "user_id": "1"}])


@given(st.lists(st.integers(0, 40), max_size=60), st.integers(1, 20), st.sampled_from([waiting, awaited]))
def test_get_many_equals_repeated_gets(numbers: list[int], answered: int, connect: Connect) -> None:
    db, _ = filled(connect, 20, Busy(answered))
    keys = [{"team": "red", "user_id": str(number)} for number in numbers]
    assert db.get_many(User, keys) == [db.get(User, **key) for key in keys]
