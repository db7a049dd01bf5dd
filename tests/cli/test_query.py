"""`prejoin query`: any access pattern by its id, on data made up for it or on a table that is there."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from prejoin.design.solve import solve
from prejoin.engine import Embedded
from prejoin.proof.schema import schema_of
from prejoin.table import Client
from prejoin.workload.files import read_file
from tests.cli.conftest import Prejoin

SHOP = Path(__file__).parents[2] / "examples" / "shop" / "access-patterns.md"


@pytest.fixture
def shop(here: Path) -> Path:
    shutil.copy(SHOP, here / "access-patterns.md")
    return here


def test_a_read_shows_items_what_was_sent_and_the_units(prejoin: Prejoin, shop: Path) -> None:
    ran = prejoin("query", "AP-004")
    assert ran.status == 0
    assert "user_orders(user_id=" in ran.out
    assert "Query  USER#" in ran.out
    assert "1 request, " in ran.out
    result = prejoin("query", "ap-004", "--format", "json").json["result"]
    times = [item["placed_at"] for item in result["items"]]
    assert len(times) > 1
    assert times == sorted(times, reverse=True)
    assert [call["operation"] for call in result["calls"]] == ["Query"]
    assert result["units"] == sum(call["units"] for call in result["calls"])


def test_arguments_are_read_as_their_types_want_them(prejoin: Prejoin, shop: Path) -> None:
    user = prejoin("query", "AP-001", "--format", "json").json["result"]["items"][0]["user_id"]
    span = ("placed_at_from=2020-01-01T00:00:00Z", "placed_at_to=2040-01-01T00:00:00Z")
    result = prejoin("query", "AP-005", f"user_id={user}", *span, "--format", "json").json["result"]
    assert {item["user_id"] for item in result["items"]} == {user}
    assert prejoin("query", "AP-010", "product_id=nothing", "--format", "json").json["result"]["items"] == []


def test_several_entities_come_side_by_side(prejoin: Prejoin, shop: Path) -> None:
    items = prejoin("query", "AP-007", "--format", "json").json["result"]["items"]
    assert {item["entity"] for item in items} == {"Order", "OrderItem"}


def test_a_write_is_done_as_the_pattern_says(prejoin: Prejoin, shop: Path) -> None:
    address = '{"user_id": "a33f6f6a-1438-43f5-819d-1bd3d93e1841", "label": "work", "street": "s", "city": "c", "postcode": "p"}'
    result = prejoin("query", "AP-021", f"address={address}", "--format", "json").json["result"]
    assert [call["operation"] for call in result["calls"]] == ["PutItem"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("AP-99",), "did you mean AP-009?"),
        (("AP-004", "user=1"), "did you mean user_id?"),
        (("AP-004", "user_id"), "is not NAME=VALUE"),
        (("AP-004", "user_id=nobody"), "user_id: "),
        (("AP-021",), "address is missing"),
    ],
)
def test_what_cannot_be_asked_is_said(prejoin: Prejoin, shop: Path, arguments: tuple[str, ...], said: str) -> None:
    ran = prejoin("query", *arguments)
    assert ran.status == 2
    assert said in ran.err


def test_a_condition_that_does_not_hold_is_told(prejoin: Prejoin, shop: Path) -> None:
    order = '{"order_id": "01KF5NQRT4J94TXMPVT19396G5", "user_id": "a33f6f6a-1438-43f5-819d-1bd3d93e1841", '
    order += '"placed_at": "2026-01-15T10:30:00Z", "status": "PENDING", "total": "1", "ship_to": {}}'
    ran = prejoin("query", "AP-022", f"order={order}", "order_items=[]")
    assert ran.status == 1
    assert "PJ040" in ran.err


def test_a_table_that_is_there_is_read_and_changed_only_when_told(prejoin: Prejoin, shop: Path) -> None:
    workload = read_file(shop / "access-patterns.md").workload
    design = solve(workload).design
    file = shop / "shop.db"
    with Client(schema_of(design, workload).schema, design.table, Embedded(str(file))) as db:
        db.create_table()
    assert (
        prejoin("query", "AP-010", "product_id=1", "--db", str(file), "--format", "json").json["result"]["items"] == []
    )
    product = 'product={"product_id": "1", "name": "pen", "price": "2", "stock": 3}'
    refused = prejoin("query", "AP-025", product, "--db", str(file))
    assert refused.status == 4
    assert prejoin("query", "AP-025", product, "--db", str(file), "--yes").status == 0
    (found,) = prejoin("query", "AP-010", "product_id=1", "--db", str(file), "--format", "json").json["result"]["items"]
    assert found["stock"] == 3


def test_a_design_that_is_broken_is_told_and_not_replaced_by_another(prejoin: Prejoin, shop: Path) -> None:
    assert prejoin("design", "--yes").status == 0
    assert prejoin("query", "AP-001").status == 0
    design = shop / "table-design.md"
    design.write_text(design.read_text("utf-8").replace("USER#{userId}", "USER#{usrId}"), "utf-8")
    ran = prejoin("query", "AP-001")
    assert ran.status == 1
    assert "the design has errors; nothing was asked" in ran.err
