"""Specification of the planner: the key that serves a query, and the reasons why others do not."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from prejoin.keys import (
    TABLE,
    Bounds,
    Facet,
    KeyValueError,
    Lookup,
    Order,
    Plan,
    Refusal,
    Template,
    When,
    conditions,
    plan,
)
from prejoin.types import Kind, Type

TYPES = {
    name: Type(Kind.STRING) for name in ("id", "user_id", "order_id", "sku", "email", "assignee", "name", "file")
} | {
    "placed_at": Type(Kind.DATETIME),
    "status": Type(Kind.ENUM, values=("PENDING", "SHIPPED", "DONE")),
    "n": Type(Kind.INTEGER),
}


def key(text: str) -> Template:
    return Template.of(text, TYPES)


def facet(entity: str, slot: str, pk: str, sk: str | None = None, **options: object) -> Facet:
    return Facet(entity, slot, key(pk), key(sk) if sk else None, **options)  # type: ignore[arg-type]


USER = facet("User", TABLE, "USER#{user_id}", "PROFILE")
ORDER = facet("Order", TABLE, "USER#{user_id}", "ORDER#{placed_at}#{order_id}")
ADDRESS = facet("Address", TABLE, "USER#{user_id}", "ADDRESS#{name}")
BY_STATUS = facet("Order", "gsi1", "STATUS#{status}", "{placed_at}#{order_id}")
BY_EMAIL = facet("User", "gsi1", "EMAIL#{email}", "USER")
SHOP = [USER, ORDER, ADDRESS, BY_STATUS, BY_EMAIL]
T = datetime(2026, 5, 4, 12, tzinfo=UTC)


def planned(facets: list[Facet], *entities: str, **ask: object) -> Plan:
    found = plan(facets, Lookup.of(*entities, **ask))  # type: ignore[arg-type]
    assert isinstance(found, Plan), str(found)
    return found


def refused(facets: list[Facet], *entities: str, **ask: object) -> str:
    found = plan(facets, Lookup.of(*entities, **ask))  # type: ignore[arg-type]
    assert isinstance(found, Refusal), str(found)
    return str(found)


def keys(found: Plan, values: dict[str, object], **options: object) -> list[str]:
    return [str(condition) for condition in conditions(found, values, **options)]  # type: ignore[arg-type]


def test_whole_table_key_is_a_get() -> None:
    found = planned(SHOP, "Order", equal=["user_id", "placed_at", "order_id"])
    assert (found.operation, found.slot) == ("GetItem", TABLE)
    assert planned(SHOP, "User", equal=["user_id"]).operation == "GetItem"


def test_whole_index_key_is_a_query() -> None:
    found = planned(SHOP, "User", equal=["email"])
    assert (found.operation, found.slot) == ("Query", "gsi1")
    assert keys(found, {"email": "a@b.com"}) == ["EMAIL#a@b.com / USER"]


def test_one_entity_of_a_collection_is_read_by_its_prefix() -> None:
    assert keys(planned(SHOP, "Order", equal=["user_id"]), {"user_id": "1"}) == ["USER#1 / ORDER#*"]


def test_range_stays_within_entity_prefix() -> None:
    found = planned(SHOP, "Order", equal=["user_id"], within=("placed_at", ">="))
    assert keys(found, {"user_id": "1", "placed_at": T}) == ["USER#1 / ORDER#2026-05-04T12:00:00.000000Z … ORDER$"]
    both = {"user_id": "1", "placed_at": Bounds(T, T.replace(hour=13), high_open=True)}
    assert keys(planned(SHOP, "Order", equal=["user_id"], within=("placed_at", "between")), both) == [
        "USER#1 / ORDER#2026-05-04T12:00:00.000000Z … ORDER#2026-05-04T13:00:00.000000Z"
    ]


def test_crossed_range_sends_no_query() -> None:
    found = planned(SHOP, "Order", equal=["user_id"], within=("placed_at", "between"))
    assert keys(found, {"user_id": "1", "placed_at": (T, T.replace(hour=11))}) == []


def test_order_must_match_key_order() -> None:
    assert not planned(SHOP, "Order", equal=["user_id"], order=["placed_at"]).reverse
    assert planned(SHOP, "Order", equal=["user_id"], order=["-placed_at"]).reverse
    assert planned(SHOP, "Order", equal=["user_id"], order=["-placed_at", "-order_id"]).reverse
    assert "it is sorted by {placed_at} there, not by order_id" in refused(
        SHOP, "Order", equal=["user_id"], order=["order_id"]
    )
    assert "order_id runs the other way" in refused(SHOP, "Order", equal=["user_id"], order=["placed_at", "-order_id"])


def test_sort_by_given_attribute_is_trivial() -> None:
    assert planned(SHOP, "Order", equal=["user_id"], order=["user_id", "-placed_at"]).reverse
    assert planned(SHOP, "Order", equal=["user_id"], order=["placed_at", "order_id", "status"])


def test_a_descending_field_is_read_forwards_for_descending_order() -> None:
    newest = [facet("Order", TABLE, "USER#{user_id}", "ORDER#{placed_at:desc}#{order_id}")]
    assert not planned(newest, "Order", equal=["user_id"], order=["-placed_at"]).reverse
    found = planned(newest, "Order", equal=["user_id"], within=("placed_at", ">="))
    assert keys(found, {"user_id": "1", "placed_at": T}) == ["USER#1 / ORDER# … ORDER#7973-94-95T87:99:99.999999Z$"]


def test_attribute_outside_keys_needs_explicit_filter() -> None:
    assert "status would be left to a filter" in refused(SHOP, "Order", equal=["user_id", "status"])
    found = planned(SHOP, "Order", equal=["user_id", "status"], filtered=["status"])
    assert (found.slot, set(found.filtered)) == (TABLE, {"status"})


def test_refusal_lists_keys_and_remedy() -> None:
    text = refused(SHOP, "Order", equal=["sku"], within=("placed_at", ">="))
    assert "partition made of sku and the sort key starting with placed_at would serve it" in text
    assert "Order in table: USER#{user_id} / ORDER#{placed_at}#{order_id}: its partition needs user_id" in text
    assert "Order in gsi1: STATUS#{status} / {placed_at}#{order_id}: its partition needs status" in text


def test_a_consistent_read_never_goes_to_an_index() -> None:
    assert "an index is never read consistently" in refused(SHOP, "Order", equal=["status"], consistent=True)
    assert planned(SHOP, "Order", equal=["user_id"], consistent=True).slot == TABLE


def test_the_table_is_preferred_to_an_index_and_indexes_come_in_their_order() -> None:
    twice = [facet("Order", slot, "U#{user_id}", "{order_id}") for slot in ("gsi2", "gsi1", TABLE)]
    assert planned(twice, "Order", equal=["user_id"]).slot == TABLE
    assert planned(twice[:2], "Order", equal=["user_id"]).slot == "gsi2"


def test_several_entities_of_one_partition_are_one_query() -> None:
    found = planned([USER, ORDER], "User", "Order", equal=["user_id"])
    assert keys(found, {"user_id": "1"}) == ["USER#1"]


def test_several_entities_side_by_side_are_read_without_their_neighbours() -> None:
    found = planned(SHOP, "User", "Order", equal=["user_id"])
    assert keys(found, {"user_id": "1"}) == ["USER#1 / ORDER# … PROFILE"]


def test_several_entities_with_another_between_are_refused() -> None:
    assert "keys of Order lie between them" in refused(SHOP, "User", "Address", equal=["user_id"])


def test_a_parent_and_its_children_below_one_prefix() -> None:
    order = facet("Order", TABLE, "USER#{user_id}", "ORDER#{order_id}")
    line = facet("Line", TABLE, "USER#{user_id}", "ORDER#{order_id}#LINE#{n:03d}")
    note = facet("Note", TABLE, "USER#{user_id}", "ORDER#{order_id}#NOTE#{n:03d}")
    found = planned([USER, order, line, note], "Order", "Line", equal=["user_id", "order_id"])
    assert keys(found, {"user_id": "1", "order_id": "1"}) == ["USER#1 / ORDER#1 … ORDER#1#LINE$"]
    assert "keys of Line lie between them" in refused(
        [USER, order, line, note], "Order", "Note", equal=["user_id", "order_id"]
    )
    assert "it would also read keys of Line" in refused([USER, order, line, note], "Order", equal=["user_id"])


def test_roles_map_attribute_names() -> None:
    user = facet("User", TABLE, "USER#{id}", "PROFILE")
    roles = [("User", "user_id", "id")]
    found = planned([user, ORDER], "User", "Order", equal=["user_id"], roles=roles)
    assert keys(found, {"user_id": "1"}) == ["USER#1"]
    assert "its partition needs id" in refused([user, ORDER], "User", "Order", equal=["user_id"])
    assert planned([user], "User", equal=["user_id"], roles=roles).operation == "GetItem"


def test_a_range_over_several_entities_needs_them_interleaved() -> None:
    order = facet("Order", TABLE, "USER#{user_id}", "{placed_at}#ORDER#{order_id}")
    file = facet("File", TABLE, "USER#{user_id}", "{placed_at}#FILE#{file}")
    ask = {"equal": ["user_id"], "within": ("placed_at", "<"), "order": ["-placed_at"]}
    found = planned([order, file], "Order", "File", **ask)
    assert (keys(found, {"user_id": "1", "placed_at": T}), found.reverse) == (
        ["USER#1 / <= 2026-05-04T12:00:00.000000Z"],
        True,
    )
    assert "it would also read keys of File" in refused([order, file], "Order", equal=["user_id"])
    assert refused(SHOP, "User", "Order", **ask)


def test_a_sort_of_one_entity_among_several() -> None:
    found = planned(SHOP, "User", "Order", equal=["user_id"], order=[Order("placed_at", True, "Order")])
    assert found.reverse
    assert refused(SHOP, "User", "Order", equal=["user_id"], order=["placed_at"])


def test_a_sparse_facet_serves_only_what_implies_its_condition() -> None:
    open_orders = facet(
        "Order", "gsi2", "OPEN", "{placed_at}", when=(When("status", frozenset({"PENDING", "SHIPPED"})),)
    )
    pending = facet("Order", "gsi3", "PENDING", "{placed_at}", when=(When("status", frozenset({"PENDING"})),))
    assigned = facet("Order", "gsi4", "TASKS#{assignee}", "{placed_at}", when=(When("assignee"),))
    assert "it has only the items where status = PENDING" in refused([open_orders, pending], "Order")
    assert planned([open_orders, pending], "Order", constants=[("status", "PENDING")]).slot == "gsi3"
    assert "status would be left" in refused([open_orders], "Order", constants=[("status", "PENDING")])
    assert refused([pending], "Order", constants=[("status", "SHIPPED")])
    assert planned([assigned], "Order", equal=["assignee"]).slot == "gsi4"


def test_shards_fan_out_unless_what_they_are_made_of_is_given() -> None:
    sharded = [facet("Order", "gsi1", "ALL#{order_id:shard(3)}", "{placed_at}#{order_id}")]
    found = planned(sharded, "Order", order=["-placed_at"])
    assert (found.shards, found.reverse) == (3, True)
    assert keys(found, {}) == ["ALL#0", "ALL#1", "ALL#2"]
    one = planned(sharded, "Order", equal=["order_id", "placed_at"])
    assert (one.shards, len(keys(one, {"order_id": "7", "placed_at": T}))) == (1, 1)
    assert "order_id would be left to a filter" in refused(sharded, "Order", equal=["order_id"])


def test_item_is_looked_up_in_all_shards_during_a_change() -> None:
    changing = [facet("Order", "gsi1", "ALL#{order_id:shard(2 of 3)}", "{placed_at}#{order_id}")]
    one = planned(changing, "Order", equal=["order_id", "placed_at"])
    assert keys(one, {"order_id": "7", "placed_at": T}) == [
        f"ALL#{shard} / 2026-05-04T12:00:00.000000Z#7" for shard in range(3)
    ]


def test_time_buckets_are_queried_one_by_one_in_the_order_of_reading() -> None:
    daily = [facet("Order", "gsi1", "DAY#{placed_at:day}#{order_id:shard(2)}", "{placed_at}#{order_id}")]
    found = planned(daily, "Order", within=("placed_at", ">="), order=["-placed_at"])
    since = datetime(2026, 5, 3, tzinfo=UTC)
    assert keys(found, {"placed_at": since}, now=T) == [
        f"DAY#2026-05-0{day}#{shard} / >= 2026-05-03T00:00:00.000000Z" for day in (4, 3) for shard in (0, 1)
    ]
    with pytest.raises(KeyValueError, match="needs a start and an end"):
        conditions(found, {"placed_at": since})
    assert "a range over placed_at needs a start" in refused(daily, "Order", within=("placed_at", "<"))
    assert "its partition needs placed_at" in refused(daily, "Order")
    assert "not sorted by order_id" in refused(daily, "Order", within=("placed_at", "between"), order=["order_id"])


def test_a_range_over_too_many_buckets_is_refused() -> None:
    hourly = [facet("Order", "gsi1", "H#{placed_at:hour}", "{placed_at}")]
    found = planned(hourly, "Order", within=("placed_at", "between"))
    with pytest.raises(KeyValueError, match="more than 1000 hours"):
        conditions(found, {"placed_at": (T.replace(year=2020), T)})


def test_derived_field_serves_derived_value() -> None:
    folded = [facet("User", "gsi1", "EMAIL#{email:lower}", "USER#{user_id}")]
    assert "email would be left to a filter" in refused(folded, "User", equal=["email"])
    found = planned(folded, "User", equal=["email:lower"])
    assert keys(found, {"email:lower": "A@B.com"}) == ["EMAIL#a@b.com / USER#*"]
    daily = [facet("Order", "gsi1", "DAY#{placed_at:day}", "{order_id}")]
    assert keys(planned(daily, "Order", equal=["placed_at:day"]), {"placed_at:day": T}) == ["DAY#2026-05-04"]


def test_partial_projection_serves_only_its_attributes() -> None:
    names = [facet("User", "gsi1", "USERS", "{name}", holds=frozenset({"name", "email"}))]
    assert "does not hold all attributes" in refused(names, "User")
    assert planned(names, "User", needs=["name"]).slot == "gsi1"
    assert refused(names, "User", needs=["name", "status"])


def test_copies_in_scope_are_refused() -> None:
    copy = facet("Order", TABLE, "USER#{user_id}", "ORDER#BY-ID#{order_id}", copy="by-id")
    base = facet("Order", TABLE, "USER#{user_id}", "ORDER#{order_id}#{n}")
    assert "it would also read copies of Order" in refused(
        [base, copy], "Order", equal=["user_id"], order=["order_id", "n"]
    )


def test_entities_with_same_key_shape_are_refused() -> None:
    both = [facet(entity, "gsi1", "STATUS#{status}", "{placed_at}") for entity in ("Order", "Task")]
    assert "it would also read keys of Task" in refused(both, "Order", equal=["status"])
    assert planned(both, "Order", "Task", equal=["status"], order=["placed_at"])


def test_text_after_an_unordered_separator_serves_equality_but_no_range() -> None:
    sk = Template.of("ORDER|{name}|{order_id}", TYPES, "|")
    facets = [Facet("Order", TABLE, Template.of("USER|{user_id}", TYPES, "|"), sk)]
    assert keys(planned(facets, "Order", equal=["user_id", "name"]), {"user_id": "1", "name": "x"}) == [
        "USER|1 / ORDER|x|*"
    ]
    assert "{name} is not in an order that >= could use" in refused(
        facets, "Order", equal=["user_id"], within=("name", ">=")
    )
    assert "it is sorted by {name} there" in refused(facets, "Order", equal=["user_id"], order=["name"])


def test_a_table_without_sort_key() -> None:
    facets = [facet("Session", TABLE, "SESSION#{id}"), facet("User", TABLE, "USER#{user_id}")]
    assert planned(facets, "Session", equal=["id"]).operation == "GetItem"
    assert "its partition needs id" in refused(facets, "Session")


def test_sort_by_derived_attribute() -> None:
    by_name = facet("User", "gsi1", "ALL", "{name:lower}#{user_id}")
    assert planned([by_name], "User", order=["-name:lower", "-user_id"]).reverse
    assert "it is sorted by {name:lower} there, not by name" in refused([by_name], "User", order=["name"])
    assert "not by name:upper" in refused([by_name], "User", order=["name:upper"])
    sharded = facet("User", "gsi1", "ALL", "{name:shard(4)}#{user_id}")
    assert "not by name:shard(4)" in refused([sharded], "User", order=["name:shard(4)"])


def test_sort_by_optional_attribute_needs_optional_field() -> None:
    with_place = facet("Order", "gsi1", "USER#{user_id}", "{placed_at?}#{order_id}")
    assert keys(planned([with_place], "Order", equal=["user_id"], order=["placed_at"]), {"user_id": "1"}) == ["USER#1"]
    late = planned([with_place], "Order", equal=["user_id"], within=("placed_at", "<"))
    assert keys(late, {"user_id": "1", "placed_at": T}) == ["USER#1 / $ … 2026-05-04T12:00:00.000000Z"]


# --- A whole key and further values ---------------------------------------------------------------------------------


def test_attributes_beside_whole_key_are_compared() -> None:
    found = planned(SHOP, "User", equal=["user_id", "email"], consistent=True)
    assert str(found) == "GetItem table: USER#{user_id} / PROFILE, compared by email"
    assert (found.compared, found.filtered) == ({"email"}, frozenset())
    order = planned(SHOP, "Order", equal=["user_id", "placed_at", "order_id", "status"])
    assert (order.operation, order.slot) == ("GetItem", TABLE), "one item is read, whatever indexes there are"
    constant = planned(SHOP, "User", equal=["user_id"], constants=[("email", "a@b.com")])
    assert constant.compared == {"email"}


def test_item_found_by_derived_key_is_compared() -> None:
    facets = [facet("User", TABLE, "USER#{email:lower}", "PROFILE")]
    assert planned(facets, "User", equal=["email"]).compared == {"email"}
    assert planned(facets, "User", equal=["email:lower"]).compared == frozenset()
    assert "id:lower would be left to a filter" in refused(facets, "User", equal=["email", "id:lower"])


def test_only_one_item_is_compared() -> None:
    assert "status would be left to a filter" in refused([ORDER], "Order", equal=["user_id", "status"])
    assert "user_id would be left to a filter" in refused([BY_EMAIL], "User", equal=["email", "user_id"])
    assert "email would be left to a filter" in refused(SHOP, "User", "Order", equal=["user_id", "email"])
    ranged = refused(SHOP, "User", equal=["user_id", "email"], within=("name", ">="))
    assert "its sort key does not continue with name" in ranged


def test_partial_copy_is_compared_only_with_its_attributes() -> None:
    copy = facet("Order", TABLE, "ORDER#{order_id}", "ORDER", copy="by-id", holds=frozenset({"status"}))
    asked = planned([ORDER, copy], "Order", equal=["order_id", "status"], needs=["status"])
    assert (asked.facets, asked.compared) == ((copy,), {"status"})
    assert "n would be left to a filter" in refused([ORDER, copy], "Order", equal=["order_id", "n"], needs=["status"])


# --- Copies in indexes ----------------------------------------------------------------------------------------------


def test_copy_serves_in_index_only() -> None:
    copy = facet("Order", TABLE, "ORDER#{order_id}", "ORDER", copy="by-id")
    listed = facet("Order", "gsi1", "SKU#{sku}", "{order_id}", copy="by-id")
    assert planned([*SHOP, copy, listed], "Order", equal=["sku"]).facets == (listed,)
    beside = facet("Order", "gsi1", "STATUS#{status}", "{placed_at}#A", copy="by-id")
    assert "it would also read copies of Order" in refused([*SHOP, copy, beside], "Order", equal=["status"])


def test_index_contains_table_key_of_copy() -> None:
    copy = facet("Order", TABLE, "SKU#{sku}", "{order_id}", copy="by-sku")
    listed = facet("Order", "gsi1", "NAME#{name}", "{n}", copy="by-sku", holds=frozenset())
    assert planned([ORDER, copy, listed], "Order", equal=["name"], needs=["sku", "order_id", "n"]).facets == (listed,)
    assert "does not hold all" in refused([ORDER, copy, listed], "Order", equal=["name"], needs=["user_id"])


# --- Ids in both keys -------------------------------------------------------------------------------------------------


def test_id_repeated_in_sort_key_does_not_separate_entities() -> None:
    """A common layout: `USER#42 / USER#42`, with the orders in the same partition."""
    user = facet("User", TABLE, "USER#{user_id}", "USER#{user_id}")
    together = planned([user, ORDER], "User", "Order", equal=["user_id"])
    assert keys(together, {"user_id": "42"}) == ["USER#42"]
    assert planned([user, ORDER], "User", equal=["user_id"]).operation == "GetItem"
    order = facet("Order", TABLE, "USER#{user_id}", "ORDER#{order_id}")
    apart = refused([user, order], "User", "Order", equal=["user_id", "order_id"])
    assert "order_id would be left to a filter" in apart or "not adjacent" in apart
