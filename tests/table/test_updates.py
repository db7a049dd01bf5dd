"""Updates as assignments: sums, lists, sets, nested values, and returned objects."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from tests.place import fresh

from prejoin import (
    AsyncClient,
    Call,
    Changes,
    Client,
    CodecError,
    ConditionFailed,
    Entity,
    Key,
    NotAValue,
    NotFound,
    Schema,
    TableError,
    UnknownAttribute,
    add,
    appended,
    begins_with,
    between,
    contains,
    exists,
    if_absent,
    of_type,
    one_of,
    prepended,
    size,
)


class Address(msgspec.Struct):
    city: str
    zip: str | None = msgspec.field(name="postcode", default=None)


@dataclass
class Line:
    sku: str
    qty: int
    price: Decimal = Decimal(0)


@dataclass
class Cart:
    cart_id: str
    total: int = 0
    limit: int = 100
    note: str | None = None
    tags: list[str] | None = None
    roles: set[str] = field(default_factory=set)
    address: Address | None = None
    lines: list[Line] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    due: date | None = None
    extra: Any = None


SCHEMA = Schema(Entity(Cart, Key("CART#{cart_id}", "CART"), names={"counts": "count.s"}))


class Table:
    def __init__(self, cart: Cart) -> None:
        self.calls: list[Call] = []
        self.db = Client(SCHEMA, "shop", fresh(), observe=self.calls.append)
        self.db.create_table()
        self.db.insert(cart)

    @property
    def cart(self) -> Cart:
        found = self.db.get(Cart, cart_id="1")
        assert found is not None
        return found

    def changed(self, change: Callable[[Cart], None], **known: Any) -> Cart:
        with self.db.update(Cart, cart_id="1", **known) as cart:
            change(cart)
        return self.cart


@pytest.fixture
def table() -> Table:
    lines = [Line("a", 1, Decimal("9.90")), Line("b", 2)]
    return Table(Cart("1", 5, address=Address("Bonn", "53111"), lines=lines, counts={"x.y": 1}, roles={"user"}))


def test_omitted_cleared_and_set_are_three_things(table: Table) -> None:
    table.db.apply(Cart, Changes({"note": "n", "tags": ["t"]}), cart_id="1")
    with table.db.update(Cart, cart_id="1") as cart:
        cart.note = None
        cart.total = 6
    found = table.cart
    assert (found.note, found.tags, found.total) == (None, ["t"], 6)
    with table.db.update(Cart, cart_id="1") as cart:
        del cart.tags
    assert table.cart.tags is None


def test_append_and_prepend_create_a_missing_list(table: Table) -> None:
    with table.db.update(Cart, cart_id="1") as cart:
        cart.tags = appended(cart.tags, ["b"])
        cart.lines += [Line("c", 3)]
    with table.db.update(Cart, cart_id="1") as cart:
        cart.tags = prepended(cart.tags, ["a"])
        cart.lines = prepended(cart.lines, [Line("z", 0)])
    assert table.cart.tags == ["a", "b"]
    assert [line.sku for line in table.cart.lines] == ["z", "a", "b", "c"]


def test_members_are_added_to_a_set_and_taken_out_by_dynamodb(table: Table) -> None:
    with table.db.update(Cart, cart_id="1") as cart:
        cart.roles |= {"admin", "user"}
    assert "ADD" in table.calls[-1].request["UpdateExpression"]
    assert table.cart.roles == {"user", "admin"}
    with table.db.update(Cart, cart_id="1") as cart:
        cart.roles -= {"user", "nobody"}
    assert table.cart.roles == {"admin"}
    with table.db.update(Cart, cart_id="1") as cart:
        cart.roles |= set()
        cart.roles -= {"admin"}
    assert table.cart.roles == set()


def test_nested_update_changes_only_its_path(table: Table) -> None:
    with table.db.update(Cart, cart_id="1") as cart:
        assert cart.address is not None
        cart.address.city = "Berlin"
        cart.address.zip = None
        cart.lines[0].qty += 4
        cart.lines[1].price = Decimal("3.50")
        cart.counts["x.y"] = add(cart.counts["x.y"], 2)
        cart.counts["new"] = add(cart.counts["new"], 7)
    found = table.cart
    assert found.address == Address("Berlin")
    assert found.lines == [Line("a", 5, Decimal("9.90")), Line("b", 2, Decimal("3.50"))]
    assert found.counts == {"x.y": 3, "new": 7}


def test_an_element_and_an_entry_can_be_replaced_and_removed(table: Table) -> None:
    with table.db.update(Cart, cart_id="1") as cart:
        cart.lines[1] = Line("c", 9)
        del cart.lines[0]
        del cart.counts["x.y"]
    assert table.cart.lines == [Line("c", 9)]
    assert table.cart.counts == {}


def test_setting_a_missing_element_is_refused(table: Table) -> None:
    with pytest.raises(ConditionFailed, match=r"Cart cart_id='1' has no lines\[7\], so lines\[7\] cannot be changed"):
        table.changed(lambda cart: cart.lines.__setitem__(7, Line("x", 1)))
    with pytest.raises(ConditionFailed, match=r"has no lines\[2\], so lines\[2\]\.qty cannot be changed"):
        table.changed(lambda cart: setattr(cart.lines[2], "qty", 1))
    table.db.apply(Cart, Changes({"address": None}), cart_id="1")
    with (
        pytest.raises(ConditionFailed, match=r"has no address, so address\.city cannot be changed"),
        table.db.update(Cart, cart_id="1") as cart,
    ):
        assert cart.address is not None
        cart.address.city = "Köln"
    assert len(table.cart.lines) == 2


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda c: setattr(c.address, "city", 3), CodecError, r"Cart\.address\.city: 3 is not text"),
        (lambda c: setattr(c.address, "city", None), CodecError, r"address\.city is required"),
        (lambda c: setattr(c.address, "town", "x"), UnknownAttribute, "Address has no attribute town"),
        (lambda c: setattr(c.lines[0], "qty", "x"), CodecError, r"Cart\.lines\[0\]\.qty: 'x' is not an integer"),
        (
            lambda c: setattr(c.lines, "qty", 1),
            UnknownAttribute,
            r"lines is a list and has no qty\. Its elements are \[0\]",
        ),
        (lambda c: c.address.__setitem__(0, "x"), UnknownAttribute, "address is a Address"),
        (lambda c: c.counts.__setitem__(0, 1), UnknownAttribute, "counts is a map"),
        (lambda c: c.lines.__setitem__(-1, Line("a", 1)), TableError, r"\[-1\] is not a valid path"),
        (lambda c: setattr(c.roles, "x", 1), UnknownAttribute, r"roles is a set and has no x\. \|= adds members"),
        (lambda c: setattr(c.total, "x", 1), UnknownAttribute, "total has no x inside"),
        (lambda c: setattr(c, "note", c.note + "x"), NotAValue, r"Cart\.note .* cannot be joined with text"),
        (lambda c: setattr(c, "note", add(c.note, "x")), CodecError, r"Cart\.note is not a number"),
        (lambda c: setattr(c, "total", appended(c.total, [1])), CodecError, r"Cart\.total is not a list"),
        (lambda c: setattr(c, "lines", c.lines - {"x"}), CodecError, r"Cart\.lines is not a set"),
        (lambda c: setattr(c.lines[0], "sku", c.lines[0].sku + 1), CodecError, r"lines\[0\]\.sku is not a number"),
        (lambda c: setattr(c, "total", c.limit), TableError, "cannot be set to another attribute"),
        (lambda c: setattr(c, "total", add(c.limit, 1)), TableError, "total cannot be computed from limit"),
        (lambda c: (setattr(c, "total", 1), c.total), TableError, "was already changed in this update"),
        (
            lambda c: (setattr(c, "address", Address("x")), setattr(c.address, "city", "y")),
            TableError,
            "changed in this",
        ),
        (lambda c: (setattr(c.address, "city", "y"), setattr(c, "address", Address("x"))), TableError, "twice"),
        (lambda c: setattr(c, "roles", c.roles | set()), TableError, "changes nothing"),
    ],
)
def test_a_change_that_makes_no_sense_is_refused_before_the_call(
    table: Table, change: Callable[[Any], None], error: type[Exception], message: str
) -> None:
    table.calls.clear()
    with pytest.raises(error, match=message):
        table.changed(change)
    assert table.calls == []


def test_if_absent_sets_a_value_once(table: Table) -> None:
    for value in ("first", "second"):
        with table.db.update(Cart, cart_id="1") as cart:
            cart.note = if_absent(cart.note, value)
    assert table.cart.note == "first"


def test_changes_as_data_name_paths(table: Table) -> None:
    with pytest.raises(TableError, match="changes nothing"):
        table.db.apply(Cart, Changes(adds={"roles": set()}, deletes={"roles": set()}), cart_id="1")
    changes = Changes(
        {("lines", 0, "qty"): 8}, {"roles": set()}, removes=frozenset({("address", "zip")}), deletes={"roles": {"user"}}
    )
    table.db.apply(Cart, changes, cart_id="1")
    found = table.cart
    assert (found.lines[0].qty, found.address, found.roles) == (8, Address("Bonn"), set())


def test_the_object_after_or_before_an_update_is_returned_on_request(table: Table) -> None:
    before = table.cart
    update = table.db.update(Cart, cart_id="1", returning="new")
    with pytest.raises(TableError, match="after its block"):
        _ = update.result
    with update as cart:
        cart.total += 1
    assert update.result == table.cart
    assert update.result.total == 6
    old = table.db.apply(Cart, Changes({"total": 0}), cart_id="1", returning="old")
    assert old is not None
    assert old.total == 6
    assert table.db.apply(Cart, Changes({"total": 5}), cart_id="1", returning="new") == before
    assert table.db.delete(Cart, cart_id="1", returning="old") == before
    assert table.db.delete(Cart, cart_id="1", returning="old") is None


def test_a_transaction_returns_nothing_and_says_so(table: Table) -> None:
    table.calls.clear()
    with pytest.raises(TableError, match="returns no items from a transaction"), table.db.transaction() as tx:
        tx.apply(Cart, Changes({"total": 1}), cart_id="1", returning="new")
    assert table.calls == []


CONDITIONS: list[tuple[Callable[[Cart], bool], bool]] = [
    (lambda c: c.total < c.limit, True),
    (lambda c: c.limit <= c.total, False),
    (lambda c: size(c.lines) == 2, True),
    (lambda c: size(c.lines) > size(c.roles), True),
    (lambda c: size(c.roles) >= 2, False),
    (lambda c: c.address.city == "Bonn", True),  # type: ignore[union-attr]
    (lambda c: c.address.zip == None, False),  # type: ignore[union-attr]  # noqa: E711
    (lambda c: begins_with(c.address.city, "Bo"), True),  # type: ignore[union-attr]
    (lambda c: c.lines[1].qty >= 2, True),
    (lambda c: c.lines[5].qty >= 0, False),
    (lambda c: c.lines[0].price == Decimal("9.90"), True),
    (lambda c: c.counts["x.y"] == 1, True),
    (lambda c: exists(c.counts["x"]), False),
    (lambda c: contains(c.roles, "user"), True),
    (lambda c: contains(c.address.city, "onn"), True),  # type: ignore[union-attr]
    (lambda c: between(c.total, 5, 6), True),
    (lambda c: one_of(c.total, [1, 2]), False),
    (lambda c: of_type(c.lines, "L") & of_type(c.total, "N"), True),
    (lambda c: (c.total == 1) | ~(c.note != None), True),  # noqa: E711
    (lambda c: (c.total == 5) & ((c.limit == 1) | (c.limit == 100)), True),
]


@pytest.mark.parametrize(("where", "holds"), CONDITIONS)
def test_conditions_are_tested_by_dynamodb(table: Table, where: Callable[[Any], Any], holds: bool) -> None:
    true, false = (where, lambda c: ~where(c)) if holds else (lambda c: ~where(c), where)
    table.db.apply(Cart, Changes({"extra": 1}), cart_id="1", where=true)
    with pytest.raises(ConditionFailed, match="does not fulfil the condition of this update"):
        table.db.apply(Cart, Changes({"extra": 2}), cart_id="1", where=false)
    assert table.cart.extra == 1


@pytest.mark.parametrize(
    ("where", "message"),
    [
        (lambda c: None, "None is not a condition"),
        (lambda c: True, "True is not a condition"),
        (lambda c: c.total > 1 and c.limit > 1, "recorded and has no truth value"),
        (lambda c: not c.note, "cannot be tested"),
        (lambda c: "user" in c.roles, "contains"),
        (lambda c: one_of(c.total, []), "needs at least one value"),
        (lambda c: exists("total"), "An attribute is needed here"),
        (lambda c: c.address.town == "x", "Address has no attribute town"),
    ],
)
def test_empty_condition_raises(table: Table, where: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(TableError, match=message):
        table.db.apply(Cart, Changes({"total": 1}), cart_id="1", where=where)
    with pytest.raises(TableError, match=message), table.db.transaction() as tx:
        tx.check(Cart, cart_id="1", where=where)
    assert table.cart.total == 5


def test_any_update_of_a_missing_item_is_refused(table: Table) -> None:
    with pytest.raises(NotFound), table.db.update(Cart, cart_id="2") as cart:
        cart.roles |= {"x"}
        cart.total = add(cart.total, 1)
        cart.tags = appended(cart.tags, ["x"])
    assert table.db.get(Cart, cart_id="2") is None


async def async_updates() -> list[Any]:
    db = AsyncClient(SCHEMA, "shop", fresh())
    await db.create_table()
    await db.insert(Cart("1", roles={"user"}))
    update = db.update(Cart, cart_id="1", returning="new")
    async with update as cart:
        cart.roles |= {"admin"}
    async with db.upsert(Cart, cart_id="2") as cart:
        cart.total = add(cart.total, 3)
    old = await db.delete(Cart, cart_id="2", returning="old")
    return [update.result.roles, old, await db.apply(Cart, Changes({"total": 1}), cart_id="1", returning="new")]


def test_async_client_does_the_same() -> None:
    roles, old, new = asyncio.run(async_updates())
    assert roles == {"user", "admin"}
    assert old == Cart("2", 3)
    assert new.total == 1
