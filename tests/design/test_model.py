"""Questions that a design answers about itself."""

from __future__ import annotations

from prejoin.design.model import (
    TABLE,
    Call,
    ContentStore,
    Design,
    Did,
    Facet,
    Item,
    ItemAction,
    ItemName,
    KeyAttribute,
    Operation,
    Request,
    Slot,
)
from prejoin.design.pins import is_refused, least_limit
from prejoin.workload.model import AtMost, Decision, Without, Workload

TABLE_SLOT = Slot(TABLE, (KeyAttribute("pk"),), (KeyAttribute("sk"),))
INDEX = Slot("gsi1", (KeyAttribute("country"), KeyAttribute("city")), (KeyAttribute("total", "N"),))


def test_a_slot_names_its_key_attributes_in_order() -> None:
    assert INDEX.key_names == ("country", "city", "total")
    assert [attribute.type for attribute in INDEX.key_attributes] == ["S", "S", "N"]


def test_a_facet_knows_the_attributes_in_its_templates() -> None:
    facet = Facet("gsi1", ("USER#{userId}",), ("ORDER#{placedAt:day}#{orderId?}",))
    assert facet.templates == ("USER#{userId}", "ORDER#{placedAt:day}#{orderId?}")
    assert facet.fields == {"userId", "placedAt", "orderId"}


def test_a_design_counts_its_structures() -> None:
    copy = Item("Order", "Order.by-city", (Facet(TABLE, ("CITY#{city}",), ("ORDER",)),), "by-city")
    stores = (ContentStore("Order", "invoice"), ContentStore("Order", "scan"))
    design = Design("shop", (TABLE_SLOT, INDEX), (copy,), stores=stores)
    assert design.table_keys == ("pk", "sk")
    assert design.structure_counts() == {"index": 1, "copy": 1, "guard": 0, "sharded counter": 0, "object store": 1}
    assert Design("empty").table_keys == ()


def test_an_operation_has_the_actions_of_all_its_requests() -> None:
    first, second = (ItemAction(Did.PUT, ItemName(name), "pk") for name in ("Order", "Item"))
    requests = (Request(Call.PUT, actions=(first,)), Request(Call.GET), Request(Call.PUT, actions=(second,)))
    assert Operation("AP-001", requests).actions == (first, second)


def test_the_lowest_limit_and_refusals_hold() -> None:
    pins = (AtMost("shards", 8), AtMost("shards", 4), Without("shards", "Page"))
    workload = Workload(decisions=tuple(map(Decision, pins)))
    assert least_limit(workload, "shards") == 4
    assert least_limit(workload, "GSIs") is None
    assert is_refused(workload, "shards", "Page")
    assert not is_refused(workload, "buckets", "Page")
