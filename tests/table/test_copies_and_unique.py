"""Copies and unique attributes: further items in the same transaction, or the write is refused."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import msgspec
import pytest

from prejoin.engine import Embedded
from prejoin.table import (
    AlreadyExists,
    Call,
    Changes,
    Client,
    ConditionFailed,
    Copy,
    Entity,
    Key,
    NotUnique,
    Schema,
    UnknownValue,
)


@dataclass
class Order:
    user_id: str
    order_id: str
    status: Literal["OPEN", "DONE"] = "OPEN"
    note: str | None = None
    total: int = 0


@dataclass
class User:
    user_id: str
    email: str
    first: str = ""
    last: str = ""
    phone: str | None = None


SCHEMA = Schema(
    Entity(
        Order,
        Key("ORDER#{order_id}", "ORDER"),
        copies=[
            Copy("by-user", Key("USER#{user_id}", "ORDER#{order_id}")),
            Copy(
                "open",
                Key("USER#{user_id}", "OPEN#{order_id}", when=lambda o: o.status == "OPEN"),
                attributes=["status"],
            ),
        ],
    ),
    Entity(User, Key("USER#{user_id}", "PROFILE"), unique=["email", ("first", "last"), "phone"]),
)


class Table:
    def __init__(self) -> None:
        self.operations: list[str] = []
        self.db = Client(SCHEMA, "shop", Embedded(), observe=lambda call: self.operations.append(call.operation))
        self.db.create_table()
        self.operations.clear()

    def written(self) -> list[str]:
        answer = msgspec.json.decode(self.db._transport.send("Scan", b'{"TableName": "shop"}'))
        return sorted(f"{item['pk']['S']} / {item['sk']['S']}" for item in answer["Items"])


@pytest.fixture
def table() -> Table:
    return Table()


def test_an_insert_writes_all_copies_in_one_transaction(table: Table) -> None:
    table.db.insert(Order("1", "7"))
    assert table.operations == ["TransactWriteItems"]
    assert table.written() == ["ORDER#7 / ORDER", "USER#1 / OPEN#7", "USER#1 / ORDER#7"]
    with pytest.raises(AlreadyExists):
        table.db.insert(Order("2", "7"))


def test_a_copy_is_read_as_the_entity_itself(table: Table) -> None:
    table.db.insert(Order("1", "7", note="x"))
    table.db.insert(Order("1", "8", "DONE"))
    assert list(table.db.query(Order, user_id="1")) == [Order("1", "7", note="x"), Order("1", "8", "DONE")]
    assert table.db.get(Order, order_id="7") == Order("1", "7", note="x")


def test_an_update_changes_the_copies_that_have_the_attribute(table: Table) -> None:
    table.db.insert(Order("1", "7"))
    table.db.apply(Order, Changes({"note": "x"}, {"total": 5}), order_id="7", user_id="1", status="OPEN")
    assert list(table.db.query(Order, user_id="1")) == [Order("1", "7", note="x", total=5)]
    with pytest.raises(ConditionFailed):
        table.db.apply(Order, Changes({"note": "y"}), order_id="7", user_id="2", status="OPEN")
    assert table.db.get(Order, order_id="7") == Order("1", "7", note="x", total=5)


def test_an_update_that_cannot_find_or_would_move_a_copy_is_refused(table: Table) -> None:
    table.db.insert(Order("1", "7"))
    table.operations.clear()
    with pytest.raises(UnknownValue, match="does not give user_id, of which the key of its copy by-user is made"):
        table.db.apply(Order, Changes({"note": "x"}), order_id="7")
    with pytest.raises(UnknownValue, match="status decides where the copy open of Order is"):
        table.db.apply(Order, Changes({"status": "DONE"}), order_id="7", user_id="1")
    with pytest.raises(UnknownValue, match="does not give user_id"):
        table.db.delete(Order, order_id="7")
    with pytest.raises(UnknownValue, match="give was= the item it replaces"):
        table.db.put(Order("1", "7", "DONE"))
    assert table.operations == []


def test_a_put_over_a_known_item_moves_its_copies(table: Table) -> None:
    old = Order("1", "7")
    table.db.insert(old)
    table.db.put(Order("2", "7", "DONE"), was=old)
    assert table.written() == ["ORDER#7 / ORDER", "USER#2 / ORDER#7"]
    with pytest.raises(ConditionFailed):
        table.db.put(Order("3", "7"), was=old)
    assert table.written() == ["ORDER#7 / ORDER", "USER#2 / ORDER#7"]


def test_a_delete_takes_the_copies_along(table: Table) -> None:
    table.db.insert(Order("1", "7"))
    table.db.delete(Order, order_id="7", user_id="1", status="OPEN")
    assert table.written() == []


def test_a_unique_attribute_is_guarded_in_the_same_transaction(table: Table) -> None:
    table.db.insert(User("1", "a@b.com", "A", "B"))
    assert "UNIQUE#User#email#a@b.com / UNIQUE" in table.written()
    with pytest.raises(NotUnique, match=r"another User has email 'a@b.com' already"):
        table.db.insert(User("2", "a@b.com", "C", "D"))
    with pytest.raises(NotUnique, match="first 'A', last 'B'"):
        table.db.insert(User("2", "c@d.com", "A", "B"))
    assert table.db.get(User, user_id="2") is None
    table.db.insert(User("2", "A@b.com", "A", "b"))


def test_groups_of_unique_attributes_do_not_run_together(table: Table) -> None:
    table.db.insert(User("1", "1", "a#b", "c"))
    table.db.insert(User("2", "2", "a", "b#c"))
    assert len([key for key in table.written() if key.startswith("UNIQUE#User#")]) == 4


def test_a_unique_attribute_can_change_if_the_old_value_is_known(table: Table) -> None:
    table.db.insert(User("1", "a@b.com", "A", "B"))
    with pytest.raises(UnknownValue, match="does not give email, of which the guard of unique email is made"):
        table.db.apply(User, Changes({"email": "new@b.com"}), user_id="1")
    with pytest.raises(ConditionFailed):
        table.db.apply(User, Changes({"email": "new@b.com"}), user_id="1", email="wrong@b.com")
    table.db.apply(User, Changes({"email": "new@b.com"}), user_id="1", email="a@b.com")
    assert [key for key in table.written() if "email" in key] == ["UNIQUE#User#email#new@b.com / UNIQUE"]
    table.db.insert(User("2", "a@b.com", "C", "D"))
    with pytest.raises(NotUnique):
        table.db.apply(User, Changes({"email": "new@b.com"}), user_id="2", email="a@b.com")


def test_what_is_unique_and_absent_needs_no_guard(table: Table) -> None:
    table.db.insert(User("1", "1", "A", "B"))
    table.db.insert(User("2", "2", "C", "D"))
    table.db.apply(User, Changes({"phone": "555"}), user_id="1", phone=None)
    with pytest.raises(NotUnique):
        table.db.apply(User, Changes({"phone": "555"}), user_id="2", phone=None)
    table.db.apply(User, Changes({"phone": None}), user_id="1", phone="555")
    table.db.apply(User, Changes({"phone": "555"}), user_id="2", phone=None)


def test_a_delete_frees_the_values_of_that_item_only(table: Table) -> None:
    user = User("1", "a@b.com", "A", "B")
    table.db.insert(user)
    known: dict[str, Any] = {"email": "a@b.com", "first": "A", "last": "B", "phone": None}
    with pytest.raises(ConditionFailed):
        table.db.delete(User, user_id="2", **known)
    with pytest.raises(UnknownValue, match="does not give email"):
        table.db.delete(User, user_id="1")
    table.db.delete(User, user_id="1", **known)
    assert table.written() == []
    table.db.insert(user)
    table.db.put(replace(user, email="z@b.com"), was=user)
    assert len(table.written()) == 3
    with pytest.raises(UnknownValue, match="which would stay taken"):
        table.db.put(user)


def test_only_a_copy_that_another_item_could_have_is_written_on_condition() -> None:
    schema = Schema(
        Entity(
            Order,
            Key("ORDER#{order_id}", "ORDER"),
            copies=[Copy("own", Key("ALL", "{order_id}")), Copy("one", Key("USER#{user_id}", "OPEN"))],
        )
    )
    calls: list[Call] = []
    db = Client(schema, "shop", Embedded(), observe=calls.append)
    db.create_table()
    db.insert(Order("1", "7"))
    puts = [action["Put"] for action in calls[-1].request["TransactItems"]]
    assert ["ConditionExpression" in put for put in puts] == [True, False, True]
    with pytest.raises(NotUnique, match="the copy one of another Order has the same key"):
        db.insert(Order("1", "8"))
    db.put(Order("1", "7", note="again"), was=Order("1", "7"))
    assert db.get(Order, order_id="7") == Order("1", "7", note="again")
