"""Models that others made in NoSQL Workbench: kinds of items, their keys and what is asked, as the samples show them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.place import examples

from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.mapping.validate import misfits
from prejoin.design.model import Design, Facet, Item, When
from prejoin.design.workbench.read_model import WorkbenchReading, is_model, read_workbench
from prejoin.diagnostics import Severity, has_errors
from prejoin.engine import Embedded
from prejoin.proof.prove import prove
from prejoin.workload.checks import check
from prejoin.workload.document.write_document import write_document

S = str


def key(pk: str, sk: str = "") -> dict[str, Any]:
    found = {"PartitionKey": {"AttributeName": pk, "AttributeType": "S"}}
    return {**found, "SortKey": {"AttributeName": sk, "AttributeType": "S"}} if sk else found


def index(name: str, pk: str, sk: str = "", **projection: Any) -> dict[str, Any]:
    return {"IndexName": name, "KeyAttributes": key(pk, sk), "Projection": {"ProjectionType": "ALL", **projection}}


def row(**values: str | int) -> dict[str, Any]:
    """An item in DynamoDB's JSON; `GSI1_PK` is `GSI1-PK`."""
    return {n.replace("__", "-"): {"S": v} if isinstance(v, str) else {"N": str(v)} for n, v in values.items()}


def model(*samples: dict[str, Any], **table: Any) -> dict[str, Any]:
    about = {"TableName": "shop", "KeyAttributes": key("PK", "SK"), "TableData": list(samples)}
    return {"ModelName": "Shop", "ModelMetadata": {"Description": "A shop."}, "DataModel": [{**about, **table}]}


def read(model: dict[str, Any], table: str = "") -> WorkbenchReading:
    return read_workbench(json.dumps(model), table)


def codes(found: WorkbenchReading) -> set[str]:
    return {d.code for d in found.diagnostics}


def item(design: Design, entity: str) -> Item:
    found = design.item(entity)
    assert found is not None, [i.entity for i in design.items]
    return found


CUSTOMERS = (
    row(PK="c#12345", SK="c#12345", EntityType="customer", Email="ann@example.com"),
    row(PK="c#23456", SK="c#23456", EntityType="customer", Email="bob@example.com"),
)
ORDERS = (
    row(PK="c#12345", SK="o#1#2026-01-15", EntityType="order", orderId="1", state="OPEN", GSI1PK="OPEN", GSI1SK="o#1"),
    row(PK="c#12345", SK="o#2#2026-01-16", EntityType="order", orderId="2", state="DONE"),
    row(PK="c#12345", SK="o#3#2026-01-17", EntityType="order", orderId="3", state="OPEN", GSI1PK="OPEN", GSI1SK="o#3"),
)


def test_types_come_from_the_type_attribute_and_keys_from_samples() -> None:
    found = read(model(*CUSTOMERS, *ORDERS, GlobalSecondaryIndexes=[index("gsi1", "GSI1PK", "GSI1SK")]))
    assert [(i.entity, i.tag) for i in found.design.items] == [("Customer", "customer"), ("Order", "order")]
    assert found.design.type_attribute == "EntityType"
    # The customer's id is only in the key: it is called after the customer, in the order's key as well.
    assert item(found.design, "Customer").facets == (Facet("table", ("c#{customerId}",), ("c#{customerId}",)),)
    table, sparse = item(found.design, "Order").facets
    assert table == Facet("table", ("c#{customerId}",), ("o#{orderId}#{oAt}",))
    assert sparse == Facet("gsi1", ("{state}",), ("o#{orderId}",), (When("state", ("OPEN",)),))
    assert found.design.raw_keys
    assert codes(found) == {"PJ644", "PJ646", "PJ648"}


def test_attribute_with_another_entitys_id_becomes_a_reference() -> None:
    found = read(model(*CUSTOMERS, *ORDERS))
    order = found.workload.entity("Order")
    assert order is not None
    assert [(a.name, a.references) for a in order.attributes if a.references] == [("customerId", "Customer")]


def test_there_is_a_read_for_each_key_and_each_item_collection() -> None:
    found = read(model(*CUSTOMERS, *ORDERS, GlobalSecondaryIndexes=[index("gsi1", "GSI1PK", "GSI1SK")]))
    assert [read.description for read in found.workload.reads] == [
        "Get one Customer by customerId",
        "Get one Order by customerId and orderId and oAt",
        "List the Orders by customerId",
        "List the Orders by state",
        "List the Customers and Orders by customerId",
    ]
    assert [d.message for d in check(found.workload) if d.severity is Severity.ERROR] == []


def test_design_read_from_a_model_is_proven() -> None:
    found = read(model(*CUSTOMERS, *ORDERS, GlobalSecondaryIndexes=[index("gsi1", "GSI1PK", "GSI1SK")]))
    proof = prove(found.workload, map_patterns(found.design, found.workload), Embedded())
    assert proof.findings == ()
    assert [(answer.pattern, answer.wrong, answer.problem) for answer in proof.failed] == []


def test_type_without_words_in_an_index_has_no_read_of_its_own() -> None:
    """Two kinds in one partition of an index, told apart by nothing: only both can be read."""
    samples = [
        row(PK="o#1", SK="o#1", Type="order", GSI1PK="c#7", GSI1SK="2026-01-15", day="2026-01-15"),
        row(PK="i#1", SK="i#1", Type="invoice", GSI1PK="c#7", GSI1SK="2026-01-16", day="2026-01-16"),
    ]
    found = read(model(*samples, GlobalSecondaryIndexes=[index("gsi1", "GSI1PK", "GSI1SK")]))
    assert [read.entities for read in found.workload.reads] == [("Order",), ("Invoice",), ("Order", "Invoice")]


def test_read_of_a_narrow_index_asks_for_its_attributes_only() -> None:
    projection = {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["PK", "total"]}
    sample = row(PK="o#1", SK="o#1", room="a", total=5, note="long")
    found = read(model(sample, GlobalSecondaryIndexes=[index("by-room", "room", **projection)]))
    assert [read.needs for read in found.workload.reads if read.inputs[0].attribute == "room"] == [("room", "total")]


def test_without_type_attribute_types_come_from_key_words() -> None:
    found = read(
        model(
            row(PK="u#1", SK="info", name="Ann"),
            row(PK="u#1#follower", SK="u#2"),
            row(PK="u#1#follower", SK="u#3"),
            row(PK="u#2#follower", SK="u#3"),
        )
    )
    assert [(i.entity, i.facets[0].pk, i.facets[0].sk) for i in found.design.items] == [
        ("Info", ("u#{infoId}",), ("info",)),
        ("Follower", ("u#{infoId}#follower",), ("u#{infoId2}",)),
    ]


def test_facet_is_a_type_and_names_its_keys() -> None:
    samples = [row(PK="p1", SK="ITEMS#001", name="Potion"), row(PK="p1", SK="ITEMS#002", name="Sword")]
    facet = {
        "FacetName": "Items",
        "KeyAttributeAlias": {"PartitionKeyAlias": "playerID", "SortKeyAlias": "ITEMS#ItemID"},
        "TableData": samples,
    }
    found = read(model(TableFacets=[facet]))
    assert item(found.design, "Items").facets == (Facet("table", ("{playerID}",), ("ITEMS#{ItemID}",)),)


def test_facet_with_several_types_is_split() -> None:
    samples = [row(PK="VIN#7", SK="#META#"), row(PK="VIN#7", SK="FEATURE#RADIO"), row(PK="VIN#7", SK="FEATURE#MIRROR")]
    found = read(model(TableFacets=[{"FacetName": "vehicle", "TableData": samples}]))
    assert [(i.entity, i.facets[0].pk, i.facets[0].sk) for i in found.design.items] == [
        ("Vehicle", ("VIN#{vinId}",), ("#META#",)),
        ("VehicleFeature", ("VIN#{vinId}",), ("FEATURE#{featureId}",)),
    ]


def test_attributes_that_are_keys_stay_attributes() -> None:
    samples = [
        row(PK="User:ann", SK="2026-01-15T10:30:00Z", RoomID="music", CreatedAt="2026-01-15T10:30:00Z"),
        row(PK="User:bob", SK="2026-01-15T10:31:00Z", RoomID="films", CreatedAt="2026-01-15T10:31:00Z"),
    ]
    found = read(model(*samples, GlobalSecondaryIndexes=[index("by-room", "RoomID", "CreatedAt")]))
    assert found.design.separator == ":"
    (only,) = found.design.items
    assert only.facets == (
        Facet("table", ("User:{userId}",), ("{CreatedAt}",)),
        Facet("by-room", ("{RoomID}",), ("{CreatedAt}",)),
    )


def test_inverted_index_has_the_same_templates() -> None:
    samples = [row(PK="g#1", SK="u#7"), row(PK="g#2", SK="u#8")]
    found = read(model(*samples, GlobalSecondaryIndexes=[index("inverse", "SK", "PK")]))
    (only,) = found.design.items
    assert (only.facets[0].pk, only.facets[0].sk) == (only.facets[1].sk, only.facets[1].pk)


def test_unrecognised_key_is_reported_and_stays_an_attribute() -> None:
    found = read(model(row(PK="a#1", SK="x"), row(PK="a#1#2#3", SK="x"), TableFacets=[]))
    assert "PJ643" in codes(read(model(row(PK="u#1", SK="2026-01-01T00:00:00Z", n=1), row(PK="u#1", SK="later", n=2))))
    assert not has_errors(found.diagnostics)


def test_a_table_without_samples_is_one_entity_with_the_attributes_of_the_table() -> None:
    attributes = [{"AttributeName": "total", "AttributeType": "N"}]
    found = read(model(NonKeyAttributes=attributes))
    assert "PJ647" in codes(found)
    (entity,) = found.workload.entities
    assert [(a.name, str(a.type), a.id) for a in entity.attributes] == [
        ("PK", "string", True), ("SK", "string", True), ("total", "number", False),
    ]  # fmt: skip


def test_of_several_tables_one_is_read_and_the_others_are_named() -> None:
    two = model(*CUSTOMERS)
    two["DataModel"].append({"TableName": "log", "KeyAttributes": key("id")})
    found = read(two)
    assert [d.message for d in found.diagnostics if d.code == "PJ641"] == ["read is `shop`; not read: `log`"]
    assert read(two, "log").design.table == "log"
    assert codes(read(two, "lgo")) == {"PJ640"}


def test_two_indexes_of_one_name_are_an_error() -> None:
    found = read(model(*CUSTOMERS, GlobalSecondaryIndexes=[index("a", "Email"), index("a", "PK")]))
    assert [d.message for d in found.diagnostics if d.severity is Severity.ERROR] == ["the index `a` is there twice"]


def test_a_sample_without_a_whole_key_is_left_aside() -> None:
    found = read(
        model(*CUSTOMERS, {"PK": {"S": "c#9"}}, row(PK="c#8", SK="c#8", EntityType="customer") | {"x": {"Z": 1}})
    )
    said = [(d.message, d.line) for d in found.diagnostics if d.code == "PJ642"]
    assert [message for message, _ in said] == [
        "a sample has no `SK` of type S, which is part of the key",
        "`x` of a sample is not a value in DynamoDB's JSON",
    ]
    assert all(line for _, line in said)


def test_broken_line_of_the_description_is_reported() -> None:
    broken = model(*CUSTOMERS)
    broken["ModelMetadata"]["Description"] = "Keys (separator `#`, type attribute `EntityType`):\n- Customer somewhere"
    assert "PJ649" in codes(read(broken))


@pytest.mark.parametrize(
    "text", ["", "[]", "{", "{}", '{"ModelName": "x"}', '{"ModelName": 5, "DataModel": []}', "[" * 99]
)
def test_file_that_is_no_model_is_an_error(text: str) -> None:
    found = read_workbench(text)
    assert codes(found) == {"PJ640"}
    assert not is_model(text) or found.diagnostics


leaves = st.none() | st.booleans() | st.integers() | st.sampled_from(
    ["", "#", "a#b", "USER#1", "{x}", "USER#{userId}", "é#日", "N", "B", "PK", "x" * 300, "`a` in `table`: `b`", "Order.by-x"]
)  # fmt: skip
anything = st.recursive(
    leaves,
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.sampled_from(["S", "N", "PK", "x"]), inside),
)
WHOLE = model(
    *CUSTOMERS, *ORDERS, row(PK="7", SK="8", n=5),
    GlobalSecondaryIndexes=[index("gsi1", "GSI1PK", "GSI1SK", ProjectionType="INCLUDE", NonKeyAttributes=["state"])],
    TableFacets=[{"FacetName": "A b", "KeyAttributeAlias": {"PartitionKeyAlias": "x"}, "TableData": list(ORDERS)}],
)  # fmt: skip


def ways(tree: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [way]
    if isinstance(tree, dict | list):
        for step, inside in tree.items() if isinstance(tree, dict) else enumerate(tree):
            found += ways(inside, (*way, step))
    return found


WAYS = ways(WHOLE)[1:]


@settings(max_examples=examples(150))
@given(st.lists(st.tuples(st.sampled_from(WAYS), anything | st.just("REMOVE")), min_size=1, max_size=5))
def test_changed_model_is_read_or_reported(
    changes: list[tuple[tuple[Any, ...], Any]],
) -> None:
    tree = json.loads(json.dumps(WHOLE))
    for way, value in changes:
        node = tree
        try:
            for step in way[:-1]:
                node = node[step]
            if value == "REMOVE":
                del node[way[-1]]
            else:
                node[way[-1]] = value
        except (KeyError, IndexError, TypeError):
            continue  # the way was changed before
    found = read(tree)
    if not has_errors(found.diagnostics):
        assert misfits(found.design, found.workload) == ()
        assert found.design.items
        write_document(found.workload)


@given(st.text(max_size=200))
def test_any_text_is_read_or_reported(text: str) -> None:
    assert read_workbench(text).diagnostics
