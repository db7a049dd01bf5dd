"""The deployed table: settings that AWS would refuse are refused with a message; unused parts are left out."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from prejoin.design.model import TABLE, Billing, Design, KeyAttribute, Projection, ProjectionKind, Slot
from prejoin.render.infrastructure.errors import InfrastructureError
from prejoin.render.infrastructure.options import Encryption, Infrastructure, Scaling
from prejoin.render.infrastructure.table import table_of

from .documents import SHOP, designed


def refused(design: Design, options: Infrastructure | None = None) -> str:
    workload, _ = designed(SHOP)
    with pytest.raises(InfrastructureError) as problem:
        table_of(workload, design, options or Infrastructure())
    return str(problem.value)


def slotted(*slots: Slot) -> Design:
    """The shop's design with these indexes, each of which contains every item."""
    _, design = designed(SHOP)
    facets = tuple(replace(design.items[0].facets[0], slot=slot.name) for slot in slots)
    items = (replace(design.items[0], facets=(design.items[0].facets[0], *facets)),)
    return replace(design, slots=(design.slots[0], *slots), items=items)


def index(name: str, *attributes: str) -> Slot:
    projection = Projection(ProjectionKind.INCLUDE, attributes) if attributes else Projection()
    return Slot(name, (KeyAttribute(f"{name}pk"[:200]),), (KeyAttribute(f"{name}sk"[:200]),), projection)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("bücher", "the table is called 'bücher', and DynamoDB takes letters A to Z, digits and _ . - only: rename it"),
        ("my shop", "the table is called 'my shop', and DynamoDB takes letters"),
        ("ab", "the table is called 'ab': a name has 3 to 255 characters"),
        ("x" * 256, "a name has 3 to 255 characters"),
    ],
)
def test_a_table_name_that_dynamodb_refuses_is_refused(name: str, message: str) -> None:
    _, design = designed(SHOP)
    assert message in refused(replace(design, table=name))


def test_an_index_name_that_dynamodb_refuses_is_refused() -> None:
    assert "the index is called 'by größe'" in refused(slotted(index("by größe")))


def test_a_key_name_that_is_too_long_is_refused() -> None:
    _, design = designed(SHOP)
    base = replace(design.slots[0], pk=(KeyAttribute("ü" * 128),))
    assert "its name may have 255 bytes" in refused(replace(design, slots=(base, *design.slots[1:])))


def test_too_many_indexes_or_projected_attributes_are_refused() -> None:
    assert "has 21 global indexes, and DynamoDB takes 20" in refused(slotted(*(index(f"gsi{n}") for n in range(21))))
    names = [f"a{n}" for n in range(100)]
    assert "has 101 projected attributes, and DynamoDB takes 100" in refused(slotted(index("gsi1", *names)))


def test_an_attribute_that_is_a_key_as_two_types_is_refused() -> None:
    other = replace(index("gsi1"), sk=(KeyAttribute("sk", "N"),))
    assert "sk is a key as S and as N" in refused(slotted(other))


def test_a_design_without_a_table_is_refused() -> None:
    assert "the design has no table" in refused(Design("shop"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (Infrastructure(reads=Scaling(10, 5)), "reads scale from 10 to 5 units"),
        (Infrastructure(writes=Scaling(target=95)), "writes aim at 95 per cent of their units, and AWS takes 20 to 90"),
        (Infrastructure(most_reads=0), "most_reads is 0: give a number of units from 1 on"),
        (Infrastructure(key_arn="arn:aws:kms:eu-central-1:123456789012:key/1"), "encryption is not `customer`"),
        (Infrastructure(encryption=Encryption.CUSTOMER, key_arn="mine"), "'mine' is not the ARN of a key"),
        (Infrastructure(tags={"aws:team": "a"}), "keys that begin with aws: are those of AWS"),
        (Infrastructure(tags={"team": "a;b"}), "the tag 'team', 'a;b'"),
        (Infrastructure(tags={"team": "x" * 257}), "a value up to 256"),
        (Infrastructure(tags={f"t{n}": "" for n in range(51)}), "there are 51 tags, and a table takes 50"),
    ],
)
def test_options_that_aws_refuses_are_refused(options: Infrastructure, message: str) -> None:
    _, design = designed(SHOP)
    assert message in refused(design, options)


def test_an_index_that_nothing_is_in_is_not_made() -> None:
    workload, design = designed(SHOP)
    idle = replace(design, slots=(*design.slots, index("idle")))
    table = table_of(workload, idle, Infrastructure())
    assert [one.name for one in table.indexes] == [slot.name for slot in design.indexes]
    assert not {"idlepk", "idlesk"} & set(table.types)


def test_an_index_that_includes_attributes_has_the_type_and_no_keys_twice() -> None:
    workload, _ = designed(SHOP)
    table = table_of(workload, slotted(index("gsi1", "name", "pk")), Infrastructure())
    assert table.indexes[0].attributes == ("entityType", "name")


def test_the_design_says_how_the_table_is_paid_unless_the_options_do() -> None:
    workload, design = designed(SHOP)
    provisioned = replace(design, billing=Billing.PROVISIONED)
    assert table_of(workload, provisioned, Infrastructure()).is_provisioned
    assert not table_of(workload, provisioned, Infrastructure(billing=Billing.ON_DEMAND)).is_provisioned
    assert design.slots[0].name == TABLE
