"""The compiled encoder of a load writes and refuses the same as the client's put."""

from __future__ import annotations

import datetime as dt
import sqlite3
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prejoin import Client, TablePlace, load_table, verify_table
from prejoin.migrate.load.encode import row_encoder
from prejoin.migrate.mapping.rows import EntityRows, Row, RowError
from prejoin.migrate.migration import Migration
from prejoin.table.errors import TableError
from tests.place import examples

Opened = Callable[[], Migration]

FITTING: dict[str, st.SearchStrategy[Any]] = {
    "string": st.text(max_size=20),
    "integer": st.integers(-(10**20), 10**20),
    "decimal": st.decimals(allow_nan=False, places=2) | st.floats(-1e6, 1e6),
    "boolean": st.booleans() | st.integers(0, 1),
    "datetime": st.datetimes(timezones=st.just(dt.UTC)) | st.datetimes().map(str),
    "enum": st.sampled_from(["PENDING", "PAID", "SHIPPED"]),
    "binary": st.binary(max_size=9),
    "map": st.just('{"tax": 7.50, "none": null}'),
}
ANYTHING = st.one_of(
    st.none(),
    *FITTING.values(),
    st.floats(),
    st.lists(st.integers(), max_size=2),
    st.sampled_from([Decimal("NaN"), "", "x" * 2100]),
)


class RowRefusedError(Exception):
    pass


class Recorder:
    """A transport that keeps the item of the last put."""

    def send(self, operation: str, body: bytes) -> bytes:
        self.item = msgspec.json.decode(body)["Item"]
        return b"{}"


def put_item(migration: Migration, rows: EntityRows, row: Row) -> Any:
    """The item that a put of the row's object writes."""
    recorder = Recorder()
    try:
        record = migration.package.record(rows.entity.name, rows.convert(row))
        Client(migration.package.schema, "shop", recorder).put(record)
    except (RowError, TableError, TypeError, ValueError) as problem:
        raise RowRefusedError from problem
    return recorder.item


def test_encoder_writes_what_a_put_writes(shop: Path, opened: Opened) -> None:
    mapping = Path("mapping.toml")
    text = mapping.read_text(encoding="utf-8")
    for old, new in {
        'note = "note"': 'note = { column = "note", default = "none" }',
        '[entities.Product]\ntable = "products"': '[entities.Product]\ntable = "products"\nnull = "null"',
    }.items():
        assert old in text
        text = text.replace(old, new)
    mapping.write_text(text, encoding="utf-8")
    migration = opened()
    found = {one.entity.name: (one, row_encoder(migration.package, one)) for one in migration.rows}
    assert {name for name, (_, encode) in found.items() if encode is not None} == {"Order", "OrderItem", "Product"}
    outcomes = set()

    @settings(max_examples=examples(300, least=100), deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(st.data())
    def agree(data: st.DataObject) -> None:
        rows, encode = found[data.draw(st.sampled_from(["Order", "OrderItem", "Product"]))]
        assert encode is not None
        odd = data.draw(st.sets(st.sampled_from([v.name for v in rows.values]), max_size=2))
        values = {
            v.name: data.draw(ANYTHING if v.name in odd else FITTING[v.attribute.type.kind.value]) for v in rows.values
        }
        row = Row((), values)
        try:
            key, request = encode(row)
        except Exception:
            outcomes.add("refused")
            with pytest.raises(RowRefusedError):
                put_item(migration, rows, row)
            return
        outcomes.add("encoded")
        item = put_item(migration, rows, row)
        assert msgspec.json.decode(request) == {"PutRequest": {"Item": item}}
        assert key == (item["pk"]["S"], item["sk"]["S"])

    agree()
    assert outcomes == {"encoded", "refused"}


def test_refused_rows_are_dead_letters_and_the_others_are_written(shop: Path, opened: Opened) -> None:
    with sqlite3.connect("shop.db") as db:
        db.execute("UPDATE orders SET total = 'much' WHERE id = 7")
        db.execute("UPDATE orders SET total = 1e200 WHERE id = 8")  # DynamoDB refuses it, and its whole batch
        db.execute("UPDATE orders SET note = ? WHERE id = 9", ("x" * 500_000,))
    db.close()
    migration, place = opened(), TablePlace(db="t.db")
    result = load_table(migration, place, create=True)
    assert result.dead == 3
    found = [msgspec.json.decode(line) for line in Path(result.dead_file).read_bytes().splitlines()]
    assert sorted((one["entity"], one["key"], one["code"]) for one in found) == [
        ("Order", [7], "PJ720"),
        ("Order", [8], "PJ721"),
        ("Order", [9], "PJ723"),
    ]
    missing = {d.key for d in verify_table(migration, place, patterns=False).differences}
    assert missing == {"7", "8", "9"}
