"""Verify finds nothing in equal sides, and reports every kind of planted difference."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prejoin import TablePlace, load_table, verify_table
from prejoin.migrate.migration import Migration, open_migration
from prejoin.migrate.verify import compare
from prejoin.migrate.verify.compare import Checksums, canonical, compare_items, groups
from prejoin.pipeline.connection import connect

Opened = Callable[[], Migration]
PLACE = TablePlace(db="table.db")


@pytest.fixture(scope="module")
def loaded_table(shop_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The table of the shop, loaded once for all tests."""
    files = [shop_template / name for name in ("access-patterns.md", "mapping.toml")]
    table = tmp_path_factory.mktemp("loaded") / "table.db"
    with open_migration(*files, f"sqlite:///{shop_template / 'shop.db'}") as migration:
        load_table(migration, TablePlace(db=str(table)), create=True, state=str(table.parent / "state"))
    return table


@pytest.fixture
def loaded(opened: Opened, loaded_table: Path) -> Migration:
    shutil.copy(loaded_table, "table.db")
    return opened()


@pytest.mark.slow
def test_equal_sides_are_equal_with_all_known_patterns(loaded: Migration) -> None:
    result = verify_table(loaded, PLACE)
    assert result.equal
    assert result.differences == ()
    assert {e.entity: (e.rows, e.items) for e in result.entities}["Order"] == (60, 60)
    run = {p.pattern: p.runs for p in result.patterns}
    assert set(run) == {r.id for r in loaded.query.document.workload.reads}
    assert run["AP-001"] == 20
    assert all(run.values())
    assert len(loaded.mapping.patterns) > 5


def test_collection_without_one_of_its_items_is_found(loaded: Migration) -> None:
    for order in range(1, 61):
        call(loaded, "DeleteItem", {"Key": key(f"ORDER#{order}", "ORDER_ITEM#1")})
    read = next(r for r in loaded.query.document.workload.reads if r.combine)
    result = verify_table(loaded, PLACE)
    compared = next(p for p in result.patterns if p.pattern == read.id)
    assert (compared.runs, len(compared.differences)) == (20, 20)
    assert {(d.kind, d.entity, d.attribute) for d in compared.differences} == {("pattern", "OrderItem", "missing")}
    assert result.counts["OrderItem", "missing"] == 60


def call(migration: Migration, operation: str, body: dict[str, Any]) -> None:
    with connect(migration.package.schema, migration.table, PLACE) as client:
        client.call(operation, body)


def key(pk: str, sk: str) -> dict[str, Any]:
    return {"pk": {"S": pk}, "sk": {"S": sk}}


def update(pk: str, sk: str, expression: str, value: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
    name, _, rest = expression.partition(" ")
    names = {"#a": rest.split(" ")[0]}
    body: dict[str, Any] = {"Key": key(pk, sk), "ExpressionAttributeNames": names}
    body["UpdateExpression"] = f"{name} #a = :v" if value else f"{name} #a"
    if value:
        body["ExpressionAttributeValues"] = {":v": value}
    return "UpdateItem", body


PLANTED: dict[str, tuple[tuple[str, dict[str, Any]], tuple[str, str, str, str]]] = {
    "item missing": (("DeleteItem", {"Key": key("ORDER#7", "ORDER")}), ("missing", "Order", "7", "")),
    "number changed": (update("ORDER#7", "ORDER", "SET total", {"N": "0.01"}), ("different", "Order", "7", "total")),
    "text changed": (update("USER#3", "USER", "SET name", {"S": "Eve"}), ("different", "User", "3", "name")),
    "bytes changed": (
        update("PRODUCT#SKU-1", "PRODUCT", "SET photo", {"B": "AAA="}),
        ("different", "Product", "SKU-1", "photo"),
    ),
    "boolean changed": (
        update("USER#3", "USER", "SET is_active", {"BOOL": True}),
        ("different", "User", "3", "is_active"),
    ),
    "inside of a map": (
        update("USER#3", "USER", "SET prefs", {"M": {"tax": {"N": "7.51"}}}),
        ("different", "User", "3", "prefs"),
    ),
    "attribute missing": (update("ORDER#7", "ORDER", "REMOVE note"), ("different", "Order", "7", "note")),
    "attribute too many": (update("ORDER#6", "ORDER", "SET note", {"S": "x"}), ("different", "Order", "6", "note")),
    "moment changed": (
        update("USER#3", "USER", "SET created_at", {"S": "2024-01-03T10:00:00.000001Z"}),
        ("different", "User", "3", "created_at"),
    ),
    "required attribute gone": (update("USER#3", "USER", "REMOVE email"), ("unreadable", "", "USER#3 / USER", "")),
    "unique value without its item": (
        ("DeleteItem", {"Key": key("UNIQUE#User#email#u3@x.org", "UNIQUE")}),
        ("drifted", "User unique email", "UNIQUE#User#email#u3@x.org / UNIQUE", ""),
    ),
    "index key changed": (
        update("ORDER#7", "ORDER", "SET gsi1pk", {"S": "STATUS#NOWHERE"}),
        ("drifted", "Order", "ORDER#7 / ORDER", ""),
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_planted_difference_is_found_and_named(name: str, loaded: Migration) -> None:
    (operation, body), (kind, entity, where, attribute) = PLANTED[name]
    call(loaded, operation, body)
    result = verify_table(loaded, PLACE, patterns=False)
    found = [d for d in result.differences if d.kind == kind and d.entity == entity and d.attribute == attribute]
    assert len(found) == 1, result.differences
    assert where in found[0].key
    assert not result.equal
    assert result.counts[entity, kind] == 1


def test_item_without_a_row_is_unexpected(loaded: Migration) -> None:
    with sqlite3.connect("shop.db") as db:
        db.execute("DELETE FROM order_items WHERE order_id = 3 AND line = 1")
    db.close()
    (found,) = verify_table(loaded, PLACE, patterns=False).differences
    assert (found.kind, found.entity, found.key) == ("unexpected", "OrderItem", "3, 1")


def test_rows_that_became_one_item_are_named() -> None:
    row = ((1,), {"total": 5})
    rows, items = Checksums(), Checksums()
    for _ in range(2):
        rows.add(*row)
    items.add(*row)
    assert rows.differing(items)
    assert [(d.kind, d.key) for d in compare_items("Order", [row, row], [row])] == [("twice", "1")]


def test_row_that_fits_no_item_is_named(loaded: Migration) -> None:
    with sqlite3.connect("shop.db") as db:
        db.execute("UPDATE orders SET placed_at = 'soon' WHERE id = 7")
    db.close()
    result = verify_table(loaded, PLACE, patterns=False)
    assert {(d.kind, d.key) for d in result.differences} == {("unconverted", "7"), ("unexpected", "7")}


def test_many_differences_are_all_counted(loaded: Migration, monkeypatch: pytest.MonkeyPatch) -> None:
    from prejoin.migrate.verify import verify

    monkeypatch.setattr(verify, "MAX_EXAMPLES", 5)
    monkeypatch.setattr(compare, "GROUP", 10)
    with sqlite3.connect("shop.db") as db:
        db.execute("UPDATE orders SET total = total + 1")
    db.close()
    result = verify_table(loaded, PLACE, patterns=False)
    assert len(result.differences) == 5
    assert result.counts == {("Order", "different"): 60}


@pytest.mark.slow
def test_pattern_with_another_order_is_found(loaded: Migration) -> None:
    text = Path("mapping.toml").read_text(encoding="utf-8")
    assert "ORDER BY placed_at DESC" in text
    read = next(r for r in loaded.query.document.workload.reads if r.paginated)
    source = loaded.mapping.patterns[read.id]
    loaded.mapping.patterns[read.id] = type(source)(source.sql.replace("placed_at DESC", "placed_at ASC"))
    result = verify_table(loaded, PLACE)
    assert {d.attribute for d in result.differences} == {"order"}
    assert {d.kind for d in result.differences} == {"pattern"}


def test_pattern_that_returns_other_items_is_found(loaded: Migration) -> None:
    source = loaded.mapping.patterns["AP-001"]
    loaded.mapping.patterns["AP-001"] = type(source)("SELECT * FROM users WHERE id = :user_id + 1")
    kinds = {(d.kind, d.attribute) for d in verify_table(loaded, PLACE).differences}
    assert ("pattern", "items") in kinds


@pytest.mark.slow
def test_pattern_that_counts_otherwise_is_found(loaded: Migration) -> None:
    read = next(r for r in loaded.query.document.workload.reads if str(r.result) == "Count")
    source = loaded.mapping.patterns[read.id]
    loaded.mapping.patterns[read.id] = type(source)(source.sql.replace("COUNT(*)", "COUNT(*) + 1"))
    assert {d.attribute for d in verify_table(loaded, PLACE).differences} == {"count"}


def test_items_that_sort_alike_may_come_in_any_order(
    shop: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    from prejoin.migrate.verify import sides, statement

    monkeypatch.setattr(sides, "MAX_ITEMS", 5)
    monkeypatch.setattr(statement, "_MAX_ROWS", 10)
    with sqlite3.connect("shop.db") as db:
        db.execute("UPDATE orders SET placed_at = '2025-01-01T00:00:00', user_id = id % 2 + 1, status = 'PENDING'")
    db.close()
    load_table(opened(), PLACE, create=True)
    result = verify_table(opened(), PLACE)
    assert result.equal, result.differences


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.decimals(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
tables = st.dictionaries(st.tuples(st.integers(0, 50)), st.dictionaries(st.sampled_from("abc"), values), max_size=8)


@settings(max_examples=25)
@given(tables, tables)
def test_checksums_differ_exactly_where_items_differ(one: dict[Any, Any], other: dict[Any, Any]) -> None:
    sums = []
    for table in (one, other):
        found = Checksums()
        for at, item in sorted(table.items(), reverse=table is other):
            found.add(at, item)
        sums.append(found)
    differing = sums[0].differing(sums[1])
    same = canonical({str(k): v for k, v in one.items()}) == canonical({str(k): v for k, v in other.items()})
    assert (not differing) == (same and one.keys() == other.keys())
    named = list(compare_items("E", one.items(), other.items()))
    assert bool(named) == bool(differing)
    assert {at for group in groups(differing, *sums) for at in group} == set(differing)


def test_values_that_dynamodb_stores_alike_are_equal() -> None:
    assert canonical(Decimal("9.90")) == canonical(Decimal("9.9"))
    assert canonical(Decimal("1E+2")) == canonical(100)
    assert canonical({"a": None}) == canonical({})
    assert canonical(1) != canonical("1")
    assert canonical(True) != canonical(1)
    assert canonical(b"1") != canonical("1")
