"""The mapping: read, written, checked with codes, and conversions that are exact or refused."""

from __future__ import annotations

import datetime as dt
import sqlite3
from collections.abc import Callable
from datetime import UTC
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prejoin import (
    InputError,
    Kind,
    PipelineError,
    TablePlace,
    Type,
    design_table,
    design_target,
    load_table,
    read_document,
    verify_table,
    write_design,
)
from prejoin.migrate.load.state import decode_key, encode_key
from prejoin.migrate.mapping.check import check_mapping
from prejoin.migrate.mapping.convert import ConversionError, converter
from prejoin.migrate.mapping.model import TableMapping, read_mapping, write_mapping
from prejoin.migrate.migration import Migration, open_migration
from prejoin.patterns.large.large import LargeValue
from prejoin.pipeline.connection import connect
from prejoin.workload.model import History

ZURICH = ZoneInfo("Europe/Zurich")
DATETIME = Type(Kind.DATETIME)

EXACT = [
    (Type(Kind.DECIMAL), "", 0.1, Decimal("0.1")),
    (Type(Kind.DECIMAL), "", "123456789012345678901234567890.12", Decimal("123456789012345678901234567890.12")),
    (Type(Kind.INTEGER), "", Decimal("7"), 7),
    (Type(Kind.INTEGER), "epoch", dt.datetime(2025, 1, 1, tzinfo=UTC), 1735689600),
    (Type(Kind.BOOLEAN), "", 1, True),
    (Type(Kind.BOOLEAN), "", b"\0", False),
    (Type(Kind.BOOLEAN), "", "f", False),
    (DATETIME, "", dt.datetime(2025, 7, 1, 12), dt.datetime(2025, 7, 1, 10, tzinfo=UTC)),
    (DATETIME, "", "2025-07-01T12:00:00+05:00", dt.datetime(2025, 7, 1, 7, tzinfo=UTC)),
    (DATETIME, "", "2025-01-01 12:00:00.000001", dt.datetime(2025, 1, 1, 11, 0, 0, 1, tzinfo=UTC)),
    (DATETIME, "epoch-ms", 1735689600123, dt.datetime(2025, 1, 1, 0, 0, 0, 123000, tzinfo=UTC)),
    (Type(Kind.DATE), "", "2025-01-01", dt.date(2025, 1, 1)),
    (Type(Kind.DATE), "", dt.datetime(2025, 1, 1), dt.date(2025, 1, 1)),
    (Type(Kind.UUID), "", b"\0" * 15 + b"\1", UUID(int=1)),
    (Type(Kind.MAP), "", '{"a": 1.10, "b": null}', {"a": Decimal("1.10"), "b": None}),
    (Type(Kind.LIST, of=Type(Kind.INTEGER)), "", [1, 2], [1, 2]),
    (Type(Kind.LIST), "csv", "a, b", ["a", "b"]),
    (Type(Kind.LIST), "array", '{hot,"a, \\"b\\"",NULL,""}', ["hot", 'a, "b"', None, ""]),
    (Type(Kind.LIST), "array", "{}", []),
    (Type(Kind.SET, of=Type(Kind.STRING)), "csv", "a,b,a", {"a", "b"}),
    (Type(Kind.BINARY), "hex", "00ff", b"\0\xff"),
    (Type(Kind.CONTENT), "", "tea", LargeValue.of(b"tea")),
    (Type(Kind.CONTENT), "", b"tea", LargeValue.of(b"tea")),
    (Type(Kind.STRING), "", dt.timedelta(hours=25, seconds=1), "25:00:01"),
    (Type(Kind.STRING), "trim", "ab  ", "ab"),
    (Type(Kind.ENUM, values=("OPEN",)), "", "OPEN", "OPEN"),
]


@pytest.mark.parametrize(("type_", "form", "value", "wanted"), EXACT)
def test_conversion_is_exact(type_: Type, form: str, value: Any, wanted: Any) -> None:
    found = converter(type_, form, ZURICH)(value)
    assert found == wanted
    assert type(found) is type(wanted)


REFUSED = [
    (Type(Kind.INTEGER), "", 1.5),
    (Type(Kind.INTEGER), "", float("inf")),
    (Type(Kind.INTEGER), "", Decimal("-Infinity")),
    (Type(Kind.INTEGER), "", "x"),
    (Type(Kind.DECIMAL), "", float("nan")),
    (Type(Kind.BOOLEAN), "", 2),
    (DATETIME, "", "soon"),
    (DATETIME, "", 5),
    (DATETIME, "", dt.datetime(2025, 3, 30, 2, 30)),
    (Type(Kind.DATE), "", dt.datetime(2025, 1, 1, 5)),
    (Type(Kind.UUID), "", "x"),
    (Type(Kind.MAP), "", "[1]"),
    (Type(Kind.LIST), "", "{}"),
    (Type(Kind.ENUM, values=("OPEN",)), "", "open"),
    (Type(Kind.BINARY), "hex", "zz"),
    (Type(Kind.CONTENT), "", 7),
    (Type(Kind.STRING), "", b"\xff"),
]


@pytest.mark.parametrize(("type_", "form", "value"), REFUSED)
def test_value_that_does_not_fit_is_refused(type_: Type, form: str, value: Any) -> None:
    with pytest.raises(ConversionError):
        converter(type_, form, ZURICH)(value)


def test_members_translate_stored_values() -> None:
    convert = converter(Type(Kind.ENUM, values=("OPEN", "DONE")), members={"0": "OPEN", "1": "DONE"})
    assert (convert(0), convert(1)) == ("OPEN", "DONE")


keys = st.lists(
    st.integers() | st.text() | st.decimals(allow_nan=False) | st.binary() | st.uuids() | st.datetimes() | st.dates(),
    min_size=1,
    max_size=3,
)


@settings(max_examples=25)
@given(keys)
def test_key_round_trips(key: list[Any]) -> None:
    assert decode_key(encode_key(key)) == tuple(key)


def test_mapping_round_trips(shop: Path) -> None:
    first = read_mapping()
    Path("again.toml").write_text(write_mapping(first), encoding="utf-8")
    assert read_mapping("again.toml") == first
    odd = msgspec.convert(
        {
            "source": 'a"b',
            "entities": {
                "A B": {
                    "table": "t",
                    "attributes": {"x y": {"column": "c", "as": "csv", "members": {"0": "Ü"}}, "z": {"value": True}},
                    "joins": {"j": {"table": "u", "on": {"a": "b"}}},
                    "children": {"l": {"table": "v", "on": {"a": "b"}, "attributes": {"q": "q"}, "order": ["n"]}},
                    "ignore": ["d"],
                }
            },
            "patterns": {"AP-1": {"sql": "SELECT 'x'"}},
            "left-out": {"s.t": "why"},
        },
        TableMapping,
    )
    Path("odd.toml").write_text(write_mapping(odd), encoding="utf-8")
    assert read_mapping("odd.toml") == odd


def edit(old: str, new: str) -> None:
    text = Path("mapping.toml").read_text(encoding="utf-8")
    assert old in text
    Path("mapping.toml").write_text(text.replace(old, new), encoding="utf-8")


WRONG = [
    ('table = "orders"', 'table = "order"', "PJ713"),
    ('total = "total"', 'total = "totl"', "PJ713"),
    ('total = "total"', 'totl = "total"', "PJ714"),
    ('total = "total"\n', "", "PJ712"),
    ('total = "total"', 'total = { column = "total", as = "epoch" }', "PJ717"),
    ('total = "total"', 'total = { column = "total", sql = "1" }', "PJ710"),
    ('total = "total"', 'total = "customer.total"', "PJ713"),
    ('total = "total"', 'total = { column = "total", null = "null" }', "PJ719"),
    ('note = "note"', 'note = { column = "note", default = "", null = "null" }', "PJ719"),
    ("[entities.User", "[entities.Usr", "PJ711"),
    ('zone = "UTC"', 'zone = "Nowhere"', "PJ717"),
    ('order_id = "id"', 'order_id = "user_id"', "PJ715"),
]


@pytest.mark.parametrize(("old", "new", "code"), WRONG)
def test_wrong_mapping_is_reported_with_its_code(old: str, new: str, code: str, shop: Path) -> None:
    edit(old, new)
    with pytest.raises(InputError) as caught, open_migration():
        pass
    assert code in {d.code for d in caught.value.diagnostics}


@pytest.mark.parametrize(
    ("old", "new"), [('table = "orders"', "table = orders"), ('table = "orders"', 'tabel = "orders"')]
)
def test_file_that_is_no_mapping(old: str, new: str, shop: Path) -> None:
    edit(old, new)
    with pytest.raises(PipelineError) as caught, open_migration():
        pass
    assert caught.value.diagnostics[0].code == "PJ710"


def test_null_is_stored_as_the_mapping_says(shop: Path, opened: Callable[[], Migration]) -> None:
    edit('[entities.User]\ntable = "users"', '[entities.User]\ntable = "users"\nnull = "null"')
    edit('[entities.Order]\ntable = "orders"', '[entities.Order]\ntable = "orders"\nnull = "null"')
    edit('note = "note"', 'note = { column = "note", null = "absent" }')
    migration = opened()
    place = TablePlace(db="t.db")
    assert load_table(migration, place, create=True).dead == 0
    assert verify_table(migration, place).equal
    with connect(migration.package.schema, migration.table, place) as client:
        stored = client.call("Scan")["Items"]
        users = [one for one in stored if one["entityType"]["S"] == "User"]
        orders = [one for one in stored if one["entityType"]["S"] == "Order"]
        assert {tuple(one["prefs"]) for one in users} == {("M",), ("NULL",)}
        assert {tuple(one.get("note", "-")) for one in orders} == {("S",), ("-",)}
        user = next(one for one in users if "NULL" in one["prefs"])
        order = next(one for one in orders if "note" not in one)
        assert client.get(migration.package.classes["User"], user_id=int(user["user_id"]["N"])).prefs is None
        client.call("PutItem", {"Item": {name: value for name, value in user.items() if name != "prefs"}})
        client.call("PutItem", {"Item": {**order, "note": {"NULL": True}}})
    found = verify_table(migration, place).differences
    assert sorted((d.kind, d.entity, d.key, d.attribute, d.expected, d.found) for d in found) == [
        ("different", "Order", order["order_id"]["N"], "note", "absent", "NULL"),
        ("different", "User", user["user_id"]["N"], "prefs", "NULL", "absent"),
    ]


def test_times_without_a_zone_and_forgotten_columns_are_warnings(shop: Path) -> None:
    edit('zone = "UTC"\n', "")
    edit('note = "note"\n', "")
    with open_migration() as migration:
        codes = [(d.code, d.line) for d in migration.diagnostics]
    assert {code for code, _ in codes} == {"PJ716", "PJ718"}
    assert all(line for code, line in codes if code == "PJ716")


def test_entity_with_a_history_is_reported(shop: Path) -> None:
    with open_migration() as migration:
        workload = migration.query.document.workload
        kept = tuple(msgspec.structs.replace(e, history=History(3)) for e in workload.entities if e.name == "Order")
        others = tuple(e for e in workload.entities if e.name != "Order")
        text = Path(migration.mapping_file).read_text(encoding="utf-8")
        changed = msgspec.structs.replace(workload, entities=(*others, *kept))
        (diagnostic,) = [
            d for d in check_mapping(migration.mapping, changed, migration.database, text) if d.code == "PJ725"
        ]
    assert diagnostic.text == "[entities.Order]"


def test_line_of_a_wrong_attribute_is_given(shop: Path) -> None:
    edit('total = "total"', 'total = "totl"')
    with pytest.raises(InputError) as caught, open_migration():
        pass
    found = caught.value.diagnostics[0]
    assert found.text == 'total = "totl"'
    assert "did you mean `total`" in found.fix


def test_joins_expressions_constants_defaults_and_children(shop: Path, opened: Callable[[], Migration]) -> None:
    document = Path("access-patterns.md").read_text(encoding="utf-8")
    more = "  - `user_name` (string, optional)\n  - `lines` (list, optional)\n  - `source` (string, optional)\n"
    place = document.index("  - `note` (string, optional)")
    Path("access-patterns.md").write_text(document[:place] + more + document[place:], encoding="utf-8")
    Path("table-design.md").unlink()
    with pytest.raises(PipelineError) as caught, open_migration():
        pass
    assert caught.value.diagnostics[0].code == "PJ735"
    designed = design_table(read_document("access-patterns.md"), prove=False, alternatives=0)
    write_design(designed, design_target(Path("table-design.md")))
    edit(
        'note = "note"',
        'note = { column = "note", default = "none" }\nuser_name = "buyer.name"\nsource = { value = "shop" }',
    )
    edit('total = "total"', 'total = { sql = "t.total * 2" }')
    edit(
        "[entities.OrderItem]",
        '[entities.Order.joins.buyer]\ntable = "users"\non = { id = "user_id" }\n\n'
        '[entities.Order.children.lines]\ntable = "order_items"\non = { order_id = "id" }\norder = ["line"]\n\n'
        '[entities.Order.children.lines.attributes]\nsku = "sku"\nprice = "unit_price"\n\n[entities.OrderItem]',
    )
    migration = opened()
    assert load_table(migration, TablePlace(db="t.db"), create=True).dead == 0
    with sqlite3.connect("shop.db") as db:
        total, user = db.execute("SELECT total, user_id FROM orders WHERE id = 3").fetchone()
        lines = db.execute("SELECT sku FROM order_items WHERE order_id = 3 ORDER BY line").fetchall()
    db.close()
    with connect(migration.package.schema, migration.table, TablePlace(db="t.db")) as client:
        order = client.get(migration.package.classes["Order"], order_id=3)
    assert order is not None
    assert (order.user_name, order.source, order.note) == (f"User {user}", "shop", "none")
    assert float(order.total) == pytest.approx(total * 2)
    assert [line["sku"] for line in order.lines] == [sku for (sku,) in lines]
    assert order.lines[0]["price"] == Decimal("9.99")
