"""A design as a NoSQL Workbench model: Workbench's form, real keys in the samples, and a lossless way back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.render.designed import KEPT, WITH_COPY, designed
from tests.solutions import solve

from prejoin.design.model import Billing, Design, KeyAttribute, Projection, ProjectionKind, Slot
from prejoin.design.workbench.description import left_out
from prejoin.design.workbench.read_model import read_workbench
from prejoin.diagnostics import Severity
from prejoin.render.workbench import render_workbench
from prejoin.workload.checks import check
from prejoin.workload.files import read_file, read_text
from prejoin.workload.grammar.lexer import WORD
from prejoin.workload.model import Workload

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("examples/*/access-patterns.md"), *ROOT.glob("tests/corpus/*/access-patterns.md")])


@pytest.fixture(scope="module")
def shop() -> tuple[Workload, Design]:
    return designed(WITH_COPY)


def text_of(workload: Workload, design: Design) -> str:
    (text,) = render_workbench(workload, design).values()
    return text


def table_of(workload: Workload, design: Design) -> dict[str, Any]:
    return dict(json.loads(text_of(workload, design))["DataModel"][0])


def carried(design: Design) -> Design:
    """The parts of a design that a model can contain."""
    slots = tuple(replace(slot, purpose="") for slot in design.slots)
    return replace(design, slots=slots, operations=(), decisions=(), stores=(), ttl_attribute="")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.parent.name)
def test_design_round_trips_through_its_model(document: Path) -> None:
    workload = read_file(document).workload
    design = solve(workload).design
    text = text_of(workload, design)
    assert text == text_of(workload, design)
    found = read_workbench(text)
    assert found.design == carried(design)
    assert found.diagnostics == ()
    assert found.workload.patterns == workload.patterns
    expected = [[replace(a, text="") for a in e.attributes] for e in workload.entities]
    assert [list(e.attributes) for e in found.workload.entities] == expected
    assert [d.message for d in check(found.workload) if d.severity is Severity.ERROR] == []


def test_the_model_has_the_form_that_workbench_writes(shop: tuple[Workload, Design]) -> None:
    model = json.loads(text_of(*shop))
    assert list(model) == ["ModelName", "ModelMetadata", "DataModel"]
    assert (model["ModelMetadata"]["AWSService"], model["ModelMetadata"]["Version"]) == ("Amazon DynamoDB", "3.0")
    table = model["DataModel"][0]
    assert table["KeyAttributes"] == {
        "PartitionKey": {"AttributeName": "pk", "AttributeType": "S"},
        "SortKey": {"AttributeName": "sk", "AttributeType": "S"},
    }
    assert [index["IndexName"] for index in table["GlobalSecondaryIndexes"]] == ["gsi1", "gsi2"]
    assert table["GlobalSecondaryIndexes"][0]["Projection"] == {"ProjectionType": "ALL"}
    assert table["BillingMode"] == "PAY_PER_REQUEST"
    assert "ProvisionedCapacitySettings" not in table
    # A sample is in its facet or in the table, never in both.
    assert table["TableData"] == []


def test_each_kind_of_item_is_a_facet_with_samples_and_what_its_keys_are_made_of(shop: tuple[Workload, Design]) -> None:
    facets = {facet["FacetName"]: facet for facet in table_of(*shop)["TableFacets"]}
    assert list(facets) == ["User", "Address", "Order", "Order.by-userId", "OrderItem", "Product", "User.unique.email"]
    order = facets["Order.by-userId"]
    assert order["KeyAttributeAlias"] == {
        "PartitionKeyAlias": "USER#{userId}",
        "SortKeyAlias": "ORDER#{placedAt}#{orderId}",
    }
    assert len(order["TableData"]) >= 2
    assert all(sample["sk"]["S"].startswith("ORDER#2026-") for sample in order["TableData"])
    assert facets["User.unique.email"]["TableData"] == [
        {"pk": {"S": "UNIQUE#User#email#ann@example.com"}, "sk": {"S": "UNIQUE"}}
    ]


def test_samples_are_items_that_dynamodb_would_take(shop: tuple[Workload, Design]) -> None:
    from prejoin.engine import Embedded

    table = table_of(*shop)
    keys = table["KeyAttributes"]
    names = {"HASH": keys["PartitionKey"]["AttributeName"], "RANGE": keys["SortKey"]["AttributeName"]}
    schema = [{"AttributeName": name, "KeyType": kind} for kind, name in names.items()]
    definitions = [{"AttributeName": name, "AttributeType": "S"} for name in names.values()]
    engine = Embedded()

    def send(operation: str, body: dict[str, Any]) -> dict[str, Any]:
        return dict(json.loads(engine.send(operation, json.dumps(body).encode())))

    about = {"TableName": "shop", "KeySchema": schema, "AttributeDefinitions": definitions}
    send("CreateTable", {**about, "BillingMode": "PAY_PER_REQUEST"})
    samples = [sample for facet in table["TableFacets"] for sample in facet["TableData"]]
    for sample in samples:
        send("PutItem", {"TableName": "shop", "Item": sample})
    assert send("Scan", {"TableName": "shop", "Select": "COUNT"})["Count"] == len(samples)
    declared = {a["AttributeName"] for a in table["NonKeyAttributes"]} | set(names.values())
    assert {name for sample in samples for name in sample} <= declared


def test_unsupported_parts_are_reported_and_left_out(shop: tuple[Workload, Design]) -> None:
    workload, design = shop
    local = Slot("by-date", design.slots[0].pk, (KeyAttribute("placedAt"),), local=True)
    several = Slot("wide", (KeyAttribute("a"), KeyAttribute("b")), ())
    design = replace(design, slots=(*design.slots, local, several), ttl_attribute="expiresAt")
    text = " ".join(left_out(design))
    assert "`by-date` is a local index" in text
    assert "`wide` is an index whose key has several attributes" in text
    assert "`expiresAt`" in text
    model = json.loads(text_of(workload, design))
    assert text.split(",")[0] in model["ModelMetadata"]["Description"]
    assert [index["IndexName"] for index in model["DataModel"][0]["GlobalSecondaryIndexes"]] == ["gsi1", "gsi2"]


@pytest.mark.slow
def test_billing_and_projections_are_carried(shop: tuple[Workload, Design]) -> None:
    workload, design = shop
    narrow = replace(design.slots[1], projection=Projection(ProjectionKind.INCLUDE, ("name", "status")))
    design = replace(design, slots=(design.slots[0], narrow, *design.slots[2:]), billing=Billing.PROVISIONED)
    found = read_workbench(text_of(workload, design)).design
    assert found.slots[1].projection == narrow.projection
    assert found.billing is Billing.PROVISIONED
    assert table_of(workload, design)["ProvisionedCapacitySettings"]["ProvisionedThroughput"]["ReadCapacityUnits"] == 5


def test_a_key_that_was_changed_in_the_samples_is_pointed_out(shop: tuple[Workload, Design]) -> None:
    found = read_workbench(text_of(*shop).replace('"S": "USER#', '"S": "MEMBER#'))
    diagnostics = [d.message for d in found.diagnostics if d.code == "PJ645"]
    assert any("is not a key of `USER#{userId}`" in message for message in diagnostics)
    assert found.design == carried(shop[1])


def test_an_index_that_was_added_in_workbench_is_read_from_its_samples(shop: tuple[Workload, Design]) -> None:
    model = json.loads(text_of(*shop))
    table = model["DataModel"][0]
    key = {"AttributeName": "gsi3pk", "AttributeType": "S"}
    table["GlobalSecondaryIndexes"].append(
        {"IndexName": "gsi3", "KeyAttributes": {"PartitionKey": key}, "Projection": {"ProjectionType": "ALL"}}
    )
    for sample in next(f for f in table["TableFacets"] if f["FacetName"] == "Product")["TableData"]:
        sample["gsi3pk"] = {"S": f"PRODUCT_NAME#{sample['name']['S']}"}
    found = read_workbench(json.dumps(model))
    product = found.design.item("Product")
    assert product is not None
    assert [facet.pk for facet in product.facets] == [("PRODUCT#{productId}",), ("PRODUCT_NAME#{name}",)]
    assert found.workload.patterns == shop[0].patterns


def test_access_patterns_that_were_broken_in_the_description_are_sketched_instead(
    shop: tuple[Workload, Design],
) -> None:
    found = read_workbench(text_of(*shop).replace("| Single |", "| Sngle |"))
    assert {d.code for d in found.diagnostics} == {"PJ646", "PJ649"}
    assert found.workload.reads
    assert found.design == carried(shop[1])


@pytest.mark.slow
@pytest.mark.everyday(3)
@pytest.mark.parametrize("name", ["first name", "größe", "日付", "#x", "a|b", "x/y", "in", "when", "holding"])
def test_hostile_names_round_trip(name: str) -> None:
    text = (ROOT / "examples/shop/access-patterns.md").read_text(encoding="utf-8")
    cell = name if WORD.match(name) else f"`{name}`".replace("|", "\\|")
    workload = read_text(text.replace("`placedAt`", f"`{name}`").replace("placedAt", cell), "md").workload
    design = solve(workload).design
    assert read_workbench(text_of(workload, design)).design == carried(design)


def test_shards_of_counters_and_earlier_versions_are_described() -> None:
    workload = read_text(KEPT, "md").workload
    said = json.loads(text_of(workload, solve(workload).design))["ModelMetadata"]["Description"]
    assert "- `views` of `Video` is the sum of 4 items, `VIDEO#{videoId}#COUNTER#{shard}`, `COUNTER#Video`" in said
    assert "- earlier versions of `Page` are items, `PAGE#{pageId}#PAGE#HISTORY`, `{version}`" in said
