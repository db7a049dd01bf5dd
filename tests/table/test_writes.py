"""Writes: refusals, conditions, and index keys that are never stale."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Literal

import msgspec
import pytest
from tests.place import fresh

from prejoin import (
    AlreadyExists,
    Call,
    Changes,
    Client,
    CodecError,
    ConditionFailed,
    Entity,
    Index,
    Key,
    NotFound,
    Schema,
    SchemaError,
    TableError,
    TooMany,
    TransactionCancelled,
    UnknownAttribute,
    UnknownValue,
    add,
    exists,
)

T = datetime(2026, 5, 4, 12, tzinfo=UTC)


@dataclass
class Order:
    user_id: str
    order_id: str
    placed_at: datetime
    status: Literal["PENDING", "SHIPPED", "DONE"] = "PENDING"
    assignee: str | None = None
    note: str | None = None


@dataclass
class Product:
    sku: str
    name: str
    stock: int
    price: Decimal
    views: int | None = None


SCHEMA = Schema(
    Entity(
        Order,
        Key("USER#{user_id}", "ORDER#{order_id}"),
        indexes={
            "gsi1": Key("STATUS#{status}", "{placed_at}#{order_id}"),
            "gsi2": Key("OPEN", "{placed_at}", when=lambda o: o.status == "PENDING"),
            "gsi3": Key("TASKS#{assignee}", "{order_id}"),
        },
    ),
    Entity(Product, Key("PRODUCT#{sku}", "PRODUCT"), indexes={"gsi1": Key("STOCK#{stock:06d}", "{name}")}),
    indexes=[Index("gsi1"), Index("gsi2"), Index("gsi3")],
)


class Table:
    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.db = Client(SCHEMA, "shop", fresh(), observe=self.calls.append)
        self.db.create_table()
        self.db.insert(Order("1", "7", T))
        self.db.insert(Product("s", "Shirt", 5, Decimal("19.90")))
        self.calls.clear()

    def raw(self, cls: type, **key: Any) -> dict[str, Any]:
        """The stored item without type markers."""
        body = msgspec.json.encode({"TableName": "shop", "Key": SCHEMA.key(cls, **key)})
        item = msgspec.json.decode(self.db._transport.send("GetItem", body)).get("Item", {})
        return {name: next(iter(value.values())) for name, value in item.items()}

    def order(self) -> dict[str, Any]:
        return self.raw(Order, user_id="1", order_id="7")


@pytest.fixture
def table() -> Table:
    return Table()


def test_an_item_has_its_attributes_its_type_and_all_its_keys(table: Table) -> None:
    assert table.order() == {
        "user_id": "1",
        "order_id": "7",
        "placed_at": "2026-05-04T12:00:00.000000Z",
        "status": "PENDING",
        "entityType": "Order",
        "pk": "USER#1",
        "sk": "ORDER#7",
        "gsi1pk": "STATUS#PENDING",
        "gsi1sk": "2026-05-04T12:00:00.000000Z#7",
        "gsi2pk": "OPEN",
        "gsi2sk": "2026-05-04T12:00:00.000000Z",
    }


def test_insert_refuses_to_overwrite(table: Table) -> None:
    with pytest.raises(AlreadyExists, match="Order user_id='1', order_id='7' exists already"):
        table.db.insert(Order("1", "7", T, note="other"))
    assert "note" not in table.order()
    assert table.calls == []


def test_put_replaces_the_item_and_its_index_keys(table: Table) -> None:
    table.db.put(Order("1", "7", T, "DONE", note="x"))
    item = table.order()
    assert item["gsi1pk"] == "STATUS#DONE"
    assert "gsi2pk" not in item
    assert "gsi2sk" not in item
    with pytest.raises(ConditionFailed, match="does not fulfil"):
        table.db.put(Order("1", "7", T), where=lambda o: o.status == "PENDING")


def test_update_is_one_updateitem_with_the_changes(table: Table) -> None:
    with table.db.update(Order, user_id="1", order_id="7") as order:
        order.note = "fragile"
    assert table.db.get(Order, user_id="1", order_id="7") == Order("1", "7", T, note="fragile")
    assert [(call.operation, call.key) for call in table.calls[:1]] == [("UpdateItem", "USER#1 / ORDER#7")]
    with table.db.update(Order, user_id="1", order_id="7") as order:
        order.note = None
    assert "note" not in table.order()


def test_sums_are_done_by_dynamodb_and_add_begins_at_zero(table: Table) -> None:
    schema = Schema(Entity(Product, Key("PRODUCT#{sku}", "PRODUCT")))
    db = Client(schema, "plain", table.db._transport)
    db.create_table()
    db.insert(Product("s", "Shirt", 5, Decimal("19.90")))
    with db.update(Product, sku="s", where=lambda p: p.stock >= 3) as product:
        product.stock -= 3
        product.price += Decimal("0.10")
        product.views = add(product.views, 1)
    assert db.get(Product, sku="s") == Product("s", "Shirt", 2, Decimal("20"), 1)
    with (
        pytest.raises(ConditionFailed, match="Product sku='s' does not fulfil the condition of this update"),
        db.update(Product, sku="s", where=lambda p: p.stock >= 3) as product,
    ):
        product.stock -= 3
    assert db.get(Product, sku="s") == Product("s", "Shirt", 2, Decimal("20"), 1)


def test_update_of_a_missing_item_creates_nothing(table: Table) -> None:
    with pytest.raises(NotFound, match="there is no Order user_id='1', order_id='8'"):
        table.db.apply(Order, Changes({"note": "x"}), user_id="1", order_id="8")
    assert table.db.get(Order, user_id="1", order_id="8") is None


def test_an_update_that_changes_an_index_key_rewrites_it(table: Table) -> None:
    with table.db.update(Order, user_id="1", order_id="7", placed_at=T) as order:
        order.status = "SHIPPED"
    item = table.order()
    assert (item["gsi1pk"], item["gsi1sk"]) == ("STATUS#SHIPPED", "2026-05-04T12:00:00.000000Z#7")
    assert "gsi2pk" not in item, "it has left the index of what is pending"
    with table.db.update(Order, user_id="1", order_id="7", placed_at=T) as order:
        order.status = "PENDING"
    assert table.order()["gsi2pk"] == "OPEN"


def test_an_update_that_cannot_know_an_index_key_is_refused(table: Table) -> None:
    with pytest.raises(
        UnknownValue, match=r"needs the current value of placed_at, because its key in gsi2 .* depends"
    ) as refused:
        table.db.apply(Order, Changes({"status": "PENDING"}), user_id="1", order_id="7")
    assert "placed_at=<current>" in str(refused.value)
    with pytest.raises(UnknownValue, match="stock is part of the key of Product in gsi1"):
        table.db.apply(Product, Changes(adds={"stock": 1}), sku="s")
    with (
        pytest.raises(UnknownValue, match="Set it to a value"),
        table.db.update(Product, sku="s") as product,
    ):
        product.stock -= 1
    assert table.calls == []


def test_update_checks_the_values_it_relies_on(table: Table) -> None:
    with pytest.raises(ConditionFailed, match="does not fulfil"):
        table.db.apply(Order, Changes({"status": "SHIPPED"}), user_id="1", order_id="7", placed_at=T + timedelta(1))
    assert table.order()["gsi1pk"] == "STATUS#PENDING"


def test_half_of_an_index_key_can_change_alone_where_all_items_are_in_it(table: Table) -> None:
    table.db.apply(Product, Changes({"name": "Vest"}), sku="s")
    item = table.raw(Product, sku="s")
    assert (item["gsi1pk"], item["gsi1sk"]) == ("STOCK#000005", "Vest")


def test_an_optional_attribute_takes_the_item_in_and_out_of_its_index(table: Table) -> None:
    table.db.apply(Order, Changes({"assignee": "ann"}), user_id="1", order_id="7")
    assert (table.order()["gsi3pk"], table.order()["gsi3sk"]) == ("TASKS#ann", "7")
    assert len(table.db.query(Order, assignee="ann")) == 1
    table.db.apply(Order, Changes(removes=frozenset({"assignee"})), user_id="1", order_id="7")
    assert "gsi3pk" not in table.order()
    assert "gsi3sk" not in table.order()


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        (Changes(), TableError, "changes nothing"),
        (Changes({"user_id": "2"}), TableError, "user_id is part of the key of Order, so a change moves"),
        (Changes({"placed_at": None}), CodecError, "required and cannot be removed"),
        (Changes({"nte": "x"}), UnknownAttribute, "did you mean note"),
        (Changes({"note": 3}), CodecError, "Order.note: 3 is not text"),
        (Changes({"note": "x"}, removes=frozenset({"note"})), TableError, "twice"),
    ],
)
def test_a_change_that_makes_no_sense_is_refused(table: Table, changes: Changes, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        table.db.apply(Order, changes, user_id="1", order_id="7")
    assert table.calls == []


def test_an_exception_inside_an_update_writes_nothing(table: Table) -> None:
    with pytest.raises(ZeroDivisionError), table.db.update(Order, user_id="1", order_id="7") as order:
        order.note = "x"
        _ = 1 // 0
    assert table.calls == []


def test_delete(table: Table) -> None:
    with pytest.raises(ConditionFailed, match="does not fulfil the condition of this delete"):
        table.db.delete(Order, user_id="1", order_id="7", status="DONE")
    table.db.delete(Order, user_id="1", order_id="7", where=lambda o: o.status == "PENDING")
    assert table.order() == {}
    table.db.delete(Order, user_id="1", order_id="7")
    with pytest.raises(NotFound):
        table.db.delete(Order, user_id="1", order_id="7", where=lambda o: exists(o.status))


def test_a_transaction_is_all_or_nothing(table: Table) -> None:
    with table.db.transaction() as tx:
        tx.insert(Order("1", "8", T))
        tx.put(Product("t", "Tie", 1, Decimal(3)))
        with tx.update(Order, user_id="1", order_id="7") as order:
            order.note = "with 8"
        tx.check(Product, sku="s", where=lambda p: p.stock >= 5)
    assert [call.operation for call in table.calls] == ["TransactWriteItems"]
    assert table.calls[0].items == 4
    with pytest.raises(TransactionCancelled) as cancelled, table.db.transaction() as tx:
        tx.insert(Order("1", "9", T))
        tx.insert(Order("1", "8", T))
        tx.check(Product, sku="s", where=lambda p: p.stock >= 6)
        tx.delete(Order, user_id="1", order_id="77", status="DONE")
    assert [type(failure) for failure in cancelled.value.failures] == [AlreadyExists, ConditionFailed, NotFound]
    assert table.db.get(Order, user_id="1", order_id="9") is None


def test_one_write_in_a_transaction_is_a_plain_call_unless_it_has_a_token(table: Table) -> None:
    with table.db.transaction() as tx:
        tx.insert(Order("1", "8", T))
    with table.db.transaction():
        pass
    for _ in range(2):
        with table.db.transaction(token="request-1") as tx:
            tx.insert(Order("1", "9", T))
    assert [call.operation for call in table.calls] == ["PutItem", "TransactWriteItems", "TransactWriteItems"]


def test_invalid_request_is_refused_before_the_call(table: Table) -> None:
    with pytest.raises(SchemaError, match="USER#1 / ORDER#8 is written twice"), table.db.transaction() as tx:
        tx.insert(Order("1", "8", T))
        tx.delete(Order, user_id="1", order_id="8")
    with pytest.raises(TooMany, match="this one has 101"), table.db.transaction() as tx:
        for i in range(101):
            tx.insert(Order("1", f"x{i}", T))
    with pytest.raises(ValueError, match="longer than 1024 bytes"):
        table.db.insert(Order("1", "x" * 1024, T))
    assert table.calls == []


def test_reserved_words_and_odd_names_are_only_names(table: Table) -> None:
    schema = Schema(Entity(Product, Key("P#{sku}", "P"), names={"name": "count", "stock": "size of it", "views": "#v"}))
    db = Client(schema, "odd", table.db._transport)
    db.create_table()
    product = Product("s", "Shirt", 5, Decimal(1))
    db.insert(product)
    db.apply(Product, Changes({"name": "Vest", "stock": 3}, {"views": 2}), sku="s", where=lambda p: p.stock == 5)
    assert db.get(Product, sku="s") == replace(product, name="Vest", stock=3, views=2)


@dataclass
class Message:
    message_id: str
    read: bool = False


def test_an_option_is_not_taken_for_an_attribute_of_the_same_name() -> None:
    db = Client(Schema(Entity(Message, Key("MESSAGE#{message_id}", "MESSAGE"))), "mail", fresh())
    db.create_table()
    db.insert(Message("1"))
    for said in (True, False):
        with pytest.raises(TableError, match="read= is an option, and Message has an attribute of this name"):
            db.apply(Message, Changes({"read": True}), message_id="1", read=said)
        with pytest.raises(TableError, match="Message has an attribute of this name"):
            db.delete(Message, message_id="1", read=said)
    with db.update(Message, message_id="1", where=lambda m: m.read == False) as message:  # noqa: E712
        message.read = True
    db.put(Message("1"), read=True)
    db.delete_many(Message, [{"message_id": "1"}])
    assert db.get(Message, message_id="1") is None
