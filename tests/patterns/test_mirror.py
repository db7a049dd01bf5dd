"""`Mirror`: an attribute under two names, for the time between two designs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.place import fresh

from prejoin import Client, Entity, Index, Key, Mirror, Schema, SchemaError, TableError, add, if_absent


@dataclass
class User:
    user_id: str
    count: int | None = None
    total: int | None = None
    lines: list[str] | None = field(default=None)
    rows: list[str] | None = field(default=None)


MARK, LIST_MARK = "~count~total", "~lines~rows"


def users() -> Client:
    key = Key("USER#{user_id}", "USER")
    by_total = {"by_total": Key("TOTAL#{total}", "{user_id}")}
    mirrors = [Mirror("count", "total"), Mirror("lines", "rows")]
    schema = Schema(Entity(User, key, indexes=by_total, patterns=mirrors), indexes=[Index("by_total")])
    client = Client(schema, "users", fresh())
    client.create_table()
    return client


def write(client: Client, verb: str) -> int | None:
    """Writes the count of the user 1 by a verb, and returns the expected count."""
    match verb:
        case "insert":
            client.insert(User("1", 7))
        case "put":
            client.put(User("1", 7), read=True)
        case "put_many":
            client.put_many([User("1", 7)])
        case "transaction":
            with client.transaction() as transaction:
                transaction.insert(User("1", 7))
        case "replace":
            client.insert(User("1", 3))
            client.put(User("1", 7, total=99), read=True)
        case "remove":
            client.insert(User("1", 3))
            with client.update(User, user_id="1", read=True) as user:
                user.count = None
            return None
        case _:
            client.insert(User("1", 3))
            with client.update(User, user_id="1", read=True) as user:
                match verb:
                    case "set":
                        user.count = 7
                    case "set both":
                        user.count, user.total = 7, 99
                    case "sum":
                        user.count = user.count + 4  # type: ignore[operator]
                    case "add":
                        user.count = add(user.count, 4)
    return 7


VERBS = ["insert", "put", "put_many", "transaction", "replace", "remove", "set", "set both", "sum", "add"]


@pytest.mark.parametrize("verb", VERBS)
def test_both_names_and_the_mark_have_the_same_value(verb: str) -> None:
    client = users()
    expected = write(client, verb)
    (item,) = client.call("Scan")["Items"]
    value: Any = None if expected is None else {"N": str(expected)}
    assert (item.get("count"), item.get("total")) == (value, value)
    assert item[MARK] == (value or {"NULL": True})
    by_total = client.query(User, total=7).items
    assert [user.user_id for user in by_total] == ([] if expected is None else ["1"])


@pytest.mark.parametrize("is_there", [True, False])
def test_upsert_writes_both(is_there: bool) -> None:
    client = users()
    if is_there:
        client.insert(User("1", 3))
    with client.upsert(User, user_id="1", read=True) as user:
        user.count = if_absent(user.count, 5)
    (item,) = client.call("Scan")["Items"]
    expected = {"N": "3" if is_there else "5"}
    assert (item["count"], item["total"], item[MARK]) == (expected, expected, expected)


def test_other_attributes_are_written_as_ever() -> None:
    client = users()
    client.insert(User("1", 3))
    with client.update(User, user_id="1") as user:
        user.lines = ["a"]
    (item,) = client.call("Scan")["Items"]
    assert item["lines"] == item["rows"] == item[LIST_MARK] == {"L": [{"S": "a"}]}
    assert item[MARK] == {"N": "3"}


def test_second_name_alone_is_not_changed() -> None:
    client = users()
    client.insert(User("1", 3))
    with client.update(User, user_id="1", read=True) as user:
        user.total = 9
        user.lines = ["x"]
    (item,) = client.call("Scan")["Items"]
    assert item["total"] == {"N": "3"}


def test_part_of_a_value_is_refused() -> None:
    client = users()
    client.insert(User("1", lines=["a"]))
    with pytest.raises(TableError, match="is being renamed"), client.update(User, user_id="1") as user:
        user.lines[0] = "b"  # type: ignore[index]


@pytest.mark.parametrize(
    ("mirror", "said"),
    [
        (Mirror("count", "lines"), "the same type"),
        (Mirror("total", "user_id"), "the same type"),
        (Mirror("nick", "user_id"), "must be optional"),
        (Mirror("user_id", "nick"), "part of the key"),
    ],
)
def test_attributes_that_do_not_fit_are_refused(mirror: Mirror, said: str) -> None:
    @dataclass
    class Member:
        user_id: str
        nick: str | None = None
        count: int | None = None
        total: int | None = None
        lines: list[str] | None = None

    with pytest.raises(SchemaError, match=said):
        Schema(Entity(Member, Key("USER#{user_id}", "USER"), patterns=[mirror]))
