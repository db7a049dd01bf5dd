"""Attributes that a class does not have: a put deletes them, keeps them, or is refused, as the entity declares."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.place import examples, fresh
from tests.table.both import Connect, awaited, waiting

from prejoin import (
    Call,
    Client,
    ConditionFailed,
    Copy,
    Entity,
    Index,
    Key,
    Schema,
    SchemaError,
    TableError,
    Unique,
    audit,
)

Unknown = Literal["replace", "keep", "refuse"]


@dataclass
class User:
    user_id: str
    email: str
    team: str | None = None
    note: str | None = None
    tags: set[str] = field(default_factory=set)


def schema(unknown: Unknown, *patterns: Any) -> Schema:
    user = Entity(
        User,
        Key("USER#{user_id}", "USER"),
        indexes={"gsi1": Key("TEAM#{team}", "{user_id}", when=lambda u: u.team != None)},  # noqa: E711
        patterns=patterns,
        unknown=unknown,
    )
    return Schema(user, indexes=[Index("gsi1")])


@pytest.fixture(params=[waiting, awaited])
def connect(request: pytest.FixtureRequest) -> Connect:
    found: Connect = request.param
    return found


def extend(db: Client, user_id: str = "1") -> None:
    """Another program adds attributes."""
    db.call(
        "UpdateItem",
        {
            "Key": {"pk": {"S": f"USER#{user_id}"}, "sk": {"S": "USER"}},
            "UpdateExpression": "SET legacy = :l, points = :p",
            "ExpressionAttributeValues": {":l": {"S": "kept"}, ":p": {"N": "7"}},
        },
    )


def item(db: Client, user_id: str = "1") -> dict[str, Any]:
    found: dict[str, Any] = db.call("GetItem", {"Key": {"pk": {"S": f"USER#{user_id}"}, "sk": {"S": "USER"}}})["Item"]
    return found


def test_put_replaces_the_whole_item_by_default(connect: Connect) -> None:
    db = connect(Schema(Entity(User, Key("USER#{user_id}", "USER"))))
    db.insert(User("1", "a@x"))
    extend(db)
    db.put(User("1", "b@x"))
    assert item(db).keys() == {"pk", "sk", "entityType", "user_id", "email"}


def test_put_keeps_unknown_attributes(connect: Connect) -> None:
    calls: list[Call] = []
    db = connect(schema("keep"), observe=calls.append)
    db.insert(User("1", "a@x", "red", "n", {"t"}))
    extend(db)
    read = db.get(User, user_id="1")
    assert read
    read.email = "b@x"
    calls.clear()
    db.put(read)
    assert [call.operation for call in calls] == ["UpdateItem"]
    assert item(db).items() >= {"legacy": {"S": "kept"}, "points": {"N": "7"}, "email": {"S": "b@x"}}.items()
    db.put(User("1", "c@x"))
    assert item(db) == {
        "pk": {"S": "USER#1"},
        "sk": {"S": "USER"},
        "entityType": {"S": "User"},
        "user_id": {"S": "1"},
        "email": {"S": "c@x"},
        "legacy": {"S": "kept"},
        "points": {"N": "7"},
    }
    assert list(db.query(User, team="red")) == []
    db.put(User("new", "d@x", "blue"))
    assert [user.user_id for user in db.query(User, team="blue")] == ["new"]


def test_kept_in_batches_transactions_and_with_conditions(connect: Connect) -> None:
    db = connect(schema("keep"))
    db.insert_many([User("1", "a@x"), User("2", "b@x"), User("3", "c@x")])
    for user_id in "123":
        extend(db, user_id)
    assert db.put_many([User("1", "aa@x"), User("4", "dd@x")]) == 2
    with db.transaction() as tx:
        tx.put(User("2", "bb@x"))
    db.put(User("3", "cc@x"), where=lambda u: u.email == "c@x")
    with pytest.raises(ConditionFailed):
        db.put(User("3", "no"), where=lambda u: u.email == "c@x")
    assert [item(db, at)["email"]["S"] for at in "1234"] == ["aa@x", "bb@x", "cc@x", "dd@x"]
    assert all("legacy" in item(db, at) for at in "123")


def test_kept_beside_patterns() -> None:
    patterns = [Unique("email"), Copy("by-email", Key("EMAIL#{email}", "{user_id}"))]
    db = waiting(schema("keep", *patterns))
    user = db.insert(User("1", "a@x"))
    extend(db)
    db.put(User("1", "b@x"), was=user)
    db.put(User("1", "c@x"), read=True)
    db.put(User("2", "d@x"), read=True)
    assert "legacy" in item(db)
    assert not list(audit(db))


def test_put_is_refused_unless_nothing_would_be_lost(connect: Connect) -> None:
    db = connect(schema("refuse"))
    db.insert(User("1", "a@x"))
    with pytest.raises(TableError, match="would delete attributes"):
        db.put(User("1", "b@x"))
    db.put(User("1", "b@x"), read=True)
    db.put(User("2", "b@x"), read=True)
    extend(db)
    with pytest.raises(TableError, match="has legacy, points, which is no attribute of User"):
        db.put(User("1", "c@x"), read=True)
    with db.update(User, user_id="1") as user:
        user.email = "c@x"
    assert item(db).items() >= {"legacy": {"S": "kept"}, "email": {"S": "c@x"}}.items()


def test_unknown_option_is_refused() -> None:
    with pytest.raises(SchemaError, match="'replace', 'keep' or 'refuse'"):
        schema("drop")  # type: ignore[arg-type]


USERS = st.builds(
    User,
    st.just("1"),
    st.text(max_size=3),
    st.none() | st.sampled_from(["red", "blue"]),
    st.none() | st.text(max_size=3),
    st.sets(st.sampled_from("ab")),
)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(USERS, min_size=1, max_size=5), st.booleans())
def test_put_that_keeps_equals_a_put_with_the_unknown_attributes(users: list[User], version: bool) -> None:
    """Law: known attributes are as after a put that replaces, unknown ones as before."""
    keep, plain = waiting(schema("keep"), fresh()), waiting(schema("replace"), fresh())
    for db in (keep, plain):
        db.insert(User("1", "first", "red", "note", {"a"}))
    extend(keep)
    for user in users:
        for db in (keep, plain):
            db.put(user)
        assert item(keep) == {**item(plain), "legacy": {"S": "kept"}, "points": {"N": "7"}}
        assert keep.get(User, user_id="1") == user


@dataclass
class Place:
    place_id: str
    country: str


def test_item_that_moves_keeps_attribute_that_is_an_index_key_of_another_class() -> None:
    user = Entity(User, Key("USER#{user_id}#{email}", "USER"))
    place = Entity(Place, Key("PLACE#{place_id}", "PLACE"))
    db = Client(Schema(user, place, indexes=[Index("by-country", pk="country")]), "moves", fresh())
    db.create_table()
    db.insert(User("1", "a@b.de"))
    key = db.schema.key(User, user_id="1", email="a@b.de")
    names, values = {"#c": "country"}, {":c": {"S": "DE"}}
    said = {"ExpressionAttributeNames": names, "ExpressionAttributeValues": values}
    db.call("UpdateItem", {"Key": key, "UpdateExpression": "SET #c = :c", **said})
    with db.update(User, user_id="1", email="a@b.de", read=True) as changed:
        changed.email = "new@b.de"
    found = db.call("GetItem", {"Key": db.schema.key(User, user_id="1", email="new@b.de")})
    assert found["Item"]["country"] == {"S": "DE"}
