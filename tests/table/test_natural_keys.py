"""Attributes as keys: of indexes, of local indexes, and of existing tables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Literal

import msgspec
import pytest
from tests.place import fresh

from prejoin import AlreadyExists, Call, Client, Entity, Index, Key, NotServed, Schema, begins_with, between
from prejoin.keys import KeyValueError


@dataclass(frozen=True)
class Order:
    order_id: str
    country: str
    city: str
    status: Literal["OPEN", "SENT", "DONE"]
    total: int
    weight: Decimal
    due: date
    digest: bytes
    assignee: str | None = None


class Shop:
    def __init__(self, schema: Schema) -> None:
        self.calls: list[Call] = []
        self.engine = fresh()
        self.db = Client(schema, "shop", self.engine, observe=self.calls.append)
        self.db.create_table()
        self.orders = [
            Order(
                f"o{i}",
                ("DE", "FR")[i % 2],
                ("Bonn", "Köln", "Lyon")[i % 3],
                ("OPEN", "SENT", "DONE")[i // 4 % 3],
                (100, 9, 20, -5, 7)[i % 5],
                Decimal(f"{i % 4}.{i % 7}"),
                date(2026, 5, i + 1),
                bytes([i % 3, 255 - i]),
                f"a{i}" if i % 4 == 0 else None,
            )
            for i in range(24)
        ]
        for order in self.orders:
            self.db.insert(order)

    def among(self, test: Any, by: Any) -> list[Order]:
        return sorted(filter(test, self.orders), key=by)

    @property
    def asked(self) -> dict[str, Any]:
        """The last request, with the names and values in its condition."""
        body = self.calls[-1].request
        text = body["KeyConditionExpression"]
        for short, name in body["ExpressionAttributeNames"].items():
            text = text.replace(short, name)
        for short, value in body["ExpressionAttributeValues"].items():
            ((tag, content),) = value.items()
            text = text.replace(short, f"{tag}:{content}")
        return {"index": body.get("IndexName"), "key": text}


ORDER = Key("ORDER#{order_id}", "ORDER")
BY_STATUS = Index("by-status", pk="status", sk="total")
BY_PLACE = Index("by-place", pk=("country", "city"), sk=("status", "total", "order_id"))
INDEXES = [
    BY_STATUS,
    BY_PLACE,
    Index("by-weight", pk="status", sk="weight"),
    Index("by-due", pk="country", sk="due"),
    Index("by-digest", pk="city", sk="digest"),
    Index("by-total", pk="total"),
    Index("by-assignee", pk="assignee"),
]


@pytest.fixture
def shop() -> Shop:
    return Shop(Schema(Entity(Order, ORDER), indexes=INDEXES))


def test_numbers_are_sorted_and_ranged_as_numbers(shop: Shop) -> None:
    found = shop.db.query(Order, lambda o: (o.status == "OPEN") & (o.total >= 9), order="total")
    assert [o.total for o in found] == [
        o.total for o in shop.among(lambda o: o.status == "OPEN" and o.total >= 9, lambda o: o.total)
    ]
    assert shop.asked == {"index": "by-status", "key": "status = S:OPEN AND total >= N:9"}
    below = shop.db.query(Order, lambda o: (o.status == "OPEN") & (o.total > -5) & (o.total < 20))
    assert {o.total for o in below} == {7, 9}
    assert shop.asked["key"] == "status = S:OPEN AND total BETWEEN N:-4 AND N:19"
    heavy = shop.db.query(Order, lambda o: (o.status == "SENT") & between(o.weight, Decimal("1.1"), Decimal(3)))
    assert {o.order_id for o in heavy} == {
        o.order_id for o in shop.orders if o.status == "SENT" and Decimal("1.1") <= o.weight <= 3
    }
    assert len(shop.db.query(Order, total=100)) == 5


def test_dates_and_binary_are_ranged_as_they_are_stored(shop: Shop) -> None:
    late = shop.db.query(Order, lambda o: (o.country == "DE") & (o.due > date(2026, 5, 20)), order="-due")
    assert [o.due.day for o in late] == [23, 21]
    assert shop.asked["key"] == "country = S:DE AND due > S:2026-05-20"
    assert {o.digest for o in shop.db.query(Order, lambda o: (o.city == "Bonn") & begins_with(o.digest, b"\x00"))} == {
        o.digest for o in shop.orders if o.city == "Bonn"
    }
    assert shop.asked["key"] == "city = S:Bonn AND begins_with(digest, B:AA==)"


def test_several_attributes_are_a_key_from_left_to_right(shop: Shop) -> None:
    def here(order: Order) -> bool:
        return (order.country, order.city) == ("DE", "Bonn")

    everything = shop.db.query(Order, country="DE", city="Bonn", order=["status", "total"])
    assert list(everything) == shop.among(here, lambda o: (o.status, o.total, o.order_id))
    assert shop.asked == {"index": "by-place", "key": "country = S:DE AND city = S:Bonn"}
    some = shop.db.query(
        Order, lambda o: (o.total >= 7) & (o.status == "OPEN"), country="DE", city="Bonn", order="-total"
    )
    assert [o.total for o in some] == sorted(
        (o.total for o in shop.orders if here(o) and o.status == "OPEN" and o.total >= 7), reverse=True
    )
    assert shop.asked["key"] == "country = S:DE AND city = S:Bonn AND status = S:OPEN AND total >= N:7"
    one = everything[3]
    assert list(
        shop.db.query(Order, country="DE", city="Bonn", status=one.status, total=one.total, order_id=one.order_id)
    ) == [one]
    with pytest.raises(
        NotServed, match=r"by-place: country . city / status . total . order_id: its partition needs city"
    ):
        shop.db.query(Order, country="DE", status="OPEN", total=7)
    with pytest.raises(NotServed, match="total would be left to a filter"):
        shop.db.query(Order, country="DE", city="Bonn", total=7)


@pytest.mark.parametrize("limit", [1, 3, 100])
def test_pages_go_on_after_keys_of_any_type(shop: Shop, limit: int) -> None:
    for asked in ({"status": "OPEN"}, {"country": "DE", "city": "Bonn"}, {"total": 100}):
        whole = list(shop.db.query(Order, **asked))
        pages, cursor = [], None
        while True:
            page = shop.db.query(Order, **asked, limit=limit, after=cursor)
            pages += list(page)
            cursor = page.cursor
            if cursor is None:
                break
        assert pages == whole


def test_an_item_without_an_attribute_is_not_in_the_index(shop: Shop) -> None:
    assert shop.db.get(Order, assignee="a8") == shop.orders[8]
    with shop.db.update(Order, order_id="o8") as order:
        order.assignee = None
    assert shop.db.get(Order, assignee="a8") is None


def test_an_update_of_an_attribute_moves_the_item_and_may_be_an_amount(shop: Shop) -> None:
    with shop.db.update(Order, order_id="o1") as order:
        order.total += 1000
        order.status = "DONE"
    assert [o.order_id for o in shop.db.query(Order, lambda o: (o.status == "DONE") & (o.total > 500))] == ["o1"]
    largest = shop.db.query(Order, country="FR", city="Köln", status="DONE", order="-total", limit=1)
    assert [o.order_id for o in largest] == ["o1"]


def test_an_index_can_be_half_ours_and_half_natural() -> None:
    schema = Schema(
        Entity(
            Order, ORDER, indexes={"gsi1": Key("{status}", "DUE#{due}#{order_id}", when=lambda o: o.country == "DE")}
        ),
        indexes=[Index("gsi1", pk="status")],
    )
    shop = Shop(schema)

    def found(status: str) -> list[str]:
        page = shop.db.query(Order, lambda o: o.due >= date(2026, 5, 1), status=status, country="DE")
        return [o.order_id for o in page]

    def wanted(status: str) -> list[str]:
        return [o.order_id for o in shop.among(lambda o: o.status == status and o.country == "DE", lambda o: o.due)]

    assert found("OPEN") == wanted("OPEN")
    item = msgspec.json.decode(
        shop.engine.send("GetItem", msgspec.json.encode({"TableName": "shop", "Key": schema.key(Order, order_id="o0")}))
    )["Item"]
    assert (item["status"], item["gsi1sk"]) == ({"S": "OPEN"}, {"S": "DUE#2026-05-01#o0"})
    assert "gsi1pk" not in item
    with shop.db.update(Order, order_id="o0", country="DE", due=date(2026, 5, 1)) as order:
        order.status = "SENT"
    shop.orders[0] = replace(shop.orders[0], status="SENT")
    assert found("OPEN") == wanted("OPEN")
    assert found("SENT") == wanted("SENT")
    with shop.db.update(Order, order_id="o0", due=date(2026, 5, 1)) as order:
        order.country = "FR"
    shop.orders[0] = replace(shop.orders[0], country="FR")
    assert found("SENT") == wanted("SENT")
    assert shop.db.get(Order, order_id="o0") == shop.orders[0]


@dataclass(frozen=True)
class Reading:
    device: int
    at: Decimal
    kind: str
    value: int


def test_a_local_index_sorts_the_partition_in_another_way_and_can_be_read_consistently() -> None:
    schema = Schema(
        Entity(Reading, Key("DEVICE#{device}", "{at}"), indexes={"by-kind": Key("DEVICE#{device}", "{kind}#{at}")}),
        indexes=[Index("by-value", sk="value", local=True), Index("by-kind", local=True)],
    )
    db = Client(schema, "shop", fresh())
    db.create_table()
    readings = [Reading(i % 2, Decimal(i), ("hot", "cold")[i % 3 // 2], (40, 3, 12)[i % 3]) for i in range(9)]
    for reading in readings:
        db.insert(reading)
    ours = [one for one in readings if one.device == 1]
    found = db.query(Reading, lambda r: r.value < 40, device=1, order="-value", consistent=True)
    assert [r.value for r in found] == sorted((r.value for r in ours if r.value < 40), reverse=True)
    assert list(db.query(Reading, device=1, kind="hot", consistent=True)) == [r for r in ours if r.kind == "hot"]
    with db.update(Reading, device=1, at=Decimal(1)) as reading:
        reading.kind = "cold"
    assert Decimal(1) in {r.at for r in db.query(Reading, device=1, kind="cold")}
    described = db.describe()
    assert described is not None
    assert [one["IndexName"] for one in described["LocalSecondaryIndexes"]] == ["by-value", "by-kind"]
    assert db.drift() == []


# --- An existing table whose keys are attributes ------------------------------------------------------------------------


@dataclass(frozen=True)
class Sale:
    customer_id: int
    sold: datetime
    amount: Decimal


SALES = Schema(
    Entity(Sale, Key("{customer_id}", "{sold}"), names={"customer_id": "customerId", "sold": "orderDate"}),
    pk="customerId",
    sk="orderDate",
)
NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


def test_keys_that_are_attributes_are_stored_once() -> None:
    engine = fresh()
    db = Client(SALES, "sales", engine)
    db.create_table()
    sales = [Sale(n, NOON.replace(hour=h), Decimal(h)) for n in (2, 10) for h in (9, 12, 20)]
    for sale in sales:
        db.insert(sale)
    body = msgspec.json.encode({"TableName": "sales", "Key": SALES.key(Sale, customer_id=10, sold=NOON)})
    assert msgspec.json.decode(engine.send("GetItem", body))["Item"] == {
        "customerId": {"N": "10"},
        "orderDate": {"S": "2026-05-04T12:00:00.000000Z"},
        "amount": {"N": "12"},
        "entityType": {"S": "Sale"},
    }
    assert db.get(Sale, customer_id=10, sold=NOON) == sales[4]
    assert list(db.query(Sale, customer_id=2, order="-sold")) == sales[2::-1]
    assert list(db.query(Sale, lambda s: s.sold > NOON, customer_id=2)) == [sales[2]]
    with pytest.raises(AlreadyExists):
        db.insert(sales[0])
    with db.update(Sale, customer_id=2, sold=NOON) as sale:
        sale.amount = Decimal(1)
    db.delete(Sale, customer_id=10, sold=NOON)
    assert len(db.query(Sale, customer_id=10)) == 2
    assert SALES.read_key(2, "2026-05-04T12:00:00.000000Z") == (Sale, {"customer_id": 2, "sold": NOON})
    with pytest.raises(KeyValueError, match="customer_id: 'x' is not an integer"):
        db.get(Sale, customer_id="x", sold=NOON)


@pytest.mark.parametrize("sizes", [(2, 1), (1, 4), (4, 4)])
def test_the_table_is_made_with_the_types_of_its_keys(sizes: tuple[int, int]) -> None:
    names = ["country", "city", "status", "total", "weight", "due", "digest", "order_id"]
    index = Index("by-all", pk=names[: sizes[0]], sk=names[sizes[0] : sum(sizes)])
    shop = Shop(Schema(Entity(Order, ORDER), indexes=[index]))
    described = shop.db.describe()
    assert described is not None
    types = {one["AttributeName"]: one["AttributeType"] for one in described["AttributeDefinitions"]}
    tags = {"total": "N", "weight": "N", "digest": "B"}
    assert types == {name: tags.get(name, "S") for name in ["pk", "sk", *names[: sum(sizes)]]}
    assert shop.db.drift() == []
